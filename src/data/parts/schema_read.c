/* The schema's JSON (schema.c), read back strictly, since it comes from a checkpoint that may have
 * been edited. Every getter checks; the first failure is logged and later ones are silent. */
#include <jansson.h>
#include <math.h>

#include "base/number.h"
#include "data/parts/parts.h"
#include "data/parts/schema_words.h"

static const char *const fit_names[] = { "stretch", "crop" };

typedef struct reader {
    vkt__arena *arena;
    vkt_status st;
} reader;

static void bad(reader *r, const char *key, const char *want)
{
    if (r->st == VKT_OK)
        r->st = vkt__fail(
            VKT_E_FORMAT, "data",
            "schema: '%s' must be %s: the checkpoint's schema was changed or is newer", key, want);
}

static uint32_t get_uint(reader *r, const json_t *o, const char *key, uint32_t low, uint32_t high)
{
    const json_t *v = json_object_get(o, key);
    json_int_t i = json_integer_value(v);
    if (!json_is_integer(v) || i < (json_int_t)low || i > (json_int_t)high) {
        bad(r, key, "a whole number in range");
        return low;
    }
    return (uint32_t)i;
}

static double get_real(reader *r, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_number(v)) bad(r, key, "a number");
    return json_number_value(v);
}

static double positive(reader *r, double v, const char *key)
{
    if (v > 0 && isfinite(v)) return v;
    bad(r, key, "above 0");
    return 1;
}

static bool get_bool(reader *r, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_boolean(v)) bad(r, key, "true or false");
    return json_is_true(v);
}

static const char *get_string(reader *r, const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    if (!s) bad(r, key, "text");
    return vkt__arena_strdup(r->arena, s ? s : "");
}

static uint32_t get_name(reader *r, const json_t *o, const char *key, const char *const *names,
                         uint32_t n)
{
    const char *s = get_string(r, o, key);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(s, names[i]) == 0) return i;
    bad(r, key, "one of the known words");
    return 0;
}

/* The array at key; an empty one is bad. */
static const json_t *get_array(reader *r, const json_t *o, const char *key, uint32_t *n)
{
    const json_t *a = json_object_get(o, key);
    *n = (uint32_t)json_array_size(a);
    if (*n == 0) bad(r, key, "a list that is not empty");
    return a;
}

static const char **get_strings(reader *r, const json_t *o, const char *key, uint32_t *n)
{
    const json_t *a = get_array(r, o, key, n);
    const char **out = vkt__arena_alloc(r->arena, *n * sizeof *out);
    for (uint32_t i = 0; i < *n; i++) {
        const char *s = json_string_value(json_array_get(a, i));
        if (!s) bad(r, key, "a list of texts");
        out[i] = vkt__arena_strdup(r->arena, s ? s : "");
    }
    return out;
}

static double *get_reals(reader *r, const json_t *o, const char *key, uint32_t *n)
{
    const json_t *a = get_array(r, o, key, n);
    double *out = vkt__arena_alloc(r->arena, *n * sizeof *out);
    for (uint32_t i = 0; i < *n; i++) {
        const json_t *v = json_array_get(a, i);
        if (!json_is_number(v)) bad(r, key, "a list of numbers");
        out[i] = json_number_value(v);
    }
    return out;
}

/* Absent: as it was before there were any. */
static vkt__form get_form(reader *r, const json_t *o, const char *key)
{
    const char *names[VKT__N_FORMS];
    for (int f = 0; f < VKT__N_FORMS; f++) names[f] = vkt__form_name((vkt__form)f);
    return json_object_get(o, key) ? (vkt__form)get_name(r, o, key, names, VKT__N_FORMS)
                                   : VKT__FORM_PLAIN;
}

static vkt__date_part get_part(reader *r, const json_t *o, vkt__form form)
{
    const char *names[VKT__N_DATE_PARTS];
    for (int p = 0; p < VKT__N_DATE_PARTS; p++) names[p] = vkt__date_part_name((vkt__date_part)p);
    const char *given = json_string_value(json_object_get(o, "part"));
    bool year = given && strcmp(given, "year") == 0; /* its name in older schemas */
    vkt__date_part part = year    ? VKT__DATE_YEAR
                          : given ? (vkt__date_part)get_name(r, o, "part", names, VKT__N_DATE_PARTS)
                                  : VKT__DATE_WHOLE;
    if (json_object_get(o, "part") && !given) bad(r, "part", "text");
    if ((part != VKT__DATE_WHOLE) != vkt__form_is_date(form)) bad(r, "part", "there for a date");
    return part;
}

/* Absent: each time as it is written. */
static void get_zone(reader *r, const json_t *o, vkt__column *c)
{
    const json_t *v = json_object_get(o, "utc_offset");
    json_int_t minutes = json_integer_value(v);
    c->zoned = v != NULL;
    if (v && (!json_is_integer(v) || minutes <= -1440 || minutes >= 1440 || !c->part))
        bad(r, "utc_offset", "minutes below a day, of a date");
    else
        c->zone = (int)minutes;
}

static void read_edges(reader *r, const json_t *o, vkt__column *c)
{
    const double *edges = c->edges = get_reals(r, o, "edges", &c->n_edges);
    for (uint32_t i = 1; i < c->n_edges; i++)
        if (!(edges[i] > edges[i - 1])) bad(r, "edges", "in rising order");
    if (c->n_edges < 2) bad(r, "edges", "two or more");
}

static void read_column(reader *r, const json_t *o, const vkt__schema *s, vkt__column *c)
{
    c->name = get_string(r, o, "name");
    c->position = get_uint(r, o, "position", 0, s->n_file_columns - 1);
    if (json_object_get(o, "tokens")) {
        c->form = VKT__FORM_TEXT;
        c->embed = true;
        c->n_tokens = get_uint(r, o, "tokens", 1, 1 << 20);
        if (!s->tokenizer) bad(r, "tokens", "with a tokenizer");
        return;
    }
    if (!json_object_get(o, "categories")) {
        c->form = get_form(r, o, "form");
        c->part = get_part(r, o, c->form);
        if (json_object_get(o, "unit")) c->unit = get_string(r, o, "unit");
        get_zone(r, o, c);
        c->mean = get_real(r, o, "mean");
        c->std = positive(r, get_real(r, o, "std"), "std");
        c->fill = get_real(r, o, "fill");
        if (json_object_get(o, "limit")) c->limit = positive(r, get_real(r, o, "limit"), "limit");
        if (json_object_get(o, "edges")) read_edges(r, o, c);
        return;
    }
    c->form = VKT__FORM_TEXT;
    c->categories = get_strings(r, o, "categories", &c->n_categories);
    c->embed = json_object_get(o, "embed") && get_bool(r, o, "embed");
    const char *fill = get_string(r, o, "fill");
    while (c->fill_category < c->n_categories && strcmp(c->categories[c->fill_category], fill) != 0)
        c->fill_category++;
    if (c->fill_category == c->n_categories) bad(r, "fill", "one of the categories");
    for (uint32_t i = 1; i < c->n_categories; i++)
        if (strcmp(c->categories[i - 1], c->categories[i]) >= 0)
            bad(r, "categories", "in rising order");
}

static void read_class_values(reader *r, const json_t *o, vkt__schema *s)
{
    uint32_t n;
    double before = 0, v = 0;
    s->class_numbers = get_bool(r, o, "class_numbers");
    s->class_values = get_strings(r, o, "class_values", &n);
    if (n != s->n_outputs) bad(r, "class_values", "as long as classes");
    for (uint32_t i = 0; i < n; i++) {
        if (s->class_numbers && !vkt__number(s->class_values[i], &v))
            bad(r, "class_values", "numbers");
        bool rises =
            i == 0 || (s->class_numbers ? before < v
                                        : strcmp(s->class_values[i - 1], s->class_values[i]) < 0);
        if (!rises) bad(r, "class_values", "in rising order");
        before = v;
    }
}

/* Classes of one label stand together, and differ. */
static void count_classes(reader *r, vkt__schema *s)
{
    uint32_t n;
    for (uint32_t k = 0; k < s->n_targets; k += n) {
        vkt__target *t = &s->targets[k];
        for (n = 1; t->label && k + n < s->n_targets && t[n].position == t->position; n++)
            for (uint32_t i = 0; i < n; i++)
                if (!t[n].value || !strcmp(t[i].value, t[n].value)) bad(r, "class", "of one label");
        if (!t->label) continue;
        t->n_classes = n;
        if (n < 2) bad(r, "class", "one of several");
        for (uint32_t i = 0; i < k; i++)
            if (s->targets[i].position == t->position) bad(r, "class", "beside its label's others");
        for (uint32_t i = 0; i < n; i++)
            if (t[i].mean != 0 || t[i].scale != 1) bad(r, "class", "without mean and scale");
    }
}

/* Where the labels stand; means and scales are read already. */
static void read_labels(reader *r, const json_t *o, vkt__schema *s)
{
    const json_t *all = json_object_get(o, "labels");
    if (s->task != VKT_TASK_REGRESS) {
        s->n_targets = 1;
        s->targets = vkt__arena_alloc(r->arena, sizeof *s->targets);
    }
    if (all ? json_array_size(all) != s->n_targets || s->n_targets < 2 : s->n_targets != 1) {
        bad(r, "labels", "as many as there are targets");
        return;
    }
    for (uint32_t k = 0; k < s->n_targets; k++) {
        const json_t *one = all ? json_array_get(all, k) : o;
        vkt__target *t = &s->targets[k];
        const char *name = get_string(r, one, "label");
        if (json_object_get(one, "class")) {
            t->label = name;
            t->value = get_string(r, one, "class");
            t->curve = VKT_TARGET_PLAIN;
        } else {
            t->name = name;
        }
        t->position = get_uint(r, one, "label_position", 0, s->n_file_columns - 1);
        t->form = get_form(r, one, "label_form");
        if (vkt__form_is_date(t->form)) bad(r, "label_form", "a form of numbers");
        for (uint32_t i = 0; i < k; i++)
            if (s->targets[i].position == t->position &&
                !(t->label && s->targets[i].label && !strcmp(t->label, s->targets[i].label)))
                bad(r, "label_position", "of one label");
    }
    if (r->st == VKT_OK) count_classes(r, s);
}

/* Of text, or of a table's column of sentences. */
static void read_tokenizer(reader *r, const json_t *o, vkt__schema *s)
{
    const json_t *tokenizer = json_object_get(o, "tokenizer");
    char *text = json_is_object(tokenizer) ? json_dumps(tokenizer, JSON_COMPACT) : NULL;
    if (!text) bad(r, "tokenizer", "a tokenizer.json");
    s->vocab = get_uint(r, o, "vocab", 1, 1 << 24);
    s->tokenizer = vkt__arena_strdup(r->arena, text ? text : "");
    free(text);
}

static void read_table(reader *r, const json_t *o, vkt__schema *s)
{
    if (!json_is_object(o)) {
        bad(r, "table", "an object");
        return;
    }
    s->kind = VKT_DATA_KIND_TABLE;
    const char *delimiter = get_string(r, o, "delimiter");
    if (strlen(delimiter) != 1 || strchr("\"\r\n", *delimiter))
        bad(r, "delimiter", "one character, no quote or line end");
    s->delimiter = delimiter[0];
    s->header = get_bool(r, o, "header");
    s->missing = (vkt_missing)get_name(r, o, "missing", missing_names, 3);
    s->n_file_columns = get_uint(r, o, "file_columns", 2, UINT32_MAX);
    read_labels(r, o, s);
    if (json_object_get(o, "ignored")) s->ignored = get_strings(r, o, "ignored", &s->n_ignored);
    if (s->task == VKT_TASK_CLASSIFY) read_class_values(r, o, s);
    if (json_object_get(o, "tokenizer")) read_tokenizer(r, o, s);
    const json_t *columns = get_array(r, o, "columns", &s->n_columns);
    s->columns = vkt__arena_alloc(r->arena, s->n_columns * sizeof *s->columns);
    for (uint32_t i = 0; i < s->n_columns; i++) {
        vkt__column *c = &s->columns[i];
        read_column(r, json_array_get(columns, i), s, c);
        bool same_date = i > 0 && c->position == c[-1].position && c->part > c[-1].part &&
                         c->form == c[-1].form && c[-1].part;
        if (vkt__schema_is_label(s, c->position) ||
            (i > 0 && c->position <= c[-1].position && !same_date))
            bad(r, "position", "rising, and not the label's");
    }
    uint32_t inputs = s->n_inputs;
    if (!vkt__schema_place(s) || inputs != s->n_inputs)
        bad(r, "input_shape", "the number of inputs that the columns give");
}

static void read_images(reader *r, const json_t *o, vkt__schema *s)
{
    uint32_t n;
    s->kind = VKT_DATA_KIND_PICTURES;
    s->pixel_mean = get_reals(r, o, "pixel_mean", &s->n_pixel);
    s->pixel_std = get_reals(r, o, "pixel_std", &n);
    if (n != s->n_pixel || (n != 1 && n != s->n_inputs && n != s->input_shape[2]))
        bad(r, "pixel_std", "one, one for each channel, or one for each input");
    if (json_object_get(o, "fit"))
        s->crop = get_name(r, o, "fit", fit_names, 2) == VKT_PICTURE_FIT_CROP;
    if (json_object_get(o, "bits")) s->bits = get_uint(r, o, "bits", 8, 16);
    for (uint32_t i = 0; i < n; i++) positive(r, s->pixel_std[i], "pixel_std");
    if (s->input_rank != 3) bad(r, "input_shape", "[H, W, C]");
}

static void read_shape(reader *r, const json_t *o, vkt__schema *s)
{
    uint64_t inputs = 1;
    const json_t *shape = get_array(r, o, "input_shape", &s->input_rank);
    if (s->input_rank > 4) bad(r, "input_shape", "of at most 4 lengths");
    for (uint32_t i = 0; i < s->input_rank && i < 4; i++) {
        json_int_t d = json_integer_value(json_array_get(shape, i));
        if (d < 1 || d > UINT32_MAX || !vkt__mul_ok(inputs, (uint64_t)d, &inputs) ||
            inputs > UINT32_MAX)
            bad(r, "input_shape", "lengths above 0"), inputs = 1;
        s->input_shape[i] = (uint32_t)d;
    }
    s->n_inputs = (uint32_t)inputs;
}

static void read_targets(reader *r, const json_t *o, vkt__schema *s)
{
    const json_t *all = json_object_get(o, "targets");
    const char *curve = json_object_get(o, "target") ? get_string(r, o, "target") : "plain";
    size_t how = 0;
    while (how < VKT_COUNT(curve_names) && strcmp(curve, curve_names[how]) != 0) how++;
    if (how == VKT_COUNT(curve_names)) bad(r, "target", "plain, log or log1p"), how = 0;
    s->n_outputs = s->n_targets = 1;
    if (all) get_array(r, o, "targets", &s->n_targets);
    s->n_outputs = s->n_targets = VKT_MAX(s->n_targets, 1);
    s->targets = vkt__arena_alloc(r->arena, s->n_targets * sizeof *s->targets);
    for (uint32_t k = 0; k < s->n_targets; k++) {
        const json_t *one = all ? json_array_get(all, k) : o;
        vkt__target *t = &s->targets[k];
        const char *scale = all ? "scale" : "target_scale";
        t->name = all ? get_string(r, one, "name") : "";
        t->mean = get_real(r, one, all ? "mean" : "target_mean");
        t->scale = positive(r, get_real(r, one, scale), scale);
        t->curve = (vkt_target_curve)how;
    }
}

static void read_label_sets(reader *r, const json_t *o, vkt__schema *s)
{
    const char *separator = get_string(r, o, "separator");
    if (strlen(separator) != 1) bad(r, "separator", "one character");
    s->separator = separator[0];
    for (uint32_t i = 1; i < s->n_outputs; i++)
        if (strcmp(s->classes[i - 1], s->classes[i]) >= 0) bad(r, "classes", "in rising order");
}

/* Pairs of points that a line joins; absent: none. */
static void read_limbs(reader *r, const json_t *o, vkt__schema *s)
{
    const json_t *all = json_object_get(o, "limbs");
    size_t n = json_array_size(all);
    if (!all) return;
    if (!json_is_array(all) || n > VKT__LIMBS_MOST) bad(r, "limbs", "a list, and not so long");
    s->limbs = vkt__arena_alloc(r->arena, (n + 1) * sizeof *s->limbs);
    for (size_t i = 0; i < n && r->st == VKT_OK; i++) {
        const json_t *pair = json_array_get(all, i);
        for (size_t e = 0; e < 2; e++) {
            const json_t *v = json_array_get(pair, e);
            json_int_t at = json_integer_value(v);
            if (!json_is_integer(v) || at < 0 || at >= s->n_outputs || json_array_size(pair) != 2)
                bad(r, "limbs", "pairs of its points");
            else
                s->limbs[i][e] = (uint32_t)at;
        }
    }
    s->n_limbs = r->st == VKT_OK ? (uint32_t)n : 0;
}

static void read_dense(reader *r, const json_t *o, vkt__schema *s)
{
    uint32_t n;
    uint64_t all = 1;
    bool masks = s->task == VKT_TASK_SEGMENT;
    json_int_t most = s->task == VKT_TASK_DETECT ? 1 << 22 : 16384;
    const json_t *shape = get_array(r, o, "output_shape", &n);
    if (n != 3) bad(r, "output_shape", "[H, W, C]");
    for (uint32_t i = 0; i < 3; i++) {
        json_int_t d = json_integer_value(json_array_get(shape, i));
        if (d < 1 || d > most || (all *= (uint64_t)d) > INT32_MAX)
            bad(r, "output_shape", "lengths above 0"), d = 1, all = 1;
        s->output_shape[i] = (uint32_t)d;
    }
    bool same = s->output_shape[0] == s->input_shape[0] && s->output_shape[1] == s->input_shape[1];
    if (masks && (s->output_shape[2] != 1 || !same))
        bad(r, "output_shape", "that of the input, in one channel");
    if (s->task == VKT_TASK_DETECT) {
        if (s->output_shape[1] != 5 || s->output_shape[2] != 1 || !s->n_outputs)
            bad(r, "output_shape", "[cells, 5, 1]");
        return;
    }
    if (s->task == VKT_TASK_POINTS) {
        if (s->output_shape[0] != s->n_outputs + 1 || s->output_shape[1] != 3 ||
            s->output_shape[2] != 1 || s->input_shape[0] % 8 || s->input_shape[1] % 8)
            bad(r, "output_shape", "[points + 1, 3, 1], of a picture with sides of multiples of 8");
        read_limbs(r, o, s);
        return;
    }
    if (s->task == VKT_TASK_INSTANCES) {
        if (s->output_shape[2] != VKT__INSTANCE_NUMBERS || !same || s->n_outputs != 1)
            bad(r, "output_shape", "that of the input, in four channels, of one class");
        return;
    }
    if (!masks) {
        s->n_outputs = vkt__n_labels(s);
        return;
    }
    const json_t *values = get_array(r, o, "mask_values", &n);
    if (n != s->n_outputs || n > 255) bad(r, "mask_values", "as long as classes, at most 255");
    s->mask.colors = json_object_get(o, "mask_colors") && get_bool(r, o, "mask_colors");
    s->mask.value = vkt__arena_alloc(r->arena, (size_t)n * sizeof *s->mask.value);
    s->mask.n = n;
    for (uint32_t i = 0; i < n; i++) {
        json_int_t v = json_integer_value(json_array_get(values, i));
        if (v < 0 || v > 0xffffff) bad(r, "mask_values", "numbers of pixels");
        s->mask.value[i] = (uint32_t)v;
    }
}

static void read_text(reader *r, const json_t *o, vkt__schema *s)
{
    s->kind = VKT_DATA_KIND_TEXT;
    s->context = get_uint(r, o, "context", 1, 1 << 20);
    read_tokenizer(r, o, s);
}

vkt_status vkt__schema_parse(const char *json, vkt__arena *arena, vkt__schema *s)
{
    json_error_t error;
    reader r = { .arena = arena };
    *s = (vkt__schema) { 0 };
    json_t *o = json_loads(json, 0, &error);
    if (!o)
        return vkt__fail(VKT_E_FORMAT, "data", "schema: line %d: %s: it is not JSON", error.line,
                         vkt__show(error.text).s);
    get_uint(&r, o, "version", 1, 1);
    if (json_object_get(o, "context")) {
        read_text(&r, o, s);
        json_decref(o);
        return r.st;
    }
    s->task = (vkt_task)get_name(&r, o, "task", task_names, VKT_COUNT(task_names));
    read_shape(&r, o, s);
    if (s->task == VKT_TASK_REGRESS)
        read_targets(&r, o, s);
    else if (s->task != VKT_TASK_PICTURE)
        s->classes = get_strings(&r, o, "classes", &s->n_outputs);
    if (s->task == VKT_TASK_MULTILABEL) read_label_sets(&r, o, s);
    if (vkt__is_dense(s->task)) read_dense(&r, o, s);
    if (json_object_get(o, "pixel_mean"))
        read_images(&r, o, s);
    else if (vkt__is_dense(s->task))
        bad(&r, "pixel_mean", "there: the model is of pictures");
    else
        read_table(&r, json_object_get(o, "table"), s);
    json_decref(o);
    return r.st;
}
