/* calibration.h. The cross-entropy is convex in 1 / temperature, so that Newton's method within
 * bounds finds the one minimum. */
#include <jansson.h>
#include <math.h>

#include "base/os.h"
#include "base/words.h"
#include "train/measures/calibration.h"

static const double coldest = 0.25, hottest = 10;

vkt__calibration vkt__calibration_none(vkt_task task, uint32_t n)
{
    vkt__calibration c = { .n = n };
    if (task == VKT_TASK_MULTILABEL) c.threshold = vkt__alloc(n * sizeof *c.threshold);
    for (uint32_t k = 0; k < n && c.threshold; k++) c.threshold[k] = 0.5f;
    return c;
}

void vkt__calibration_finish(vkt__calibration *c)
{
    free(c->threshold);
    *c = (vkt__calibration) { 0 };
}

/* log p, of a p that was rounded to 0 as of the smallest number. */
static double log_of(float p)
{
    return log(fmax((double)p, 1e-38));
}

void vkt__calibration_apply(const vkt__calibration *c, float *p, uint32_t n)
{
    float most = 0; /* GCC 12 for 64-bit Arm ends with an internal error at fmax in double here */
    double sum = 0;
    if (!(c->temperature > 0)) return;
    for (uint32_t k = 0; k < n; k++)
        if (p[k] > most) most = p[k];
    if (!(most > 0)) return;
    for (uint32_t k = 0; k < n; k++) {
        double v = exp((log_of(p[k]) - log((double)most)) / c->temperature);
        sum += v;
        p[k] = (float)v;
    }
    for (uint32_t k = 0; k < n; k++) p[k] = (float)((double)p[k] / sum);
}

uint32_t vkt__calibration_class(const vkt__calibration *c, const float *p, uint32_t n)
{
    uint32_t top = 0;
    if (c->threshold && n == 2) return p[1] >= c->threshold[1];
    for (uint32_t k = 1; k < n; k++)
        if (p[k] > p[top]) top = k;
    return top;
}

/* ---- temperature ---- */

/* First and second derivative of one example's cross-entropy by b = 1 / temperature: mean and
 * variance of z = log p under softmax(b z), the mean less the target's z. */
static void derivatives(const float *p, uint32_t n, uint32_t target, double b, double *first,
                        double *second)
{
    double most = -INFINITY, sum = 0, mean = 0, square = 0;
    for (uint32_t k = 0; k < n; k++) most = fmax(most, log_of(p[k]));
    for (uint32_t k = 0; k < n; k++) {
        double z = log_of(p[k]) - most, q = exp(b * z);
        sum += q;
        mean += q * z;
        square += q * z * z;
    }
    mean /= sum;
    *first += mean - (log_of(p[target]) - most);
    *second += square / sum - mean * mean;
}

/* Without every FOLDS-th example from number `left_out` on; FOLDS: with all. */
enum { FOLDS = 5 };

static double fit_without(const float *p, const uint32_t *target, uint64_t n, uint32_t n_classes,
                          uint64_t left_out)
{
    double low = 1 / hottest, high = 1 / coldest, b = 1;
    for (int round = 0; round < 60; round++) {
        double first = 0, second = 0;
        for (uint64_t i = 0; i < n; i++)
            if (i % FOLDS != left_out)
                derivatives(p + i * n_classes, n_classes, target[i], b, &first, &second);
        if (first > 0)
            high = b;
        else
            low = b;
        double next = second > 0 ? b - first / second : NAN;
        if (!(next > low && next < high)) next = (low + high) / 2;
        bool done = fabs(next - b) <= 1e-9 * b;
        b = next;
        if (done) break;
    }
    return 1 / b;
}

double vkt__fit_temperature(const float *p, const uint32_t *target, uint64_t n, uint32_t n_classes)
{
    return fit_without(p, target, n, n_classes, FOLDS);
}

static double cross_entropy(const float *p, uint32_t n, uint32_t target, double temperature)
{
    double most = -INFINITY, sum = 0;
    for (uint32_t k = 0; k < n; k++) most = fmax(most, log_of(p[k]));
    for (uint32_t k = 0; k < n; k++) sum += exp((log_of(p[k]) - most) / temperature);
    return log(sum) - (log_of(p[target]) - most) / temperature;
}

bool vkt__temperature_helps(const float *p, const uint32_t *target, uint64_t n, uint32_t n_classes,
                            double *without, double *with)
{
    *without = *with = 0;
    for (uint64_t fold = 0; fold < FOLDS && fold < n; fold++) {
        double temperature = fit_without(p, target, n, n_classes, fold);
        for (uint64_t i = fold; i < n; i += FOLDS) {
            const float *row = p + i * n_classes;
            *without += cross_entropy(row, n_classes, target[i], 1) / (double)n;
            *with += cross_entropy(row, n_classes, target[i], temperature) / (double)n;
        }
    }
    return *with < *without;
}

/* ---- thresholds ---- */

typedef struct scored {
    float score;
    bool is;
} scored;

static int falling(const void *a, const void *b)
{
    float x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x < y) - (x > y);
}

vkt_status vkt__fit_threshold(const float *score, const float *is, uint64_t n, uint32_t stride,
                              vkt__threshold_by by, double miss_cost, float *out)
{
    uint64_t n_yes = 0, hits = 0;
    double best = -INFINITY;
    scored *all = malloc((size_t)(n + 1) * sizeof *all);
    *out = 0.5f;
    if (!all)
        return vkt__fail(VKT_E_OOM_HOST, "train", "no memory to sort %llu scores",
                         (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++) {
        all[i] = (scored) { score[i * stride], is[i * stride] > 0 };
        n_yes += all[i].is;
    }
    qsort(all, n, sizeof *all, falling);
    for (uint64_t i = 0; i < n && n_yes && n_yes < n; i++) {
        hits += all[i].is;
        if (i + 1 < n && all[i + 1].score >= all[i].score) continue; /* one threshold for equals */
        double said = (double)(i + 1), missed = (double)(n_yes - hits),
               value = by == VKT__BY_F1 ? 2 * (double)hits / (said + (double)n_yes)
                                        : -(miss_cost * missed + said - (double)hits);
        if (value < best) continue;
        best = value;
        *out = (float)(((double)all[i].score + (i + 1 < n ? (double)all[i + 1].score : 0)) / 2);
    }
    free(all);
    return VKT_OK;
}

/* ---- the file ---- */

vkt_status vkt__calibration_write(const char *dir, const vkt__calibration *c,
                                  const char *const *names)
{
    vkt__arena a = { 0 };
    json_t *o = json_object(), *thresholds = json_object();
    json_object_set_new(o, "version", json_integer(1));
    json_object_set_new(o, "examples", json_integer((json_int_t)c->n_examples));
    if (c->temperature > 0) json_object_set_new(o, "temperature", json_real(c->temperature));
    for (uint32_t k = 0; c->threshold && k < c->n; k++)
        json_object_set_new(thresholds, names[k], json_real((double)c->threshold[k]));
    if (c->threshold) json_object_set(o, "thresholds", thresholds);
    json_decref(thresholds);
    char *text = json_dumps(o, JSON_INDENT(1));
    json_decref(o);
    if (!text) return vkt__fail(VKT_E_OOM_HOST, "train", "no memory for the calibration");
    vkt_status st =
        vkt__file_replace(vkt__arena_printf(&a, "%s/calibration.json", dir), text, strlen(text));
    free(text);
    vkt__arena_finish(&a);
    return st;
}

static bool take(const json_t *o, vkt_task task, uint32_t n, const char *const *names,
                 vkt__calibration *out)
{
    const json_t *t = json_object_get(o, "temperature"), *all = json_object_get(o, "thresholds");
    if (json_integer_value(json_object_get(o, "version")) != 1) return false;
    out->n = n;
    out->n_examples = (uint64_t)json_integer_value(json_object_get(o, "examples"));
    out->temperature = json_number_value(t);
    if (t && (task != VKT_TASK_CLASSIFY || !(out->temperature >= coldest) ||
              !(out->temperature <= hottest)))
        return false;
    if (!all) return true;
    if (task == VKT_TASK_REGRESS || (task == VKT_TASK_CLASSIFY && n != 2)) return false;
    if (json_object_size(all) != n) return false;
    if (!out->threshold) out->threshold = vkt__alloc(n * sizeof *out->threshold);
    for (uint32_t k = 0; k < n; k++) {
        const json_t *v = json_object_get(all, names[k]);
        out->threshold[k] = (float)json_number_value(v);
        if (!json_is_number(v) || !(out->threshold[k] >= 0 && out->threshold[k] <= 1)) return false;
    }
    return true;
}

vkt_status vkt__calibration_read(const char *dir, vkt_task task, uint32_t n,
                                 const char *const *names, vkt__calibration *out)
{
    enum { LIMIT = 64 << 20 };
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    const char *path = vkt__arena_printf(&a, "%s/calibration.json", dir);
    char *text = NULL;
    size_t size;
    json_t *o = NULL;
    *out = vkt__calibration_none(task, n);
    VKT_TRY(vkt__file_read_if(path, LIMIT, &text, &size));
    if (!text) goto fail;
    o = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (!take(o, task, n, names, out)) {
        vkt__calibration_finish(out);
        st = vkt__fail(VKT_E_FORMAT, "train",
                       "'%s' is damaged, or of another model: delete it to go on with the model's "
                       "own probabilities",
                       path);
    }
fail:
    json_decref(o);
    free(text);
    vkt__arena_finish(&a);
    return st;
}
