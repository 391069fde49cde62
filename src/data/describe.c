/* Logs a summary of a data set before the first step: classes and their counts, how uneven they
 * are, and validation or test examples that are also in the training set. */
#include <math.h>

#include "data/parts/parts.h"
#include "data/pictures/picture_files.h"
#include "data/twins.h"

enum { CLASSES_SHOWN = 12, PAIRS_SHOWN = 3 };
static const double uneven = 5; /* times as many: said as a warning */

typedef struct seen {
    uint64_t hash;
    uint32_t example;
    uint8_t split;
} seen;

static int by_hash(const void *a, const void *b)
{
    const seen *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    if (x->split != y->split) return x->split < y->split ? -1 : 1;
    return (x->example > y->example) - (x->example < y->example);
}

static const char *name_of(const vkt_dataset *ds, const seen *s, char out[64])
{
    const char *file = vkt_dataset_file(ds, (vkt_split)s->split, s->example);
    if (file) return file;
    snprintf(out, 64, "%s example %u", vkt_split_name((vkt_split)s->split), s->example);
    return out;
}

/* The pairs are sorted by hash, train's first. */
static uint64_t count_pairs(const vkt_dataset *ds, const seen *all, uint64_t n, vkt__str *shown)
{
    uint64_t n_pairs = 0;
    char a[64], b[64];
    for (uint64_t i = 1, first = 0; i < n; i++) {
        if (all[i].hash != all[first].hash) first = i;
        if (all[first].split != VKT_SPLIT_TRAIN || all[i].split == VKT_SPLIT_TRAIN) continue;
        if (n_pairs++ < PAIRS_SHOWN)
            vkt__str_printf(shown, "%s'%s' = '%s'", n_pairs > 1 ? ", " : "",
                            name_of(ds, &all[first], a), name_of(ds, &all[i], b));
    }
    return n_pairs;
}

/* ---- equal rows by chance: tables of few columns, or of few values, have them ---- */

enum { ROWS_LOOKED_AT = 20000, HELD_LOOKED_AT = 2000 };

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many of the sorted are v. */
static uint64_t count_equal(const uint64_t *sorted, uint64_t n, uint64_t v)
{
    uint64_t low = 0, high = n, end;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if (sorted[mid] < v)
            low = mid + 1;
        else
            high = mid;
    }
    for (end = low; end < n && sorted[end] == v;) end++;
    return end - low;
}

/* The hash of a column's inputs in an example. */
static uint64_t cell_of(const vkt_dataset *ds, vkt_split split, uint64_t i, uint32_t column)
{
    const vkt__schema *s = &ds->schema;
    const vkt__part *p = &ds->part[ds->of_part[split]];
    const vkt__column *c = &s->columns[column];
    uint32_t n = vkt__column_inputs(c);
    const float *x = p->values + (size_t)ds->index[split][i] * s->n_inputs + c->first_input;
    return vkt__hash(x, n * sizeof *x, n);
}

/* How many of the held examples have an equal among the training examples if each column draws its
 * values for itself: none where a column is continuous. Columns that go together share more. */
static vkt_status expected_twins(const vkt_dataset *ds, double *out)
{
    static const vkt_split held[] = { VKT_SPLIT_VALID, VKT_SPLIT_TEST };
    vkt_status st = VKT_OK;
    uint64_t n = VKT_MIN(ds->info.n[VKT_SPLIT_TRAIN], ROWS_LOOKED_AT), *cells = NULL;
    double *share = NULL;
    *out = 0;
    if (!ds->part[0].values || !ds->schema.n_columns || !n) return VKT_OK;
    VKT_TRY(vkt__alloc_large(n, sizeof *cells, "the check for duplicates", &cells));
    VKT_TRY(
        vkt__alloc_large(2 * HELD_LOOKED_AT, sizeof *share, "the check for duplicates", &share));
    for (int i = 0; i < 2 * HELD_LOOKED_AT; i++) share[i] = 1;
    for (uint32_t c = 0; c < ds->schema.n_columns; c++) {
        for (uint64_t i = 0; i < n; i++)
            cells[i] = cell_of(ds, VKT_SPLIT_TRAIN, i * ds->info.n[VKT_SPLIT_TRAIN] / n, c);
        qsort(cells, n, sizeof *cells, by_number);
        for (size_t k = 0; k < VKT_COUNT(held); k++)
            for (uint64_t i = 0; i < VKT_MIN(ds->info.n[held[k]], HELD_LOOKED_AT); i++)
                share[k * HELD_LOOKED_AT + i] *=
                    (double)count_equal(cells, n, cell_of(ds, held[k], i, c)) / (double)n;
    }
    for (size_t k = 0; k < VKT_COUNT(held); k++) {
        uint64_t looked = VKT_MIN(ds->info.n[held[k]], HELD_LOOKED_AT);
        double sum = 0;
        for (uint64_t i = 0; i < looked; i++)
            sum += 1 - pow(1 - share[k * HELD_LOOKED_AT + i], (double)ds->info.n[VKT_SPLIT_TRAIN]);
        if (looked) *out += sum * (double)ds->info.n[held[k]] / (double)looked;
    }
fail:
    free(cells);
    free(share);
    return st;
}

static vkt_status report_duplicates(const vkt_dataset *ds, uint64_t *n_shared)
{
    vkt_status st;
    uint64_t n = 0, total = 0;
    double by_chance = 0;
    seen *all = NULL;
    vkt__str shown = { 0 };
    for (int s = 0; s < VKT_N_SPLITS; s++) total += ds->info.n[s];
    VKT_TRY(vkt__alloc_large(total, sizeof *all, "the check for duplicates", &all));
    for (int s = 0; s < VKT_N_SPLITS; s++)
        for (uint64_t i = 0; i < ds->info.n[s]; i++)
            all[n++] = (seen) { vkt__example_hash(ds, (vkt_split)s, i), (uint32_t)i, (uint8_t)s };
    if (n) qsort(all, n, sizeof *all, by_hash);
    uint64_t n_pairs = *n_shared = count_pairs(ds, all, n, &shown);
    /* A quarter of what was found: columns that go together share more rows than are expected. */
    if (n_pairs) VKT_TRY(expected_twins(ds, &by_chance));
    if (n_pairs && 4 * by_chance >= (double)n_pairs) {
        vkt_log(VKT_LOG_INFO, "data",
                "%llu validation or test examples equal a training example, as rows of so few "
                "values do by chance (%.0f, were the columns independent)",
                (unsigned long long)n_pairs, by_chance);
        *n_shared = 0;
    } else if (n_pairs)
        vkt_log(VKT_LOG_WARN, "data",
                "%llu validation or test examples are in the training set too, so the results are "
                "too good: %s%s",
                (unsigned long long)n_pairs, shown.data, n_pairs > PAIRS_SHOWN ? ", ..." : "");
fail:
    vkt__str_finish(&shown);
    free(all);
    return st;
}

static void report_counts(const vkt_dataset *ds)
{
    uint32_t n = ds->schema.n_outputs, low = 0, high = 0;
    uint64_t *count = vkt__alloc(n * sizeof *count);
    vkt__str list = { 0 };
    vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, count);
    for (uint32_t c = 0; c < n; c++) {
        if (count[c] < count[low]) low = c;
        if (count[c] > count[high]) high = c;
        if (c < CLASSES_SHOWN)
            vkt__str_printf(&list, "%s%s %llu", c ? ", " : "", vkt__show(ds->schema.classes[c]).s,
                            (unsigned long long)count[c]);
    }
    bool several = ds->schema.task == VKT_TASK_MULTILABEL;
    vkt_log(VKT_LOG_INFO, "data", "%u %s of %llu to %llu training examples: %s%s", n,
            several ? "labels" : "classes", (unsigned long long)count[low],
            (unsigned long long)count[high], list.data, n > CLASSES_SHOWN ? ", ..." : "");
    if (several && count[low] == 0)
        vkt_log(VKT_LOG_WARN, "data", "label '%s' has no training example: it can't be learned",
                vkt__show(ds->schema.classes[low]).s);
    if (!several && (double)count[high] > uneven * (double)count[low])
        vkt_log(VKT_LOG_WARN, "data",
                "'%s' has %.1f times as many training examples as '%s': accuracy hides the rare "
                "classes; see checkpoint.metric macro_f1, loss.class_weight, data.sampling",
                vkt__show(ds->schema.classes[high]).s,
                (double)count[high] / (double)VKT_MAX(count[low], 1),
                vkt__show(ds->schema.classes[low]).s);
    vkt__str_finish(&list);
    free(count);
}

static vkt_status report_near(const vkt_dataset *ds, uint64_t *n_near)
{
    vkt__near near;
    char a[64], b[64];
    vkt_status st = vkt__twins_near(ds, &near);
    *n_near = near.n;
    if (st != VKT_OK || !near.n) return st;
    const seen held = { 0, (uint32_t)near.held, (uint8_t)near.split },
               train = { 0, (uint32_t)near.train, VKT_SPLIT_TRAIN };
    vkt_log(VKT_LOG_WARN, "data",
            "about %llu validation or test examples nearly equal a training example, so the "
            "results are too good: '%s' and '%s'; copies belong in one split (data.group)",
            (unsigned long long)near.n, name_of(ds, &train, a), name_of(ds, &held, b));
    return VKT_OK;
}

vkt_status vkt_dataset_report(const vkt_dataset *ds, uint64_t *n_shared, uint64_t *n_near)
{
    vkt_status st = VKT_OK;
    *n_shared = *n_near = 0;
    for (uint32_t i = 0; i < ds->info.n_notes; i++)
        vkt_log(VKT_LOG_INFO, "data", "%s", ds->info.notes[i]);
    if (!ds->info.has_labels || ds->info.kind == VKT_DATA_KIND_TEXT) return VKT_OK;
    /* Of masks the notes say it; pictures have no classes. */
    if (ds->schema.task != VKT_TASK_REGRESS && !vkt__is_dense(ds->schema.task)) report_counts(ds);
    VKT_TRY(report_duplicates(ds, n_shared));
    VKT_TRY(report_near(ds, n_near));
fail:
    return st;
}
