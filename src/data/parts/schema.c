/* The schema: where its columns' inputs lie, and its JSON, written from what was fitted. Numbers
 * keep all 17 digits, so a schema read back (schema_read.c) gives the same bits. */
#include <jansson.h>

#include "data/parts/parts.h"
#include "data/parts/schema_words.h"

enum { MOST_ROWS = 1 << 24 }; /* inputs are f32, which have all whole numbers up to there */

uint32_t vkt__column_inputs(const vkt__column *c)
{
    if (c->n_tokens) return c->n_tokens;
    if (c->n_edges) return c->n_edges; /* the number, and the bins between them */
    return c->n_categories && !c->embed ? c->n_categories : 1;
}

bool vkt__schema_place(vkt__schema *s)
{
    uint64_t inputs = 0, rows = 0;
    for (int embed = 0; embed < 2; embed++) {
        for (uint32_t i = 0; i < s->n_columns; i++) {
            vkt__column *c = &s->columns[i];
            if (c->embed != (embed != 0)) continue;
            c->first_input = (uint32_t)inputs;
            c->first_row = (uint32_t)rows;
            inputs += vkt__column_inputs(c);
            rows += c->n_tokens ? s->vocab : embed ? c->n_categories : 0;
            if (inputs > INT32_MAX || rows >= MOST_ROWS) return false;
        }
        if (!embed) s->n_plain = (uint32_t)inputs;
    }
    s->n_inputs = (uint32_t)inputs;
    s->embed_rows = (uint32_t)rows;
    return true;
}

uint32_t vkt__schema_n_given(const vkt__schema *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_columns; i++)
        n += i == 0 || s->columns[i].position != s->columns[i - 1].position;
    return n;
}

bool vkt__schema_is_label(const vkt__schema *s, uint32_t position)
{
    for (uint32_t k = 0; k < s->n_targets; k++)
        if (s->targets[k].position == position) return true;
    return false;
}

/* ---- writing ---- */

static json_t *strings(const char *const *s, uint32_t n)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < n; i++) json_array_append_new(a, json_string(s[i]));
    return a;
}

static json_t *reals(const double *v, uint32_t n)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < n; i++) json_array_append_new(a, json_real(v[i]));
    return a;
}

/* For those who fill the inputs of an exported model. */
static const char *const formulas[VKT__N_DATE_PARTS] = {
    [VKT__DATE_YEAR] = "year + (day_of_year - 1 + hour / 24) / days_of_year, day_of_year from 1",
    [VKT__DATE_WEEKDAY] = "0 to 6 from Monday",
    [VKT__DATE_HOUR] = "hour + minute / 60 + second / 3600",
};

static const char limited[] = "z / sqrt(1 + (z / limit)^2), z = (v - mean) / std",
                  binned[] =
                      "z = (v - mean) / std, with a limit z / sqrt(1 + (z / limit)^2); then for "
                      "each i below the last edge: clip((v - edges[i]) / (edges[i + 1] - "
                      "edges[i]), 0, 1)";

static json_t *column_json(const vkt__column *c)
{
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(c->name));
    json_object_set_new(o, "position", json_integer(c->position));
    if (c->n_tokens) {
        json_object_set_new(o, "tokens", json_integer(c->n_tokens));
        return o;
    }
    if (c->form != VKT__FORM_PLAIN && !c->n_categories)
        json_object_set_new(o, "form", json_string(vkt__form_name(c->form)));
    if (c->part) json_object_set_new(o, "part", json_string(vkt__date_part_name(c->part)));
    if (formulas[c->part]) json_object_set_new(o, "formula", json_string(formulas[c->part]));
    if (c->zoned) json_object_set_new(o, "utc_offset", json_integer(c->zone));
    if (c->unit) json_object_set_new(o, "unit", json_string(c->unit));
    if (c->n_categories) {
        json_object_set_new(o, "categories", strings(c->categories, c->n_categories));
        json_object_set_new(o, "fill", json_string(c->categories[c->fill_category]));
        if (c->embed) json_object_set_new(o, "embed", json_true());
    } else {
        json_object_set_new(o, "mean", json_real(c->mean));
        json_object_set_new(o, "std", json_real(c->std));
        json_object_set_new(o, "fill", json_real(c->fill));
        if (c->limit > 0) json_object_set_new(o, "limit", json_real(c->limit));
        if (c->n_edges) json_object_set_new(o, "edges", reals(c->edges, c->n_edges));
        if (c->limit > 0 || c->n_edges)
            json_object_set_new(o, "inputs", json_string(c->n_edges ? binned : limited));
    }
    return o;
}

/* One target is written as it was before there could be several. */
static void labels_json(json_t *o, const vkt__schema *s)
{
    json_t *all = json_array();
    for (uint32_t k = 0; k < s->n_targets; k++) {
        const vkt__target *t = &s->targets[k];
        json_t *one = s->n_targets > 1 ? json_object() : o;
        json_object_set_new(one, "label", json_string(vkt__target_column(t)));
        if (t->label) json_object_set_new(one, "class", json_string(t->value));
        json_object_set_new(one, "label_position", json_integer(t->position));
        if (t->form != VKT__FORM_PLAIN)
            json_object_set_new(one, "label_form", json_string(vkt__form_name(t->form)));
        if (one != o) json_array_append_new(all, one);
    }
    if (s->n_targets > 1) json_object_set(o, "labels", all);
    json_decref(all);
}

static json_t *table_json(const vkt__schema *s)
{
    json_t *o = json_object(), *columns = json_array();
    char delimiter[2] = { s->delimiter, 0 };
    json_object_set_new(o, "header", json_boolean(s->header));
    json_object_set_new(o, "delimiter", json_string(delimiter));
    json_object_set_new(o, "missing", json_string(missing_names[s->missing]));
    json_object_set_new(o, "file_columns", json_integer(s->n_file_columns));
    labels_json(o, s);
    if (s->n_ignored) json_object_set_new(o, "ignored", strings(s->ignored, s->n_ignored));
    if (s->task == VKT_TASK_CLASSIFY) {
        json_object_set_new(o, "class_values", strings(s->class_values, s->n_outputs));
        json_object_set_new(o, "class_numbers", json_boolean(s->class_numbers));
    }
    for (uint32_t i = 0; i < s->n_columns; i++)
        json_array_append_new(columns, column_json(&s->columns[i]));
    json_object_set_new(o, "columns", columns);
    if (s->tokenizer) {
        json_object_set_new(o, "vocab", json_integer(s->vocab));
        json_object_set_new(o, "tokenizer", json_loads(s->tokenizer, 0, NULL));
    }
    return o;
}

static void text_json(json_t *o, const vkt__schema *s)
{
    json_object_set_new(o, "task", json_string("text"));
    json_object_set_new(o, "context", json_integer(s->context));
    json_object_set_new(o, "vocab", json_integer(s->vocab));
    json_object_set_new(o, "tokenizer", json_loads(s->tokenizer, 0, NULL));
}

/* Writes the targets. A table's only one is named by the label's column. */
static void targets_json(json_t *o, const vkt__schema *s)
{
    json_t *all = json_array();
    if (s->n_targets == 1 && s->kind == VKT_DATA_KIND_TABLE) {
        json_object_set_new(o, "target_mean", json_real(s->targets->mean));
        json_object_set_new(o, "target_scale", json_real(s->targets->scale));
    } else {
        for (uint32_t k = 0; k < s->n_targets; k++)
            json_array_append_new(all,
                                  json_pack("{s:s, s:f, s:f}", "name", s->targets[k].name, "mean",
                                            s->targets[k].mean, "scale", s->targets[k].scale));
        json_object_set(o, "targets", all);
    }
    /* of all targets that are numbers */
    vkt_target_curve curve = vkt__targets_curve(s->targets, s->n_targets);
    if (curve != VKT_TARGET_PLAIN)
        json_object_set_new(o, "target", json_string(curve_names[curve]));
    json_decref(all);
}

/* Writes what targets that are pictures look like, and what the numbers of masks mean. */
static void dense_json(json_t *o, const vkt__schema *s)
{
    json_t *shape = json_array(), *values = json_array();
    for (uint32_t i = 0; i < 3; i++) json_array_append_new(shape, json_integer(s->output_shape[i]));
    json_object_set_new(o, "output_shape", shape);
    for (uint32_t i = 0; i < s->mask.n; i++)
        json_array_append_new(values, json_integer(s->mask.value[i]));
    if (s->task == VKT_TASK_SEGMENT) {
        json_object_set(o, "mask_values", values);
        if (s->mask.colors) json_object_set_new(o, "mask_colors", json_true());
    }
    json_decref(values);
    if (!s->n_limbs) return;
    json_t *limbs = json_array();
    for (uint32_t i = 0; i < s->n_limbs; i++)
        json_array_append_new(limbs, json_pack("[i, i]", (int)s->limbs[i][0], (int)s->limbs[i][1]));
    json_object_set_new(o, "limbs", limbs);
}

static void examples_json(json_t *o, const vkt__schema *s)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; i < s->input_rank; i++)
        json_array_append_new(shape, json_integer(s->input_shape[i]));
    json_object_set_new(o, "task", json_string(task_names[s->task]));
    json_object_set_new(o, "input_shape", shape);
    if (vkt__is_dense(s->task)) dense_json(o, s);
    if (s->task == VKT_TASK_REGRESS)
        targets_json(o, s);
    else if (s->task != VKT_TASK_PICTURE)
        json_object_set_new(o, "classes", strings(s->classes, s->n_outputs));
    if (s->task == VKT_TASK_MULTILABEL) {
        char separator[2] = { s->separator, 0 };
        json_object_set_new(o, "separator", json_string(separator));
    }
    if (s->kind == VKT_DATA_KIND_PICTURES) {
        json_object_set_new(o, "pixel_mean", reals(s->pixel_mean, s->n_pixel));
        json_object_set_new(o, "pixel_std", reals(s->pixel_std, s->n_pixel));
        if (s->crop) json_object_set_new(o, "fit", json_string("crop"));
        if (s->bits) json_object_set_new(o, "bits", json_integer(s->bits));
    } else {
        json_object_set_new(o, "table", table_json(s));
    }
}

vkt_status vkt__schema_print(const vkt__schema *s, vkt__arena *arena, const char **out)
{
    json_t *o = json_object();
    json_object_set_new(o, "version", json_integer(1));
    bool text = s->kind == VKT_DATA_KIND_TEXT;
    if (text)
        text_json(o, s);
    else
        examples_json(o, s);
    char *json = json_dumps(o, s->tokenizer ? JSON_COMPACT : JSON_INDENT(1));
    json_decref(o);
    if (!json) return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for the schema");
    *out = vkt__arena_strdup(arena, json);
    free(json);
    return VKT_OK;
}
