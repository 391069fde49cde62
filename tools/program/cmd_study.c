/* vktrain study: the tuning playbook's procedures on a recipe. Shows each trial as it ends, then
 * the table, the recommendation, what the playbook says and the command that reproduces the best.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct study_options {
    cli_options common;
    cli_list set, against;
    const char *devices;
    const char *dir, *note, *space, *isolate, *norms_from, *target, *minutes;
    int sampler; /* as its flag lists them */
    bool resume, dry_run, json, ramp, prune, labels;
    uint32_t steps, seed, seeds, trials, points, folds, rounds;
    double from, to, unstable_lr, factor;
} study_options;

#define AT(field) offsetof(study_options, field)
static const cli_flag flags[] = {
    { "--study", CLI_TEXT, AT(dir), "DIR", "runs/NAME-KIND-DATE",
      "folder of the study: study.json, and a run folder for each trial" },
    { "--resume", CLI_BOOL, AT(resume), NULL, NULL,
      "continue the study in the folder given by --study; finished trials are kept" },
    { "--dry-run", CLI_BOOL, AT(dry_run), NULL, NULL,
      "show the trials and how long they would take; only a short run is made, to measure time" },
    { "--set", CLI_LIST, AT(set), "KEY=VALUE", NULL,
      "override an option of the recipe in all trials (see `vktrain train --help`); may be "
      "repeated" },
    { "--devices", CLI_TEXT, AT(devices), "D,D...", NULL,
      "run trials on several devices at the same time, one trial on each, where trials are "
      "independent and not timed; a device named twice runs two" },
    { "--steps", CLI_UINT, AT(steps), "N", NULL,
      "training steps of each trial (default: the recipe's train.steps)" },
    { "--seeds", CLI_UINT, AT(seeds), "N", "3",
      "number of new seeds on which the recommendation is compared with the recipe; data: on which "
      "each size is trained" },
    { "--seed", CLI_UINT, AT(seed), "N", "0", "search: seed of the quasi-random sequence" },
    { "--note", CLI_TEXT, AT(note), "TEXT", "the recipe's", "why this study was made" },
    { "--space", CLI_TEXT, AT(space), "FILE", NULL,
      "search: YAML file with the search space (below)" },
    { "--trials", CLI_UINT, AT(trials), "N", "20",
      "search: number of trials; with --resume more than before extend the search" },
    { "--sampler", CLI_CHOICE, AT(sampler), "halton|gp|tpe", "halton",
      "search: halton (quasi-random: even, best to explore with), or after a third of the trials "
      "places that a model of them expects to be good: gp (a Gaussian process, best with few "
      "trials; of more than 256 it knows the best half of 256 and a choice of the rest) or tpe "
      "(densities, for hundreds); a model goes on from any search (--resume)" },
    { "--prune", CLI_BOOL, AT(prune), NULL, NULL,
      "search: end trials early that are not among the best third after 1/27, 1/9 and 1/3 of their "
      "steps (successive halving); to compare values of a scientific metaparameter, leave it out "
      "and "
      "keep halton: then all get the same points and steps" },
    { "--isolate", CLI_TEXT, AT(isolate), "KEY", "the first of the space",
      "search: show this metaparameter with the best values of the others; those with the role "
      "scientific are shown anyway" },
    { "--from", CLI_NUMBER, AT(from), "X", NULL,
      "lr: lowest learning rate (default: the recipe's / 30); batch-size: smallest size (default: "
      "8)" },
    { "--to", CLI_NUMBER, AT(to), "X", NULL,
      "lr: highest learning rate (default: the recipe's x 30); batch-size: largest size" },
    { "--points", CLI_UINT, AT(points), "N", "9", "lr: number of learning rates in the sweep" },
    { "--ramp", CLI_BOOL, AT(ramp), NULL, NULL,
      "lr: make one run whose learning rate rises from --from (default: the recipe's / 100) to "
      "--to (default: the recipe's x 1000); cheaper and less reliable than the sweep" },
    { "--unstable-lr", CLI_NUMBER, AT(unstable_lr), "LR", NULL,
      "warmup: learning rate at which training becomes unstable; searched for if not given" },
    { "--factor", CLI_NUMBER, AT(factor), "F", "10",
      "warmup: peak learning rate as a multiple of the unstable one" },
    { "--norms-from", CLI_TEXT, AT(norms_from), "RUN", NULL,
      "clip: take the gradient norms from this run" },
    { "--steps-to", CLI_TEXT, AT(target), "VALUE", NULL,
      "batch-size: also measure the steps until this validation metric is reached" },
    { "--folds", CLI_UINT, AT(folds), "K", "5",
      "folds: parts of the examples that are not tested on" },
    { "--repeats", CLI_UINT, AT(rounds), "N", "1",
      "folds: seeds with which each fold is trained; the folds stay the same" },
    { "--labels", CLI_BOOL, AT(labels), NULL, NULL,
      "folds: list the labels that a fold's network contradicts though it was not trained on them, "
      "of all examples that are not for test (DIR/doubtful.csv); keeps each fold's best "
      "checkpoint" },
    { "--against", CLI_LIST, AT(against), "KEY=VALUE", NULL,
      "folds: compare the recipe with the recipe that has this setting, fold by fold; may be "
      "repeated" },
    { "--minutes", CLI_TEXT, AT(minutes), "N", "10",
      "auto: time for all trials together; each stage gets its share of it" },
    { "--json", CLI_BOOL, AT(json), NULL, NULL, "print the result as JSON" },
    { 0 },
};

static const char details[] =
    "KIND is one of\n"
    "  auto        all of it in the playbook's order, within --minutes: a first look, learning "
    "rate, width and\n"
    "              regularisation (most trials end early), fresh seeds, a longer run; its last run "
    "is the result\n"
    "  lr          sweep of learning rates around the recipe's, and a test of stability above the "
    "best one\n"
    "  warmup      shortest warmup with which a 10 times too high learning rate is stable\n"
    "  clip        threshold for gradient clipping, from the gradient norms of a run\n"
    "  batch-size  throughput of each batch size, and what limits it; with --steps-to: steps to a "
    "target\n"
    "  folds       cross-validation: mean and deviation over K folds; with --against: whether "
    "other settings are better\n"
    "  data        learning curve: the result on an eighth, a quarter, half and all of the "
    "training "
    "examples, and\n"
    "              whether more of them are worth it\n"
    "  search      quasi-random search over a space of metaparameters\n"
    "Each trial is a run in the study's folder; see `vktrain runs DIR` and `vktrain report DIR`.\n"
    "examples: vktrain study auto mine.yaml --minutes 20\n"
    "          vktrain study lr digits\n"
    "          vktrain study search mine.yaml --space space.yaml --trials 30 --steps 2000\n"
    "          vktrain study search mine.yaml --space space.yaml --trials 30 --steps 2000 --study "
    "DIR --resume\n"
    "          vktrain study data mine.yaml --seeds 5\n"
    "          vktrain study folds mine.yaml --folds 10 --against optim.lr=0.003\n"
    "search space:\n"
    "          optim.lr: {log: [1e-4, 0.1]}\n"
    "          optim.beta1: {log_one_minus: [0.8, 0.99]}\n"
    "          optim.rule: [adam, nesterov]\n"
    "          optim.momentum: {linear: [0.8, 0.99], when: {optim.rule: nesterov}}\n"
    "          optim.eps: {fixed: 1e-7}          (or role: scientific | nuisance beside a range)\n"
    "          optim.weight_decay:               (a range for each optimizer)\n"
    "            - {log: [1e-5, 1e-3], when: {optim.rule: nesterov}}\n"
    "            - {log: [1e-3, 1], when: {optim.rule: [adam, adamw]}}\n"
    "          model.0.out: {log: [32, 256]}\n"
    "          model: [[{linear: 32}, relu, linear], [{linear: 128}, relu, linear]]";

/* ---- while it runs ---- */

static const char *settings(const vkt_study_trial *t)
{
    static char all[100]; /* the one that matters stands first */
    size_t n = 0;
    all[0] = 0;
    for (size_t i = 0; i < t->n_set && n < sizeof all - 1; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? " " : "", t->set[i]);
    return all;
}

static void on_progress(void *user, const vkt_study_progress *p)
{
    const study_options *o = user;
    const vkt_study_trial *t = p->trial;
    bool live = !o->common.quiet && !o->json && cli_can_redraw(stdout);
    if (o->common.quiet || o->json) return;
    if (t->state == VKT_TRIAL_RUNNING) {
        int room = cli_columns(stdout) - 1;
        if (live)
            cli_live(
                cli_text("%.*s", room, cli_text("%s %s %s ...", t->name, t->group, settings(t))));
        return;
    }
    if (t->state != VKT_TRIAL_DONE)
        cli_line("%s %-10s %s%s: %s: %s", t->name, t->group, settings(t),
                 p->reused ? " (kept)" : "", vkt_trial_state_name(t->state), t->why ? t->why : "");
    else
        cli_line("%s %-10s %s%s: loss %s, best %s, %s ms a step", t->name, t->group, settings(t),
                 p->reused ? " (kept)" : "", cli_number(t->final_loss), cli_number(t->best),
                 cli_number(t->step_ms));
}

/* ---- the result as text ---- */

static void print_table(const vkt_study *s)
{
    enum { MAX = 16 };
    cli_column col[MAX];
    if (!s->n_rows) return;
    for (size_t i = 0; i < s->n_columns && i < MAX; i++)
        col[i] = (cli_column) { s->columns[i], i + 1 < s->n_columns, 60 };
    cli_table(stdout, col, s->n_columns, s->cells, s->n_rows);
    putchar('\n');
}

/* The metaparameters that are asked about: a row for each part of their range. */
static void print_isolated(const vkt_study *s)
{
    enum { COLUMNS = 5, MOST = 200 };
    static const cli_column col[COLUMNS] = { { "metaparameter", false, 60 },
                                             { "value", false, 60 },
                                             { "trials", true, 0 },
                                             { "best", true, 0 },
                                             { "80% of resamplings", false, 0 } };
    static char text[MOST][4][160];
    const char *cells[MOST * COLUMNS];
    size_t n = 0;
    for (size_t i = 0; i < s->n_effects; i++) {
        const vkt_study_effect *e = &s->effects[i];
        for (size_t k = 0; k < e->n_parts && e->isolated && n < MOST; k++, n++) {
            const vkt_study_part *p = &e->parts[k];
            const size_t room = sizeof text[n][0];
            snprintf(text[n][0], room, e->when ? "%s (%s)" : "%s", e->key, e->when);
            snprintf(text[n][1], room, p->infeasible ? "%zu, %zu infeasible" : "%zu", p->n,
                     p->infeasible);
            snprintf(text[n][2], room, isnan(p->best) ? "-" : "%.4g", p->best);
            snprintf(text[n][3], room, isnan(p->best) ? "-" : "%.4g to %.4g",
                     fmin(p->best_low, p->best_high), fmax(p->best_low, p->best_high));
            const char *row[COLUMNS] = { text[n][0], p->label, text[n][1], text[n][2], text[n][3] };
            memcpy(cells + n * COLUMNS, row, sizeof row);
        }
    }
    if (!n) return;
    printf("with the best values of the others\n");
    cli_table(stdout, col, COLUMNS, cells, n);
    putchar('\n');
}

static void print_plan(const vkt_study *s)
{
    for (size_t i = 0; i < s->n_trials; i++)
        printf("%s  %-10s  %s\n", s->trials[i].name, s->trials[i].group, settings(&s->trials[i]));
    if (s->kind == VKT_STUDY_AUTO) {
        printf("\n%zu trials, and as many more as fit into the time, at most %u, that depend on "
               "their results\n",
               s->n_trials, s->n_more);
        return;
    }
    printf("\n%zu trials", s->n_trials);
    if (s->n_more) printf(", and at most %u more that depend on their results", s->n_more);
    if (isfinite(s->estimate_s)) {
        double each = s->estimate_s / (double)s->n_trials;
        printf(": about %s (%.1f s each, measured by a short run on this device); with the others "
               "at most %s",
               cli_time(s->estimate_s), each, cli_time(s->estimate_s + each * s->n_more));
    }
    putchar('\n');
}

/* The run of a study that has trained what is to be used. */
static void print_use(const vkt_study *s)
{
    const char *run = cli_word_here(s->best_run);
    vkt_data_kind kind;
    bool text = vkt_checkpoint_kind(s->best_run, &kind) == VKT_OK && kind == VKT_DATA_KIND_TEXT;
    printf("  vktrain eval %s --split test      how good it is on examples that chose nothing\n",
           run);
    printf("  vktrain export %s%s\n", run, text ? " --hf FOLDER" : "");
    printf("  vktrain serve %s\n", run);
}

static void print_study(const vkt_study *s)
{
    const char *bold = cli_color(stdout, CLI_BOLD), *plain = cli_color(stdout, CLI_PLAIN);
    printf("\n%sstudy %s of %s%s: %zu trials in %s\n\n", bold, vkt_study_kind_name(s->kind),
           s->name, plain, s->n_trials, s->dir);
    print_table(s);
    print_isolated(s);
    for (size_t i = 0; i < s->n_advice; i++) {
        printf("%s", i ? "  - " : cli_color(stdout, CLI_GREEN));
        cli_wrap(stdout, s->advice[i], i ? 4 : 0, i ? 4 : 2);
        if (!i) fputs(plain, stdout);
    }
    printf("\n"
           "from the tuning playbook: ");
    cli_wrap(stdout, s->playbook, 14, 2);
    printf("\nnext\n");
    if (s->best_run)
        print_use(s);
    else if (s->command)
        printf("  %s\n", s->command);
    printf("  vktrain report %s\n", cli_word_here(s->dir));
}

/* ---- JSON ---- */

static json_t *texts(const char *const *list, size_t n)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(a, json_string(list[i]));
    return a;
}

static json_t *trial_json(const vkt_study_trial *t)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        { "best", t->best },       { "final_loss", t->final_loss },   { "rise", t->rise },
        { "clipped", t->clipped }, { "items_per_s", t->items_per_s }, { "step_ms", t->step_ms },
        { "step_j", t->step_j },   { "seconds", t->seconds }
    };
    json_t *j = json_pack("{ss ss ss so ss? sI sI sI sI}", "name", t->name, "group", t->group,
                          "state", vkt_trial_state_name(t->state), "set", texts(t->set, t->n_set),
                          "why", t->why, "steps", (json_int_t)t->steps, "best_step",
                          (json_int_t)t->best_step, "device_bytes", (json_int_t)t->device_bytes,
                          "to_target", (json_int_t)t->to_target);
    for (size_t i = 0; i < CLI_COUNT(numbers); i++)
        json_object_set_new(j, numbers[i].name, cli_json_number(numbers[i].value));
    return j;
}

static json_t *effect_json(const vkt_study_effect *e)
{
    json_t *parts = json_array();
    for (size_t k = 0; k < e->n_parts; k++) {
        const vkt_study_part *p = &e->parts[k];
        json_array_append_new(
            parts,
            json_pack("{ss sI sI sI so so so ss?}", "label", p->label, "trials", (json_int_t)p->n,
                      "infeasible", (json_int_t)p->infeasible, "pruned", (json_int_t)p->pruned,
                      "best", cli_json_number(p->best), "best_low", cli_json_number(p->best_low),
                      "best_high", cli_json_number(p->best_high), "trial", p->trial));
    }
    return json_pack("{ss ss? ss so so so sb so}", "key", e->key, "when", e->when, "role", e->role,
                     "importance", cli_json_number(e->share), "importance_low",
                     cli_json_number(e->share_low), "importance_high",
                     cli_json_number(e->share_high), "importance_shown", (int)e->shown, "parts",
                     parts);
}

static void print_json(const vkt_study *s)
{
    json_t *trials = json_array(), *rows = json_array();
    for (size_t i = 0; i < s->n_trials; i++)
        json_array_append_new(trials, trial_json(&s->trials[i]));
    for (size_t i = 0; i < s->n_rows; i++)
        json_array_append_new(rows, texts(s->cells + i * s->n_columns, s->n_columns));
    json_t *j = json_pack(
        "{ss ss ss ss ss? ss sI so so so so so ss ss? ss? so sI}", "kind",
        vkt_study_kind_name(s->kind), "study", s->dir, "name", s->name, "recipe", s->recipe, "note",
        s->note, "metric", s->metric, "steps", (json_int_t)s->steps, "trials", trials, "columns",
        texts(s->columns, s->n_columns), "rows", rows, "advice", texts(s->advice, s->n_advice),
        "apply", texts(s->apply, s->n_apply), "playbook", s->playbook ? s->playbook : "", "command",
        s->command, "best_run", s->best_run, "estimate_s", cli_json_number(s->estimate_s),
        "more_trials", (json_int_t)s->n_more);
    json_t *effects = json_array();
    for (size_t i = 0; i < s->n_effects; i++)
        json_array_append_new(effects, effect_json(&s->effects[i]));
    if (s->n_effects)
        json_object_set_new(j, "metaparameters", effects);
    else
        json_decref(effects);
    cli_json_print(j, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

/* ---- the command ---- */

/* The profiler's verdict, which the study layer can't ask for itself. */
static vkt_status bottleneck(void *user, const vkt_config *c, char *text, size_t n)
{
    const study_options *o = user;
    vkt_profile *p = NULL;
    vkt_status st =
        vkt_profile_run(c, &(vkt_profile_desc) { .gpu = o->common.gpu, .steps = 20 }, &p);
    if (st != VKT_OK) return st;
    snprintf(text, n, "%s: %s; to do: %s", vkt_profile_verdict_name(p->verdict), p->why, p->advice);
    vkt_profile_destroy(&p);
    return VKT_OK;
}

static int parse_kind(const char *word, vkt_study_kind *out)
{
    const char *names[VKT_STUDY_N_KINDS];
    for (int k = 0; k < VKT_STUDY_N_KINDS; k++) {
        names[k] = vkt_study_kind_name((vkt_study_kind)k);
        *out = (vkt_study_kind)k;
        if (!strcmp(word, names[k])) return 0;
    }
    cli_error("study: '%s' is not one of auto, lr, warmup, clip, batch-size, search, folds, data%s",
              word, vkt_did_you_mean(word, names, VKT_STUDY_N_KINDS).text);
    return CLI_USAGE;
}

/* An option of other kinds of study would change nothing. */
static int check_kind(const study_options *o, vkt_study_kind kind)
{
    enum { SEARCH = 1 << VKT_STUDY_SEARCH, LR = 1 << VKT_STUDY_LR, WARMUP = 1 << VKT_STUDY_WARMUP };
    enum { CLIP = 1 << VKT_STUDY_CLIP, SIZE = 1 << VKT_STUDY_BATCH_SIZE };
    enum { FOLDS = 1 << VKT_STUDY_FOLDS, AUTO = 1 << VKT_STUDY_AUTO };
    const struct {
        const char *name;
        bool given;
        unsigned kinds;
    } of[] = {
        { "--seed", o->seed != 0, SEARCH },
        { "--space", o->space != NULL, SEARCH },
        { "--trials", o->trials != 20, SEARCH },
        { "--sampler", o->sampler != 0, SEARCH },
        { "--prune", o->prune, SEARCH },
        { "--isolate", o->isolate != NULL, SEARCH },
        { "--from", o->from != 0, LR | SIZE },
        { "--to", o->to != 0, LR | SIZE },
        { "--points", o->points != 9, LR },
        { "--ramp", o->ramp, LR },
        { "--unstable-lr", o->unstable_lr != 0, WARMUP },
        { "--factor", o->factor != 0, WARMUP },
        { "--norms-from", o->norms_from != NULL, CLIP },
        { "--steps-to", o->target != NULL, SIZE },
        { "--folds", o->folds != 5, FOLDS },
        { "--repeats", o->rounds != 1, FOLDS },
        { "--against", o->against.n > 0, FOLDS },
        { "--labels", o->labels, FOLDS },
        { "--minutes", o->minutes != NULL, AUTO },
    };
    for (size_t i = 0; i < CLI_COUNT(of); i++) {
        if (!of[i].given || of[i].kinds & 1u << kind) continue;
        const char *whose = of[i].kinds == SEARCH   ? "search"
                            : of[i].kinds == LR     ? "lr"
                            : of[i].kinds == WARMUP ? "warmup"
                            : of[i].kinds == CLIP   ? "clip"
                            : of[i].kinds == SIZE   ? "batch-size"
                            : of[i].kinds == FOLDS  ? "folds"
                            : of[i].kinds == AUTO   ? "auto"
                                                    : "lr and batch-size";
        cli_error("study: %s is for %s, not %s", of[i].name, whose, vkt_study_kind_name(kind));
        return CLI_USAGE;
    }
    return 0;
}

static int run_study(study_options *o, vkt_study_desc *d)
{
    vkt_study *s = NULL;
    cli_catch_signals(!o->common.quiet && !o->json);
    vkt_status st = vkt_study_run(d, &s);
    cli_live("");
    if (st == VKT_OK) {
        if (o->json)
            print_json(s);
        else if (o->dry_run)
            print_plan(s);
        else
            print_study(s);
    } else if (st == VKT_E_INTERRUPTED && s) {
        size_t finished = 0;
        for (size_t i = 0; i < s->n_trials; i++)
            finished += s->trials[i].state == VKT_TRIAL_DONE ||
                        s->trials[i].state == VKT_TRIAL_INFEASIBLE ||
                        s->trials[i].state == VKT_TRIAL_PRUNED ||
                        s->trials[i].state == VKT_TRIAL_CUT;
        printf("\n"
               "interrupted after %zu trials; to resume, run the same command with --study %s "
               "--resume\n",
               finished, cli_word_here(s->dir));
    }
    vkt_study_destroy(&s);
    /* A recipe or space that can't be read is a file error; all else wrong in it a usage error. */
    return cli_exit_code(st);
}

/* "0,1" -> { "0", "1" }, in memory that is one block. */
static const char **split_devices(const char *list, size_t *n)
{
    size_t most = 1;
    for (const char *p = list; *p; p++) most += *p == ',';
    const char **out = cli_grow(NULL, most * sizeof *out + strlen(list) + 1);
    char *text = strcpy((char *)(out + most), list);
    *n = 0;
    while (text) {
        out[(*n)++] = text;
        text = strchr(text, ',');
        if (text) *text++ = 0;
    }
    return out;
}

static int check_devices(const study_options *o, const char *const *devices, size_t n)
{
    if (o->common.gpu.device) {
        cli_error("study: --device and --devices can't be used together");
        return CLI_USAGE;
    }
    for (size_t i = 0; i < n; i++)
        if (!*devices[i]) {
            cli_error("study: --devices %s: a device between two commas is missing", o->devices);
            return CLI_USAGE;
        }
    return 0;
}

/* 0 is no number of any of them, and would be taken for the default. */
static int check_counts(const study_options *o)
{
    const struct {
        const char *name;
        uint32_t n;
    } counts[] = { { "--seeds", o->seeds },
                   { "--trials", o->trials },
                   { "--points", o->points },
                   { "--folds", o->folds },
                   { "--repeats", o->rounds } };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].n) continue;
        cli_error("study: %s is 0, must be at least 1", counts[i].name);
        return CLI_USAGE;
    }
    return 0;
}

static int run(void *options)
{
    study_options *o = options;
    vkt_study_desc d = { .recipe = o->common.args[1],
                         .set = o->set.item,
                         .n_set = o->set.n,
                         .dir = o->dir,
                         .resume = o->resume,
                         .dry_run = o->dry_run,
                         .note = o->note,
                         .gpu = o->common.gpu,
                         .command = o->common.line,
                         .steps = o->steps,
                         .seed = o->seed,
                         .repeats = o->seeds,
                         .space = o->space,
                         .trials = o->trials,
                         .sampler = (vkt_study_sampler)o->sampler,
                         .prune = o->prune,
                         .isolate = o->isolate,
                         .from = o->from,
                         .to = o->to,
                         .points = o->points,
                         .ramp = o->ramp,
                         .unstable_lr = o->unstable_lr,
                         .factor = o->factor,
                         .norms_from = o->norms_from,
                         .folds = o->folds,
                         .rounds = o->rounds,
                         .against = o->against.item,
                         .n_against = o->against.n,
                         .labels = o->labels,
                         .bottleneck = bottleneck,
                         .on_progress = on_progress,
                         .user = o };
    char *end;
    if (parse_kind(o->common.args[0], &d.kind)) return CLI_USAGE;
    if (check_kind(o, d.kind)) return CLI_USAGE;
    if (check_counts(o)) return CLI_USAGE;
    if (o->minutes) {
        d.minutes = strtod(o->minutes, &end);
        if (end == o->minutes || *end || !isfinite(d.minutes) || d.minutes <= 0) {
            cli_error("study: --minutes is '%s', must be a number above 0", o->minutes);
            return CLI_USAGE;
        }
    }
    if (o->resume && !o->dir) {
        cli_error("study: --resume needs --study DIR, the study to continue");
        return CLI_USAGE;
    }
    if (o->target) {
        d.has_target = true;
        d.target = strtod(o->target, &end);
        if (end == o->target || *end || !isfinite(d.target)) {
            cli_error("study: --steps-to is '%s', must be a number: the validation metric to reach",
                      o->target);
            return CLI_USAGE;
        }
    }
    const char **devices = o->devices ? split_devices(o->devices, &d.n_devices) : NULL;
    if (o->devices && !devices) return CLI_MEMORY;
    d.devices = devices;
    int rc = o->devices ? check_devices(o, devices, d.n_devices) : 0;
    if (!rc) rc = run_study(o, &d);
    free((void *)devices);
    return rc;
}

const cli_command cmd_study = {
    .name = "study",
    .args = "KIND RECIPE",
    .summary = "tune a recipe by the tuning playbook: learning rate, warmup, clipping, batch size, "
               "search, "
               "cross-validation, learning curve by data size",
    .details = details,
    .min_args = 2,
    .max_args = 2,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(study_options),
    .run = run,
};
