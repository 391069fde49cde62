/* Doubtful labels of all examples that are not for test: each fold's network judges those that it
 * was not trained on, and their lists become one. */
#include "base/number.h"
#include "data/tables/csv.h"
#include "runs/run_folder.h"
#include "study/study_run.h"

/* train/worst.h has the columns. */
enum { INDEX, WHERE, TARGET, PREDICTED, P_PREDICTED, P_TARGET, PICTURE, FIXED };
enum { LIST_LIMIT = 1 << 30 };

typedef struct row {
    const vkt__csv *csv;
    size_t at, fold;
    double ahead; /* of the label */
} row;

static int by_ahead(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->ahead < y->ahead) return 1;
    if (x->ahead > y->ahead) return -1;
    return x->fold != y->fold ? (x->fold > y->fold) - (x->fold < y->fold)
                              : (x->at > y->at) - (x->at < y->at);
}

static void put(vkt__str *out, const vkt_study *s, size_t first, const row *r)
{
    vkt__str picture = { 0 };
    vkt__str_printf(out, "\n%zu", r->fold);
    for (size_t c = WHERE; c < r->csv->n_columns; c++) {
        const char *cell = vkt__csv_cell(r->csv, r->at, c);
        vkt__str_add(out, ",", 1);
        if (c == PICTURE && *cell) {
            vkt__str_printf(&picture, "%s/%s", s->trials[first + r->fold].name, cell);
            cell = picture.data;
        }
        vkt__str_csv(out, cell);
    }
    vkt__str_finish(&picture);
}

/* false: the fold has none. */
static vkt_status read_list(vkt_study *s, const char *trial, vkt__csv *out, bool *some)
{
    vkt_status st = VKT_OK;
    char *data = NULL;
    size_t n;
    const char *path = vkt__study_text(s, "%s/%s/valid-doubtful.csv", s->dir, trial);
    *some = false;
    VKT_TRY(vkt__file_read_if(path, LIST_LIMIT, &data, &n));
    if (!data) return VKT_OK;
    VKT_TRY(vkt__csv_parse(data, n, path, ',', false, out));
    *some = out->n_rows > 1 && out->n_columns >= FIXED;
    if (!*some) vkt__csv_finish(out);
fail:
    free(data);
    return st;
}

vkt_status vkt__study_labels(vkt_study *s, size_t first, size_t folds)
{
    vkt_status st = VKT_OK;
    vkt__csv *csv = vkt__alloc(folds * sizeof *csv);
    row *rows = NULL;
    size_t n = 0, cap = 0, n_without = 0;
    uint64_t n_judged = 0, n_doubtful = 0;
    vkt__str out = { 0 };
    for (size_t f = 0; f < folds; f++) {
        vkt__run_record r = { 0 };
        bool some;
        const char *why; /* it has none: said below */
        const char *trial = s->trials[first + f].name;
        VKT_TRY(read_list(s, trial, &csv[f], &some));
        if (vkt__run_load(vkt__study_text(s, "%s/%s", s->dir, trial), &s->priv->arena, &r, &why) ==
            VKT_OK)
            n_judged += r.n_judged, n_doubtful += r.n_doubtful;
        n_without += !r.n_judged;
        for (size_t i = 1; some && i < csv[f].n_rows; i++) {
            if (n == cap) rows = vkt__grow(rows, n, &cap, sizeof *rows);
            rows[n++] = (row) { &csv[f], i, f,
                                vkt__number_or_nan(vkt__csv_cell(&csv[f], i, P_PREDICTED)) -
                                    vkt__number_or_nan(vkt__csv_cell(&csv[f], i, P_TARGET)) };
        }
    }
    if (!n_judged) {
        vkt__study_advise(s, "no label was judged: no fold has a result");
        goto fail;
    }
    vkt__str_printf(&out, "fold");
    for (size_t c = WHERE; n && c < rows[0].csv->n_columns; c++) {
        vkt__str_add(&out, ",", 1);
        vkt__str_csv(&out, vkt__csv_cell(rows[0].csv, 0, c));
    }
    if (n) qsort(rows, n, sizeof *rows, by_ahead);
    for (size_t i = 0; i < n; i++) put(&out, s, first, &rows[i]);
    vkt__str_add(&out, "\n", 1);
    VKT_TRY(vkt__file_replace(vkt__study_text(s, "%s/doubtful.csv", s->dir), out.data, out.len));
    vkt__study_advise(s,
                      "%llu of %llu labels are contradicted by the network of a fold that was not "
                      "trained on them: %s/doubtful.csv lists %s, the surest first; some are "
                      "wrong, some examples are hard",
                      (unsigned long long)n_doubtful, (unsigned long long)n_judged, s->dir,
                      n < n_doubtful ? vkt__study_text(s, "%zu of them", n) : "them");
    if (n_without)
        vkt__study_advise(s, "%zu of %zu folds have no result: their labels were not judged",
                          n_without, folds);
fail:
    for (size_t f = 0; f < folds; f++) vkt__csv_finish(&csv[f]);
    free(csv);
    free(rows);
    vkt__str_finish(&out);
    return st;
}
