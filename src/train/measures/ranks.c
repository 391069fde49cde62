/* ranks.h: the scores of one class at a time, sorted, with whose they are in the lowest bit. */
#include <math.h>

#include "train/measures/ranks.h"

uint64_t vkt__ranks_scores(uint64_t n, uint32_t n_classes, bool several)
{
    return n * (n_classes == 2 && !several ? 1 : n_classes);
}

static uint32_t n_marks(const vkt__ranks *r)
{
    return r->several ? r->n_classes : 1;
}

static vkt_status no_memory(uint64_t n)
{
    return vkt__fail(VKT_E_OOM_HOST, "train",
                     "no memory for the %llu scores that roc_auc and average_precision sort",
                     (unsigned long long)n);
}

vkt_status vkt__ranks_create(uint64_t n, uint32_t n_classes, bool several, vkt__ranks *out)
{
    uint64_t n_scores = vkt__ranks_scores(n, n_classes, several);
    *out = (vkt__ranks) { .cap = n,
                          .n_classes = n_classes,
                          .several = several,
                          .n_scores = n_classes == 2 && !several ? 1 : n_classes };
    if (n_scores > SIZE_MAX / sizeof *out->score - 1) return no_memory(n_scores);
    out->score = malloc((size_t)(n_scores + 1) * sizeof *out->score);
    out->target = malloc((size_t)(n + 1) * n_marks(out) * sizeof *out->target);
    if (out->score && out->target) return VKT_OK;
    vkt__ranks_finish(out);
    return no_memory(n_scores);
}

void vkt__ranks_finish(vkt__ranks *r)
{
    free(r->score);
    free(r->target);
    *r = (vkt__ranks) { 0 };
}

void vkt__ranks_add(vkt__ranks *r, const float *probability, uint32_t target)
{
    VKT_ASSERT(r->n < r->cap);
    memcpy(r->score + r->n * r->n_scores, r->n_scores == 1 ? probability + 1 : probability,
           r->n_scores * sizeof *r->score);
    r->target[r->n++] = target;
}

void vkt__ranks_add_labels(vkt__ranks *r, const float *probability, const vkt_label *y)
{
    VKT_ASSERT(r->n < r->cap && r->several);
    memcpy(r->score + r->n * r->n_scores, probability, r->n_scores * sizeof *r->score);
    for (uint32_t c = 0; c < r->n_classes; c++) r->target[r->n * r->n_classes + c] = y[c].f > 0;
    r->n++;
}

static bool is_of(const vkt__ranks *r, uint64_t i, uint32_t class)
{
    return r->several ? r->target[i * r->n_classes + class] != 0 : r->target[i] == class;
}

/* By 11 bits at a time, the lowest first. Three passes: the result is in `other`. */
static void sort(uint32_t *v, uint32_t *other, uint64_t n)
{
    enum { BITS = 11, DIGITS = 1 << BITS };
    for (uint32_t shift = 0; shift < 3 * BITS; shift += BITS) {
        uint64_t at[DIGITS] = { 0 }, before = 0;
        for (uint64_t i = 0; i < n; i++) at[v[i] >> shift & (DIGITS - 1)]++;
        for (uint32_t d = 0; d < DIGITS; d++) {
            uint64_t count = at[d];
            at[d] = before;
            before += count;
        }
        for (uint64_t i = 0; i < n; i++) other[at[v[i] >> shift & (DIGITS - 1)]++] = v[i];
        uint32_t *t = v;
        v = other, other = t;
    }
}

/* A probability's bits order as it does; shifted by its sign, they leave a bit for whose it is. */
static bool keys_of(const vkt__ranks *r, uint32_t column, uint32_t class, uint32_t *key)
{
    for (uint64_t i = 0; i < r->n; i++) {
        float p = r->score[i * r->n_scores + column];
        if (!(p >= 0)) return false;
        memcpy(&key[i], &p, sizeof p);
        key[i] = key[i] << 1 | is_of(r, i, class);
    }
    return true;
}

/* key: sorted. From the highest score down, a threshold at each that differs from the one before.
 * The area is U / (n_yes n_no) of Mann and Whitney, in whole numbers until then. */
static void measure_class(const uint32_t *key, uint64_t n, uint64_t n_yes, double *auc, double *ap)
{
    uint64_t yes = 0, no = 0, n_no = n - n_yes, u2 = 0; /* u2: twice U */
    *ap = 0;
    for (uint64_t i = n, first; i > 0; i = first) {
        uint64_t now = 0;
        for (first = i; first > 0 && key[first - 1] >> 1 == key[i - 1] >> 1; first--)
            now += key[first - 1] & 1;
        uint64_t others = i - first - now;
        u2 += now * (2 * (n_no - no - others) + others);
        yes += now;
        no += others;
        *ap += (double)now / (double)n_yes * ((double)yes / (double)(yes + no));
    }
    *auc = (double)u2 / 2 / ((double)n_yes * (double)n_no);
}

vkt_status vkt__ranks_measure(const vkt__ranks *r, double *roc_auc, double *average_precision,
                              double *class_ap)
{
    double auc_sum = 0, ap_sum = 0, n_measured = 0;
    *roc_auc = *average_precision = NAN;
    uint32_t *key = malloc((size_t)(2 * r->n + 1) * sizeof *key);
    if (!key) return no_memory(2 * r->n);
    for (uint32_t c = 0; class_ap && c < r->n_classes; c++) class_ap[c] = NAN;
    for (uint32_t column = 0; column < r->n_scores; column++) {
        uint32_t class = r->n_scores == 1 && !r->several ? 1 : column;
        uint64_t n_yes = 0;
        double auc, ap;
        for (uint64_t i = 0; i < r->n; i++) n_yes += is_of(r, i, class);
        if (n_yes == 0 || n_yes == r->n) continue;
        if (!keys_of(r, column, class, key)) goto done;
        sort(key, key + r->n, r->n);
        measure_class(key + r->n, r->n, n_yes, &auc, &ap);
        auc_sum += auc;
        ap_sum += ap;
        if (class_ap) class_ap[class] = ap;
        n_measured++;
    }
    *roc_auc = auc_sum / n_measured;
    *average_precision = ap_sum / n_measured;
done:
    free(key);
    return VKT_OK;
}

/* ---- curves ---- */

enum { CLEAR = 512 }; /* a step of a curve that is seen */

/* key: sorted, of one class. */
static void add_curve(const uint32_t *key, uint64_t n, uint64_t n_yes, uint32_t class,
                      vkt__rank_point **out, size_t *n_out, size_t *cap)
{
    uint64_t yes = 0, no = 0, n_no = n - n_yes, last_yes = 0, last_no = 0;
    for (uint64_t i = n, first; i > 0; i = first) {
        for (first = i; first > 0 && key[first - 1] >> 1 == key[i - 1] >> 1; first--)
            key[first - 1] & 1 ? yes++ : no++;
        bool seen = (yes - last_yes) * CLEAR >= n_yes || (no - last_no) * CLEAR >= n_no;
        if (!seen && first > 0 && i < n) continue;
        uint32_t bits = key[i - 1] >> 1;
        vkt__rank_point p = { .class = class,
                              .recall = (double)yes / (double)n_yes,
                              .false_positive_rate = (double)no / (double)n_no,
                              .precision = (double)yes / (double)(yes + no) };
        memcpy(&p.threshold, &bits, sizeof bits);
        if (*n_out == *cap) *out = vkt__grow(*out, *n_out, cap, sizeof **out);
        (*out)[(*n_out)++] = p;
        last_yes = yes, last_no = no;
    }
}

/* Whether fewer than VKT__CURVES classes are ranked worse than this one. */
static bool among_worst(const vkt__ranks *r, const double *ap, uint32_t class)
{
    uint32_t before = 0;
    for (uint32_t c = 0; c < r->n_classes && r->n_classes > VKT__CURVES; c++)
        before += ap[c] < ap[class] || (ap[c] <= ap[class] && c < class);
    return before < VKT__CURVES;
}

vkt_status vkt__ranks_curves(const vkt__ranks *r, const double *class_ap, vkt__rank_point **out,
                             size_t *n)
{
    size_t cap = 0;
    *out = NULL;
    *n = 0;
    uint32_t *key = malloc((size_t)(2 * r->n + 1) * sizeof *key);
    if (!key) return no_memory(2 * r->n);
    for (uint32_t column = 0; column < r->n_scores; column++) {
        uint32_t class = r->n_scores == 1 && !r->several ? 1 : column;
        uint64_t n_yes = 0;
        if (isnan(class_ap[class]) || !among_worst(r, class_ap, class)) continue;
        for (uint64_t i = 0; i < r->n; i++) n_yes += is_of(r, i, class);
        if (!keys_of(r, column, class, key)) break;
        sort(key, key + r->n, r->n);
        add_curve(key + r->n, r->n, n_yes, class, out, n, &cap);
    }
    free(key);
    return VKT_OK;
}
