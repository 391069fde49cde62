/* gp.h */
#include <math.h>

#include "base/memory.h"
#include "runs/curve.h"
#include "study/gp.h"

/* Candidates over the whole space, and around the best point and the best candidate. */
enum { ANYWHERE = 400, NEAR_BEST = 150, SWEEPS = 3 };
static const double reach[] = { 0.2, 0.07 };
static const double lengths[] = { 0.15, 0.25, 0.4, 0.65, 1, 1.6, 2.6, 5 };
static const double noises[] = { 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7 }; /* of the variance */
/* Medians of the priors, whose logarithms have a standard deviation of 1: of a length, times the
 * root of the number of axes, and of the noise. */
#define LENGTH 0.35
#define NOISE 0.2
/* Squared distance between different choices, or a value and none. */
#define APART 0.25
/* Most points; time grows with their cube, and this many take about half a second. */
enum { MOST_TRIALS = 256 };
/* Largest distance of a loss above the least one, in multiples of the median's distance. */
#define MOST 3

typedef struct gp {
    const vkt__space *space;
    const double *seen; /* [n, axes] */
    size_t n;
    double *y;      /* [n] losses, of mean 0 and variance 1 */
    double *factor; /* [n, n] lower triangle of Cholesky's factor of the covariance */
    double *weight; /* [n] of the points in the mean */
    double *row;    /* [n] */
    double length[VKT__MAX_AXES], noise;
} gp;

static const double *point(const gp *g, size_t i)
{
    return g->seen + i * g->space->n;
}

static double square(double x)
{
    return x * x;
}

static double apart(const vkt__axis *x, double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? 0 : APART;
    if (x->kind != VKT__AXIS_CHOICE) return square(a - b);
    return vkt__axis_choice(x, a) == vkt__axis_choice(x, b) ? 0 : APART;
}

static double covariance(const gp *g, const double *a, const double *b)
{
    double r = 0;
    for (size_t k = 0; k < g->space->n; k++)
        r += apart(&g->space->axis[k], a[k], b[k]) / square(g->length[k]);
    r = sqrt(5 * r);
    return (1 - g->noise) * (1 + r + r * r / 3) * exp(-r);
}

/* What is left of v [n] when the lower triangle is solved for it. */
static void forward(const gp *g, double *v)
{
    for (size_t i = 0; i < g->n; i++) {
        for (size_t k = 0; k < i; k++) v[i] -= g->factor[i * g->n + k] * v[k];
        v[i] /= g->factor[i * g->n + i];
    }
}

/* The factor and the weights; returns the logarithm of the likelihood, up to a constant. */
static double fit(gp *g)
{
    size_t n = g->n;
    double *l = g->factor, log_likelihood = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double s = covariance(g, point(g, i), point(g, j)) + (i == j ? g->noise : 0);
            for (size_t k = 0; k < j; k++) s -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrt(fmax(s, 1e-10)) : s / l[j * n + j];
        }
    memcpy(g->weight, g->y, n * sizeof *g->weight);
    forward(g, g->weight);
    for (size_t i = 0; i < n; i++) log_likelihood -= 0.5 * square(g->weight[i]) + log(l[i * n + i]);
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) g->weight[i] -= l[k * n + i] * g->weight[k];
        g->weight[i] /= l[i * n + i];
    }
    return log_likelihood;
}

/* Mean of the loss at u; *deviation: of that mean. */
static double predict(const gp *g, const double *u, double *deviation)
{
    double mean = 0, variance = 1 - g->noise;
    for (size_t i = 0; i < g->n; i++) {
        g->row[i] = covariance(g, u, point(g, i));
        mean += g->row[i] * g->weight[i];
    }
    forward(g, g->row);
    for (size_t i = 0; i < g->n; i++) variance -= square(g->row[i]);
    *deviation = sqrt(fmax(variance, 1e-9));
    return mean;
}

static double posterior(gp *g)
{
    double p = fit(g) - 0.5 * square(log(g->noise / NOISE));
    for (size_t k = 0; k < g->space->n; k++)
        p -= 0.5 * square(log(g->length[k] / (LENGTH * sqrt((double)g->space->n_dims))));
    return p;
}

/* The best value of the grid for one dimension, with all other dimensions held. */
static void choose(gp *g, double *value, const double *grid, size_t n, double *best)
{
    double keep = *value;
    for (size_t i = 0; i < n; i++) {
        *value = grid[i];
        double p = posterior(g);
        if (p > *best) {
            *best = p;
            keep = grid[i];
        }
    }
    *value = keep;
}

static void learn(gp *g)
{
    double best = -INFINITY;
    for (size_t k = 0; k < g->space->n; k++) g->length[k] = 0.65;
    g->noise = NOISE;
    for (int i = 0; i < SWEEPS; i++) {
        for (size_t k = 0; k < g->space->n; k++)
            choose(g, &g->length[k], lengths, VKT_COUNT(lengths), &best);
        choose(g, &g->noise, noises, VKT_COUNT(noises), &best);
    }
}

typedef struct ranked {
    double loss;
    size_t at;
} ranked;

static int by_loss(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->loss != y->loss) return x->loss < y->loss ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* What the process is made of: trials with a loss first, *known of them, then those without.
 * Returns how many, at most MOST_TRIALS. Of more, half are the best, which say where to look, and
 * half lie evenly among the others, which say where not. */
static size_t choose_trials(const double *loss, size_t n, size_t *kept, size_t *known)
{
    ranked *r = vkt__alloc(n * sizeof *r);
    size_t all = 0, k = 0, room;
    for (size_t i = 0; i < n; i++)
        if (!isnan(loss[i])) r[all++] = (ranked) { loss[i], i };
    room = MOST_TRIALS - VKT_MIN(n - all, MOST_TRIALS / 2);
    if (all > room) {
        size_t best = room / 2, others = room - best;
        qsort(r, all, sizeof *r, by_loss);
        for (size_t i = 0; i < others; i++)
            r[best + i] = r[best + i * (all - best - 1) / (others - 1)]; /* from further on */
        all = room;
    }
    for (size_t i = 0; i < all; i++) kept[k++] = r[i].at;
    for (size_t i = 0; i < n && k < MOST_TRIALS; i++)
        if (isnan(loss[i])) kept[k++] = i;
    *known = all;
    free(r);
    return k;
}

/* To mean 0 and variance 1, after what is above the median has been drawn in. */
static void standardize(double *y, size_t n)
{
    double least = INFINITY, mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(y[i])) y[i] = NAN;
        least = fmin(least, y[i]);
    }
    double half = vkt__median(y, n) - least;
    for (size_t i = 0; i < n; i++) {
        double e = y[i] - least;
        y[i] = isnan(e)      ? MOST
               : !(half > 0) ? (double)(e > 0)
               : e <= half   ? e / half
                             : fmin(1 + log(e / half), MOST);
        mean += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) variance += square(y[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++) y[i] = (y[i] - mean) / sqrt(variance + 1e-12);
}

typedef struct source {
    uint64_t seed, counter;
} source;

static double uniform(source *s)
{
    return vkt_rand_uniform(s->seed, VKT_RNG_SAMPLE, s->counter++);
}

/* Near a point; NULL: anywhere. */
static void draw(const vkt__space *space, source *s, const double *from, double by, double *u)
{
    for (size_t k = 0; k < space->n; k++) {
        const vkt__axis *x = &space->axis[k];
        double any = uniform(s);
        bool moves = !from || isnan(from[k]) || (x->kind == VKT__AXIS_CHOICE && uniform(s) < 0.1);
        u[k] = !vkt__axis_present(space, x, u) ? NAN : moves ? any : from[k];
        if (moves || isnan(u[k]) || x->kind == VKT__AXIS_CHOICE) continue;
        u[k] += by * vkt_rand_normal(s->seed, VKT_RNG_SAMPLE, s->counter++);
        u[k] = fmin(fmax(u[k], 0), 1 - 1e-9);
    }
}

static double improvement(const gp *g, double least, const double *u)
{
    double deviation, by = least - predict(g, u, &deviation), z = by / deviation;
    return by * 0.5 * erfc(-z / sqrt(2)) + deviation * exp(-0.5 * z * z) / 2.5066282746310002;
}

/* The candidate that promises most. */
static void search(const gp *g, source *s, double *u)
{
    double least = INFINITY, most = -INFINITY, deviation, candidate[VKT__MAX_AXES];
    const double *best = g->seen;
    for (size_t i = 0; i < g->n; i++) {
        double mean = predict(g, point(g, i), &deviation);
        if (mean >= least) continue;
        least = mean;
        best = point(g, i);
    }
    for (size_t i = 0; i < ANYWHERE + 2 * NEAR_BEST; i++) {
        bool local = i >= ANYWHERE, again = i >= ANYWHERE + NEAR_BEST;
        draw(g->space, s, again ? u : local ? best : NULL, reach[again], candidate);
        double e = improvement(g, least, candidate);
        if (!(e > most)) continue;
        most = e;
        memcpy(u, candidate, g->space->n * sizeof *u);
    }
}

void vkt__gp_next(const vkt__space *space, const double *seen, const double *loss, size_t n,
                  uint64_t seed, uint64_t index, double *u)
{
    size_t *kept = vkt__alloc((n + 1) * sizeof *kept), known;
    n = choose_trials(loss, n, kept, &known);
    double *all = vkt__alloc((n * (n + 3 + space->n)) * sizeof *all), *sorted = all + n * (n + 3);
    gp g = { .space = space, .seen = sorted, .factor = all, .n = known };
    g.y = all + n * n;
    g.weight = g.y + n;
    g.row = g.weight + n;
    for (size_t i = 0; i < n; i++) {
        memcpy(sorted + i * space->n, seen + kept[i] * space->n, space->n * sizeof *sorted);
        g.y[i] = loss[kept[i]];
    }
    free(kept);
    standardize(g.y, g.n);
    learn(&g);
    memset(g.y + g.n, 0, (n - g.n) * sizeof *g.y);
    g.n = n;
    fit(&g);
    search(&g, &(source) { seed, ((uint64_t)1 << 40) + index * 65536 }, u);
    free(all);
    for (size_t a = 0; a < space->n; a++)
        if (isnan(u[a])) u[a] = 0;
}
