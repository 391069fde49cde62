/* run.h. run.json is one table of fields, written and read by a loop. */
#include <jansson.h>
#include <math.h>

#include "base/number.h"
#include "base/os.h"
#include "formats/json_flat.h"
#include "runs/checkpoint_set.h"
#include "runs/run_folder.h"
#include "runs/run_note.h"

enum { RUN_LIMIT = 4 << 20 };

typedef enum kind { TEXT, COUNT, NUMBER } kind;
typedef struct field {
    const char *name;
    kind kind;
    size_t offset;
} field;

#define F(name, kind)                                                                              \
    {                                                                                              \
#name, kind, offsetof(vkt__run_record, name)                                               \
    }
static const field fields[] = {
    F(name, TEXT),
    F(note, TEXT),
    F(status, TEXT),
    F(error, TEXT),
    F(started, TEXT),
    F(finished, TEXT),
    F(command, TEXT),
    F(source, TEXT),
    F(folder, TEXT),
    F(commit, TEXT),
    F(changes, TEXT),
    F(device, TEXT),
    F(driver, TEXT),
    F(data, TEXT),
    F(seed, COUNT),
    F(data_seed, COUNT),
    F(n_params, COUNT),
    F(n_train, COUNT),
    F(n_valid, COUNT),
    F(n_test, COUNT),
    F(n_shared, COUNT),
    F(n_near, COUNT),
    F(n_judged, COUNT),
    F(n_doubtful, COUNT),
    F(judged_wrong, NUMBER),
    F(surest_wrong, NUMBER),
    F(surest_quarter_wrong, NUMBER),
    F(n_resumes, COUNT),
    F(step, COUNT),
    F(total, COUNT),
    F(metric, TEXT),
    F(best_metric, NUMBER),
    F(best_step, COUNT),
    F(valid_loss, NUMBER),
    F(valid_accuracy, NUMBER),
    F(test_loss, NUMBER),
    F(test_accuracy, NUMBER),
    F(valid_mae, NUMBER),
    F(test_mae, NUMBER),
    F(items_per_s, NUMBER),
    F(seconds, NUMBER),
    F(micro_batch, COUNT),
    F(eval_batch, COUNT),
    F(ranks, COUNT),
    F(shares, TEXT),
    F(exchange_share, NUMBER),
    F(exchange_overlap, NUMBER),
    F(exchange_bytes, COUNT),
    F(baseline, TEXT),
    F(baseline_about, TEXT),
    F(baseline_verdict, TEXT),
    F(baseline_split, TEXT),
    F(baseline_examples, COUNT),
    F(baseline_metric, NUMBER),
    F(baseline_net, NUMBER),
    F(baseline_error, NUMBER),
    F(baseline_constant, NUMBER),
    F(baseline_accuracy, NUMBER),
    F(baseline_net_accuracy, NUMBER),
    F(baseline_test, NUMBER),
    F(baseline_test_net, NUMBER),
    F(baseline_test_error, NUMBER),
    F(baseline_test_constant, NUMBER),
    F(baseline_test_accuracy, NUMBER),
    F(baseline_test_net_accuracy, NUMBER),
    F(baseline_seconds, NUMBER),
    F(config, TEXT),
};

vkt__run_record vkt__run_record_empty(void)
{
    vkt__run_record r = { 0 };
    const double nan = NAN;
    for (size_t i = 0; i < VKT_COUNT(fields); i++)
        if (fields[i].kind == NUMBER) memcpy((char *)&r + fields[i].offset, &nan, sizeof nan);
    return r;
}

/* ---- run.json ---- */

static json_t *field_json(const char *at, kind k)
{
    const char *text;
    uint64_t u;
    double d;
    switch (k) {
    case TEXT:
        memcpy(&text, at, sizeof text);
        return text ? json_string(text) : json_null();
    case COUNT:
        memcpy(&u, at, sizeof u);
        /* JSON's integers end at 2^63; a seed may not. */
        return u <= INT64_MAX ? json_integer((json_int_t)u)
                              : json_sprintf("%llu", (unsigned long long)u);
    case NUMBER:
        memcpy(&d, at, sizeof d);
        return isfinite(d) ? json_real(d) : json_null();
    }
    return NULL;
}

vkt_status vkt__run_save(const vkt__run *r, const vkt__run_record *rec)
{
    json_t *root = json_object();
    vkt__str path = { 0 };
    vkt__run_record copy = *rec;
    char now[32];
    bool bad = json_object_set_new(root, "format", json_string("vktrain run")) != 0;
    bad |= json_object_set_new(root, "version", json_string(VKT_VERSION)) != 0;
    vkt__time_iso(now);
    if (!copy.started) copy.started = now;
    for (size_t i = 0; i < VKT_COUNT(fields); i++) {
        json_t *v = field_json((const char *)&copy + fields[i].offset, fields[i].kind);
        /* A driver's name or a command line that is not UTF-8 must not cost the run. */
        if (!v) v = json_string("(not UTF-8)");
        bad |= json_object_set_new(root, fields[i].name, v) != 0;
    }
    char *text = bad ? NULL : json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    vkt__str_printf(&path, "%s/run.json", r->dir);
    vkt__str out = { 0 };
    vkt__str_printf(&out, "%s\n", text ? text : "");
    vkt_status st = text ? vkt__file_replace(path.data, out.data, out.len)
                         : vkt__fail(VKT_E_OOM_HOST, "run", "no memory for '%s'", path.data);
    free(text);
    vkt__str_finish(&out);
    vkt__str_finish(&path);
    return st;
}

static bool read_field(vkt__arena *a, const json_t *j, kind k, char *at)
{
    const char *text = json_string_value(j);
    uint64_t u = 0;
    double d = json_is_number(j) ? json_number_value(j) : NAN;
    switch (k) {
    case TEXT:
        if (j && !text && !json_is_null(j)) return false;
        text = text ? vkt__arena_strdup(a, text) : NULL;
        memcpy(at, &text, sizeof text);
        return true;
    case COUNT:
        if (text)
            u = strtoull(text, NULL, 10);
        else if (json_is_integer(j) && json_integer_value(j) >= 0)
            u = (uint64_t)json_integer_value(j);
        else if (j && !json_is_null(j))
            return false;
        memcpy(at, &u, sizeof u);
        return true;
    case NUMBER:
        if (j && !json_is_null(j) && !json_is_number(j)) return false;
        memcpy(at, &d, sizeof d);
        return true;
    }
    return false;
}

static bool is_item(const vkt__json_item *item, const char *name)
{
    return strlen(name) == item->n_key && !memcmp(name, item->key, item->n_key);
}

static bool take_item(vkt__arena *a, const vkt__json_item *item, kind k, char *at)
{
    char *text = item->kind == VKT__JSON_TEXT ? vkt__json_item_text(item, a) : NULL;
    bool none = item->kind == VKT__JSON_NULL, is_text = item->kind == VKT__JSON_TEXT;
    uint64_t u = 0;
    double d = NAN;
    switch (k) {
    case TEXT:
        if (!none && !is_text) return false;
        memcpy(at, &text, sizeof text);
        return true;
    case COUNT:
        if (is_text)
            u = strtoull(text, NULL, 10);
        else if (item->kind == VKT__JSON_WHOLE && *item->value != '-')
            u = (uint64_t)strtoull(item->value, NULL, 10); /* what follows it ends it */
        else if (!none)
            return false;
        memcpy(at, &u, sizeof u);
        return true;
    case NUMBER:
        if (is_text) return false;
        if (!none) d = vkt__json_item_number(item);
        memcpy(at, &d, sizeof d);
        return true;
    }
    return false;
}

/* A run.json as vkt__run_save writes it: its fields come in the table's order, and nothing is built
 * of them. False: it is not written so, and jansson tells what it is. */
static bool read_written(vkt__arena *a, const char *data, size_t n, vkt__run_record *rec)
{
    vkt__json_flat f;
    vkt__json_item item;
    bool ours = false, ok = vkt__json_flat_begin(&f, data, n);
    size_t next = 0;
    while (ok && vkt__json_flat_next(&f, &item)) {
        static const char format[] = "vktrain run";
        if (is_item(&item, "format"))
            ours = item.kind == VKT__JSON_TEXT && item.n_value == sizeof format - 1 &&
                   !memcmp(item.value, format, item.n_value);
        for (size_t i = 0; i < VKT_COUNT(fields); i++, next++) {
            const field *x = &fields[next % VKT_COUNT(fields)];
            if (!is_item(&item, x->name)) continue;
            ok = take_item(a, &item, x->kind, (char *)rec + x->offset);
            break;
        }
    }
    if (ok && ours && f.is_over) return true;
    *rec = vkt__run_record_empty();
    return false;
}

static const char *read_record(vkt__arena *a, const char *data, size_t n, vkt__run_record *rec)
{
    if (read_written(a, data, n, rec)) return NULL;
    json_error_t err;
    json_t *j = json_loadb(data, n, 0, &err);
    const char *why = NULL;
    if (!j) {
        why = vkt__arena_printf(a, "run.json is damaged: line %d: %s", err.line, err.text);
    } else if (!json_is_object(j) || strcmp(json_string_value(json_object_get(j, "format"))
                                                ? json_string_value(json_object_get(j, "format"))
                                                : "",
                                            "vktrain run")) {
        why = "run.json is not one of vktrain's";
    } else {
        for (size_t i = 0; i < VKT_COUNT(fields) && !why; i++)
            if (!read_field(a, json_object_get(j, fields[i].name), fields[i].kind,
                            (char *)rec + fields[i].offset))
                why = vkt__arena_printf(a, "run.json is damaged: '%s' is of the wrong type",
                                        fields[i].name);
    }
    json_decref(j);
    return why;
}

static vkt_status load(const char *dir, vkt__arena *a, vkt__run_record *rec, const char **why)
{
    char *data = NULL;
    size_t n;
    const char *path = vkt__arena_printf(a, "%s/run.json", dir), *reason;
    *rec = vkt__run_record_empty();
    if (why) *why = NULL;
    if (why && vkt__file_size(path) < 0) return *why = "no run.json", VKT_E_IO;
    if (why) vkt__log_hold(true);
    vkt_status st = vkt__file_read(path, RUN_LIMIT, &data, &n);
    if (why) vkt__log_hold(false);
    if (st != VKT_OK) {
        if (why) *why = "run.json can't be read";
        if (why && st == VKT_E_OOM_HOST) vkt__fail(st, "run", "%s", vkt__last_failure());
        return st;
    }
    reason = read_record(a, data, n, rec);
    free(data);
    if (!reason) {
        const char *note = vkt__run_note(dir, a);
        rec->own_note = rec->note;
        if (note) rec->note = note;
        return VKT_OK;
    }
    *rec = vkt__run_record_empty();
    if (why)
        *why = reason;
    else
        vkt__fail(VKT_E_FORMAT, "run", "'%s': %s", dir, reason);
    return VKT_E_FORMAT;
}

static bool runs(const vkt__run_record *rec)
{
    return rec->status && !strcmp(rec->status, "running");
}

vkt_status vkt__run_load(const char *dir, vkt__arena *a, vkt__run_record *rec, const char **why)
{
    vkt_status st = load(dir, a, rec, why);
    if (st != VKT_OK || !runs(rec) || !vkt_run_abandoned(dir)) return st;
    st = load(dir, a, rec, why); /* it may have ended between the two looks */
    if (st == VKT_OK && runs(rec)) rec->status = "killed";
    return st;
}

/* ---- the folder ---- */

vkt_status vkt__holds_run(const char *dir, vkt__arena *a, bool *held)
{
    static const char *const marks[] = { "run.json", "metrics.jsonl", "checkpoints" };
    vkt_status st = VKT_OK;
    *held = false;
    for (size_t i = 0; i < VKT_COUNT(marks) && st == VKT_OK && !*held; i++)
        st = vkt__file_look(vkt__arena_printf(a, "%s/%s", dir, marks[i]), held);
    return st;
}

/* runs/NAME-20260131-120000, with -2, -3, ... if there is one already. */
static const char *fresh_name(const char *name, vkt__arena *a)
{
    char t[32], date[16];
    vkt__time_iso(t); /* 2026-01-31T12:00:00Z */
    snprintf(date, sizeof date, "%.4s%.2s%.2s-%.2s%.2s%.2s", t, t + 5, t + 8, t + 11, t + 14,
             t + 17);
    const char *dir = vkt__arena_printf(a, "runs/%s-%s", name, date);
    for (int i = 2; vkt__file_exists(dir); i++)
        dir = vkt__arena_printf(a, "runs/%s-%s-%d", name, date, i);
    return dir;
}

/* What a killed process was writing beside the files it would have replaced. */
static vkt_status remove_leftovers(const char *dir, vkt__arena *a)
{
    static const char *const folders[] = { "", "/predictions", "/samples" };
    vkt_status st = vkt__checkpoint_clean(dir);
    for (size_t i = 0; st == VKT_OK && i < VKT_COUNT(folders); i++)
        st = vkt__asides_remove(vkt__arena_printf(a, "%s%s", dir, folders[i]));
    return st;
}

vkt_status vkt__run_open(const char *dir, const char *name, bool resume, vkt__run **out)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    vkt__run *r = vkt__alloc(sizeof *r);
    bool held, locked = false;
    *out = NULL;
    if (!dir && resume) {
        st = vkt__fail(VKT_E_ARG, "run", "--resume needs --run DIR: the run to continue");
        goto fail;
    }
    if (!dir) dir = fresh_name(name ? name : "run", &a);
    if (snprintf(r->dir, sizeof r->dir, "%s", dir) >= (int)sizeof r->dir - 64) {
        st = vkt__fail(VKT_E_ARG, "run", "the path of the run folder is too long: '%.80s...'", dir);
        goto fail;
    }
    /* The lock is the first thing that a run leaves: one killed right after it can be resumed too.
     */
    VKT_TRY(vkt__holds_run(dir, &a, &held));
    if (!held) VKT_TRY(vkt__file_look(vkt__arena_printf(&a, "%s/.lock", dir), &locked));
    if (resume && !held && !locked) {
        st = vkt__fail(VKT_E_ARG, "run",
                       "no run in '%s' to resume; leave out --resume to start one there", dir);
        goto fail;
    }
    if (vkt__file_exists(dir) && !vkt__is_dir(dir)) {
        st = vkt__fail(VKT_E_ARG, "run", "'%s' is a file, not a folder: give another --run", dir);
        goto fail;
    }
    if (!resume && held) {
        st = vkt__fail(
            VKT_E_ARG, "run",
            "'%s' already holds a run: add --resume to continue it, or give another --run", dir);
        goto fail;
    }
    VKT_TRY(vkt__mkdirs_synced(dir));
    VKT_TRY(vkt__lock_take(vkt__arena_printf(&a, "%s/.lock", dir), &r->lock));
    if (!r->lock) {
        st = vkt__fail(VKT_E_ARG, "run",
                       "another process trains into '%s': wait for it, or give another --run", dir);
        goto fail;
    }
    if (resume) VKT_TRY(remove_leftovers(dir, &a));
    *out = r;
    r = NULL;
fail:
    vkt__run_close(&r);
    vkt__arena_finish(&a);
    return st;
}

void vkt__run_close(vkt__run **r)
{
    if (!*r) return;
    vkt__lock_release(&(*r)->lock);
    free(*r);
    *r = NULL;
}
