/* init_json.h. Everything is read by way of the recipe, so that what is shown is what trains. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "init_json.h"

enum { MOST_ROWS = 20000, BINS = 24, MOST_CLASSES = 500, MOST_VALUES = 60, MOST_PICTURES = 24 };
enum { MOST_TEXTS = 5, MOST_LETTERS = 600, MOST_COLUMNS = 500 };

static json_t *text_n(const char *s, size_t n)
{
    char *safe = cli_harmless(s, n);
    json_t *j = json_string(safe);
    free(safe);
    return j;
}

static json_t *text(const char *s)
{
    return s ? text_n(s, strlen(s)) : json_null();
}

static void put(json_t *j, const char *key, json_t *value)
{
    json_object_set_new(j, key, value);
}

static json_t *whole(uint64_t n)
{
    return json_integer((json_int_t)n);
}

/* ---- columns of a table ---- */

/* Values of an input over the examples that are looked at. */
typedef struct rows {
    float *x; /* [n, n_inputs] */
    float *y; /* [n, n_labels] */
    uint64_t n;
    uint32_t n_inputs, n_labels;
} rows;

static vkt_status read_rows(const vkt_dataset *ds, const vkt_dataset_info *info, rows *r)
{
    uint64_t all = info->n[VKT_SPLIT_TRAIN], most = MOST_ROWS;
    while (most > 100 && most * info->n_inputs > 20000000) most /= 2;
    *r = (rows) { .n = all < most ? all : most,
                  .n_inputs = info->n_inputs,
                  .n_labels = info->n_labels };
    r->x = cli_zeros(r->n * r->n_inputs + 1, sizeof *r->x);
    r->y = cli_zeros(r->n * r->n_labels + 1, sizeof *r->y);
    vkt_label *y = cli_zeros(r->n_labels, sizeof *y);
    vkt_status st = VKT_OK;
    for (uint64_t i = 0; i < r->n && st == VKT_OK; i++) {
        st = vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i * all / r->n, r->x + i * r->n_inputs, y);
        for (uint32_t k = 0; k < r->n_labels; k++) r->y[i * r->n_labels + k] = y[k].f;
    }
    free(y);
    return st;
}

/* What inputs were before: x * scale + mean; with a limit those far out were drawn in to it. */
typedef struct unscaled {
    double scale, mean, limit; /* limit 0: none */
} unscaled;

static double as_given(const unscaled *u, float x)
{
    double z = (double)x, q = u->limit > 0 ? z / u->limit : 0;
    return z / sqrt(fmax(1 - q * q, 1e-5)) * u->scale + u->mean;
}

/* {low, high, counts} of values v[i * step]. */
static json_t *histogram(const float *v, uint64_t n, uint32_t step, unscaled u)
{
    double low = INFINITY, high = -INFINITY;
    uint64_t count[BINS] = { 0 };
    for (uint64_t i = 0; i < n; i++) {
        double a = as_given(&u, v[i * step]);
        if (!isfinite(a)) continue;
        if (a < low) low = a;
        if (a > high) high = a;
    }
    for (uint64_t i = 0; i < n; i++) {
        double a = as_given(&u, v[i * step]);
        if (!isfinite(a)) continue;
        int at = high > low ? (int)((a - low) / (high - low) * BINS) : 0;
        count[at < BINS ? at : BINS - 1]++;
    }
    json_t *j = json_object(), *counts = json_array();
    for (int i = 0; i < BINS; i++) json_array_append_new(counts, whole(count[i]));
    put(j, "low", cli_json_number(low));
    put(j, "high", cli_json_number(high));
    put(j, "counts", counts);
    return j;
}

/* How often each of a column's values is: the inputs of one are 1 where it stands. */
static json_t *value_counts(const json_t *categories, const rows *r, uint32_t at)
{
    json_t *list = json_array();
    size_t n = json_array_size(categories);
    for (size_t k = 0; k < n && k < MOST_VALUES; k++) {
        json_t *one = json_object();
        uint64_t count = 0;
        for (uint64_t i = 0; i < r->n && at + k < r->n_inputs; i++)
            count += r->x[i * r->n_inputs + at + k] > 0.5f;
        put(one, "value", text(json_string_value(json_array_get(categories, k))));
        put(one, "count", whole(count));
        json_array_append_new(list, one);
    }
    return list;
}

/* Inputs of a column of the schema. */
static uint32_t width_of(const json_t *c)
{
    const json_t *categories = json_object_get(c, "categories"),
                 *edges = json_object_get(c, "edges"); /* the number, and the bins between them */
    if (json_is_true(json_object_get(c, "embed"))) return 0;
    return categories ? (uint32_t)json_array_size(categories)
           : edges    ? (uint32_t)json_array_size(edges)
                      : 1;
}

/* What the schema's column at this position of the file is as inputs; NULL: it is none. *at: the
 * first of them. */
static const json_t *input_of(const json_t *schema, size_t position, uint32_t *at)
{
    size_t i;
    json_t *c;
    *at = 0;
    json_array_foreach(json_object_get(json_object_get(schema, "table"), "columns"), i, c)
    {
        if (json_integer_value(json_object_get(c, "position")) == (json_int_t)position) return c;
        *at += width_of(c);
    }
    return NULL;
}

static bool fits(const json_t *schema, const vkt_dataset_info *info)
{
    uint32_t all = 0, plain = info->embed_rows ? info->n_plain : info->n_inputs;
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(json_object_get(schema, "table"), "columns"), i, c) all +=
        width_of(c);
    return all == plain;
}

static void put_shape(json_t *j, const json_t *input, const rows *r, uint32_t at)
{
    const json_t *categories = json_object_get(input, "categories"),
                 *std = json_object_get(input, "std");
    put(j, "as",
        json_string(!input                                          ? "left out"
                    : json_is_true(json_object_get(input, "embed")) ? "vector"
                    : categories                                    ? "values"
                                                                    : "number"));
    if (!input || json_object_get(input, "part")) return; /* a date is several inputs */
    if (categories) put(j, "n_values", whole(json_array_size(categories)));
    if (categories && width_of(input) && r)
        put(j, "values", value_counts(categories, r, at));
    else if (!categories && r)
        put(j, "histogram",
            histogram(r->x + at, r->n, r->n_inputs,
                      (unscaled) { std ? json_number_value(std) : 1,
                                   json_number_value(json_object_get(input, "mean")),
                                   json_number_value(json_object_get(input, "limit")) }));
}

static bool is_label(const json_t *schema, size_t position)
{
    const json_t *table = json_object_get(schema, "table"),
                 *one = json_object_get(table, "label_position"),
                 *all = json_object_get(table, "labels");
    bool found = json_is_integer(one) && json_integer_value(one) == (json_int_t)position;
    for (size_t i = 0; i < json_array_size(all); i++)
        found = found ||
                json_integer_value(json_object_get(json_array_get(all, i), "label_position")) ==
                    (json_int_t)position;
    return found;
}

/* The columns of the file, those that are no inputs too. */
static vkt_status put_columns(json_t *out, const init_data *d, const vkt_config *c,
                              const vkt_dataset *ds)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    vkt_table_advice *a = NULL;
    rows r = { 0 };
    json_t *schema = json_loads(vkt_dataset_schema(ds), 0, NULL), *list = json_array();
    bool known = fits(schema, info);
    vkt_status st = vkt_table_advise(&c->data, &a);
    if (st == VKT_OK && known) st = read_rows(ds, info, &r);
    for (uint32_t i = 0; st == VKT_OK && i < a->n_columns && i < MOST_COLUMNS; i++) {
        const vkt_table_column *t = a->columns + i;
        json_t *j = json_object();
        uint32_t at;
        const json_t *input = input_of(schema, i, &at);
        put(j, "name", t->name ? text(t->name) : json_null());
        put(j, "kind", json_string(t->kind));
        put(j, "form", text(t->form));
        if (!strcmp(t->kind, "number")) {
            put(j, "low", cli_json_number(t->low));
            put(j, "high", cli_json_number(t->high));
        }
        put(j, "blank", whole(t->n_blank));
        put_shape(j, input, known ? &r : NULL, at);
        if (is_label(schema, i)) put(j, "as", json_string("label"));
        if (t->name && d->text && !strcmp(t->name, d->text)) put(j, "as", json_string("sentences"));
        json_array_append_new(list, j);
    }
    if (st == VKT_OK) {
        put(out, "n_rows", whole(a->n_rows));
        put(out, "n_columns", whole(a->n_columns));
        put(out, "looked_at", whole(r.n));
    }
    if (st == VKT_OK && known && info->task == VKT_TASK_REGRESS && r.n_labels == 1) {
        for (uint64_t i = 0; i < r.n; i++)
            r.y[i] = (float)vkt_dataset_target_value(ds, 0, (double)r.y[i]);
        put(out, "target", histogram(r.y, r.n, 1, (unscaled) { 1, 0, 0 }));
    }
    put(out, "columns", list);
    vkt_table_advice_destroy(&a);
    json_decref(schema);
    free(r.x);
    free(r.y);
    return st;
}

/* ---- classes, pictures, texts ---- */

static void put_classes(json_t *out, const vkt_dataset *ds, const vkt_dataset_info *info)
{
    json_t *list = json_array();
    uint64_t *n = cli_zeros((size_t)VKT_N_SPLITS * info->n_outputs, sizeof *n);
    for (int s = 0; s < VKT_N_SPLITS; s++)
        vkt_dataset_class_counts(ds, (vkt_split)s, n + (size_t)s * info->n_outputs);
    for (uint32_t k = 0; k < info->n_outputs && k < MOST_CLASSES; k++) {
        json_t *j = json_object();
        put(j, "name", text(info->class_names[k]));
        for (int s = 0; s < VKT_N_SPLITS; s++)
            put(j, vkt_split_name((vkt_split)s), whole(n[(size_t)s * info->n_outputs + k]));
        json_array_append_new(list, j);
    }
    put(out, "classes", list);
    free(n);
}

/* Files of examples that lie far apart, so that all classes are likely among them. */
static vkt_status put_pictures(json_t *out, const vkt_dataset *ds, const vkt_dataset_info *info)
{
    uint64_t all = info->n[VKT_SPLIT_TRAIN], n = all < MOST_PICTURES ? all : MOST_PICTURES;
    json_t *list = json_array();
    float *x = cli_zeros(info->n_inputs, sizeof *x);
    vkt_label *y = cli_zeros(info->n_labels, sizeof *y);
    vkt_status st = VKT_OK;
    for (uint64_t i = 0; i < n && st == VKT_OK; i++) {
        uint64_t at = i * all / n;
        const char *file = vkt_dataset_file(ds, VKT_SPLIT_TRAIN, at);
        json_t *j = json_object();
        bool named = info->task == VKT_TASK_CLASSIFY && info->class_names;
        if (!file) {
            json_decref(j);
            break;
        }
        put(j, "path", text(file));
        if (named && vkt_dataset_example(ds, VKT_SPLIT_TRAIN, at, x, y) == VKT_OK)
            put(j, "class", text(info->class_names[y[0].u]));
        json_array_append_new(list, j);
    }
    put(out, "pictures", list);
    free(x);
    free(y);
    return st;
}

static json_t *letters_of(const vkt_tokenizer *t, const uint32_t *tokens, uint32_t n)
{
    char buf[MOST_LETTERS];
    size_t k = 0, more;
    for (uint32_t i = 0; i < n && tokens[i] != VKT_NO_TOKEN; i++) {
        const char *bytes = vkt_tokenizer_bytes(t, tokens[i], &more);
        if (!bytes || k + more > sizeof buf) break;
        memcpy(buf + k, bytes, more);
        k += more;
    }
    return text_n(buf, k);
}

static void put_texts(json_t *out, const vkt_dataset *ds, const vkt_dataset_info *info)
{
    size_t n = (size_t)info->context * (info->pairs ? 2 : 1);
    uint32_t *tokens = cli_zeros(n, sizeof *tokens), *targets = cli_zeros(n, sizeof *targets);
    uint64_t all = info->n[VKT_SPLIT_TRAIN], most = all < MOST_TEXTS ? all : MOST_TEXTS;
    json_t *list = json_array(), *counts = json_object();
    for (uint64_t i = 0; i < most && info->tokenizer; i++) {
        vkt_dataset_window(ds, VKT_SPLIT_TRAIN, i * all / most, tokens, targets);
        json_array_append_new(list, letters_of(info->tokenizer, tokens, info->context));
    }
    for (int s = 0; s < VKT_N_SPLITS; s++)
        put(counts, vkt_split_name((vkt_split)s), whole(info->n_tokens[s]));
    put(out, "texts", list);
    put(out, "tokens", counts);
    put(out, "vocabulary", whole(info->n_outputs));
    put(out, "context", whole(info->context));
    put(out, "pairs", json_boolean(info->pairs));
    free(tokens);
    free(targets);
}

/* ---- all of it ---- */

static const char *task_name(vkt_task t)
{
    static const char *const names[] = {
        [VKT_TASK_CLASSIFY] = "classify",     [VKT_TASK_REGRESS] = "regress",
        [VKT_TASK_MULTILABEL] = "multilabel", [VKT_TASK_SEGMENT] = "segment",
        [VKT_TASK_PICTURE] = "picture",       [VKT_TASK_DETECT] = "detect",
        [VKT_TASK_POINTS] = "points",         [VKT_TASK_INSTANCES] = "instances"
    };
    return (size_t)t < CLI_COUNT(names) ? names[t] : "";
}

static void put_facts(json_t *j, const init_data *d, const vkt_dataset_info *info)
{
    json_t *splits = json_object(), *notes = json_array(), *shape = json_array();
    vkt_source_info s;
    put(j, "source", json_string(d->source));
    put(j, "source_help", json_string(vkt_source_find(d->source, &s) ? s.help : ""));
    put(j, "kind",
        json_string(info->kind == VKT_DATA_KIND_TEXT       ? "text"
                    : info->kind == VKT_DATA_KIND_PICTURES ? "pictures"
                                                           : "table"));
    put(j, "task", json_string(task_name(info->task)));
    put(j, "label", text(d->label));
    put(j, "why", d->label ? text(d->why) : json_null());
    for (int i = 0; i < VKT_N_SPLITS; i++)
        put(splits, vkt_split_name((vkt_split)i), whole(info->n[i]));
    put(j, "splits", splits);
    for (size_t i = 0; i < d->n_notes && i < INIT_MOST_NOTES; i++)
        json_array_append_new(notes, text(d->notes[i]));
    put(j, "notes", notes);
    for (uint32_t i = 0; i < info->input_rank; i++)
        json_array_append_new(shape, whole(info->input_shape[i]));
    put(j, "input_shape", shape);
    put(j, "outputs", whole(info->n_outputs));
    put(j, "dropped", whole(info->n_dropped));
}

static vkt_status describe(json_t *j, const init_data *d, const vkt_config *c,
                           const vkt_dataset *ds)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    vkt_source_info s;
    bool table = vkt_source_find(d->source, &s) && s.takes & VKT_TAKES_COLUMN;
    vkt_status st = VKT_OK;
    put_facts(j, d, info);
    if (info->class_names && info->task != VKT_TASK_PICTURE) put_classes(j, ds, info);
    if (info->kind == VKT_DATA_KIND_TEXT) put_texts(j, ds, info);
    if (info->kind == VKT_DATA_KIND_PICTURES) st = put_pictures(j, ds, info);
    if (st == VKT_OK && table) st = put_columns(j, d, c, ds);
    return st;
}

int init_json(const init_data *d, const char *file, const char *recipe)
{
    json_t *j = json_object();
    vkt_config *c = NULL;
    vkt_dataset *ds = NULL;
    vkt_status st = vkt_config_create(&c);
    put(j, "file", text(file));
    put(j, "recipe", text(recipe));
    if (st == VKT_OK) st = vkt_config_parse(c, recipe, strlen(recipe), "the recipe");
    if (st == VKT_OK) st = vkt_config_finish(c);
    if (st == VKT_OK) st = vkt_dataset_open(&c->data, &ds);
    if (st == VKT_OK) st = describe(j, d, c, ds);
    vkt_dataset_destroy(&ds);
    vkt_config_destroy(&c);
    if (st == VKT_OK)
        cli_json_print(j, JSON_INDENT(1));
    else
        json_decref(j);
    return cli_exit_code(st);
}
