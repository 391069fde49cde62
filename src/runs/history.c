/* Reads a run's metrics.jsonl back: vkt_history. It reads lines while the run appends them, so that
 * a run in progress can be watched; damaged lines are left out and counted. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "base/os.h"
#include "base/words.h"
#include "runs/history.h"

struct vkt__history_private {
    char *path;
    uint64_t offset; /* of the first byte not read yet */
    uint64_t line;
    size_t cap, cap_evals;
    bool said;
};

static double number(const json_t *o, const char *key, double fallback)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : fallback;
}

static bool is_null(const json_t *o, const char *key)
{
    return json_is_null(json_object_get(o, key));
}

static void keep_step(vkt_history *h, const vkt_history_step *s)
{
    struct vkt__history_private *p = h->priv;
    h->steps = vkt__grow(h->steps, h->n_steps, &p->cap, sizeof *h->steps);
    vkt_history_step *to = &h->steps[h->n_steps++];
    *to = *s;
    to->overflow = vkt__is_overflow(to);
}

static void add_step(vkt_history *h, const json_t *o, uint64_t step)
{
    const vkt_history_step s = {
        .step = step,
        .loss = number(o, "loss", NAN),
        .accuracy = number(o, "accuracy", NAN),
        .grad_norm = number(o, "grad_norm", is_null(o, "grad_norm") ? INFINITY : NAN),
        .clip = number(o, "clip", 1),
        .lr = number(o, "lr", NAN),
        .items_per_s = number(o, "items_per_s", NAN),
        .input_wait = number(o, "input_wait", NAN),
        .seconds = number(o, "seconds", NAN),
        .loss_scale = number(o, "loss_scale", 1),
        .updated = number(o, "update_ok", 1) > 0,
    };
    keep_step(h, &s);
}

/* ---- a step's line as vkt__metrics_add writes it; a million lines are read in a second ---- */

static const struct {
    const char *name;
    size_t offset;
    double absent;
} step_fields[] = {
    { "loss", offsetof(vkt_history_step, loss), NAN },
    { "accuracy", offsetof(vkt_history_step, accuracy), NAN },
    { "grad_norm", offsetof(vkt_history_step, grad_norm), NAN },
    { "clip", offsetof(vkt_history_step, clip), 1 },
    { "lr", offsetof(vkt_history_step, lr), NAN },
    { "items_per_s", offsetof(vkt_history_step, items_per_s), NAN },
    { "input_wait", offsetof(vkt_history_step, input_wait), NAN },
    { "seconds", offsetof(vkt_history_step, seconds), NAN },
    { "loss_scale", offsetof(vkt_history_step, loss_scale), 1 },
};

/* A number of JSON. */
static bool take_number(const char **at, double *out)
{
    enum { MOST = 31 };
    char text[MOST + 1];
    size_t n = strspn(*at, "0123456789+-.eE");
    const char *digit = *at + (**at == '-');
    bool zero = *digit == '0' && digit[1] >= '0' && digit[1] <= '9';
    if (n == 0 || n > MOST || zero || *digit < '0' || *digit > '9') return false;
    memcpy(text, *at, n);
    text[n] = 0;
    const char *point = strchr(text, '.');
    if (point && (point[1] < '0' || point[1] > '9')) return false;
    if (!point && n > 18) return false; /* perhaps too large for a whole number */
    *at += n;
    if (!vkt__number(text, out)) return false;
    if (!strpbrk(text, ".eE")) *out += 0.0; /* -0 is a whole number, which has no sign */
    return true;
}

/* ,"NAME":NUMBER repeated, up to the brace that ends the line. */
static bool take_fields(const char *at, const char *end, vkt_history_step *s, double *update_ok)
{
    for (; *at == ',';) {
        double v;
        if (at[1] != '"') return false;
        const char *name = at + 2;
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789");
        at = name + n + 2;
        if (strncmp(name + n, "\":", 2) != 0 || !take_number(&at, &v)) return false;
        for (size_t i = 0; i < VKT_COUNT(step_fields); i++)
            if (strlen(step_fields[i].name) == n && !memcmp(step_fields[i].name, name, n))
                memcpy((char *)s + step_fields[i].offset, &v, sizeof v);
        if (n == strlen("update_ok") && !memcmp(name, "update_ok", n)) *update_ok = v;
        if ((n == 4 && (!memcmp(name, "step", n) || !memcmp(name, "kind", n)))) return false;
    }
    return *at == '}' && at + 1 == end;
}

/* False: the line is not written so, and is read as JSON. It ends before `n`, where no character
 * of a number is. */
static bool read_step(vkt_history *h, const char *line, size_t n)
{
    static const char begin[] = "{\"kind\":\"train\",\"step\":";
    const size_t skip = sizeof begin - 1;
    vkt_history_step s = { 0 };
    double step, update_ok = 1;
    if (n <= skip || memcmp(line, begin, skip) || line[n - 1] != '}') return false;
    const char *at = line + skip;
    size_t digits = strspn(at, "0123456789");
    if (digits > 15 || at[digits] != ',' || !take_number(&at, &step)) return false;
    s.step = (uint64_t)step;
    for (size_t i = 0; i < VKT_COUNT(step_fields); i++)
        memcpy((char *)&s + step_fields[i].offset, &step_fields[i].absent, sizeof(double));
    if (!take_fields(at, line + n, &s, &update_ok)) return false;
    s.updated = update_ok > 0;
    keep_step(h, &s);
    return true;
}

/* Counts of a class list; NULL where the array is none or holds something else. */
static uint64_t *counts(const json_t *a, uint32_t n)
{
    uint64_t *out = vkt__alloc((n + 1) * sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(a, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0) {
            free(out);
            return NULL;
        }
        out[i] = (uint64_t)json_integer_value(v);
    }
    return out;
}

static const struct {
    const char *name;
    size_t offset;
} measures[] = {
    { "loss", offsetof(vkt_history_eval, loss) },
    { "accuracy", offsetof(vkt_history_eval, accuracy) },
    { "balanced_accuracy", offsetof(vkt_history_eval, balanced_accuracy) },
    { "macro_f1", offsetof(vkt_history_eval, macro_f1) },
    { "micro_f1", offsetof(vkt_history_eval, micro_f1) },
    { "roc_auc", offsetof(vkt_history_eval, roc_auc) },
    { "average_precision", offsetof(vkt_history_eval, average_precision) },
    { "ece", offsetof(vkt_history_eval, ece) },
    { "mean_iou", offsetof(vkt_history_eval, mean_iou) },
    { "psnr", offsetof(vkt_history_eval, psnr) },
    { "ssim", offsetof(vkt_history_eval, ssim) },
    { "map", offsetof(vkt_history_eval, map) },
    { "map50", offsetof(vkt_history_eval, map50) },
    { "oks_ap", offsetof(vkt_history_eval, oks_ap) },
    { "pck", offsetof(vkt_history_eval, pck) },
    { "point_error", offsetof(vkt_history_eval, point_error) },
    { "instance_ap50", offsetof(vkt_history_eval, instance_ap50) },
    { "mae", offsetof(vkt_history_eval, mae) },
    { "rmse", offsetof(vkt_history_eval, rmse) },
    { "r2", offsetof(vkt_history_eval, r2) },
};

static void add_eval(vkt_history *h, const json_t *o, uint64_t step)
{
    struct vkt__history_private *p = h->priv;
    const char *split = json_string_value(json_object_get(o, "split"));
    const json_t *all = json_object_get(o, "class_n"), *hits = json_object_get(o, "class_correct");
    h->evals = vkt__grow(h->evals, h->n_evals, &p->cap_evals, sizeof *h->evals);
    vkt_history_eval *e = &h->evals[h->n_evals++];
    *e = (vkt_history_eval) { .step = step,
                              .seconds = number(o, "seconds", NAN),
                              .n = (uint64_t)fmax(number(o, "n", 0), 0) };
    for (size_t i = 0; i < VKT_COUNT(measures); i++) {
        double v = number(o, measures[i].name, NAN);
        memcpy((char *)e + measures[i].offset, &v, sizeof v);
    }
    snprintf(e->split, sizeof e->split, "%s", split ? split : "");
    if (!json_is_array(all) || json_array_size(all) != json_array_size(hits)) return;
    e->n_classes = (uint32_t)json_array_size(all);
    e->class_count = counts(all, e->n_classes);
    e->class_correct = counts(hits, e->n_classes);
    if (!e->class_count || !e->class_correct) {
        free(e->class_count);
        free(e->class_correct);
        e->class_count = e->class_correct = NULL;
        e->n_classes = 0;
    }
}

static void read_line(vkt_history *h, const char *line, size_t n)
{
    if (read_step(h, line, n)) return;
    json_t *o = json_loadb(line, n, 0, NULL);
    const char *kind = json_string_value(json_object_get(o, "kind"));
    const json_t *step = json_object_get(o, "step");
    bool ok = kind && json_is_integer(step) && json_integer_value(step) >= 0;
    if (ok && !strcmp(kind, "train"))
        add_step(h, o, (uint64_t)json_integer_value(step));
    else if (ok && !strcmp(kind, "eval"))
        add_eval(h, o, (uint64_t)json_integer_value(step));
    else {
        if (!h->n_damaged) h->first_damaged = h->priv->line;
        h->n_damaged++;
    }
    json_decref(o);
}

/* A resumed run truncates its file: then everything is read again. */
static void start_over(vkt_history *h)
{
    for (size_t i = 0; i < h->n_evals; i++) {
        free(h->evals[i].class_count);
        free(h->evals[i].class_correct);
    }
    h->n_steps = h->n_evals = 0;
    h->n_damaged = h->first_damaged = 0;
    h->priv->offset = h->priv->line = 0;
}

vkt_status vkt_history_read(vkt_history *h, uint64_t most_bytes, bool *more)
{
    enum { CHUNK = 1 << 20 };
    struct vkt__history_private *p = h->priv;
    FILE *f = NULL;
    vkt__str text = { 0 };
    int64_t size = vkt__file_size(p->path);
    if (size >= 0 && (uint64_t)size < p->offset) start_over(h);
    vkt_status st = vkt__file_open(p->path, &f);
    char *chunk = st == VKT_OK ? vkt__alloc(CHUNK) : NULL;
    if (st == VKT_OK && !vkt__file_seek(f, p->offset))
        st = vkt__fail(VKT_E_IO, "history", "can't read more of '%s'", p->path);
    uint64_t n_read = 0;
    *more = false;
    for (size_t got = 1; st == VKT_OK && got && !*more;) {
        size_t at = 0;
        got = fread(chunk, 1, CHUNK, f);
        n_read += got;
        vkt__str_add(&text, chunk, got);
        for (const char *nl; got && (nl = memchr(text.data + at, '\n', text.len - at));) {
            size_t n = (size_t)(nl - (text.data + at));
            p->line++;
            if (n) read_line(h, text.data + at, n);
            at += n + 1;
        }
        p->offset += at;
        memmove(text.data ? text.data : chunk, text.data ? text.data + at : chunk, text.len - at);
        text.len -= at;
        *more = got && n_read >= most_bytes && at; /* a line is read whole, however long it is */
    }
    if (f) fclose(f);
    free(chunk);
    vkt__str_finish(&text);
    if (h->n_damaged && !p->said) {
        vkt_log(VKT_LOG_WARN, "history",
                "'%s': %llu damaged line%s skipped, the first is line %llu", p->path,
                (unsigned long long)h->n_damaged, h->n_damaged == 1 ? " is" : "s are",
                (unsigned long long)h->first_damaged);
        p->said = true;
    }
    return st;
}

vkt_status vkt_history_update(vkt_history *h)
{
    bool more;
    return vkt_history_read(h, UINT64_MAX, &more);
}

vkt_status vkt_history_open(const char *run_dir, vkt_history **out)
{
    vkt_history *h = *out = vkt__alloc(sizeof *h);
    vkt__str path = { 0 };
    vkt__str_printf(&path, "%s/metrics.jsonl", run_dir);
    h->priv = vkt__alloc(sizeof *h->priv);
    h->priv->path = path.data;
    return VKT_OK;
}

vkt_status vkt_history_load(const char *run_dir, vkt_history **out)
{
    vkt_status st = vkt_history_open(run_dir, out);
    if (st == VKT_OK) st = vkt_history_update(*out);
    if (st != VKT_OK) vkt_history_destroy(out);
    return st;
}

void vkt_history_destroy(vkt_history **h)
{
    if (!*h) return;
    start_over(*h);
    free((*h)->steps);
    free((*h)->evals);
    free((*h)->priv->path);
    free((*h)->priv);
    free(*h);
    *h = NULL;
}

double vkt_history_metric(const vkt_history_eval *e, const char *metric)
{
    double v = NAN;
    for (size_t i = 0; i < VKT_COUNT(measures); i++)
        if (!strcmp(measures[i].name, metric))
            memcpy(&v, (const char *)e + measures[i].offset, sizeof v);
    return v;
}

bool vkt__is_overflow(const vkt_history_step *s)
{
    return !s->updated && isfinite(s->loss) && s->loss_scale > 1;
}
