/* A run's part of a report: what to mind, curves, classes, predictions,
 * samples, time, configuration. */
#include <math.h>

#include "base/os.h"
#include "formats/safetensors.h"
#include "recipe/config.h"
#include "recipe/measure.h"
#include "report/finding_baseline.h"
#include "report/findings.h"
#include "report/findings_course.h"
#include "report/findings_scores.h"
#include "report/graph_svg.h"
#include "report/run_view.h"
#include "tensor/ops/optim/rules.h"
#include "train/measures/share_error.h"

/* ---- tables ---- */

#define CELL(...) vkt__arena_printf(a, __VA_ARGS__)
static const char *text_or(const char *s)
{
    return s && *s ? s : "-";
}

static const char *text_or_none(const char *s)
{
    return s && *s ? s : NULL;
}

static const char *number(vkt__arena *a, double v)
{
    return isnan(v) ? "-" : CELL("%.5g", v);
}

/* 26122 -> "26,122" */
static const char *count(vkt__arena *a, uint64_t n)
{
    return n < 1000 ? CELL("%llu", (unsigned long long)n)
                    : CELL("%s,%03llu", count(a, n / 1000), (unsigned long long)(n % 1000));
}

/* Accuracy or mean absolute error: what the task has. NULL: no loss is recorded. */
static const char *figures(vkt__arena *a, double loss, double accuracy, double mae)
{
    if (isnan(loss)) return NULL;
    const char *text = CELL("loss %s", number(a, loss));
    if (!isnan(accuracy)) text = CELL("%s, accuracy %.2f%%", text, 100 * accuracy);
    return isnan(mae) ? text : CELL("%s, mae %s", text, number(a, mae));
}

/* The last evaluation of a split at a step (0: any) in measures that weigh every class the same,
 * however rare, the calibration error and how classes are ranked; for numbers, how far off they
 * are. NULL: none of these. */
static const char *measures(vkt__run_view *r, const char *split, uint64_t step)
{
    vkt__arena *a = &r->arena;
    const vkt_history_eval *found = NULL;
    for (size_t i = 0; i < r->h->n_evals; i++)
        if (!strcmp(r->h->evals[i].split, split) && (!step || r->h->evals[i].step == step))
            found = &r->h->evals[i];
    if (found && !isnan(found->rmse))
        return CELL("RMSE %s, R2 %s", number(a, found->rmse), number(a, found->r2));
    if (!found || isnan(found->balanced_accuracy)) return NULL;
    const char *text = CELL("balanced accuracy %s, macro F1 %s",
                            number(a, found->balanced_accuracy), number(a, found->macro_f1));
    if (!isnan(found->ece)) text = CELL("%s, calibration error %s", text, number(a, found->ece));
    if (isnan(found->roc_auc)) return text;
    return CELL("%s, ROC-AUC %s, average precision %s", text, number(a, found->roc_auc),
                number(a, found->average_precision));
}

static const char *ranks_text(vkt__arena *a, const vkt__run_record *x)
{
    if (isnan(x->exchange_share)) return CELL("%llu", (unsigned long long)x->ranks);
    return CELL("%llu; the exchange took %.1f%% of the training time, and %.0f%% of it lay under "
                "the backward pass; each sent %s in a step",
                (unsigned long long)x->ranks, 100 * x->exchange_share, 100 * x->exchange_overlap,
                CELL("%.3g MiB", (double)x->exchange_bytes / 1048576));
}

/* Facts from run.json; a row without a value there is left out. */
static void summary(vkt__page *p, vkt__run_view *r)
{
    vkt__arena *a = &r->arena;
    const vkt__run_record *x = &r->rec;
    bool diff = vkt__file_exists(CELL("%s/uncommitted.diff", r->dir));
    const char *rows[][2] = {
        { "run", r->dir },
        { "status", x->error ? CELL("%s: %s", text_or(x->status), x->error) : text_or(x->status) },
        { "note", text_or_none(x->note) },
        { "steps",
          CELL("%llu of %llu", (unsigned long long)x->step, (unsigned long long)x->total) },
        { "best checkpoint",
          isnan(x->best_metric)
              ? NULL
              : CELL("validation %s %s at step %llu", text_or(x->metric), number(a, x->best_metric),
                     (unsigned long long)x->best_step) },
        { "validation, full set", figures(a, x->valid_loss, x->valid_accuracy, x->valid_mae) },
        { "test", figures(a, x->test_loss, x->test_accuracy, x->test_mae) },
        { "validation, further measures", measures(r, "valid", x->best_step) },
        { "test, further measures", measures(r, "test", 0) },
        { "linear model", vkt__baseline_text(x, a) },
        { "it was", text_or_none(x->baseline_about) },
        { "parameters", count(a, x->n_params) },
        { "data", text_or_none(x->data) },
        { "device", text_or_none(x->device) },
        { "driver", text_or_none(x->driver) },
        { "ranks", x->ranks > 1 ? ranks_text(a, x) : NULL },
        { "recipe", text_or_none(x->source) },
        { "recipe's commit",
          x->commit
              ? CELL("%s%s", x->commit,
                     !x->changes ? ", changes unknown"
                     : *x->changes
                         ? diff ? ", with changes that are not committed: see uncommitted.diff"
                                : ", with changes that are not committed"
                         : "")
              : NULL },
        { "started, finished (UTC)", CELL("%s, %s", text_or(x->started), text_or(x->finished)) },
        { "command", text_or_none(x->command) },
    };
    vkt__page_table_begin(p, "As run.json has it", NULL, 0);
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        if (rows[i][1]) vkt__page_pair(p, rows[i][0], rows[i][1]);
    vkt__page_table_end(p);
}

static const char *duration(vkt__arena *a, double s)
{
    return s < 60     ? CELL("%.3g s", s)
           : s < 3600 ? CELL("%.0f min %02.0f s", floor(s / 60), floor(fmod(s, 60)))
                      : CELL("%.0f h %02.0f min", floor(s / 3600), floor(fmod(s, 3600) / 60));
}

/* The test result, and of a small set how far it may be off. */
static const char *test_figures(vkt__arena *a, const vkt__run_record *x, const vkt_config *c)
{
    const char *text = figures(a, x->test_loss, x->test_accuracy, x->test_mae);
    bool tokens = c && c->data.source && !strcmp(c->data.source, "text");
    double error = vkt__share_error(x->test_accuracy, x->n_test);
    if (!text || tokens || !vkt__is_small_set(error, x->n_test)) return text;
    text = CELL("%s (only %llu examples", text, (unsigned long long)x->n_test);
    return isnan(error)
               ? CELL("%s)", text)
               : CELL("%s: standard error of the accuracy %.1f points)", text, 100 * error);
}

/* What a reader looks for first. */
static void facts(vkt__page *p, vkt__run_view *r)
{
    vkt__arena *a = &r->arena;
    const vkt__run_record *x = &r->rec;
    bool best = x->metric && !isnan(x->best_metric), share = best && !strcmp(x->metric, "accuracy");
    const char *const list[][2] = {
        { "best validation",
          best ? CELL("%s %s, step %llu", x->metric,
                      share ? CELL("%.2f%%", 100 * x->best_metric) : number(a, x->best_metric),
                      (unsigned long long)x->best_step)
               : NULL },
        { "test", test_figures(a, x, r->config) },
        { "steps", CELL("%llu of %llu, %s", (unsigned long long)x->step,
                        (unsigned long long)x->total, text_or(x->status)) },
        { "time", isnan(x->seconds) ? NULL : duration(a, x->seconds) },
        { "throughput", isnan(x->items_per_s)
                            ? NULL
                            : CELL("%s examples/s", count(a, (uint64_t)(x->items_per_s + 0.5))) },
        { "parameters", x->n_params ? count(a, x->n_params) : NULL },
        { "device", x->device },
    };
    vkt__page_facts(p, list, VKT_COUNT(list));
}

/* Where the time of the run went. */
static void time_table(vkt__page *p, vkt__run_view *r)
{
    vkt__arena *a = &r->arena;
    const vkt_history *h = r->h;
    const char *const columns[] = { "", "seconds", "share" };
    double wait = 0, eval = 0, all;
    if (h->n_steps < 2) return;
    for (size_t i = 1; i < h->n_steps; i++) wait += fmax(h->steps[i].input_wait, 0);
    for (size_t i = 0, k = 0; i < h->n_evals; i++) {
        while (k + 1 < h->n_steps && h->steps[k].step < h->evals[i].step) k++;
        double next = k + 1 < h->n_steps ? h->steps[k + 1].seconds : h->evals[i].seconds;
        if (h->steps[k].step == h->evals[i].step &&
            (i + 1 == h->n_evals || h->evals[i + 1].step != h->evals[i].step))
            eval += fmax(next - h->steps[k].seconds, 0);
    }
    all = h->steps[h->n_steps - 1].seconds;
    if (h->n_evals) all = fmax(all, h->evals[h->n_evals - 1].seconds);
    if (!(all > 0)) return;
    const struct {
        const char *what;
        double s;
    } rows[] = { { "training steps", fmax(all - wait - eval, 0) },
                 { "waiting for data", wait },
                 { "evaluations and checkpoints", eval },
                 { "all", all } };
    const char *cells[3 * VKT_COUNT(rows)];
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        cells[3 * i] = rows[i].what;
        cells[3 * i + 1] = CELL("%.3g", rows[i].s);
        cells[3 * i + 2] = CELL("%.1f%%", 100 * rows[i].s / all);
    }
    vkt__page_table(p, "Where the time went", columns, 3, cells, VKT_COUNT(rows));
}

/* ---- the whole ---- */

/* The norm of the weights in the checkpoint of that step: matrices alone, unless all are decayed.
 * NAN: there is none, or it is too large to read for this. */
static double norm_of_weights(const char *dir, uint64_t step, bool all)
{
    enum { MOST = 1 << 28 }; /* elements */
    vkt__safetensors *file = NULL;
    vkt__arena a = { 0 };
    float *v = NULL;
    double sum = 0, count = 0;
    vkt__log_quiet(true); /* resuming and exporting log a damaged one */
    vkt_status st =
        vkt__safetensors_open(vkt__arena_printf(&a, "%s/checkpoints/step-%08llu/model.safetensors",
                                                dir, (unsigned long long)step),
                              &file);
    const vkt_tensor_info *t;
    for (size_t i = 0; st == VKT_OK && (t = vkt__safetensors_tensor(file, i)); i++) {
        uint64_t size = 1;
        for (uint32_t k = 0; k < t->rank; k++) size *= t->shape[k];
        if (t->rank < 2 && !all) continue;
        count += (double)size;
        if (count > MOST) st = VKT_E_UNSUPPORTED;
        if (st == VKT_OK) st = vkt__alloc_large(size + 1, sizeof *v, "weights", &v);
        if (st == VKT_OK) st = vkt__safetensors_read_f32(file, i, v);
        for (uint64_t k = 0; k < size && st == VKT_OK; k++) sum += (double)v[k] * (double)v[k];
        free(v);
        v = NULL;
    }
    vkt__log_quiet(false);
    vkt__safetensors_close(&file);
    vkt__arena_finish(&a);
    return st == VKT_OK ? sqrt(sum) : NAN;
}

/* Weights are read only where there is something to explain. */
static void take_decay(const vkt__run_view *r, const vkt_config *c, vkt__evidence *e)
{
    vkt__str text = { 0 };
    vkt_optim_rule rule = c->optim.rule;
    e->weight_norm = e->best_weight_norm = NAN;
    if (rule == VKT_RULE_LAMB || !(c->optim.weight_decay > 0)) return; /* it scales its steps */
    e->weight_decay = (double)c->optim.weight_decay;
    e->decoupled = vkt__rule_at((uint32_t)rule)->uses & VKT__DECAY_DECOUPLED;
    if (!e->decoupled && (vkt__course_rise(e).rises || vkt__find_chance(e, &text))) {
        e->weight_norm = norm_of_weights(r->dir, r->rec.step, c->optim.decay_all);
        e->best_weight_norm = norm_of_weights(r->dir, r->rec.best_step, c->optim.decay_all);
    }
    vkt__str_finish(&text);
}

/* The largest of the layers', and of those inside. */
static double largest_dropout(const vkt_layer *layers, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(layers[i].type, "dropout")) most = fmax(most, (double)layers[i].p);
        most = fmax(most, largest_dropout(layers[i].body, layers[i].n_body));
    }
    return most;
}

void vkt__run_findings(vkt__run_view *r, vkt__tell_fn tell, void *user)
{
    size_t n;
    const vkt__finding *f = vkt__findings(&n);
    const vkt_config *c = r->config;
    const vkt__measure *measure = r->rec.metric ? vkt__measure_named(r->rec.metric) : NULL;
    vkt__evidence e = { .h = r->h,
                        .metric = r->rec.metric ? r->rec.metric : "loss",
                        .metric_sign = measure ? measure->sign : -1,
                        .clip = c ? (double)c->optim.clip : 0,
                        .workers = c ? c->data_workers : 1,
                        .full_loss = r->rec.valid_loss,
                        .full_accuracy = r->rec.valid_accuracy,
                        .full_mae = r->rec.valid_mae,
                        .best_step = r->rec.best_step,
                        .sample = c ? c->eval_sample : 0,
                        .n_held = r->rec.n_valid + r->rec.n_test,
                        .n_shared = r->rec.n_shared,
                        .n_near = r->rec.n_near,
                        .n_judged = r->rec.n_judged,
                        .n_doubtful = r->rec.n_doubtful,
                        .judged_wrong = r->rec.judged_wrong,
                        .surest_wrong = r->rec.surest_wrong,
                        .surest_quarter_wrong = r->rec.surest_quarter_wrong };
    if (c && r->rec.n_train)
        e.steps_per_epoch = (double)r->rec.n_train / VKT_MAX((double)c->batch * c->accumulate, 1);
    if (c) take_decay(r, c, &e);
    if (c) e.dropout = largest_dropout(c->layers, c->n_layers);
    if (c) e.label_smoothing = (double)c->label_smoothing;
    e.class_names = vkt__run_class_names(r, &e.n_class_names);
    for (size_t i = 0; i < n; i++) {
        vkt__str text = { 0 };
        if (f[i].find(&e, &text)) tell(user, f[i].name, f[i].title, text.data);
        vkt__str_finish(&text);
    }
    vkt__str text = { 0 };
    if (vkt__finding_baseline(&r->rec, r->h, &text))
        tell(user, "baseline", "No better than a linear model", text.data);
    vkt__str_finish(&text);
}

void vkt__run_view_finish(vkt__run_view *r)
{
    if (r->h) vkt__curves_finish(&r->c);
    vkt_history_destroy(&r->h);
    vkt_config_destroy(&r->config);
    vkt__arena_finish(&r->arena);
}

static void note(void *user, const char *name, const char *title, const char *text)
{
    vkt__page *p = user;
    vkt__page_note(p, title, text, false);
    if (p->on_finding) p->on_finding(p->user, name, text);
    p->n_findings++;
}

static void say_findings(vkt__page *p, vkt__run_view *r)
{
    size_t before = p->n_findings;
    bool compared = false; /* with what guesses reach: not of a text */
    for (size_t i = 0; i < r->h->n_evals; i++)
        compared |= r->h->evals[i].n_classes || !isnan(r->h->evals[i].r2);
    vkt__page_heading(p, 2, "Findings");
    vkt__run_findings(r, note, p);
    if (p->n_findings == before)
        vkt__page_note(
            p, "Nothing to worry about:",
            vkt__arena_printf(&r->arena,
                              "%sno sign of instability, overfitting, overlap, waiting for data, "
                              "clipping too often, a run that is too short, noisy or periodic "
                              "metrics, or rare classes.",
                              compared ? "better than guessing; " : ""),
            true);
    if (r->h->n_damaged)
        vkt__page_text(
            p, "%llu damaged lines of metrics.jsonl were left out, the first is line %llu.",
            (unsigned long long)r->h->n_damaged, (unsigned long long)r->h->first_damaged);
}

static vkt_status load(vkt__run_view *r)
{
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__run_load(r->dir, &r->arena, &r->rec, NULL));
    VKT_TRY(vkt_history_load(r->dir, &r->h));
    if (r->rec.config) VKT_TRY(vkt__config_of_run(r->rec.config, &r->config));
    vkt__curves_load(r->h, r->rec.metric, &r->c);
fail:
    return st;
}

/* The configuration says as much about a plain list of layers. */
static void draw_net(vkt__page *p, const vkt_config *c)
{
    if (!c || !vkt__graph_is_drawn(c->layers, c->n_layers)) return;
    vkt__page_heading(p, 2, "The net");
    vkt__graph_svg(c->layers, c->n_layers, &p->html);
}

vkt_status vkt__report_run(vkt__page *p, const char *dir)
{
    vkt__run_view r = { .dir = dir };
    vkt_status st = load(&r);
    if (st == VKT_OK) {
        facts(p, &r);
        say_findings(p, &r);
        vkt__page_heading(p, 2, "Curves");
        vkt__run_plots(p, &r);
        vkt__page_heading(p, 2, "The run");
        vkt__page_side_begin(p);
        summary(p, &r);
        time_table(p, &r);
        vkt__page_side_end(p);
        draw_net(p, r.config);
        vkt__run_predictions(p, &r);
        vkt__run_errors(p, &r);
        vkt__run_samples(p, &r);
        vkt__page_heading(p, 2, "Configuration");
        vkt__page_details(p, "the complete configuration (YAML)",
                          r.rec.config ? r.rec.config : "not recorded");
        st = p->st != VKT_OK ? p->st : r.st;
    }
    vkt__run_view_finish(&r);
    return st;
}

typedef struct listener {
    vkt_finding_fn fn;
    void *user;
} listener;

static void tell_listener(void *to, const char *name, const char *title, const char *text)
{
    const listener *l = to;
    (void)title;
    l->fn(l->user, name, text);
}

vkt_status vkt_report_findings(const char *run_dir, vkt_finding_fn on_finding, void *user)
{
    vkt__run_view r = { .dir = run_dir };
    listener l = { on_finding, user };
    vkt_status st = load(&r);
    if (st == VKT_OK) vkt__run_findings(&r, tell_listener, &l);
    if (st == VKT_OK) st = r.st;
    vkt__run_view_finish(&r);
    return st;
}
