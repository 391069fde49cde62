/* beside.h */
#include <math.h>

#include "data/parts/parts.h"
#include "train/measures/beside.h"
#include "train/measures/classes.h"
#include "train/measures/ranks.h"

enum { MOST_RESAMPLES = 200, FEWEST_RESAMPLES = 20 };
enum { FEWEST_TO_JUDGE = 50 }; /* fewer are a small test set elsewhere, too: n_few_test */
static const double work_of_resamples = 2e7; /* numbers */

static uint32_t largest(const double *out, uint32_t n)
{
    uint32_t top = 0;
    for (uint32_t k = 1; k < n; k++)
        if (out[k] > out[top]) top = k;
    return top;
}

static double cross_entropy(double p)
{
    return -log(fmax(p, 1e-38));
}

/* A number in units of its target; where it is no logarithm around its mean, which both sides have:
 * errors may be small beside it. */
static double in_units(const vkt__beside *b, uint32_t k, double z)
{
    if (!b->target) return z;
    return b->target[k].curve == VKT_TARGET_PLAIN ? z * b->target[k].scale
                                                  : vkt__target_given(&b->target[k], z);
}

/* The loss of one example. */
static double loss_of(const vkt__beside *b, const double *out, const vkt_label *y)
{
    double sum = 0;
    if (b->task == VKT_TASK_CLASSIFY) return cross_entropy(out[y->u]);
    for (uint32_t k = 0; k < b->n_labels; k++) {
        double is = (double)y[k].f, error = out[k] - is;
        sum += b->task == VKT_TASK_REGRESS ? error * error
                                           : cross_entropy(is > 0 ? out[k] : 1 - out[k]);
    }
    return sum / b->n_labels;
}

static void add_class(vkt__eval_sums *s, vkt__ranks *ranks, const float *out, uint32_t top,
                      uint32_t y)
{
    bool hit = top == y;
    vkt__eval_add_confidence(&s->raw, out[top], hit);
    s->correct += hit;
    s->class_count[y]++;
    s->class_correct[y] += hit;
    s->class_predicted[top]++;
    if (ranks->cap) vkt__ranks_add(ranks, out, y);
}

static void add(const vkt__beside *b, vkt__eval_sums *s, vkt__ranks *ranks, const double *out,
                const vkt_label *y, float *row)
{
    s->n++;
    s->loss += loss_of(b, out, y);
    for (uint32_t k = 0; k < b->n_outputs; k++) row[k] = (float)out[k];
    if (b->task == VKT_TASK_CLASSIFY) {
        add_class(s, ranks, row, largest(out, b->n_outputs), y->u);
    } else if (b->task == VKT_TASK_MULTILABEL) {
        vkt__eval_add_labels(s, row, y, NULL);
        if (ranks->cap) vkt__ranks_add_labels(ranks, row, y);
    } else {
        for (uint32_t k = 0; k < b->n_outputs; k++)
            vkt__eval_add_error(s, k, in_units(b, k, out[k]), in_units(b, k, (double)y[k].f));
    }
}

static bool ranks_examples(const char *metric)
{
    return !strcmp(metric, "roc_auc") || !strcmp(metric, "average_precision");
}

vkt_status vkt__beside_metric(const vkt__beside *b, const double *out, const char *metric,
                              const uint32_t *pick, double *value)
{
    vkt_status st = VKT_OK;
    bool numbers = b->task == VKT_TASK_REGRESS, several = b->task == VKT_TASK_MULTILABEL;
    vkt__ranks ranks = { 0 };
    vkt__eval_sums s = { .n_classes = numbers ? 0 : b->n_outputs,
                         .n_targets = numbers ? b->n_outputs : 0,
                         .several = several,
                         .roc_auc = NAN,
                         .average_precision = NAN };
    size_t n_out = (size_t)b->n_outputs + 1;
    float *row = vkt__alloc(n_out * sizeof *row);
    s.class_count = vkt__alloc(n_out * sizeof *s.class_count);
    s.class_correct = vkt__alloc(n_out * sizeof *s.class_correct);
    s.class_predicted = vkt__alloc(n_out * sizeof *s.class_predicted);
    s.error = vkt__alloc(n_out * sizeof *s.error);
    if (ranks_examples(metric)) VKT_TRY(vkt__ranks_create(b->n, b->n_outputs, several, &ranks));
    for (size_t i = 0; i < b->n; i++) {
        size_t at = pick ? pick[i] : i;
        add(b, &s, &ranks, out + at * b->n_outputs, b->y + at * b->n_labels, row);
    }
    if (ranks.cap) VKT_TRY(vkt__ranks_measure(&ranks, &s.roc_auc, &s.average_precision, NULL));
    *value = vkt__eval_metric(&s, metric);
fail:
    vkt__ranks_finish(&ranks);
    vkt__eval_sums_finish(&s);
    free(row);
    return st;
}

/* ---- the error of a difference ---- */

/* The mean squared error of each target and the target's variance, in its units. */
static void squares(const vkt__beside *b, const double *out, double *mse, double *variance)
{
    for (uint32_t k = 0; k < b->n_outputs; k++) {
        double mean = 0;
        mse[k] = variance[k] = 0;
        for (size_t i = 0; i < b->n; i++)
            mean += in_units(b, k, (double)b->y[i * b->n_labels + k].f);
        mean /= (double)b->n;
        for (size_t i = 0; i < b->n; i++) {
            double y = in_units(b, k, (double)b->y[i * b->n_labels + k].f),
                   e = in_units(b, k, out[i * b->n_outputs + k]) - y;
            mse[k] += e * e / (double)b->n;
            variance[k] += (y - mean) * (y - mean) / (double)b->n;
        }
    }
}

/* What an example adds to the difference of a measure that is a mean over examples, or near its
 * value a smooth function of one. */
typedef struct means {
    const vkt__beside *b;
    const char *metric;
    const double *one, *other;
    double *weight; /* [n_outputs] of numbers: of an absolute or squared error in the measure */
} means;

static double difference(const means *m, size_t i)
{
    const vkt__beside *b = m->b;
    const vkt_label *y = b->y + i * b->n_labels;
    const double *p = m->one + i * b->n_outputs, *q = m->other + i * b->n_outputs;
    double sum = 0;
    if (!strcmp(m->metric, "loss")) return loss_of(b, p, y) - loss_of(b, q, y);
    if (b->task == VKT_TASK_CLASSIFY)
        return (double)(largest(p, b->n_outputs) == y->u) -
               (double)(largest(q, b->n_outputs) == y->u);
    for (uint32_t k = 0; k < b->n_outputs; k++) {
        double is = in_units(b, k, (double)y[k].f), e = in_units(b, k, p[k]) - is,
               o = in_units(b, k, q[k]) - is;
        sum += m->weight[k] * (!strcmp(m->metric, "mae") ? fabs(e) - fabs(o) : e * e - o * o);
    }
    return sum;
}

static void weigh(means *m)
{
    const vkt__beside *b = m->b;
    uint32_t n = b->n_outputs;
    double *room = vkt__alloc(4 * (size_t)n * sizeof *room);
    double *one = room, *other = room + n, *variance = room + 2 * n;
    squares(b, m->other, other, variance);
    squares(b, m->one, one, variance);
    for (uint32_t k = 0; k < n; k++) {
        double roots = sqrt(one[k]) + sqrt(other[k]);
        double w = !strcmp(m->metric, "r2")     ? variance[k] > 0 ? 1 / variance[k] : 0
                   : !strcmp(m->metric, "rmse") ? roots > 0 ? 1 / roots : 0
                                                : 1;
        m->weight[k] = w / n;
    }
    free(room);
}

static double paired_error(means *m)
{
    double mean = 0, square = 0, n = (double)m->b->n;
    if (m->b->task == VKT_TASK_REGRESS) weigh(m);
    for (size_t i = 0; i < m->b->n; i++) {
        double d = difference(m, i), old = mean;
        mean += (d - old) / (double)(i + 1);
        square += (d - old) * (d - mean);
    }
    return n > 1 ? sqrt(square / (n - 1) / n) : NAN;
}

static vkt_status bootstrap(const means *m, double *error)
{
    vkt_status st = VKT_OK;
    const vkt__beside *b = m->b;
    double mean = 0, square = 0, p, q;
    double most = work_of_resamples / ((double)b->n * b->n_outputs + 1);
    uint32_t n = (uint32_t)fmin(fmax(most, FEWEST_RESAMPLES), MOST_RESAMPLES), used = 0;
    uint32_t *pick = vkt__alloc((b->n + 1) * sizeof *pick);
    for (uint32_t r = 0; r < n; r++) {
        for (size_t i = 0; i < b->n; i++)
            pick[i] = vkt_rand_below(1, VKT_RNG_SAMPLE, (uint64_t)r * b->n + i, (uint32_t)b->n);
        VKT_TRY(vkt__beside_metric(b, m->one, m->metric, pick, &p));
        VKT_TRY(vkt__beside_metric(b, m->other, m->metric, pick, &q));
        double d = p - q, old = mean;
        if (!isfinite(d)) continue; /* a resample without examples of a class */
        mean += (d - old) / ++used;
        square += (d - old) * (d - mean);
    }
    *error = used > 1 ? sqrt(square / (used - 1)) : NAN;
fail:
    free(pick);
    return st;
}

vkt_status vkt__beside_error(const vkt__beside *b, const double *one, const double *other,
                             const char *metric, double *error)
{
    static const char *const plain[] = { "loss", "accuracy", "mae", "rmse", "r2" };
    vkt_status st = VKT_OK;
    bool mean = false;
    means m = { b, metric, one, other, vkt__alloc((b->n_outputs + 1) * sizeof(double)) };
    for (size_t i = 0; i < VKT_COUNT(plain); i++) mean = mean || !strcmp(plain[i], metric);
    if (b->task == VKT_TASK_MULTILABEL && strcmp(metric, "loss") != 0) mean = false;
    if (b->n < 2)
        *error = NAN;
    else if (mean)
        *error = paired_error(&m);
    else
        st = bootstrap(&m, error);
    free(m.weight);
    return st;
}

/* ---- the verdict ---- */

/* What a normal number exceeds with this probability, below one half (Abramowitz and
 * Stegun 26.2.23, to 4.5e-4), and what Student's t of these degrees of freedom does (26.7.5, four
 * terms). */
static double normal_beyond(double p)
{
    double t = sqrt(-2 * log(p));
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

static double student_beyond(double p, double v)
{
    double z = normal_beyond(p), s = z * z;
    return z + z * (s + 1) / (4 * v) + z * (3 + s * (16 + 5 * s)) / (96 * v * v) +
           z * (-15 + s * (17 + s * (19 + 3 * s))) / (384 * v * v * v) +
           z * (-945 + s * (-1920 + s * (1482 + s * (776 + 79 * s)))) / (92160 * v * v * v * v);
}

/* 1: more than noise, -1: behind by more than that. */
static int beyond_noise(vkt__lead l, double above, double below)
{
    if (!isfinite(l.by)) return 0;
    double error = l.error > 0 ? l.error : 0;
    return (l.by > above * error) - (-l.by > below * error);
}

const char *vkt__beside_verdict(vkt__lead chosen, vkt__lead right, size_t n, uint64_t looks)
{
    const double tail = 0.025, freedom = (double)VKT_MAX(n, 3) - 1;
    double below = student_beyond(tail, freedom),
           above = student_beyond(tail / (double)VKT_MAX(looks, 1), freedom);
    int by = beyond_noise(chosen, above, below), hits = beyond_noise(right, above, below);
    bool better = by > 0 || hits > 0, worse = by < 0 || hits < 0;
    if (better && worse) return "mixed";
    if (by > 0 && hits == 0 && isfinite(right.by)) return "partly";
    return better ? "better" : worse ? "worse" : "level";
}

const char *vkt__beside_judge(const vkt__leads *valid, uint64_t evaluations, const vkt__leads *test,
                              bool *by_test)
{
    *by_test = test->n >= FEWEST_TO_JUDGE && isfinite(test->by.by) && isfinite(test->by.error);
    const vkt__leads *of = *by_test ? test : valid;
    return vkt__beside_verdict(of->by, of->right, of->n, *by_test ? 1 : VKT_MAX(evaluations, 1));
}
