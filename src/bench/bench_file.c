/* Benchmark files: JSON written and read back, CSV written. A file read here may come from a
 * stranger: every type, length and number is checked, and texts may hold no control characters
 * (they end up on a terminal). */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_rows.h"

enum {
    FILE_VERSION = 2,
    MAX_ROWS = 10000,
    MAX_TEXT = VKT__BENCH_TEXT,
    MAX_FILE = 16 << 20,
    MAX_PEERS = VKT__BENCH_PEERS,
    DIGITS = 7
};

/* ---- the fields, one table for writing and reading ---- */

static const struct {
    const char *key;
    size_t at;
} info_fields[] = {
#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(vkt_bench_info, name)                                                      \
    }
    FIELD(device),
    FIELD(type),
    FIELD(driver),
    FIELD(api),
    FIELD(caps),
    FIELD(version),
    FIELD(commit),
    FIELD(host),
    FIELD(power),
    FIELD(date),
    FIELD(clock),
    FIELD(settings),
    FIELD(ids),
    FIELD(os),
    FIELD(cpu),
    FIELD(memory),
    FIELD(clocks),
    FIELD(limits),
    FIELD(shader_compiler),
#undef FIELD
};
enum { INFO_OF_VERSION_1 = 12 };

/* A number above 0 that a measured row must have; one that it may; which may be below 0. */
typedef enum rule { MUST, MAY, SIGNED } rule;
static const struct {
    const char *key;
    size_t at;
    rule rule;
} number_fields[] = {
#define FIELD(name, rule)                                                                          \
    {                                                                                              \
#name, offsetof(vkt_bench_row, name), rule                                                 \
    }
    FIELD(value, MUST),     FIELD(min, MUST),       FIELD(max, MUST),         FIELD(q1, MUST),
    FIELD(q3, MUST),        FIELD(gpu_value, MAY),  FIELD(gflops, MAY),       FIELD(gbps, MAY),
    FIELD(percent, MAY),    FIELD(error, MAY),      FIELD(items_per_s, MAY),  FIELD(host_us, MAY),
    FIELD(kernels_ms, MAY), FIELD(of_matmul, MAY),  FIELD(memory_bytes, MAY), FIELD(ci, MAY),
    FIELD(energy_j, MAY),   FIELD(loss_first, MAY), FIELD(loss_last, MAY),    FIELD(growth, SIGNED),
#undef FIELD
};

static const char **info_at(vkt_bench_info *i, size_t k)
{
    return (const char **)(void *)((char *)i + info_fields[k].at);
}

static double *number_at(vkt_bench_row *r, size_t k)
{
    return (double *)(void *)((char *)r + number_fields[k].at);
}

/* ---- writing ---- */

/* A driver may call its device anything: what JSON can't hold becomes '?'. */
static json_t *text(const char *s)
{
    json_t *j = json_string(s);
    if (j) return j;
    size_t n = strlen(s);
    char *copy = vkt__alloc(n + 1);
    for (size_t i = 0; i < n; i++) copy[i] = (unsigned char)s[i] < 128 ? s[i] : '?';
    j = json_string(copy);
    free(copy);
    return j;
}

static json_t *info_json(const vkt_bench *b)
{
    json_t *info = json_object();
    vkt_bench_info i = b->info;
    for (size_t k = 0; k < VKT_COUNT(info_fields); k++)
        json_object_set_new(info, info_fields[k].key, text(*info_at(&i, k)));
    return info;
}

static json_t *rows_json(const vkt_bench *b)
{
    json_t *rows = json_array();
    for (size_t r = 0; r < b->n_rows; r++) {
        vkt_bench_row row = b->rows[r];
        json_t *o = json_object();
        json_object_set_new(o, "group", json_string(vkt_bench_group_name(row.group)));
        json_object_set_new(o, "name", text(row.name));
        json_object_set_new(o, "unit", text(row.unit));
        json_object_set_new(o, "better", json_string(row.higher ? "higher" : "lower"));
        json_object_set_new(o, "runs", json_integer(row.runs));
        for (size_t k = 0; k < VKT_COUNT(number_fields); k++) {
            double v = *number_at(&row, k);
            json_object_set_new(o, number_fields[k].key, isfinite(v) ? json_real(v) : json_null());
        }
        json_object_set_new(o, "note", text(row.note));
        if (row.kernels) json_object_set_new(o, "kernels", text(row.kernels));
        json_object_set_new(o, "refused", row.refused ? text(row.refused) : json_null());
        json_object_set_new(o, "flag", row.flag ? text(row.flag) : json_null());
        json_array_append_new(rows, o);
    }
    return rows;
}

static json_t *to_json(const vkt_bench *b)
{
    json_t *root = json_object(), *left = json_array(), *peers = json_array();
    json_object_set_new(root, "vktrain_bench", json_integer(FILE_VERSION));
    for (size_t k = 0; k < b->n_left_out; k++) json_array_append_new(left, text(b->left_out[k]));
    json_object_set_new(root, "info", info_json(b));
    json_object_set_new(root, "results", rows_json(b));
    for (size_t k = 0; k < b->n_peers; k++)
        json_array_append_new(peers, json_pack("{so so}", "info", info_json(b->peers[k]), "results",
                                               rows_json(b->peers[k])));
    if (b->n_peers)
        json_object_set_new(root, "peers", peers);
    else
        json_decref(peers);
    json_object_set_new(root, "left_out", left);
    double score = vkt_bench_score(b, NULL);
    json_object_set_new(root, "score",
                        json_pack("{sI so}", "version", (json_int_t)VKT_BENCH_SCORE_VERSION,
                                  "value", isfinite(score) ? json_real(score) : json_null()));
    if (b->suite_set) {
        double fp32 = vkt_bench_suite_score(b, false, NULL),
               half = vkt_bench_suite_score(b, true, NULL);
        json_object_set_new(root, "suite",
                            json_pack("{sI ss so so}", "version",
                                      (json_int_t)VKT_BENCH_SUITE_VERSION, "set", b->suite_set,
                                      "fp32", isfinite(fp32) ? json_real(fp32) : json_null(),
                                      "half", isfinite(half) ? json_real(half) : json_null()));
    }
    return root;
}

/* The digest of a file's content, as 16 hexadecimal digits; "" where there is no memory. */
static void digest_of(const json_t *root, char out[17])
{
    json_t *rest = json_copy((json_t *)(uintptr_t)root);
    json_object_del(rest, "digest");
    char *s = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(DIGITS));
    json_decref(rest);
    *out = 0;
    if (s) snprintf(out, 17, "%016llx", (unsigned long long)vkt__hash(s, strlen(s), 0));
    free(s);
}

vkt_status vkt_bench_save_json(const vkt_bench *b, const char *path)
{
    json_t *root = to_json(b);
    char digest[17];
    digest_of(root, digest);
    json_object_set_new(root, "digest", json_string(digest));
    char *s = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS));
    json_decref(root);
    if (!s) return vkt__fail(VKT_E_OOM_HOST, "bench", "no memory to write '%s'", path);
    vkt__str t = { 0 };
    vkt__str_printf(&t, "%s\n", s);
    free(s);
    /* Others' rows go into a file that was there before: only what can be read replaces it. */
    vkt_bench *back = NULL;
    vkt_status st = VKT_OK;
    if (b->n_peers && t.len > MAX_FILE)
        st = vkt__fail(VKT_E_FORMAT, "bench", "'%s' would have more than %d MiB: leave out a peer",
                       path, MAX_FILE >> 20);
    else if (b->n_peers)
        st = vkt_bench_parse(t.data, t.len, path, &back);
    vkt_bench_destroy(&back);
    if (st == VKT_OK) st = vkt__file_replace(path, t.data, t.len);
    vkt__str_finish(&t);
    return st;
}

vkt_status vkt_bench_save_csv(const vkt_bench *b, const char *path)
{
    vkt__str s = { 0 };
    vkt_bench_info info = b->info;
    vkt__str_printf(&s, "group,name,unit,better,runs");
    for (size_t k = 0; k < VKT_COUNT(number_fields); k++)
        vkt__str_printf(&s, ",%s", number_fields[k].key);
    vkt__str_printf(&s, ",note,refused");
    for (size_t k = 0; k < VKT_COUNT(info_fields); k++)
        vkt__str_printf(&s, ",%s", info_fields[k].key);
    vkt__str_printf(&s, "\n");
    for (size_t r = 0; r < b->n_rows; r++) {
        vkt_bench_row row = b->rows[r];
        vkt__str_printf(&s, "%s,", vkt_bench_group_name(row.group));
        vkt__str_csv(&s, row.name);
        vkt__str_printf(&s, ",%s,%s,%u", row.unit, row.higher ? "higher" : "lower", row.runs);
        for (size_t k = 0; k < VKT_COUNT(number_fields); k++) {
            double v = *number_at(&row, k);
            if (isfinite(v))
                vkt__str_printf(&s, ",%.7g", v);
            else
                vkt__str_printf(&s, ",");
        }
        vkt__str_printf(&s, ",");
        vkt__str_csv(&s, row.note);
        vkt__str_printf(&s, ",");
        vkt__str_csv(&s, row.refused ? row.refused : "");
        for (size_t k = 0; k < VKT_COUNT(info_fields); k++) {
            vkt__str_printf(&s, ",");
            vkt__str_csv(&s, *info_at(&info, k));
        }
        vkt__str_printf(&s, "\n");
    }
    vkt_status st = vkt__file_replace(path, s.data, s.len);
    vkt__str_finish(&s);
    return st;
}

/* ---- reading ---- */

typedef struct reader {
    const char *file;
    vkt_bench *b;
    vkt_status st;
    char where[96];
} reader;

static void bad(reader *r, const char *fmt, ...) VKT_PRINTF(2, 3);
static void bad(reader *r, const char *fmt, ...)
{
    va_list ap;
    char what[256];
    if (r->st != VKT_OK) return;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    r->st = vkt__fail(VKT_E_FORMAT, "bench", "'%s': %s%s", r->file, r->where, what);
}

/* A text that may be shown; "" after an error. */
static const char *get_text(reader *r, const json_t *j, const char *key)
{
    const char *s = json_string_value(j);
    if (!s) {
        bad(r, "%s must be a text", key);
        return "";
    }
    size_t n = json_string_length(j);
    if (n > MAX_TEXT || strlen(s) != n) {
        bad(r, "%s is longer than %d bytes or holds a NUL", key, MAX_TEXT);
        return "";
    }
    for (const char *p = s, *end = s + n; p < end;) {
        int32_t c = vkt__utf8_next(&p, end);
        if (c < 32 || (c >= 127 && c < 160) || (c >= 0x200e && c <= 0x200f) ||
            (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069)) {
            bad(r, "%s holds a control character", key);
            return "";
        }
    }
    return vkt__arena_strdup(&r->b->priv->arena, s);
}

static double get_number(reader *r, const json_t *j, const char *key, rule is)
{
    if (is != MUST && (!j || json_is_null(j))) return NAN;
    if (!json_is_number(j)) {
        bad(r, "%s must be a number%s", key, is == MUST ? "" : " or null");
        return NAN;
    }
    double v = json_number_value(j);
    if (!isfinite(v) || fabs(v) > 1e30 || (is != SIGNED && v < 0) || (is == MUST && !(v > 0)))
        bad(r, "%s is %g: not a possible measurement", key, v);
    return v;
}

static void read_row(reader *r, const json_t *o)
{
    if (!json_is_object(o)) {
        bad(r, "must be an object");
        return;
    }
    const char *group = get_text(r, json_object_get(o, "group"), "group"),
               *name = get_text(r, json_object_get(o, "name"), "name");
    const char *unit = get_text(r, json_object_get(o, "unit"), "unit"),
               *better = get_text(r, json_object_get(o, "better"), "better");
    uint32_t g = 0;
    while (g < VKT_BENCH_N_GROUPS && strcmp(group, vkt_bench_group_name((vkt_bench_group)g)) != 0)
        g++;
    if (g == VKT_BENCH_N_GROUPS) bad(r, "group '%s' is unknown", group);
    if (!*name || strlen(name) > 120) bad(r, "name must have 1 to 120 bytes");
    if (strlen(unit) > 16) bad(r, "unit '%s' is too long", unit);
    bool higher = !strcmp(better, "higher");
    if (!higher && strcmp(better, "lower") != 0)
        bad(r, "better is '%s', must be higher or lower", better);
    if (r->st != VKT_OK) return;
    if (vkt_bench_find(r->b, (vkt_bench_group)g, name)) {
        bad(r, "'%s' of %s is there twice", name, group);
        return;
    }
    vkt_bench_row *row = vkt__bench_row(r->b, (vkt_bench_group)g, name, unit, higher);
    const json_t *refused = json_object_get(o, "refused"), *note = json_object_get(o, "note"),
                 *runs = json_object_get(o, "runs"), *flag = json_object_get(o, "flag"),
                 *kernels = json_object_get(o, "kernels");
    if (refused && !json_is_null(refused)) row->refused = get_text(r, refused, "refused");
    if (flag && !json_is_null(flag)) row->flag = get_text(r, flag, "flag");
    if (kernels) row->kernels = get_text(r, kernels, "kernels");
    if (note) row->note = get_text(r, note, "note");
    for (size_t k = 0; k < VKT_COUNT(number_fields); k++)
        *number_at(row, k) =
            get_number(r, json_object_get(o, number_fields[k].key), number_fields[k].key,
                       row->refused && number_fields[k].rule == MUST ? MAY : number_fields[k].rule);
    if (!json_is_integer(runs) || json_integer_value(runs) < (row->refused ? 0 : 1) ||
        json_integer_value(runs) > 1000000)
        bad(r, "runs must be a whole number above 0");
    else
        row->runs = (uint32_t)json_integer_value(runs);
    if (!row->refused && r->st == VKT_OK &&
        !(row->min <= row->q1 && row->q1 <= row->value && row->value <= row->q3 &&
          row->q3 <= row->max))
        bad(r, "min, q1, value, q3, max do not rise");
}

static void read_info(reader *r, const json_t *info, bool first)
{
    for (size_t k = 0; k < VKT_COUNT(info_fields) && r->st == VKT_OK; k++)
        *info_at(&r->b->info, k) =
            first && k >= INFO_OF_VERSION_1
                ? ""
                : get_text(r, json_object_get(info, info_fields[k].key), info_fields[k].key);
}

static void read_rows(reader *r, const json_t *rows, const char *of)
{
    for (size_t k = 0; k < json_array_size(rows) && r->st == VKT_OK; k++) {
        snprintf(r->where, sizeof r->where, "%sresult %zu: ", of, k + 1);
        read_row(r, json_array_get(rows, k));
    }
    r->where[0] = 0;
}

static void read_peers(reader *r, const json_t *peers)
{
    if (!peers) return;
    if (!json_is_array(peers) || json_array_size(peers) > MAX_PEERS) {
        bad(r, "peers must be a list of at most %d", MAX_PEERS);
        return;
    }
    for (size_t k = 0; k < json_array_size(peers) && r->st == VKT_OK; k++) {
        const json_t *o = json_array_get(peers, k), *info = json_object_get(o, "info"),
                     *rows = json_object_get(o, "results");
        reader of = { .file = r->file, .b = vkt__bench_create() };
        char name[32];
        snprintf(name, sizeof name, "peer %zu: ", k + 1);
        snprintf(of.where, sizeof of.where, "%s", name);
        if (!json_is_object(info) || !json_is_array(rows) || json_array_size(rows) > MAX_ROWS)
            bad(&of, "info or results is missing, of a wrong type or too long");
        if (of.st == VKT_OK) read_info(&of, info, false);
        if (of.st == VKT_OK) read_rows(&of, rows, name);
        if (of.st == VKT_OK && !*of.b->info.driver) bad(&of, "driver names no program");
        r->st = of.st;
        if (r->st == VKT_OK)
            vkt__bench_put_peer(r->b, &of.b);
        else
            vkt_bench_destroy(&of.b);
    }
}

static void read_digest(reader *r, const json_t *root)
{
    const json_t *j = json_object_get(root, "digest");
    char want[17];
    if (!j) return;
    const char *has = get_text(r, j, "digest");
    digest_of(root, want);
    r->b->seal = strcmp(has, want) ? VKT_BENCH_BROKEN_SEAL : VKT_BENCH_SEALED;
}

static void read_score(reader *r, const json_t *o)
{
    const json_t *version = json_object_get(o, "version");
    if (!json_is_integer(version) || json_integer_value(version) < 1 ||
        json_integer_value(version) > 1000) {
        bad(r, "score.version must be a whole number from 1 to 1000");
        return;
    }
    r->b->score_version = (uint32_t)json_integer_value(version);
    r->b->score = get_number(r, json_object_get(o, "value"), "score.value", MAY);
}

static void read_suite(reader *r, const json_t *o)
{
    const json_t *version = json_object_get(o, "version");
    if (!o) return;
    if (!json_is_integer(version) || json_integer_value(version) < 2 ||
        json_integer_value(version) > 1000) {
        bad(r, "suite.version must be a whole number from 2 to 1000");
        return;
    }
    r->b->suite_version = (uint32_t)json_integer_value(version);
    r->b->suite_set = get_text(r, json_object_get(o, "set"), "suite.set");
    r->b->suite_fp32 = get_number(r, json_object_get(o, "fp32"), "suite.fp32", MAY);
    r->b->suite_half = get_number(r, json_object_get(o, "half"), "suite.half", MAY);
}

vkt_status vkt_bench_parse(const char *data, size_t n, const char *name, vkt_bench **out)
{
    json_error_t e;
    json_t *root = json_loadb(data, n, JSON_REJECT_DUPLICATES, &e);
    reader r = { .file = name, .b = vkt__bench_create() };
    *out = NULL;
    if (!root) {
        bad(&r, "line %d: %s", e.line, e.text);
        goto fail;
    }
    const json_t *version = json_object_get(root, "vktrain_bench"),
                 *info = json_object_get(root, "info"), *rows = json_object_get(root, "results");
    const json_t *left = json_object_get(root, "left_out");
    if (!json_is_integer(version)) {
        bad(&r, "this is not a file of `vktrain bench`: vktrain_bench is missing");
    } else if (json_integer_value(version) < 1 || json_integer_value(version) > FILE_VERSION) {
        bad(&r, "is of version %lld; this program reads 1 to %d",
            (long long)json_integer_value(version), FILE_VERSION);
    } else if (!json_is_object(info) || !json_is_array(rows) || (left && !json_is_array(left))) {
        bad(&r, "info, results or left_out is missing or of a wrong type");
    } else if (json_array_size(rows) > MAX_ROWS || json_array_size(left) > MAX_ROWS) {
        bad(&r, "has more than %d results", MAX_ROWS);
    }
    bool first = json_integer_value(version) == 1;
    if (r.st == VKT_OK) read_info(&r, info, first);
    if (!first && r.st == VKT_OK) read_score(&r, json_object_get(root, "score"));
    if (r.st == VKT_OK) read_suite(&r, json_object_get(root, "suite"));
    if (r.st == VKT_OK) read_digest(&r, root);
    if (r.st == VKT_OK) read_rows(&r, rows, "");
    if (r.st == VKT_OK) read_peers(&r, json_object_get(root, "peers"));
    for (size_t k = 0; k < json_array_size(left) && r.st == VKT_OK; k++) {
        const char *t = get_text(&r, json_array_get(left, k), "left_out");
        if (r.st == VKT_OK) vkt__bench_left_out(r.b, "%s", t);
    }
fail:
    json_decref(root);
    if (r.st != VKT_OK) vkt_bench_destroy(&r.b);
    *out = r.b;
    return r.st;
}

vkt_status vkt_bench_load(const char *path, vkt_bench **out)
{
    char *data = NULL;
    size_t n;
    *out = NULL;
    vkt_status st = vkt__file_read(path, MAX_FILE, &data, &n);
    if (st == VKT_OK) st = vkt_bench_parse(data, n, path, out);
    free(data);
    return st;
}

vkt_status vkt_bench_load_folder(const char *dir, vkt_bench ***out, size_t *n_out)
{
    char **names = NULL;
    size_t n = 0;
    *out = NULL;
    *n_out = 0;
    vkt_status st = vkt__list_dir(dir, &names, &n);
    if (st != VKT_OK) return st;
    vkt_bench **files = vkt__alloc((n + 1) * sizeof *files);
    vkt__names_sort(names, n);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]);
        char path[1200];
        if (len < 6 || strcmp(names[i] + len - 5, ".json")) continue;
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        vkt__log_hold(true);
        st = vkt_bench_load(path, &files[*n_out]);
        const char *why = vkt__last_failure();
        vkt__log_hold(false);
        if (st == VKT_OK)
            ++*n_out;
        else
            vkt_log(VKT_LOG_WARN, "bench", "left out: %s", why);
    }
    vkt__names_free(names, n);
    *out = files;
    return VKT_OK;
}

void vkt_bench_free_folder(vkt_bench ***files, size_t n)
{
    for (size_t i = 0; *files && i < n; i++) vkt_bench_destroy(&(*files)[i]);
    free(*files);
    *files = NULL;
}
