/* tpe.h */
#include <math.h>

#include "study/tpe.h"

/* Share of the trials that count as good, and candidates drawn from their density. */
enum { LEAST_GOOD = 3, CANDIDATES = 48 };
#define GOOD_SHARE 0.2
/* Bandwidth of a kernel, in widths of an axis: of one trial, and at least. */
#define WIDTH 0.25
#define LEAST_WIDTH 0.06
/* Share of a choice's kernel that is spread over all choices. */
#define OTHER_CHOICES 0.3

/* Kernels at trials, and one more that is the whole space. */
typedef struct density {
    const double *at; /* [n, axes] */
    size_t n;
    double width;
} density;

typedef struct source {
    uint64_t seed, counter;
} source;

static double uniform(source *s)
{
    return vkt_rand_uniform(s->seed, VKT_RNG_SAMPLE, s->counter++);
}

static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* The density at u of a normal distribution around `at` that is cut at 0 and 1. */
static double normal_within(double at, double width, double u)
{
    double z = (u - at) / width,
           inside = normal_below((1 - at) / width) - normal_below(-at / width);
    return exp(-0.5 * z * z) / (width * 2.5066282746310002 * inside);
}

double vkt__tpe_kernel(const vkt__axis *x, double at, double width, double u)
{
    if (isnan(at)) return 1;
    if (x->kind != VKT__AXIS_CHOICE) return normal_within(at, width, u);
    bool same = vkt__axis_choice(x, at) == vkt__axis_choice(x, u);
    return OTHER_CHOICES + (same ? (1 - OTHER_CHOICES) * (double)x->n_choices : 0);
}

static double value(const vkt__space *space, const density *d, const double *u)
{
    double sum = 1; /* the whole space */
    for (size_t i = 0; i < d->n; i++) {
        double product = 1;
        for (size_t a = 0; a < space->n; a++)
            if (!isnan(u[a]))
                product *=
                    vkt__tpe_kernel(&space->axis[a], d->at[i * space->n + a], d->width, u[a]);
        sum += product;
    }
    return sum / (double)(d->n + 1);
}

/* A place on an axis, from the kernel of a trial; NAN: from the whole axis. */
static double draw_axis(const vkt__axis *x, double at, double width, source *s)
{
    if (isnan(at)) return uniform(s);
    if (x->kind == VKT__AXIS_CHOICE) return uniform(s) < OTHER_CHOICES ? uniform(s) : at;
    for (int i = 0; i < 100; i++) {
        double r = sqrt(-2 * log(1 - uniform(s))),
               u = at + width * r * cos(6.283185307179586 * uniform(s));
        if (u >= 0 && u < 1) return u;
    }
    return at;
}

static void draw(const vkt__space *space, const density *d, source *s, double *u)
{
    size_t i = (size_t)(uniform(s) * (double)(d->n + 1));
    for (size_t a = 0; a < space->n; a++) {
        double at = i < d->n ? d->at[i * space->n + a] : NAN;
        const vkt__axis *x = &space->axis[a];
        u[a] = vkt__axis_present(space, x, u) ? draw_axis(x, at, d->width, s) : NAN;
    }
}

static density density_of(const vkt__space *space, const double *at, size_t n)
{
    /* As many observations as there are, in as many dimensions: Scott's rule. */
    double width = WIDTH * pow((double)VKT_MAX(n, 1), -1 / (4 + (double)space->n_dims));
    return (density) { at, n, fmax(width, LEAST_WIDTH) };
}

void vkt__tpe_next(const vkt__space *space, const double *seen, size_t n, uint64_t seed,
                   uint64_t index, double *u)
{
    size_t n_good = VKT_MIN(VKT_MAX((size_t)ceil(GOOD_SHARE * (double)n), LEAST_GOOD), n);
    density good = density_of(space, seen, n_good),
            bad = density_of(space, seen + n_good * space->n, n - n_good);
    source s = { seed, ((uint64_t)1 << 40) + index * 65536 };
    double best = -INFINITY, candidate[VKT__MAX_AXES];
    for (int c = 0; c < CANDIDATES; c++) {
        draw(space, &good, &s, candidate);
        double ratio = value(space, &good, candidate) / value(space, &bad, candidate);
        if (!(ratio > best)) continue;
        best = ratio;
        memcpy(u, candidate, space->n * sizeof *u);
    }
    for (size_t a = 0; a < space->n; a++)
        if (isnan(u[a])) u[a] = 0;
}
