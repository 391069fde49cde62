/* label_doubt.h */
#include "base/words.h"
#include "train/measures/label_doubt.h"

void vkt__judged_set(vkt__judged *e, uint64_t index, uint32_t label, const float *out,
                     uint32_t n_classes)
{
    uint32_t n = 0;
    *e = (vkt__judged) { .index = index, .label = label, .p_label = out[label] };
    for (uint32_t k = 0; k < n_classes; k++) {
        if (n == VKT__LIKELIEST && !(out[k] > e->top[n - 1].p)) continue;
        uint32_t at = n < VKT__LIKELIEST ? n++ : n - 1;
        for (; at > 0 && out[k] > e->top[at - 1].p; at--) e->top[at] = e->top[at - 1];
        e->top[at].class = k;
        e->top[at].p = out[k];
    }
}

static int by_doubt(const void *a, const void *b)
{
    const vkt__doubt *x = a, *y = b;
    return x->p != y->p ? (x->p < y->p) - (x->p > y->p) : (x->at > y->at) - (x->at < y->at);
}

/* Shares that are wrong of the surest ones. */
static vkt_status measure_surest(const vkt__judged *e, size_t n, vkt__doubts *out)
{
    vkt_status st;
    vkt__doubt *order = NULL;
    size_t wrong = 0;
    VKT_TRY(vkt__alloc_large(n + 1, sizeof *order, "the order of examples", &order));
    for (size_t i = 0; i < n; i++) order[i] = (vkt__doubt) { i, e[i].top[0].class, e[i].top[0].p };
    qsort(order, n, sizeof *order, by_doubt);
    for (size_t i = 0; i < n; i++) {
        wrong += order[i].likely != e[order[i].at].label;
        if (i + 1 == n / 4) out->quarter = (double)wrong / (double)(i + 1);
        if (i + 1 == n / 2) out->half = (double)wrong / (double)(i + 1);
    }
    out->wrong = n ? (double)wrong / (double)n : 0;
fail:
    free(order);
    return st;
}

/* The likeliest class that is as probable as its own examples have it on average. */
static bool doubtful(const vkt__judged *e, const double *usual, vkt__doubt *out)
{
    for (size_t k = 0; k < VKT__LIKELIEST && e->top[k].p > 0; k++) {
        if ((double)e->top[k].p < usual[e->top[k].class]) continue;
        out->likely = e->top[k].class;
        out->p = e->top[k].p - e->p_label;
        return out->likely != e->label && out->p > 0;
    }
    return false;
}

vkt_status vkt__label_doubts(const vkt__judged *e, size_t n, uint32_t n_classes, vkt__doubts *out)
{
    vkt_status st;
    double *usual = NULL, *count;
    vkt__doubts d = { .n_examples = n };
    VKT_TRY(vkt__alloc_large(2 * (uint64_t)n_classes, sizeof *usual, "classes", &usual));
    VKT_TRY(vkt__alloc_large(n + 1, sizeof *d.doubt, "doubtful labels", &d.doubt));
    VKT_TRY(measure_surest(e, n, &d));
    count = usual + n_classes;
    for (uint32_t k = 0; k < 2 * n_classes; k++) usual[k] = 0;
    for (size_t i = 0; i < n; i++) {
        usual[e[i].label] += (double)e[i].p_label;
        count[e[i].label]++;
    }
    for (uint32_t k = 0; k < n_classes; k++) usual[k] = count[k] > 0 ? usual[k] / count[k] : 2;
    for (size_t i = 0; i < n; i++) {
        d.doubt[d.n].at = i;
        d.n += doubtful(&e[i], usual, &d.doubt[d.n]);
    }
    qsort(d.doubt, d.n, sizeof *d.doubt, by_doubt);
    for (size_t i = 0; i < d.n; i++) d.doubt[i].p += e[d.doubt[i].at].p_label;
    *out = d;
    d.doubt = NULL;
fail:
    free(usual);
    free(d.doubt);
    return st;
}
