/* vktrain train: a recipe, a run. Shows progress (one live line on a terminal, a few plain ones
 * elsewhere) and closes with what the run found and what to do next. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "kept_sets.h"
#include "start_ranks.h"

typedef struct train_options {
    cli_options common;
    cli_list set;
    const char *run_dir, *devices;
    bool resume, explain, no_rewrite;
} train_options;

#define AT(field) offsetof(train_options, field)
static const cli_flag flags[] = {
    { "--set", CLI_LIST, AT(set), "KEY=VALUE", NULL,
      "override an option of the recipe (options below); may be repeated" },
    { "--run", CLI_TEXT, AT(run_dir), "DIR", "runs/NAME-DATE",
      "run folder for configuration, metrics and checkpoints" },
    { "--devices", CLI_TEXT, AT(devices), "D,D...|all", NULL,
      "train one model on several devices of this machine at the same time, each with a part of "
      "every batch, by MPI; all: every GPU" },
    { "--resume", CLI_BOOL, AT(resume), NULL, NULL,
      "continue from the last checkpoint in the folder given by --run; the --set values of the "
      "first start are kept unless given again" },
    { "--explain", CLI_BOOL, AT(explain), NULL, NULL,
      "print the configuration, the plan of a step, and of conversations the first with the "
      "tokens that count in the loss marked, then stop" },
    { "--device-profile", CLI_TEXT, AT(common.gpu.profile), "FILE", NULL,
      "with --explain: plan for the device described in FILE, which `vktrain devices --json` "
      "writes on any machine; no device is needed" },
    { "--no-rewrite", CLI_BOOL, AT(no_rewrite), NULL, NULL,
      "run every op by itself, without fusing ops: slower, for comparison" },
    { 0 },
};

/* ---- the tables of options and layers, for --help ---- */

/* What a recipe that is new says first. */
static const char *const first_options[] = {
    "data.source",   "data.path",          "data.label",
    "data.task",     "data.missing",       "data.size",
    "init",          "loss.kind",          "optim.rule",
    "optim.lr",      "optim.weight_decay", "optim.clip",
    "schedule.kind", "schedule.warmup",    "train.steps",
    "train.batch",   "train.patience",     "train.precision",
    "eval.every",    "checkpoint.metric"
};

static bool is_first(const char *name)
{
    for (size_t i = 0; i < CLI_COUNT(first_options); i++)
        if (!strcmp(name, first_options[i])) return true;
    return false;
}

static void print_option(FILE *f, const vkt_option_info *o, int width)
{
    char help[1200]; /* longer than cli_text's */
    bool range = o->range && *o->range, unit = o->unit && *o->unit;
    const char *left =
        cli_text("  %-*s  %-8s  ", width, o->name, o->fallback && *o->fallback ? o->fallback : "-");
    fputs(left, f);
    snprintf(help, sizeof help, "%s%s%s%s%s%s", o->help, range || unit ? " (" : "",
             range ? o->range : "", range && unit ? " " : "", unit ? o->unit : "",
             range || unit ? ")" : "");
    cli_wrap(f, help, (int)strlen(left), width + 14);
}

/* The options that matter first, then all others, section by section. */
static void option_help(FILE *f)
{
    vkt_option_info o;
    const char *bold = cli_color(f, CLI_BOLD), *plain = cli_color(f, CLI_PLAIN);
    char section[32] = "-";
    int width = 0;
    for (size_t i = 0; vkt_option(i, &o); i++)
        if ((int)strlen(o.name) > width) width = (int)strlen(o.name);
    fprintf(f,
            "\n"
            "%soptions of a recipe (for --set): name, default, meaning (range and unit)%s\n"
            "\n%sthose that matter first%s\n",
            bold, plain, bold, plain);
    for (size_t i = 0; vkt_option(i, &o); i++)
        if (is_first(o.name)) print_option(f, &o, width);
    for (size_t i = 0; vkt_option(i, &o); i++) {
        size_t n = strchr(o.name, '.') ? (size_t)(strchr(o.name, '.') - o.name) : 0;
        if (is_first(o.name)) continue;
        if (strlen(section) != n || memcmp(section, o.name, n))
            fprintf(f, "\n%s%.*s%s\n", bold, n ? (int)n : 7, n ? o.name : "general", plain);
        snprintf(section, sizeof section, "%.*s", (int)n, o.name);
        print_option(f, &o, width);
    }
}

/* "linear: y = x w^T + b" with its options; the one that a bare value sets is marked. */
static void layer_help(FILE *f)
{
    size_t n;
    const vkt_layer_type *t = vkt_layer_types(&n);
    fprintf(f,
            "\n"
            "%slayers of a recipe (for `model:`); `linear: 128` sets the option marked =%s\n",
            cli_color(f, CLI_BOLD), cli_color(f, CLI_PLAIN));
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "  %-12s  ", t[i].name);
        cli_wrap(f, t[i].help, 16, 16);
        for (const vkt_layer_opt *o = t[i].opts; o->name; o++) {
            bool main_opt = t[i].main_opt && !strcmp(o->name, t[i].main_opt);
            fprintf(f, "    %c %-12s  ", main_opt ? '=' : ' ', o->name);
            cli_wrap(f, o->help, 20, 20);
        }
    }
}

static void tables_help(FILE *f)
{
    option_help(f);
    layer_help(f);
}

/* ---- progress ---- */

typedef struct progress {
    bool live, quiet;
    uint32_t log_every;
    uint64_t last_line, last_step; /* interval and step of the last plain line */
    double drawn;                  /* when the live line was last drawn */
} progress;

static const char *accuracy_text(double a)
{
    return isnan(a) ? "" : cli_text("  acc %6s", cli_percent(a));
}

static const char *mae_text(double mae)
{
    return isnan(mae) ? "" : cli_text("  mae %s", cli_number(mae));
}

static const char *regression_text(double mae, double rmse, double r2)
{
    return isnan(mae) ? ""
                      : cli_text("  mae %s  rmse %s  R2 %s", cli_number(mae), cli_number(rmse),
                                 cli_number(r2));
}

/* The metric that chooses the best checkpoint, where no other field has it. */
static const char *chosen_text(const char *metric, double v)
{
    static const char *const shown[] = { "loss", "accuracy", "mae", "rmse", "r2" };
    for (size_t i = 0; i < CLI_COUNT(shown); i++)
        if (!strcmp(metric, shown[i])) return "";
    return cli_text("  %s %s", metric, cli_number(v));
}

/* The same of an evaluation's line, which has no room for rmse and R2 but if they choose. */
static const char *eval_chosen_text(const vkt_progress *p)
{
    bool number = !strcmp(p->metric, "rmse") || !strcmp(p->metric, "r2");
    return number ? cli_text("  %s %s", p->metric, cli_number(p->eval_metric))
                  : chosen_text(p->metric, p->eval_metric);
}

static const char *perplexity_text(const vkt_train_result *r)
{
    if (!isfinite(r->valid_perplexity)) return "";
    if (!isfinite(r->valid_bits_per_byte))
        return cli_text("  perplexity %s", cli_number(r->valid_perplexity));
    return cli_text("  perplexity %s  %s bits per byte", cli_number(r->valid_perplexity),
                    cli_number(r->valid_bits_per_byte));
}

/* Fields in the order they stand; those of the highest rank go first when the terminal is narrow.
 */
static void draw_live(progress *s, const vkt_progress *p)
{
    double now = cli_now();
    if (now - s->drawn < 0.1 && p->step != p->total) return;
    s->drawn = now;
    double share = p->total ? (double)p->step / (double)p->total : 0;
    const struct {
        const char *text;
        int rank;
    } field[] = {
        { cli_text("%3.0f%%", floor(100 * share)), 4 },
        { cli_text("  step %llu/%llu", (unsigned long long)p->step, (unsigned long long)p->total),
          0 },
        { cli_text("  loss %-6s", cli_fixed(p->loss)), 1 },
        { accuracy_text(p->accuracy), 2 },
        { cli_text("  norm %-6s", cli_fixed(p->grad_norm)), 6 },
        { cli_text("  lr %s", cli_number(p->lr)), 7 },
        { cli_text("  %s/s", cli_rate(p->items_per_s)), 5 },
        { cli_text("  ETA %s", cli_time(p->eta_s)), 3 },
    };
    int room = cli_columns(stdout) - 1, shown = 0, used = 0;
    for (int r = 0; r < 8; r++)
        for (size_t i = 0; i < CLI_COUNT(field); i++) {
            int n = (int)strlen(field[i].text);
            if (field[i].rank != r) continue;
            if (used + n <= room)
                used += n, shown |= 1 << i;
            else
                r = 8;
        }
    char line[256] = "";
    size_t k = 0;
    for (size_t i = 0; i < CLI_COUNT(field); i++)
        if (shown >> i & 1) k += (size_t)snprintf(line + k, sizeof line - k, "%s", field[i].text);
    cli_live(line);
}

static void plain_line(progress *s, const vkt_progress *p)
{
    uint64_t every = s->log_every ? s->log_every : p->total > 20 ? p->total / 20 : 1;
    if ((p->step / every == s->last_line && p->step != p->total) || p->step == s->last_step) return;
    s->last_line = p->step / every;
    s->last_step = p->step;
    cli_line("step %*llu/%llu  loss %-7s%s  norm %-7s  lr %-9s  %s/s  ETA %s",
             snprintf(NULL, 0, "%llu", (unsigned long long)p->total), (unsigned long long)p->step,
             (unsigned long long)p->total, cli_fixed(p->loss), accuracy_text(p->accuracy),
             cli_fixed(p->grad_norm), cli_number(p->lr), cli_rate(p->items_per_s),
             cli_time(p->eta_s));
}

static void on_progress(void *user, const vkt_progress *p)
{
    progress *s = user;
    if (s->quiet) return;
    if (!s->live) plain_line(s, p);
    if (p->evaluated)
        cli_line(
            "%seval %*llu  %s: loss %-6s%s%s%s%s%s", p->best ? cli_color(stdout, CLI_GREEN) : "",
            snprintf(NULL, 0, "%llu", (unsigned long long)p->total), (unsigned long long)p->step,
            p->eval_split ? p->eval_split : "valid", cli_fixed(p->eval_loss),
            accuracy_text(p->eval_accuracy), mae_text(p->eval_mae), eval_chosen_text(p),
            p->best ? "  * best so far" : "", p->best ? cli_color(stdout, CLI_PLAIN) : "");
    if (s->live) draw_live(s, p);
}

/* ---- the closing summary ---- */

static const char *metric_text(const char *metric, double v)
{
    return strcmp(metric, "accuracy") ? cli_number(v) : cli_percent(v);
}

static void row(const char *label, const char *fmt, ...) VKT_PRINTF(2, 3);
static void row(const char *label, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("  %-11s ", label);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
}

static void warn(const char *text)
{
    printf("  %s%-11s%s ", cli_color(stdout, CLI_YELLOW), "warning", cli_color(stdout, CLI_PLAIN));
    cli_wrap(stdout, text, 14, 14);
}

/* How far the result of a small test set may be off. */
static const char *few_text(const vkt_train_result *r)
{
    if (!r->n_few_test) return "";
    if (isnan(r->test_error)) return cli_text("  (only %s examples)", cli_count(r->n_few_test));
    return cli_text("  (only %s examples: standard error of the accuracy %s)",
                    cli_count(r->n_few_test), cli_percent(r->test_error));
}

static void print_scores(const vkt_train_result *r)
{
    if (*r->best_checkpoint && *r->metric) {
        row("best", "valid %s %s at step %s%s", r->metric, metric_text(r->metric, r->best_metric),
            cli_count(r->best_step),
            isnan(r->sample_gap) ? ""
                                 : cli_text(" (full set %+.2g against the sample)", r->sample_gap));
    }
    if (isfinite(r->valid_loss))
        row("valid", "loss %s%s%s%s%s", cli_number(r->valid_loss), accuracy_text(r->valid_accuracy),
            regression_text(r->valid_mae, r->valid_rmse, r->valid_r2),
            chosen_text(r->metric, r->valid_metric), perplexity_text(r));
    if (isfinite(r->test_loss))
        row("test", "loss %s%s%s%s%s", cli_number(r->test_loss), accuracy_text(r->test_accuracy),
            regression_text(r->test_mae, r->test_rmse, r->test_r2),
            chosen_text(r->metric, r->test_metric), few_text(r));
    if (isfinite(r->ece[1]))
        row("calibration",
            "temperature %s, fitted on valid: calibration error %s instead of %s%s; predictions "
            "use it",
            cli_number(r->temperature), cli_percent(r->ece[1]), cli_percent(r->ece[0]),
            isfinite(r->test_ece[1])
                ? cli_text(" (test: %s instead of %s)", cli_percent(r->test_ece[1]),
                           cli_percent(r->test_ece[0]))
                : "");
}

/* The network beside a linear model. */
static void print_baseline(const vkt_config *c, const vkt_train_result *r)
{
    bool test = !strcmp(r->baseline_split, "test") && isfinite(r->baseline_test);
    double linear = test ? r->baseline_test : r->baseline_metric,
           net = test ? r->baseline_test_net : r->baseline_net,
           error = test ? r->baseline_test_error : r->baseline_error,
           constant = test ? r->baseline_test_constant : r->baseline_constant,
           right = test ? r->baseline_test_accuracy : r->baseline_accuracy,
           net_right = test ? r->baseline_test_net_accuracy : r->baseline_net_accuracy;
    static const char *const says[][2] = { { "better", "the network is better" },
                                           { "level", "the network is no better, within noise" },
                                           { "worse", "the network is worse" },
                                           { "partly",
                                             "the network is better, but no better in accuracy" },
                                           { "mixed", "each is better in one of them" } };
    const char *verdict = "";
    if (!*r->baseline) return;
    for (size_t i = 0; i < CLI_COUNT(says); i++)
        if (!strcmp(r->baseline_verdict, says[i][0])) verdict = says[i][1];
    bool shares = isfinite(right) && strcmp(r->metric, "accuracy") != 0;
    row("baseline",
        "%s: on %s %s examples %s %s against the network's %s%s: %s%s; the same answer always%s: "
        "%s; %s s%s",
        r->baseline, cli_count(r->baseline_examples), r->baseline_split, r->metric,
        metric_text(r->metric, linear), metric_text(r->metric, net),
        shares ? cli_text(", accuracy %s against %s", cli_percent(right), cli_percent(net_right))
               : "",
        verdict,
        isfinite(error) ? cli_text(" (standard error %s)", metric_text(r->metric, error)) : "",
        c->data.target == VKT_TARGET_PLAIN ? "" : " (the mean logarithm's)",
        metric_text(r->metric, constant), cli_number(r->baseline_seconds),
        r->seconds > 0 ? cli_text(", %.2g%% of the time", 100 * r->baseline_seconds / r->seconds)
                       : "");
}

static void print_gradient(const vkt_config *c, const vkt_train_result *r)
{
    if (!r->step) return;
    double clipped =
        (double)r->n_clipped / (double)r->step; /* of the whole run, resumed parts too */
    if (isfinite(r->norm_p50))
        row("gradient", "norm p50 %s, p90 %s, p99 %s", cli_number(r->norm_p50),
            cli_number(r->norm_p90), cli_number(r->norm_p99));
    if (c->optim.clip > 0)
        row("clipping",
            "%s of %s updates clipped at %s (%s); the 90th percentile of the norm is optim.clip=%s",
            cli_count(r->n_clipped), cli_count(r->step), cli_number(c->optim.clip),
            cli_percent(clipped), cli_number(r->norm_p90));
    else if (isfinite(r->norm_p90))
        row("clipping",
            "off; to clip outliers, start with the 90th percentile of the norm: --set "
            "optim.clip=%s",
            cli_number(r->norm_p90));
    if (r->best_step == r->step && r->step == vkt_schedule_total(&c->schedule) &&
        c->schedule.kind == VKT_SCHED_CONSTANT)
        warn("the last evaluation is the best one, so the model was still improving at the end: "
             "raise train.steps (and set train.patience, so that it ends in time)");
    if (c->optim.clip > 0 && clipped > 0.5)
        warn(
            "more than half of the updates were clipped, which acts like a lower learning rate: "
            "lower optim.lr, lengthen schedule.warmup, or raise optim.clip to the 90th percentile");
    if (c->precision == VKT_F16)
        row("loss scale", "%s of %s updates skipped while it fell", cli_count(r->n_overflows),
            cli_count(r->step));
    if (r->n_skipped)
        warn(cli_text("%s updates had NaN or Inf in loss or gradient and were skipped: lower "
                      "optim.lr, lengthen "
                      "schedule.warmup, or set optim.clip=%s",
                      cli_count(r->n_skipped), cli_number(r->norm_p90)));
}

static bool is_text(const vkt_config *c)
{
    vkt_source_info s;
    return vkt_source_find(c->data.source, &s) && s.kinds == VKT_DATA_KIND_TEXT;
}

static void print_speed(const vkt_config *c, const vkt_train_result *r)
{
    row("speed", "%s steps in %s, the first after %s s, then %s ms a step, %s %s/s",
        cli_count(r->n_steps),
        r->seconds < 60 ? cli_text("%.1f s", r->seconds) : cli_time(r->seconds),
        cli_number(r->start_s), cli_number(r->step_ms), cli_rate(r->items_per_s),
        is_text(c) ? "tokens" : "examples");
    row("memory", "%s of device memory at most, %s planned", cli_bytes(r->device_bytes),
        cli_bytes(r->planned_bytes));
    if (c->accumulate > 1)
        row("accumulate",
            "%u batches of %u an update: the noise of a batch of %u, and no more throughput; where "
            "memory allows it, set train.batch=%u and train.accumulate=1",
            c->accumulate, c->batch, c->accumulate * c->batch, c->accumulate * c->batch);
    /* Less says nothing: the loader's start is a large part of it. */
    if (r->input_wait > 0.1 && r->n_steps >= 20 && r->seconds >= 1)
        warn(cli_text(c->data_workers < VKT_MAX_SLOTS
                          ? "the device waited for input %.0f%% of the time: raise data.workers "
                            "(now %u)"
                          : "the device waited for input %.0f%% of the time, with %u data.workers: "
                            "store the data preprocessed (`vktrain pack`)",
                      fmin(100 * r->input_wait, 100), c->data_workers));
}

/* A line of `next` with what it costs or tells. */
static void print_step(const char *command, const char *what)
{
    printf("  %s%s%s\n", command, *what ? "      " : "", what);
}

/* A first look is followed by tuning: ten times its own time, forty trials of a quarter of it. */
static void print_tuning(const train_options *o, const vkt_train_result *r)
{
    double minutes = fmin(fmax(ceil(10 * r->seconds / 60), 1), 120);
    const char *command =
        cli_text("vktrain study auto %s --minutes %.0f", cli_word_here(o->common.args[0]), minutes);
    bool behind = !strcmp(r->baseline_verdict, "level") || !strcmp(r->baseline_verdict, "worse");
    print_step(command,
               cli_text("%.0f min: learning rate, width, regularisation, a longer run%s", minutes,
                        behind ? "; the network is not ahead of the linear model yet" : ""));
}

/* A best checkpoint that comes early says how long trials need be, as in `study auto`. Fewer than
 * twenty steps tell nothing. */
static void print_length(const train_options *o, const vkt_train_result *r)
{
    unsigned long long steps = 2 * (unsigned long long)r->best_step;
    if (r->best_step < 20 || steps >= r->step) return;
    print_step(
        cli_text("vktrain study lr %s --steps %llu", cli_word_here(o->common.args[0]), steps),
        cli_text(
            "the best of %s steps was step %s: at this rate trials need no more than twice that",
            cli_count(r->step), cli_count(r->best_step)));
}

static void print_next(const train_options *o, const vkt_config *c, const vkt_train_result *r,
                       bool interrupted)
{
    if (!*r->run_dir) return;
    printf("\nnext\n");
    if (interrupted) {
        printf("  vktrain train %s", cli_word_here(o->common.args[0]));
        for (size_t i = 0; i < o->set.n; i++) printf(" --set %s", cli_word_here(o->set.item[i]));
        printf(" --run %s --resume\n", cli_word_here(r->run_dir));
    }
    const char *run = cli_word_here(r->run_dir);
    bool ended = !interrupted && *r->best_checkpoint, plain = ended && !o->set.n;
    if (plain && !is_text(c) && !c->init) print_tuning(o, r);
    if (plain && !is_text(c) && !c->init) print_length(o, r);
    if (*r->best_checkpoint) {
        bool tested = !isnan(r->test_loss); /* else there is no test set, or it was interrupted */
        if (tested || !isnan(r->valid_loss))
            printf("  vktrain eval %s --split %s\n", run, tested ? "test" : "valid");
        printf(is_text(c) ? "  vktrain generate %s --prompt TEXT\n"
                          : "  vktrain predict %s INPUT...\n",
               run);
    }
    if (ended) print_step(cli_text("vktrain report %s", run), "findings in words, curves, errors");
    if (ended && !plain && is_text(c))
        print_step(cli_text("vktrain export %s --hf FOLDER", run),
                   "for transformers; --gguf FILE: for llama.cpp");
    else if (ended && !plain)
        print_step(cli_text("vktrain export %s", run), "for ONNX Runtime and others");
    printf("  vktrain runs\n");
}

static void print_summary(const train_options *o, const vkt_config *c, const vkt_train_result *r,
                          bool interrupted)
{
    printf("\n%s%s%s after %s steps: %s\n", cli_color(stdout, CLI_BOLD),
           interrupted ? "interrupted" : "done", cli_color(stdout, CLI_PLAIN), cli_count(r->step),
           r->run_dir);
    print_scores(r);
    print_baseline(c, r);
    print_gradient(c, r);
    print_speed(c, r);
    if (*r->best_checkpoint) row("checkpoint", "%s", r->best_checkpoint);
    print_next(o, c, r, interrupted);
}

/* ---- the command ---- */

/* A recipe that can't be read is a file error; all else wrong in it is a recipe error, but not what
 * is wrong with a folder that it begins with. */
static vkt_status configure(const train_options *o, const kept_sets *kept, vkt_config *c)
{
    vkt_status st = vkt_config_load(c, o->common.args[0]);
    for (size_t i = 0; i < kept->n && st == VKT_OK; i++) {
        st = vkt_config_set(c, kept->set[i]);
        if (st == VKT_OK)
            vkt_log(VKT_LOG_INFO, "train", "the run began with --set %s, which is kept",
                    kept->set[i]);
    }
    for (size_t i = 0; i < o->set.n && st == VKT_OK; i++) st = vkt_config_set(c, o->set.item[i]);
    if (st == VKT_OK && o->devices && !o->explain && strcmp(o->devices, "all") != 0)
        st = vkt_config_set(c, cli_text("devices=%s", o->devices));
    return st == VKT_OK ? vkt_config_finish(c) : st;
}

static void explain(const vkt_config *c, const char *plan)
{
    char *yaml = vkt_config_yaml(c);
    printf("# complete configuration\n"
           "%s\n"
           "# plan of a training step\n"
           "%s\n",
           yaml ? yaml : "", plan ? plan : "");
    vkt_free(yaml);
}

static bool has_note(const cli_list *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (!strncmp(set->item[i], "note=", 5)) return true;
    return false;
}

static vkt_status train(const train_options *o, const kept_sets *kept, const vkt_config *c,
                        vkt_comm *comm)
{
    char *plan = NULL;
    vkt_train_result r = { 0 };
    bool speaks = vkt_comm_rank(comm) == 0;
    progress s = { .live = cli_can_redraw(stdout) && !o->common.quiet && speaks,
                   .quiet = o->common.quiet || !speaks,
                   .log_every = c->log_every };
    vkt_train_desc desc = {
        .run_dir = o->run_dir,
        .resume = o->resume,
        .gpu = o->common.gpu,
        .no_rewrite = o->no_rewrite,
        .explain = o->explain,
        .explain_text = &plan,
        .on_progress = on_progress,
        .user = &s,
        .command = kept->line ? kept->line : o->common.line,
        .comm = comm,
        .new_note = has_note(&o->set),
    };
    cli_catch_signals(s.live);
    vkt_status st = vkt_train(c, &desc, &r);
    cli_training_is_over();
    cli_live("");
    if (st == VKT_OK && o->explain && speaks) explain(c, plan);
    vkt_free(plan);
    if (!speaks || o->explain) return st;
    if (st == VKT_OK || st == VKT_E_INTERRUPTED)
        print_summary(o, c, &r, st == VKT_E_INTERRUPTED);
    else if (*r.run_dir)
        printf("\nfailed (%s) after %s steps: %s\n", vkt_status_name(st), cli_count(r.step),
               r.run_dir);
    return st;
}

/* The whole of it as one of the ranks, or alone. */
static vkt_status work(const train_options *o, vkt_comm *comm)
{
    vkt_config *c = NULL;
    vkt_status st = vkt_config_create(&c);
    if (st != VKT_OK) return st;
    kept_sets kept = { 0 };
    if (o->resume) st = kept_sets_of(o->run_dir, &o->set, o->common.line, &kept);
    if (st == VKT_OK) st = configure(o, &kept, c);
    if (st == VKT_OK) st = train(o, &kept, c, comm);
    kept_sets_finish(&kept);
    vkt_config_destroy(&c);
    return st;
}

static int run(void *options)
{
    const train_options *o = options;
    if (o->resume && !o->run_dir) {
        cli_error("train: --resume needs --run DIR, the run to continue");
        return CLI_USAGE;
    }
    if (o->common.gpu.profile && (!o->explain || o->common.gpu.device)) {
        cli_error(o->explain ? "train: --device and --device-profile can't be used together"
                             : "train: --device-profile needs --explain: nothing runs on a device "
                               "that is only described");
        return CLI_USAGE;
    }
    if (o->devices && o->common.gpu.device) {
        cli_error("train: --device and --devices can't be used together");
        return CLI_USAGE;
    }
    size_t n = o->devices ? start_ranks_count(o->devices) : 1;
    if (n == 0) return CLI_USAGE;
    if (n > 1 && !vkt_launch_get().launched && !o->explain) return start_ranks(n, o->common.argv);
    vkt_comm *comm = NULL;
    if (vkt_launch_get().rank > 0) cli_log_other_rank();
    vkt_status st = vkt_comm_open(&comm);
    if (st == VKT_OK) {
        st = work(o, comm);
        st = vkt_comm_close(&comm, st);
    }
    return cli_exit_code(st);
}

const cli_command cmd_train = {
    .name = "train",
    .args = "RECIPE",
    .summary = "train a model as a recipe describes it",
    .details = "RECIPE is a YAML file, or a built-in recipe by name (`vktrain recipes`).\n"
               "examples: vktrain train digits\n"
               "          vktrain train mine.yaml --set optim.lr=0.003 --set train.steps=2000 "
               "--run runs/try\n"
               "          vktrain train mine.yaml --run runs/try --resume",
    .min_args = 1,
    .max_args = 1,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(train_options),
    .run = run,
    .more_help = tables_help,
};
