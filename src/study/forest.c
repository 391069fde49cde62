/* forest.h */
#include <math.h>

#include "base/words.h"
#include "runs/curve.h"
#include "study/forest.h"
#include "vktrain/base.h"

enum { TREES = 48, SHUFFLED_TREES = 16, SHUFFLES = 19, LEAST_LEAF = 3, DEPTH = 8, GRID = 32 };
enum { MOST_NODES = 1 << (DEPTH + 1) };

/* A node is split at `at` of `axis`, or is a leaf (axis < 0) of the box it stands for. */
typedef struct node {
    int axis;
    double at, value;
    size_t left; /* the right one follows it */
} node;

typedef struct tree {
    const double *u, *y; /* [n, d], [n] */
    size_t d;
    node nodes[MOST_NODES];
    size_t n_nodes;
    double *key; /* [2 n]: scratch for a split */
} tree;

typedef struct pair {
    double u, y;
} pair;

static double place(const tree *t, size_t i, size_t axis)
{
    double u = t->u[i * t->d + axis];
    return isnan(u) ? 0.5 : u;
}

static int by_place(const void *a, const void *b)
{
    double x = ((const pair *)a)->u, y = ((const pair *)b)->u;
    return (x > y) - (x < y);
}

/* The best split of one axis: by how much the squares of the errors fall; 0: there is none. */
static double best_split(const tree *t, const size_t *of, size_t n, size_t axis, double *at)
{
    pair *p = (pair *)t->key;
    double all = 0, left = 0, best = 0;
    for (size_t i = 0; i < n; i++) {
        p[i] = (pair) { place(t, of[i], axis), t->y[of[i]] };
        all += p[i].y;
    }
    qsort(p, n, sizeof *p, by_place);
    for (size_t i = 0; i + 1 < n; i++) {
        left += p[i].y;
        double nl = (double)(i + 1), nr = (double)(n - i - 1);
        if (i + 1 < LEAST_LEAF || n - i - 1 < LEAST_LEAF || !(p[i].u < p[i + 1].u)) continue;
        double gain = left * left / nl + (all - left) * (all - left) / nr - all * all / (double)n;
        if (gain > best * (1 + 1e-12)) best = gain, *at = (p[i].u + p[i + 1].u) / 2;
    }
    return best;
}

/* Node `i` from the trials of[n], which it puts in order: those left of the split first. */
static void grow(tree *t, size_t i, size_t *of, size_t n, int depth)
{
    double best = 0, at = 0, sum = 0;
    int axis = -1;
    for (size_t k = 0; k < n; k++) sum += t->y[of[k]];
    for (size_t a = 0; a < t->d && depth < DEPTH && n >= 2 * LEAST_LEAF; a++) {
        double where = 0, gain = best_split(t, of, n, a, &where);
        if (gain > best) best = gain, at = where, axis = (int)a;
    }
    t->nodes[i] = (node) { axis, at, sum / (double)n, t->n_nodes };
    if (axis < 0) return;
    size_t left = 0, child = t->n_nodes;
    for (size_t k = 0; k < n; k++)
        if (place(t, of[k], (size_t)axis) < at) {
            size_t x = of[k];
            of[k] = of[left];
            of[left++] = x;
        }
    t->n_nodes += 2;
    grow(t, child, of, left, depth + 1);
    grow(t, child + 1, of + left, n - left, depth + 1);
}

/* ---- the analysis of variance of one tree ---- */

typedef struct marginals {
    double (*of)[GRID]; /* [d]: mean over the other axes, at a place of the axis */
    double mean, square;
} marginals;

/* Adds the leaves below node i, whose box is [low, high) [d]. */
static void add_leaves(const tree *t, size_t i, double *low, double *high, marginals *m)
{
    const node *x = &t->nodes[i];
    if (x->axis >= 0) {
        size_t a = (size_t)x->axis;
        double was = high[a];
        high[a] = x->at;
        add_leaves(t, x->left, low, high, m);
        high[a] = was;
        was = low[a];
        low[a] = x->at;
        add_leaves(t, x->left + 1, low, high, m);
        low[a] = was;
        return;
    }
    double volume = 1;
    for (size_t a = 0; a < t->d; a++) volume *= high[a] - low[a];
    m->mean += volume * x->value;
    m->square += volume * x->value * x->value;
    for (size_t a = 0; a < t->d; a++)
        for (int g = 0; g < GRID; g++) {
            double at = (g + 0.5) / GRID;
            if (at >= low[a] && at < high[a]) m->of[a][g] += x->value * volume / (high[a] - low[a]);
        }
}

/* share [d]; zeros of a tree that does not split. */
static void shares(const tree *t, double *share)
{
    double *box = vkt__alloc(2 * t->d * sizeof *box);
    marginals m = { .of = vkt__alloc(t->d * sizeof *m.of) };
    for (size_t a = 0; a < t->d; a++) box[t->d + a] = 1;
    add_leaves(t, 0, box, box + t->d, &m);
    double variance = m.square - m.mean * m.mean;
    for (size_t a = 0; a < t->d; a++) {
        double v = 0;
        for (int g = 0; g < GRID; g++) v += (m.of[a][g] - m.mean) * (m.of[a][g] - m.mean) / GRID;
        share[a] = variance > 1e-12 ? fmin(v / variance, 1) : 0;
    }
    free(box);
    free(m.of);
}

/* ---- the forest ---- */

/* share [n_trees, d]; each tree of its own sample of the n trials, with replacement. */
static void forest(const double *u, const double *y, size_t n, size_t d, uint64_t seed,
                   size_t n_trees, double *share)
{
    tree *t = vkt__alloc(sizeof *t);
    size_t *of = vkt__alloc(n * sizeof *of);
    *t = (tree) { .u = u, .y = y, .d = d, .key = vkt__alloc(2 * n * sizeof *t->key) };
    for (size_t k = 0; k < n_trees; k++) {
        for (size_t i = 0; i < n; i++)
            of[i] = vkt_rand_below(seed, VKT_RNG_SAMPLE, ((uint64_t)2 << 40) + k * 65536 + i,
                                   (uint32_t)n);
        t->n_nodes = 1;
        grow(t, 0, of, n, 0);
        shares(t, share + k * d);
    }
    free(t->key);
    free(of);
    free(t);
}

/* The largest mean share that each axis has with y shuffled. */
static void chance(const double *u, const double *y, size_t n, size_t d, uint64_t seed, double *out)
{
    double *mixed = vkt__alloc(n * sizeof *mixed),
           *share = vkt__alloc(SHUFFLED_TREES * d * sizeof *share);
    for (size_t a = 0; a < d; a++) out[a] = 0;
    for (uint64_t s = 0; s < SHUFFLES; s++) {
        memcpy(mixed, y, n * sizeof *mixed);
        for (size_t i = n - 1; i > 0; i--) {
            size_t k = vkt_rand_below(seed, VKT_RNG_SAMPLE, ((uint64_t)3 << 40) + s * 65536 + i,
                                      (uint32_t)(i + 1));
            double x = mixed[i];
            mixed[i] = mixed[k];
            mixed[k] = x;
        }
        forest(u, mixed, n, d, seed + s, SHUFFLED_TREES, share);
        for (size_t a = 0; a < d; a++) {
            double mean = 0;
            for (size_t k = 0; k < SHUFFLED_TREES; k++) mean += share[k * d + a] / SHUFFLED_TREES;
            out[a] = fmax(out[a], mean);
        }
    }
    free(mixed);
    free(share);
}

bool vkt__importance(const double *u, const double *y, size_t n, size_t d, uint64_t seed,
                     vkt__share *out)
{
    if (n < VKT__FOREST_LEAST || !d || !(vkt__quantile(y, n, 0) < vkt__quantile(y, n, 1)))
        return false;
    double *share = vkt__alloc(TREES * d * sizeof *share),
           *by_chance = vkt__alloc(d * sizeof *by_chance), column[TREES];
    forest(u, y, n, d, seed, TREES, share);
    chance(u, y, n, d, seed, by_chance);
    for (size_t a = 0; a < d; a++) {
        out[a].mean = 0;
        for (size_t k = 0; k < TREES; k++) {
            column[k] = share[k * d + a];
            out[a].mean += column[k] / TREES;
        }
        out[a].low = vkt__quantile(column, TREES, 0.1);
        out[a].high = vkt__quantile(column, TREES, 0.9);
        out[a].shown = out[a].mean > by_chance[a];
    }
    free(share);
    free(by_chance);
    return true;
}
