/* baseline.h: what is fitted, on how many rows, and how its strength is chosen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "baseline/baseline.h"
#include "baseline/features.h"

enum {
    FOLDS = 3,
    FEWEST = 200,           /* rows that are used whatever they cost */
    FEWEST_FOR_FOLDS = 12,  /* rows; with fewer the strength is 1 */
    MOST_ROWS = 1 << 18,    /* that are read */
    MOST_ENTRIES = 8 << 20, /* of these rows: 64 MiB */
    MOST_WEIGHTS = 1 << 20, /* outputs times columns */
    STEPS = 60,             /* of L-BFGS, at least; of an inner fold a third */
    MOST_STEPS = 500,
    MOST_SQUARED = 1024, /* columns whose products are taken */
};
static const double same = 1e-3; /* of the held-out loss: the stronger is taken */
static const double ridge_strengths[] = { 1e4, 1e3, 1e2, 10, 1, 0.1, 0.01 };
static const double logistic_strengths[] = { 1e3, 1e2, 10, 1, 0.1, 0.01 };

struct vkt__baseline {
    const vkt_dataset *ds;
    const vkt_dataset_info *info;
    vkt__features f;
    vkt__rows one; /* the example that is predicted */
    uint32_t q;    /* outputs that are fitted: of two classes that of the second */
    bool softmax, ridge, folds;
    double work, strength;
    size_t n_read, n_fit, n_choose, n_train;
    uint32_t n_groups; /* that have come */
    double *w;         /* [p + 1, q] */
    double *share;     /* [n_outputs] of the constant */
    double *z;         /* [q] */
    double *products;  /* vkt__logistic_how's, or NULL */
    vkt__rows x;       /* while it is fitted */
    uint32_t *unit;    /* [n_read] rows of one number are in one fold */
    double *y;         /* [n_read, n_y] */
    uint32_t n_y;
    char about[256];
};

static void targets_of(const vkt__baseline *b, const vkt_label *y, double *out)
{
    if (b->info->task == VKT_TASK_CLASSIFY)
        out[0] = b->softmax ? (double)y->u : (double)(y->u == 1);
    else
        for (uint32_t k = 0; k < b->q; k++) out[k] = (double)y[k].f;
}

static const vkt_label *label_at(const vkt__baseline *b, uint64_t i)
{
    return vkt__dataset_label(b->ds, VKT_SPLIT_TRAIN, i);
}

static bool counts(const vkt__baseline *b, vkt_maybe ignore, uint64_t i)
{
    const vkt_label *y = label_at(b, i);
    bool classify = b->info->task == VKT_TASK_CLASSIFY;
    return !classify || (y->u < b->info->n_outputs && !(ignore.given && y->u == ignore.n));
}

/* Shares of the classes among all training examples, or the targets' means. */
static void fit_constant(vkt__baseline *b, vkt_maybe ignore)
{
    double n = 0;
    uint32_t n_out = b->info->n_outputs;
    for (uint64_t i = 0; i < b->info->n[VKT_SPLIT_TRAIN]; i++) {
        const vkt_label *y = label_at(b, i);
        if (!counts(b, ignore, i)) continue;
        n++;
        if (b->info->task == VKT_TASK_CLASSIFY)
            b->share[y->u]++;
        else
            for (uint32_t k = 0; k < n_out; k++) b->share[k] += (double)y[k].f;
    }
    for (uint32_t k = 0; k < n_out && n > 0; k++) b->share[k] /= n;
}

static size_t at_most(double n, size_t all)
{
    size_t least = VKT_MIN((size_t)FEWEST, all);
    return n >= (double)all ? all : n <= (double)least ? least : (size_t)n;
}

/* What the newest row goes with: its number, or that of its group, in the order of coming. number
 * [all groups]: one more than a group's, 0 before it came. */
static uint32_t unit_of(vkt__baseline *b, uint64_t i, uint32_t *number)
{
    if (!b->ds->group) return (uint32_t)b->x.n - 1;
    uint32_t *mine = &number[b->ds->group[b->ds->index[VKT_SPLIT_TRAIN][i]]];
    if (!*mine) *mine = ++b->n_groups;
    return *mine - 1;
}

/* Reads an even spread of the training examples that count, a quarter of the work. */
static vkt_status read_rows(vkt__baseline *b, vkt_maybe ignore)
{
    vkt_status st = VKT_OK;
    size_t n = 0, all = 0, entries = VKT_MAX(b->f.most_entries, 1);
    uint64_t *at = NULL, n_train = b->info->n[VKT_SPLIT_TRAIN];
    uint32_t *number = NULL;
    for (uint64_t i = 0; i < n_train; i++) all += counts(b, ignore, i);
    b->n_train = all;
    n = at_most(b->work / 4 / b->f.cost, all);
    n = VKT_MIN(n, VKT_MAX((size_t)MOST_ENTRIES / entries, (size_t)1));
    n = VKT_MIN(n, (size_t)MOST_ROWS);
    at = vkt__alloc((n + 1) * sizeof *at);
    for (uint64_t i = 0, k = 0, chosen = 0; i < n_train && chosen < n; i++) {
        if (!counts(b, ignore, i)) continue;
        if (k++ == chosen * all / n) at[chosen++] = i;
    }
    VKT_TRY(vkt__alloc_large(n + 1, b->n_y * sizeof *b->y, "targets", &b->y));
    VKT_TRY(vkt__alloc_large(n + 1, sizeof *b->unit, "folds", &b->unit));
    if (b->ds->group) {
        uint64_t all_groups = b->ds->part[0].n;
        VKT_TRY(vkt__alloc_large(all_groups, sizeof *number, "folds", &number));
        memset(number, 0, all_groups * sizeof *number);
    }
    VKT_TRY(vkt__features_learn(&b->f, at, n));
    for (size_t i = 0; i < n; i++) {
        bool read;
        VKT_TRY(vkt__features_add(&b->f, VKT_SPLIT_TRAIN, at[i], &b->x, &read));
        if (!read) continue;
        targets_of(b, label_at(b, at[i]), b->y + (b->x.n - 1) * b->n_y);
        b->unit[b->x.n - 1] = unit_of(b, at[i], number);
    }
    b->n_read = b->x.n;
    vkt__features_weigh(&b->f, &b->x);
fail:
    free(at);
    free(number);
    return st;
}

static double entries_of(const vkt__baseline *b)
{
    return (double)b->x.n_entries / (double)VKT_MAX(b->x.n, 1);
}

/* One pass over a row takes products of outputs and gradient, and the exponentials. */
static double row_cost(const vkt__baseline *b)
{
    return b->q * (2 * entries_of(b) + 20);
}

/* A guess of the curvature is worth the columns' products: it takes a fifth of the passes. */
static bool squares(const vkt__baseline *b)
{
    double p = b->f.p, n = (double)b->n_read, passes = n * row_cost(b) * STEPS,
           products = n * entries_of(b) * entries_of(b) / 2 + 10 * p * p * p / 6;
    return b->f.p <= MOST_SQUARED && products < passes / 2;
}

static uint32_t fewest_steps(const vkt__baseline *b)
{
    return squares(b) ? STEPS / 4 : STEPS;
}

/* Half of the work fits the model, a quarter chooses its strength. */
static void plan(vkt__baseline *b)
{
    double r = row_cost(b), p = b->f.p, entries = entries_of(b);
    size_t n = b->n_read;
    if (!b->ridge) {
        double steps = fewest_steps(b);
        b->n_fit = at_most(b->work / 2 / (r * steps), n);
        b->n_choose = at_most(b->work / 4 / (r * FOLDS * 4 * (steps / 3)), b->n_fit);
        return;
    }
    /* The cost rises with the rows, except where they become more than the columns. */
    while (n > FEWEST && vkt__ridge_cost((double)n, p, entries, 1) > b->work / 2) n -= n / 8 + 1;
    b->n_fit = n;
    while (n > FEWEST &&
           vkt__ridge_cost((double)n, p, entries, VKT_COUNT(ridge_strengths)) * FOLDS > b->work / 4)
        n -= n / 8 + 1;
    b->n_choose = n;
}

/* Rows that are in the fold, or are not, of those that choose; a group is in one fold. */
static size_t fold_rows(const vkt__baseline *b, uint32_t fold, bool within, uint32_t *at)
{
    size_t k = 0, n = b->n_choose;
    for (size_t i = 0; i < n; i++) {
        size_t row = i * b->n_read / n;
        uint32_t unit = b->unit[row], turn = vkt_rand_below(0, VKT_RNG_SPLIT, unit / FOLDS, FOLDS);
        if (((unit + turn) % FOLDS == fold) == within) at[k++] = (uint32_t)row;
    }
    return k;
}

/* Each fold has rows: of few groups they may not. */
static bool has_folds(const vkt__baseline *b, uint32_t *at)
{
    if (b->n_choose < FEWEST_FOR_FOLDS) return false;
    for (uint32_t fold = 0; fold < FOLDS; fold++)
        if (!fold_rows(b, fold, true, at)) return false;
    return true;
}

/* Of rows that the weights have not seen: squared errors, or log loss. */
static double held_out(vkt__baseline *b, const uint32_t *at, size_t n, const double *w)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double *y = b->y + (size_t)at[i] * b->n_y;
        vkt__linear_row(&b->x, at[i], w, b->q, b->z);
        if (!b->ridge) vkt__linear_probabilities(b->z, b->q, b->softmax);
        if (b->softmax) sum -= log(fmax(b->z[(size_t)y[0]], 1e-300));
        for (uint32_t k = 0; k < b->q && !b->softmax; k++)
            sum += b->ridge ? (b->z[k] - y[k]) * (b->z[k] - y[k])
                            : -log(fmax(y[k] > 0 ? b->z[k] : 1 - b->z[k], 1e-300));
    }
    return sum;
}

static vkt_status choose_ridge(vkt__baseline *b, uint32_t *at, uint32_t *out_at)
{
    enum { N = VKT_COUNT(ridge_strengths) };
    vkt_status st = VKT_OK;
    double score[N] = { 0 }, *w = NULL;
    size_t wide = (size_t)b->q * (b->f.p + 1), best = 0;
    VKT_TRY(vkt__alloc_large(N * wide, sizeof *w, "a linear model", &w));
    for (uint32_t fold = 0; fold < FOLDS; fold++) {
        size_t n = fold_rows(b, fold, false, at), out = fold_rows(b, fold, true, out_at);
        vkt__fit_rows d = { &b->x, b->y, at, n, b->q };
        VKT_TRY(vkt__ridge_fit(&d, ridge_strengths, N, w));
        for (size_t s = 0; s < N; s++) score[s] += held_out(b, out_at, out, w + s * wide);
    }
    for (size_t s = 1; s < N; s++)
        if (score[s] < score[best]) best = s;
    b->strength = ridge_strengths[best];
fail:
    free(w);
    return st;
}

/* From the strongest on, each from the weights of the one before, until it gets worse. */
static vkt_status choose_logistic(vkt__baseline *b, uint32_t *at, uint32_t *out_at)
{
    vkt_status st = VKT_OK;
    size_t wide = (size_t)b->q * (b->f.p + 1);
    double *w = NULL, least = INFINITY;
    VKT_TRY(vkt__alloc_large(FOLDS * wide, sizeof *w, "a linear model", &w));
    memset(w, 0, FOLDS * wide * sizeof *w);
    for (size_t s = 0; s < VKT_COUNT(logistic_strengths); s++) {
        double score = 0;
        for (uint32_t fold = 0; fold < FOLDS; fold++) {
            size_t n = fold_rows(b, fold, false, at), out = fold_rows(b, fold, true, out_at);
            vkt__logistic_how how = { .softmax = b->softmax,
                                      .strength = logistic_strengths[s],
                                      .tolerance = 1e-3,
                                      .steps = fewest_steps(b) / 3,
                                      .products = b->products };
            vkt__fit_rows d = { &b->x, b->y, at, n, b->q };
            VKT_TRY(vkt__logistic_fit(&d, &how, w + fold * wide));
            score += held_out(b, out_at, out, w + fold * wide);
        }
        if (score > least * (1 - same)) break;
        memcpy(b->w, w, wide * sizeof *w); /* where the fit of all rows begins */
        least = score;
        b->strength = logistic_strengths[s];
    }
fail:
    free(w);
    return st;
}

/* The rows that are fitted. */
static void spread(const vkt__baseline *b, uint32_t *at)
{
    for (size_t i = 0; i < b->n_fit; i++) at[i] = (uint32_t)(i * b->n_read / b->n_fit);
}

static vkt_status take_products(vkt__baseline *b, uint32_t *at)
{
    vkt_status st = VKT_OK;
    size_t wide = (size_t)b->f.p + 1;
    if (b->ridge || !squares(b)) return VKT_OK;
    spread(b, at);
    VKT_TRY(vkt__alloc_large(wide * wide, sizeof *b->products, "a linear model", &b->products));
    vkt__logistic_products(&b->x, at, b->n_fit, b->products);
fail:
    return st;
}

static vkt_status fit(vkt__baseline *b)
{
    vkt_status st = VKT_OK;
    uint32_t *at = vkt__alloc((b->n_read + 1) * sizeof *at),
             *out_at = vkt__alloc((b->n_read + 1) * sizeof *at);
    size_t wide = (size_t)b->q * (b->f.p + 1);
    b->strength = 1;
    VKT_TRY(vkt__alloc_large(wide, sizeof *b->w, "a linear model", &b->w));
    memset(b->w, 0, wide * sizeof *b->w);
    VKT_TRY(take_products(b, at));
    b->folds = has_folds(b, at);
    if (b->folds) VKT_TRY(b->ridge ? choose_ridge(b, at, out_at) : choose_logistic(b, at, out_at));
    spread(b, at);
    vkt__fit_rows d = { &b->x, b->y, at, b->n_fit, b->q };
    double steps = b->work / 2 / (row_cost(b) * (double)b->n_fit);
    vkt__logistic_how how = { .softmax = b->softmax,
                              .strength = b->strength,
                              .tolerance = 3e-4,
                              .products = b->products,
                              .steps = (uint32_t)fmin(fmax(steps, fewest_steps(b)), MOST_STEPS) };
    st = b->ridge ? vkt__ridge_fit(&d, &b->strength, 1, b->w) : vkt__logistic_fit(&d, &how, b->w);
fail:
    free(at);
    free(out_at);
    return st;
}

static void describe(vkt__baseline *b)
{
    static const char *const of[] = { "columns", "means of pixels", "hashed words and pairs" };
    char part[48] = "", chosen[80] = "";
    if (b->n_fit < b->n_train) snprintf(part, sizeof part, " of %zu", b->n_train);
    if (b->folds)
        snprintf(chosen, sizeof chosen, ", chosen by %d folds of %zu of them", FOLDS, b->n_choose);
    snprintf(b->about, sizeof b->about, "fitted on %zu%s training examples, %u %s, strength %g%s",
             b->n_fit, part, b->f.p, of[b->f.kind], b->strength, chosen);
}

vkt_status vkt__baseline_fit(const vkt_dataset *ds, vkt_maybe ignore, double work,
                             vkt__baseline **out, const char **why)
{
    vkt_status st = VKT_OK;
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    vkt__baseline *b = vkt__alloc(sizeof *b);
    bool some = false;
    const char *none = "";
    *out = NULL;
    *b = (vkt__baseline) { .ds = ds, .info = info, .work = work };
    bool classes = info->task == VKT_TASK_CLASSIFY;
    b->ridge = info->task == VKT_TASK_REGRESS;
    b->softmax = classes && info->n_outputs > 2;
    b->q = classes && !b->softmax ? 1 : info->n_outputs;
    b->n_y = b->softmax ? 1 : b->q;
    if (info->kind == VKT_DATA_KIND_TEXT || info->n_outputs > MOST_WEIGHTS ||
        (classes && info->n_outputs < 2))
        goto fail;
    VKT_TRY(vkt__features_open(ds, MOST_WEIGHTS / b->q, &b->f, &some, &none));
    if (!some) goto fail;
    b->share = vkt__alloc(info->n_outputs * sizeof *b->share);
    b->z = vkt__alloc(b->q * sizeof *b->z);
    fit_constant(b, ignore);
    VKT_TRY(read_rows(b, ignore));
    none = "no training example can be read";
    if (!b->n_read) goto fail;
    plan(b);
    VKT_TRY(fit(b));
    describe(b);
    vkt__rows_finish(&b->x);
    *out = b;
    b = NULL;
    none = "";
fail:
    if (why) *why = none;
    vkt__baseline_destroy(&b);
    return st;
}

void vkt__baseline_destroy(vkt__baseline **b)
{
    if (!*b) return;
    vkt__features_finish(&(*b)->f);
    vkt__rows_finish(&(*b)->x);
    vkt__rows_finish(&(*b)->one);
    free((*b)->w);
    free((*b)->share);
    free((*b)->z);
    free((*b)->y);
    free((*b)->unit);
    free((*b)->products);
    free(*b);
    *b = NULL;
}

const char *vkt__baseline_name(const vkt__baseline *b)
{
    return b->ridge ? "ridge regression" : "logistic regression";
}

const char *vkt__baseline_about(const vkt__baseline *b)
{
    return b->about;
}

double vkt__baseline_strength(const vkt__baseline *b)
{
    return b->strength;
}

uint64_t vkt__baseline_affords(const vkt__baseline *b, uint64_t n)
{
    double cost = b->f.cost + (double)b->q * (b->f.most_entries + 20.0);
    return at_most(b->work / 4 / cost, (size_t)n);
}

void vkt__baseline_constant(const vkt__baseline *b, double *out)
{
    memcpy(out, b->share, b->info->n_outputs * sizeof *out);
}

vkt_status vkt__baseline_predict(vkt__baseline *b, vkt_split split, uint64_t i, double *out,
                                 bool *read)
{
    vkt_status st = VKT_OK;
    b->one.n = b->one.n_entries = 0;
    VKT_TRY(vkt__features_add(&b->f, split, i, &b->one, read));
    if (!*read) goto fail;
    vkt__linear_row(&b->one, 0, b->w, b->q, b->z);
    if (!b->ridge) vkt__linear_probabilities(b->z, b->q, b->softmax);
    if (b->info->task == VKT_TASK_CLASSIFY && !b->softmax) {
        out[0] = 1 - b->z[0];
        out[1] = b->z[0];
    } else {
        memcpy(out, b->z, b->q * sizeof *out);
    }
fail:
    return st;
}
