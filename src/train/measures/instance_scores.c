/* instance_scores.h */
#include <math.h>

#include "base/os.h"
#include "data/parts/parts.h"
#include "train/measures/instance_scores.h"

enum { NUMBERS = UINT16_MAX + 1 };

static int rising(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t of_all(const uint32_t *area)
{
    uint32_t n = 0;
    for (uint32_t k = 1; k < NUMBERS; k++) n += area[k] > 0;
    return n;
}

vkt_status vkt__instances_add(vkt__eval_sums *s, const vkt_label *target, const uint16_t *found,
                              size_t n)
{
    vkt_status st;
    uint32_t *true_area = NULL, *area = NULL, *both = NULL;
    uint8_t *taken = NULL;
    size_t n_both = 0;
    VKT_TRY(vkt__alloc_large(NUMBERS, sizeof *true_area, "the instances", &true_area));
    VKT_TRY(vkt__alloc_large(NUMBERS, sizeof *area, "the instances", &area));
    VKT_TRY(vkt__alloc_large(2 * NUMBERS, 1, "the instances", &taken));
    VKT_TRY(vkt__alloc_large(n, sizeof *both, "the instances", &both));
    memset(true_area, 0, NUMBERS * sizeof *true_area);
    memset(area, 0, NUMBERS * sizeof *area);
    memset(taken, 0, 2 * NUMBERS);
    for (size_t i = 0; i < n; i++) {
        uint32_t is = (uint32_t)target[i * VKT__INSTANCE_NUMBERS].f;
        true_area[is]++;
        area[found[i]]++;
        if (is && found[i]) both[n_both++] = is << 16 | found[i];
    }
    s->class_count[0] += of_all(true_area);
    s->class_predicted[0] += of_all(area);
    qsort(both, n_both, sizeof *both, rising);
    /* Two of one instance can only both have an IoU of a half or more if they are its halves: the
     * first is as good as any other. */
    for (size_t i = 0, end; i < n_both; i = end) {
        for (end = i; end < n_both && both[end] == both[i];) end++;
        uint32_t is = both[i] >> 16, as = both[i] & UINT16_MAX;
        if (3 * (uint64_t)(end - i) < (uint64_t)true_area[is] + area[as]) continue;
        if (taken[is] || taken[NUMBERS + as]) continue;
        taken[is] = taken[NUMBERS + as] = 1;
        s->class_correct[0]++;
    }
fail:
    free(true_area);
    free(area);
    free(taken);
    free(both);
    return st;
}

double vkt__instance_ap50(const vkt__eval_sums *s)
{
    if (!s->instances) return NAN;
    double hit = (double)s->class_correct[0],
           all = (double)s->class_count[0] + (double)s->class_predicted[0] - hit;
    return all > 0 ? hit / all : NAN;
}
