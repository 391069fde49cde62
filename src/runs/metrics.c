/* metrics.h. Lines are short and flushed one by one: after a crash at most the last one is
 * half-written, which the next opening cuts off. */
#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/format.h"
#include "base/number.h"
#include "base/os.h"
#include "runs/metrics.h"
#include "recipe/options.h"

typedef struct column {
    const char *name;
    size_t offset;
} column;

#define AT(field) offsetof(vkt__metrics_row, field)
static const column columns[] = {
    { "loss", AT(loss) },
    { "accuracy", AT(accuracy) },
    { "mae", AT(mae) },
    { "rmse", AT(rmse) },
    { "r2", AT(r2) },
    { "perplexity", AT(perplexity) },
    { "bits_per_byte", AT(bits_per_byte) },
    { "rewards_chosen", AT(rewards_chosen) },
    { "rewards_rejected", AT(rewards_rejected) },
    { "rewards_margin", AT(rewards_margin) },
    { "balanced_accuracy", AT(balanced_accuracy) },
    { "macro_f1", AT(macro_f1) },
    { "micro_f1", AT(micro_f1) },
    { "roc_auc", AT(roc_auc) },
    { "average_precision", AT(average_precision) },
    { "ece", AT(ece) },
    { "mean_iou", AT(mean_iou) },
    { "psnr", AT(psnr) },
    { "ssim", AT(ssim) },
    { "map", AT(map) },
    { "map50", AT(map50) },
    { "oks_ap", AT(oks_ap) },
    { "pck", AT(pck) },
    { "point_error", AT(point_error) },
    { "instance_ap50", AT(instance_ap50) },
    { "grad_norm", AT(grad_norm) },
    { "clip", AT(clip) },
    { "lr", AT(lr) },
    { "items_per_s", AT(items_per_s) },
    { "input_wait", AT(input_wait) },
    { "update_ok", AT(update_ok) },
    { "loss_scale", AT(loss_scale) },
    { "skipped", AT(skipped) },
    { "seconds", AT(seconds) },
    { "checkpoint", AT(checkpoint) },
};

struct vkt__metrics {
    FILE *jsonl, *csv;
    char *jsonl_path, *csv_path;
    bool in_csv[VKT_COUNT(columns)]; /* a run of an older version keeps the columns it began with */
};

vkt__metrics_row vkt__metrics_row_empty(uint64_t step, const char *split)
{
    vkt__metrics_row r = { .step = step, .split = split };
    for (size_t i = 0; i < VKT_COUNT(columns); i++) {
        double nan = NAN;
        memcpy((char *)&r + columns[i].offset, &nan, sizeof nan);
    }
    return r;
}

static double cell(const vkt__metrics_row *r, size_t i)
{
    double v;
    memcpy(&v, (const char *)r + columns[i].offset, sizeof v);
    return v;
}

/* ---- cutting back ---- */

typedef char split_name[32];

static bool jsonl_step(const char *line, size_t n, uint64_t *step)
{
    json_t *j = json_loadb(line, n, 0, NULL);
    const json_t *s = json_object_get(j, "step");
    bool ok = json_is_integer(s) && json_integer_value(s) >= 0;
    if (ok) *step = (uint64_t)json_integer_value(s);
    json_decref(j);
    return ok;
}

/* kind,step,... ; the heading counts as step 0. */
static bool csv_step(const char *line, size_t n, uint64_t *step)
{
    const char *comma = memchr(line, ',', n);
    *step = 0;
    if (!comma || (strncmp(line, "train,", 6) && strncmp(line, "eval,", 5)))
        return n > 4 && !strncmp(line, "kind,", 5);
    size_t digits = strspn(comma + 1, "0123456789");
    *step = strtoull(comma + 1, NULL, 10);
    return digits > 0 && digits < 20 && comma[1 + digits] == ',';
}

/* A copy of the text from `at` to the character `end`; "" where there is none. */
static void copy_to(const char *at, const char *line_end, char end, split_name out)
{
    const char *to = at ? memchr(at, end, (size_t)(line_end - at)) : NULL;
    *out = 0;
    if (to) snprintf(out, sizeof(split_name), "%.*s", (int)(to - at), at);
}

/* The split of an evaluation; false: it is none. As vkt__metrics_add writes it. */
static bool jsonl_split(const char *line, size_t n, split_name out)
{
    static const char begin[] = "{\"kind\":\"eval\",\"step\":", name[] = ",\"split\":\"";
    if (n < sizeof begin || strncmp(line, begin, sizeof begin - 1)) return false;
    const char *at = line + sizeof begin - 1;
    at += strspn(at, "0123456789");
    copy_to(strncmp(at, name, sizeof name - 1) ? NULL : at + sizeof name - 1, line + n, '"', out);
    return true;
}

static bool csv_split(const char *line, size_t n, split_name out)
{
    if (n < 5 || strncmp(line, "eval,", 5)) return false;
    const char *comma = memchr(line + 5, ',', n - 5);
    copy_to(comma ? comma + 1 : NULL, line + n, ',', out);
    return true;
}

/* The evaluations after one step that came before its checkpoint: one of the split that selects,
 * the first, and with train.ema one of the average. Later ones are of the run's conclusion, which
 * will come again. */
typedef struct {
    split_name first;
    bool average;
} evaluated;

static bool came_before(evaluated *e, const split_name split)
{
    split_name average;
    if (!*e->first) {
        memcpy(e->first, split, sizeof e->first);
        return true;
    }
    snprintf(average, sizeof average, "%.*s_ema", (int)sizeof average - 5, e->first);
    if (e->average || strcmp(split, average) != 0) return false;
    return e->average = true;
}

typedef bool (*step_fn)(const char *line, size_t n, uint64_t *step);

/* Where the lines begin that decide: those behind the last one of a step < keep, which stay with
 * all before them, as steps rise. A resumption reads the end of a long file alone. */
static size_t find_tail(const char *data, size_t n, uint64_t keep, step_fn step_of)
{
    size_t end = n;
    while (end > 0 && data[end - 1] != '\n') end--;
    while (end > 0) {
        size_t at = end - 1;
        uint64_t step;
        while (at > 0 && data[at - 1] != '\n') at--;
        if (step_of(data + at, end - 1 - at, &step) && step < keep) break;
        end = at;
    }
    return end;
}

/* Cuts after the last whole line of a step <= keep. */
static vkt_status cut(const char *path, uint64_t keep, step_fn step_of,
                      bool (*split_of)(const char *, size_t, split_name))
{
    vkt__map map;
    evaluated before = { 0 };
    bool there;
    vkt_status st = vkt__file_look(path, &there);
    if (st != VKT_OK || !there) return st;
    st = vkt__file_map(path, &map);
    if (st != VKT_OK) return st;
    const char *data = map.data;
    size_t n = map.n, end = find_tail(data, n, keep, step_of);
    for (size_t at = end; at < n;) {
        const char *nl = memchr(data + at, '\n', n - at);
        if (!nl) break;
        size_t len = (size_t)(nl - (data + at));
        uint64_t step;
        split_name split;
        if (step_of(data + at, len, &step) && step <= keep) {
            if (step == keep && split_of(data + at, len, split) && !came_before(&before, split))
                break;
            end = at + len + 1;
        }
        at += len + 1;
    }
    vkt__file_unmap(&map);
    return end < n ? vkt__file_truncate(path, end) : VKT_OK;
}

/* ---- rows ---- */

static char *join(const char *dir, const char *name)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "%s/%s", dir, name);
    return s.data;
}

/* A run folder may come from somebody else: what a link in it leads to is not ours to write. */
static vkt_status refuse_link(const char *path)
{
    return vkt__is_link(path)
               ? vkt__fail(VKT_E_IO, "run",
                           "'%s' is a symbolic link, which is not followed for writing: put the "
                           "file itself there",
                           path)
               : VKT_OK;
}

/* Which columns the file's heading names. */
static vkt_status read_heading(vkt__metrics *m)
{
    enum { MOST = 4096 }; /* of a heading, which names the columns above at most */
    char data[MOST + 1];
    FILE *f;
    vkt_status st = vkt__file_open(m->csv_path, &f);
    if (st != VKT_OK) return st;
    data[fread(data, 1, MOST, f)] = 0;
    fclose(f);
    size_t end = strcspn(data, "\r\n");
    for (size_t i = 0; i < VKT_COUNT(columns); i++) m->in_csv[i] = false;
    for (size_t at = 0, len; at < end; at += len + 1) {
        len = strcspn(data + at, ",\r\n");
        for (size_t i = 0; i < VKT_COUNT(columns); i++)
            m->in_csv[i] |=
                strlen(columns[i].name) == len && !strncmp(columns[i].name, data + at, len);
    }
    return VKT_OK;
}

vkt_status vkt__metrics_open(const char *run_dir, uint64_t resume_step, vkt__metrics **out)
{
    vkt_status st = VKT_OK;
    vkt__metrics *m = vkt__alloc(sizeof *m);
    *out = NULL;
    for (size_t i = 0; i < VKT_COUNT(columns); i++) m->in_csv[i] = true;
    if (!run_dir) {
        *out = m;
        return VKT_OK;
    }
    m->jsonl_path = join(run_dir, "metrics.jsonl");
    m->csv_path = join(run_dir, "metrics.csv");
    VKT_TRY(refuse_link(m->jsonl_path));
    VKT_TRY(refuse_link(m->csv_path));
    if (resume_step == VKT__METRICS_NEW) {
        VKT_TRY(vkt__file_create(m->jsonl_path, &m->jsonl));
        VKT_TRY(vkt__file_create(m->csv_path, &m->csv));
    } else {
        VKT_TRY(cut(m->jsonl_path, resume_step, jsonl_step, jsonl_split));
        VKT_TRY(cut(m->csv_path, resume_step, csv_step, csv_split));
        VKT_TRY(vkt__file_append(m->jsonl_path, &m->jsonl));
        VKT_TRY(vkt__file_append(m->csv_path, &m->csv));
    }
    if (vkt__file_size(m->csv_path) == 0) {
        fprintf(m->csv, "kind,step,split");
        for (size_t i = 0; i < VKT_COUNT(columns); i++) fprintf(m->csv, ",%s", columns[i].name);
        fprintf(m->csv, ",n\n");
        fflush(m->csv);
    } else {
        VKT_TRY(read_heading(m));
    }
    *out = m;
    return VKT_OK;
fail:
    vkt__metrics_close(&m);
    return st;
}

static void add_counts(vkt__str *j, const char *name, const uint64_t *v, uint32_t n)
{
    vkt__str_printf(j, ",\"%s\":[", name);
    for (uint32_t i = 0; i < n; i++)
        vkt__str_printf(j, "%s%llu", i ? "," : "", (unsigned long long)v[i]);
    vkt__str_add(j, "]", 1);
}

/* "losses":{"NAME":0.5,...}: layers' names, which need no escapes. */
static void add_losses(vkt__str *j, const vkt__metrics_row *r)
{
    char number[32];
    if (r->n_losses) vkt__str_printf(j, ",\"losses\":{");
    for (uint32_t i = 0; i < r->n_losses; i++) {
        vkt__format(number, sizeof number, "%.9g", r->losses[i]);
        vkt__str_printf(j, "%s\"%s\":%s", i ? "," : "", r->loss_names[i],
                        isfinite(r->losses[i]) ? number : "null");
    }
    if (r->n_losses) vkt__str_printf(j, "}");
}

vkt_status vkt__metrics_add(vkt__metrics *m, const vkt__metrics_row *r)
{
    vkt__str j = { 0 }, c = { 0 };
    char number[32];
    const char *kind = r->split ? "eval" : "train";
    vkt__str_printf(&j, "{\"kind\":\"%s\",\"step\":%llu", kind, (unsigned long long)r->step);
    vkt__str_printf(&c, "%s,%llu,%s", kind, (unsigned long long)r->step, r->split ? r->split : "");
    if (r->split) vkt__str_printf(&j, ",\"split\":\"%s\"", r->split);
    for (size_t i = 0; i < VKT_COUNT(columns); i++) {
        double v = cell(r, i);
        bool shown = isfinite(v);
        if (shown)
            vkt__format(number, sizeof number, "%.9g",
                        v); /* float32 exactly; quicker than the shortest */
        /* "not measured" is left out; a loss or norm that is not finite is news. */
        if (shown)
            vkt__str_printf(&j, ",\"%s\":%s", columns[i].name, number);
        else if (i == 0 || isinf(v))
            vkt__str_printf(&j, ",\"%s\":null", columns[i].name);
        if (m->in_csv[i])
            vkt__str_printf(&c, ",%s", shown ? number : i == 0 ? "nan" : isinf(v) ? "inf" : "");
    }
    if (r->n) vkt__str_printf(&j, ",\"n\":%llu", (unsigned long long)r->n);
    if (r->n_classes) {
        add_counts(&j, "class_n", r->class_count, r->n_classes);
        add_counts(&j, "class_correct", r->class_correct, r->n_classes);
        if (r->class_predicted) add_counts(&j, "class_predicted", r->class_predicted, r->n_classes);
    }
    add_losses(&j, r);
    vkt__str_printf(&j, "}\n");
    if (r->n)
        vkt__str_printf(&c, ",%llu\n", (unsigned long long)r->n);
    else
        vkt__str_printf(&c, ",\n");
    errno = 0;
    if (m->jsonl) {
        fwrite(j.data, 1, j.len, m->jsonl);
        fwrite(c.data, 1, c.len, m->csv);
    }
    vkt__str_finish(&j);
    vkt__str_finish(&c);
    if (!m->jsonl) return VKT_OK;
    const char *bad = fflush(m->jsonl) != 0 || ferror(m->jsonl) ? m->jsonl_path
                      : fflush(m->csv) != 0 || ferror(m->csv)   ? m->csv_path
                                                                : NULL;
    return bad ? vkt__write_failed("train", bad) : VKT_OK;
}

vkt_status vkt__metrics_sync(vkt__metrics *m)
{
    if (!m->jsonl) return VKT_OK;
    bool bad = !vkt__file_sync(m->jsonl);
    if (bad || !vkt__file_sync(m->csv))
        return vkt__fail(VKT_E_IO, "train", "can't write '%s' to the disk: %s",
                         bad ? m->jsonl_path : m->csv_path, strerror(errno));
    return VKT_OK;
}

void vkt__metrics_close(vkt__metrics **m)
{
    if (!*m) return;
    if ((*m)->jsonl) fclose((*m)->jsonl);
    if ((*m)->csv) fclose((*m)->csv);
    free((*m)->jsonl_path);
    free((*m)->csv_path);
    free(*m);
    *m = NULL;
}

/* ---- predictions ---- */

static void class_cell(vkt__str *s, const vkt__predictions *p, uint32_t k)
{
    if (k < p->n_outputs) vkt__str_csv(s, p->class_names[k]);
}

static void add_number(vkt__str *s, float v)
{
    char number[32];
    vkt__str_printf(s, "%s", vkt__double_text((double)v, true, number));
}

/* A heading of a column that stands for one output. */
static void add_heading(vkt__str *s, const char *what, const char *name)
{
    vkt__str text = { 0 };
    vkt__str_printf(&text, "%s(%s)", what, name);
    vkt__str_add(s, ",", 1);
    vkt__str_csv(s, text.data);
    vkt__str_finish(&text);
}

static void add_headings(vkt__str *s, const vkt__predictions *p)
{
    bool one = p->class_names || p->n_outputs == 1;
    vkt__str_printf(s, "index%s%s", one ? ",target,predicted" : "",
                    p->class_names ? ",correct" : "");
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        if (p->class_names) add_heading(s, "p", p->class_names[k]);
        if (one || (p->outputs && p->outputs[k].value && !p->outputs[k].n_classes)) continue;
        add_heading(s, "target", p->outputs ? p->outputs[k].label : p->target_names[k]);
        add_heading(s, "predicted", p->outputs ? p->outputs[k].label : p->target_names[k]);
    }
    for (uint32_t k = 0; k < p->n_outputs && p->outputs; k++)
        if (p->outputs[k].value) add_heading(s, "p", p->target_names[k]);
    vkt__str_add(s, "\n", 1);
}

/* As a float where that keeps it, else with the digits that are right: some more than a float's. */
static void add_exact(vkt__str *s, double v)
{
    if (fabs(v) < 1e5)
        add_number(s, (float)v);
    else
        vkt__str_printf(s, "%.15g", v);
}

/* The class with the largest number, of the label whose first output is k. */
static const char *top_class(const vkt__predictions *p, uint32_t k, const float *v)
{
    uint32_t top = k;
    for (uint32_t i = 1; i < p->outputs[k].n_classes; i++)
        if (v[k + i] > v[top]) top = k + i;
    return p->outputs[top].value;
}

static void add_numbers(vkt__str *s, const vkt__predictions *p, uint64_t i)
{
    uint32_t n = p->n_outputs;
    for (uint32_t k = 0; k < n; k++) {
        if (p->outputs && p->outputs[k].value) {
            if (!p->outputs[k].n_classes) continue;
            vkt__str_add(s, ",", 1);
            if (p->target_value) vkt__str_csv(s, top_class(p, k, p->target_value + i * n));
            vkt__str_add(s, ",", 1);
            vkt__str_csv(s, top_class(p, k, p->value + i * n));
            continue;
        }
        vkt__str_add(s, ",", 1);
        if (p->target_value)
            add_exact(s, p->number ? p->number[(2 * i + 1) * n + k]
                                   : (double)p->target_value[i * n + k]);
        vkt__str_add(s, ",", 1);
        add_exact(s, p->number ? p->number[2 * i * n + k] : (double)p->value[i * n + k]);
    }
}

/* The labels whose v is at least the threshold, with | between them. */
static void add_set(vkt__str *s, const vkt__predictions *p, const float *v, const float *threshold)
{
    vkt__str set = { 0 };
    for (uint32_t k = 0; k < p->n_outputs; k++)
        if (v[k] >= (threshold ? threshold[k] : 0.5f))
            vkt__str_printf(&set, "%s%s", set.len ? "|" : "", p->class_names[k]);
    if (set.len) vkt__str_csv(s, set.data);
    vkt__str_finish(&set);
}

static void add_sets(vkt__str *s, const vkt__predictions *p, const float *v, const float *target)
{
    bool correct = true;
    for (uint32_t k = 0; k < p->n_outputs && target; k++)
        correct &= (target[k] > 0) == (v[k] >= (p->threshold ? p->threshold[k] : 0.5f));
    vkt__str_add(s, ",", 1);
    if (target) add_set(s, p, target, NULL);
    vkt__str_add(s, ",", 1);
    add_set(s, p, v, p->threshold);
    vkt__str_printf(s, ",%s", !target ? "" : correct ? "1" : "0");
}

static void add_class(vkt__str *s, const vkt__predictions *p, const float *v, uint64_t i)
{
    uint32_t top = 0;
    for (uint32_t k = 1; k < p->n_outputs; k++)
        if (v[k] > v[top]) top = k;
    if (p->threshold && p->n_outputs == 2) top = v[1] >= p->threshold[1];
    vkt__str_add(s, ",", 1);
    if (p->target) class_cell(s, p, p->target[i]);
    vkt__str_add(s, ",", 1);
    class_cell(s, p, top);
    vkt__str_printf(s, ",%s", !p->target ? "" : p->target[i] == top ? "1" : "0");
}

vkt_status vkt__predictions_write(const char *path, const vkt__predictions *p)
{
    vkt__str s = { 0 };
    add_headings(&s, p);
    for (uint64_t i = 0; i < p->n; i++) {
        const float *v = p->value + i * p->n_outputs,
                    *target = p->target_value ? p->target_value + i * p->n_outputs : NULL;
        vkt__str_printf(&s, "%llu", (unsigned long long)(p->index ? p->index[i] : i));
        if (!p->class_names)
            add_numbers(&s, p, i);
        else if (p->several)
            add_sets(&s, p, v, target);
        else
            add_class(&s, p, v, i);
        for (uint32_t k = 0; (p->class_names || p->outputs) && k < p->n_outputs; k++) {
            if (p->outputs && !p->outputs[k].value) continue;
            vkt__str_add(&s, ",", 1);
            add_number(&s, v[k]);
        }
        vkt__str_add(&s, "\n", 1);
    }
    vkt_status st = vkt__file_replace(path, s.data, s.len);
    vkt__str_finish(&s);
    return st;
}

vkt_status vkt__predictions_save(const char *run_dir, uint64_t step, const vkt__predictions *p)
{
    vkt__arena a = { 0 };
    vkt_status st = vkt__mkdirs(vkt__arena_printf(&a, "%s/predictions", run_dir));
    if (st == VKT_OK)
        st = vkt__predictions_write(vkt__arena_printf(&a, "%s/predictions/step-%08llu.csv", run_dir,
                                                      (unsigned long long)step),
                                    p);
    vkt__arena_finish(&a);
    return st;
}
