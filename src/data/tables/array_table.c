/* array_table.h: numbers without names to a table: rows that are kept, classes or targets, and
 * columns standardised by the training rows. */
#include <math.h>

#include "base/number.h"
#include "data/tables/array_table.h"
#include "data/tables/column_stats.h"

/* Beyond it, a double does not hold every whole number. */
#define LARGEST (1ll << 53)

/* ---- labels ---- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t integer(const vkt__npy *y, uint64_t i)
{
    uint64_t bits = 0;
    if (y->type == VKT__NPY_U8) return y->data[i];
    for (uint32_t k = 8; k-- > 0;) bits = bits << 8 | y->data[8 * i + k];
    return (int64_t)bits;
}

vkt_status vkt__array_classes(vkt_dataset *ds, const vkt__arrays *a)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    uint32_t n = a->x.shape[0], k = 0;
    int64_t *value = NULL;
    VKT_TRY(vkt__alloc_large(n, sizeof *value, "labels", &value));
    for (uint32_t i = 0; i < n; i++) value[i] = integer(&a->y, i);
    qsort(value, n, sizeof *value, by_value);
    for (uint32_t i = 0; i < n; i++)
        if (k == 0 || value[i] != value[k - 1]) value[k++] = value[i];
    if (k < 2)
        st =
            vkt__fail(VKT_E_FORMAT, "data", "'%s': y is %lld everywhere: there is nothing to learn",
                      a->name, (long long)value[0]);
    else if (k > 20 && k > n / 2)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': y has %u different values in %u rows: too many for classes; set "
                       "data.task: regress",
                       a->name, k, n);
    else if (value[0] < -LARGEST || value[k - 1] > LARGEST)
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s': y has classes beyond 2^53: number them from 0",
                       a->name);
    if (st != VKT_OK) goto fail;
    s->n_outputs = k;
    s->classes = vkt__arena_alloc(&ds->arena, k * sizeof *s->classes);
    for (uint32_t c = 0; c < k; c++)
        s->classes[c] = vkt__arena_printf(&ds->arena, "%lld", (long long)value[c]);
fail:
    free(value);
    return st;
}

static vkt_status class_labels(const vkt__schema *s, const vkt__arrays *a, const uint32_t *rows,
                               uint32_t n, vkt_label *out)
{
    vkt_status st;
    double *value = NULL;
    const char **names = s->kind == VKT_DATA_KIND_TABLE ? s->class_values : s->classes;
    VKT_TRY(vkt__alloc_large(s->n_outputs, sizeof *value, "classes", &value));
    bool by_text = s->kind == VKT_DATA_KIND_TABLE && !s->class_numbers; /* "01", 2^53 + 1 */
    for (uint32_t c = 0; c < s->n_outputs; c++)
        if (by_text || !vkt__number(names[c], &value[c])) value[c] = NAN; /* a name: no number's */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = rows ? rows[i] : i, c = 0;
        double want = vkt__npy_number(&a->y, row);
        char text[32] = "";
        if (by_text && !vkt__npy_is_float(&a->y))
            snprintf(text, sizeof text, "%lld", (long long)integer(&a->y, row));
        while (c < s->n_outputs && !(value[c] == want) && strcmp(names[c], text) != 0) c++;
        if (c == s->n_outputs) {
            st = vkt__fail(VKT_E_FORMAT, "data",
                           "'%s', row %u: y is %.17g, which is not among the %u classes of the "
                           "training data",
                           a->name, row, want, s->n_outputs);
            goto fail;
        }
        out[i].u = c;
    }
fail:
    free(value);
    return st;
}

static vkt_status too_far(const vkt__arrays *a, const char *what, uint32_t row, double v,
                          double mean, double std)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s', row %u: %s holds %g, which is too far from the training data's mean %g "
                     "(deviation %g)",
                     a->name, row, what, v, mean, std);
}

/* (v - mean) / std as f32, refused when it has no finite value. */
static vkt_status scaled(const vkt__arrays *a, uint32_t row, double v, double mean, double std,
                         float *out)
{
    *out = (float)((v - mean) / std);
    return isfinite(*out) ? VKT_OK : too_far(a, "X", row, v, mean, std);
}

vkt_status vkt__array_labels(const vkt__schema *s, const vkt__arrays *a, const uint32_t *rows,
                             uint32_t n, vkt_label *out)
{
    if (s->task == VKT_TASK_CLASSIFY) return class_labels(s, a, rows, n, out);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = rows ? rows[i] : i;
        double v = vkt__npy_number(&a->y, row);
        if (!vkt__target_takes(s->targets->curve, v))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s', row %u: y holds %g, but data.target is for %s", a->name, row, v,
                             vkt__target_wants(s->targets->curve));
        out[i].f = (float)vkt__target_learned(s->targets, v);
        if (!isfinite(out[i].f))
            return too_far(a, "y", row, v, vkt__target_given(s->targets, 0),
                           vkt__target_deviation(s->targets));
    }
    return VKT_OK;
}

/* ---- rows and columns ---- */

static double cell(const vkt__arrays *a, uint32_t row, uint32_t column)
{
    return vkt__npy_number(&a->x, (uint64_t)row * a->x.shape[1] + column);
}

/* Whole numbers that no double keeps would be others. */
static vkt_status check_exact(const vkt__arrays *a, const vkt__npy *of, const char *which)
{
    for (uint64_t i = 0; i < of->n && of->type == VKT__NPY_I64; i++) {
        int64_t v = integer(of, i);
        if (v >= -LARGEST && v <= LARGEST) continue;
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s', row %llu: %s holds %lld, a whole number beyond 2^53, which would be "
            "rounded: number what it names from 0, or convert it with "
            "astype('float64') if it may be",
            a->name, (unsigned long long)(i / (of->n / of->shape[0])), which, (long long)v);
    }
    return VKT_OK;
}

/* A cell is missing: what it is, and what can be done about it once the schema is fixed, too. */
static vkt_status say_missing(const vkt__arrays *a, uint32_t row, uint32_t column, bool no_label,
                              bool fixed)
{
    char what[64] = "y";
    if (!no_label) snprintf(what, sizeof what, "X[%u, %u]", row, column);
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s', row %u: %s is NaN, which stands for no value: fill it%s%s", a->name,
                     row, what,
                     fixed ? ", or leave the row out, as the model was trained without missing "
                             "values (data.missing)"
                           : ", or set data.missing to ",
                     fixed      ? ""
                     : no_label ? "drop"
                                : "mean or drop");
}

/* The rows that the missing policy keeps: *rows [*n]. */
static vkt_status keep_rows(const vkt__schema *s, const vkt__arrays *a, bool fixed, uint32_t **rows,
                            uint32_t *n)
{
    vkt_status st;
    uint32_t all = a->x.shape[0], width = a->x.shape[1];
    *n = 0;
    VKT_TRY(vkt__alloc_large(all, sizeof **rows, "rows", rows));
    for (uint32_t i = 0; i < all; i++) {
        uint32_t c = 0;
        while (c < width && !isnan(cell(a, i, c))) c++;
        bool no_label = a->has_y && isnan(vkt__npy_number(&a->y, i)), gap = c < width || no_label;
        if (gap &&
            (s->missing == VKT_MISSING_ERROR || (no_label && s->missing == VKT_MISSING_MEAN))) {
            st = say_missing(a, i, c, no_label, fixed);
            goto fail;
        }
        if (!gap || s->missing == VKT_MISSING_MEAN) (*rows)[(*n)++] = i;
    }
    if (*n == 0)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': all %u rows have NaN and were dropped: set data.missing to mean",
                       a->name, all);
fail:
    return st;
}

static void lay_out(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__arrays *a)
{
    vkt__schema *s = &ds->schema;
    uint32_t n = a->x.shape[1];
    s->kind = VKT_DATA_KIND_TABLE;
    s->delimiter = ',';
    s->missing = desc->missing;
    s->n_file_columns = n + 1;
    s->n_targets = 1;
    s->targets = vkt__arena_alloc(&ds->arena, sizeof *s->targets);
    *s->targets = (vkt__target) { .name = "y", .position = n, .scale = 1, .curve = desc->target };
    s->n_inputs = s->n_columns = s->input_shape[0] = n;
    s->input_rank = 1;
    s->columns = vkt__arena_alloc(&ds->arena, n * sizeof *s->columns);
    for (uint32_t c = 0; c < n; c++)
        s->columns[c] = (vkt__column) { .name = vkt__arena_printf(&ds->arena, "column %u", c),
                                        .position = c,
                                        .first_input = c };
}

/* Means and deviations over the training rows. */
static vkt_status fit_columns(vkt_dataset *ds, const vkt__arrays *a, const uint32_t *rows,
                              vkt_standardize how)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    uint64_t n = ds->info.n[VKT_SPLIT_TRAIN];
    double *v = NULL;
    vkt__stats *of = NULL;
    VKT_TRY(vkt__alloc_large(n, sizeof *v, "a column", &v));
    VKT_TRY(vkt__alloc_large(s->n_columns, sizeof *of, "columns", &of));
    for (uint32_t c = 0; c < s->n_columns; c++) {
        uint64_t k = 0;
        for (uint64_t i = 0; i < n; i++) {
            v[k] = cell(a, rows[ds->index[VKT_SPLIT_TRAIN][i]], c);
            k += !isnan(v[k]);
        }
        of[c] = vkt__stats_of(v, k);
        if (k == 0 || !isfinite(of[c].sq) || !isfinite(of[c].mean)) {
            st = vkt__fail(VKT_E_FORMAT, "data", "'%s': column %u of X %s", a->name, c,
                           k ? "holds numbers that are infinite or too large: rescale them"
                             : "is NaN in every training row: remove it");
            goto fail;
        }
        s->columns[c].fill = s->columns[c].mean = of[c].mean;
        s->columns[c].std = vkt__stats_deviation(&of[c]);
    }
    if (how == VKT_STANDARDIZE_GLOBAL || how == VKT_STANDARDIZE_NONE) vkt__stats_share(s, of, how);
fail:
    free(v);
    free(of);
    return st;
}

static vkt_status fit_target(vkt_dataset *ds, const vkt__arrays *a, const uint32_t *rows)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    uint64_t n = ds->info.n[VKT_SPLIT_TRAIN];
    double *v = NULL;
    VKT_TRY(vkt__alloc_large(n, sizeof *v, "targets", &v));
    for (uint64_t i = 0; i < n; i++)
        v[i] = vkt__npy_number(&a->y, rows[ds->index[VKT_SPLIT_TRAIN][i]]);
    for (uint64_t i = 0; i < n; i++)
        if (!vkt__target_takes(s->targets->curve, v[i])) n = 0; /* vkt__array_labels says which */
    vkt__target_curve_all(s->targets->curve, v, n);
    vkt__stats t = vkt__stats_of(v, n);
    if (!isfinite(t.sq) || !isfinite(t.mean))
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': y holds targets that are infinite or too large: rescale them",
                       a->name);
    s->n_outputs = 1;
    s->targets->mean = t.mean;
    s->targets->scale = vkt__stats_deviation(&t);
fail:
    free(v);
    return st;
}

static vkt_status fill_inputs(const vkt__schema *s, const vkt__arrays *a, const uint32_t *rows,
                              vkt__part *part)
{
    vkt_status st;
    VKT_TRY(
        vkt__alloc_large(part->n, (uint64_t)s->n_inputs * sizeof(float), "inputs", &part->values));
    for (uint32_t i = 0; i < part->n; i++)
        for (uint32_t c = 0; c < s->n_columns; c++) {
            const vkt__column *of = &s->columns[c];
            double v = cell(a, rows[i], c);
            VKT_TRY(scaled(a, rows[i], isnan(v) ? of->fill : v, of->mean, of->std,
                           &part->values[(uint64_t)i * s->n_inputs + c]));
        }
fail:
    return st;
}

/* ---- opening ---- */

vkt_status vkt__array_table_open(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__arrays *a)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    vkt__part *part = &ds->part[0];
    uint32_t *rows = NULL;
    lay_out(ds, desc, a);
    VKT_TRY(check_exact(a, &a->x, "X"));
    if (s->task == VKT_TASK_REGRESS) VKT_TRY(check_exact(a, &a->y, "y"));
    VKT_TRY(keep_rows(s, a, false, &rows, &part->n));
    VKT_TRY(vkt__alloc_large(part->n, sizeof *part->labels, "labels", &part->labels));
    if (s->task == VKT_TASK_CLASSIFY) {
        VKT_TRY(vkt__array_classes(ds, a));
        s->class_values = s->classes;
        s->class_numbers = true;
        VKT_TRY(vkt__array_labels(s, a, rows, part->n, part->labels)); /* the split needs them */
    }
    VKT_TRY(vkt__split(ds, desc, NULL, NULL));
    if (s->task == VKT_TASK_REGRESS) {
        VKT_TRY(fit_target(ds, a, rows));
        VKT_TRY(vkt__array_labels(s, a, rows, part->n, part->labels));
    }
    VKT_TRY(fit_columns(ds, a, rows, desc->standardize));
    VKT_TRY(fill_inputs(s, a, rows, part));
    ds->info.n_dropped = a->x.shape[0] - part->n;
    ds->info.source = vkt__arena_printf(&ds->arena, "npy %s: %u rows of %u numbers", a->name,
                                        part->n, s->n_inputs);
fail:
    free(rows);
    return st;
}

static vkt_status check_columns(const vkt__schema *s, const vkt__arrays *a)
{
    uint32_t c = 0;
    while (c < s->n_columns && s->columns[c].form != VKT__FORM_TEXT) c++;
    if (c < s->n_columns)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' holds numbers, but the model's column '%s' is text: give it as CSV",
                         a->name, vkt__show(s->columns[c].name).s);
    if (a->x.rank != 2 || a->x.shape[1] != s->n_columns)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': X must be [n, %u], as the model was trained on", a->name,
                         s->n_columns);
    return VKT_OK;
}

vkt_status vkt__array_table_open_schema(vkt_dataset *ds, const vkt__arrays *a)
{
    vkt_status st;
    const vkt__schema *s = &ds->schema;
    vkt__part *part = &ds->part[0];
    uint32_t *rows = NULL;
    size_t label_bytes = vkt__n_labels(s) * sizeof *part->labels;
    VKT_TRY(check_columns(s, a));
    VKT_TRY(check_exact(a, &a->x, "X"));
    if (a->has_y && (s->task == VKT_TASK_MULTILABEL || s->n_targets > 1)) {
        st =
            vkt__fail(VKT_E_ARG, "data",
                      "'%s' has one y for each row, but the model has %u outputs: give X alone, or "
                      "CSV",
                      a->name, s->n_outputs);
        goto fail;
    }
    VKT_TRY(keep_rows(s, a, true, &rows, &part->n));
    VKT_TRY(vkt__alloc_large(part->n, label_bytes, "labels", &part->labels));
    memset(part->labels, 0, part->n * label_bytes);
    if (a->has_y) VKT_TRY(vkt__array_labels(s, a, rows, part->n, part->labels));
    VKT_TRY(fill_inputs(s, a, rows, part));
    ds->info.n_dropped = a->x.shape[0] - part->n;
    ds->info.source = vkt__arena_printf(&ds->arena, "npy %s: %u rows%s", a->name, part->n,
                                        a->has_y ? "" : ", no labels");
fail:
    free(rows);
    return st;
}
