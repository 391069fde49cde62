/* batch_choice.h */
#include "study/batch_choice.h"
#include "runs/curve.h"

enum { RESAMPLINGS = 400, MOST_SIZES = 32, MOST_TIMES = 16, SEED = 20 };
#define CERTAIN 0.9
#define LEFT_OUT 0.05

/* ms [n]: one time of each size. */
static size_t largest_that_pays(const vkt__batch_times *z, const double *ms, size_t n)
{
    size_t pays = 0;
    for (size_t i = 1; i < n; i++)
        if (z[i].batch / ms[i] >= VKT__BATCH_PAYS * z[pays].batch / ms[pays]) pays = i;
    return pays;
}

vkt__batch_choice vkt__batch_choose(const vkt__batch_times *z, size_t n)
{
    double ms[MOST_SIZES], draw[MOST_TIMES];
    size_t count[MOST_SIZES] = { 0 }, seen = 0;
    uint64_t at = 0;
    vkt__batch_choice c = { 0 };
    VKT_ASSERT(n > 0 && n <= MOST_SIZES);
    for (size_t i = 0; i < n; i++) ms[i] = vkt__median(z[i].ms, z[i].n);
    c.pays = largest_that_pays(z, ms, n);
    for (size_t r = 0; r < RESAMPLINGS; r++) {
        for (size_t i = 0; i < n; i++) {
            VKT_ASSERT(z[i].n > 0 && z[i].n <= MOST_TIMES);
            for (size_t k = 0; k < z[i].n; k++)
                draw[k] = z[i].ms[(size_t)(vkt_rand_uniform(SEED, VKT_RNG_SAMPLE, at++) *
                                           (double)z[i].n)];
            ms[i] = vkt__median(draw, z[i].n);
        }
        count[largest_that_pays(z, ms, n)]++;
    }
    c.share = (double)count[c.pays] / RESAMPLINGS;
    c.certain = c.share >= CERTAIN;
    c.low = n;
    for (size_t i = 0; i < n; i++) {
        seen += count[i];
        if (c.low == n && (double)seen > LEFT_OUT * RESAMPLINGS) c.low = i;
        if ((double)(seen - count[i]) < (1 - LEFT_OUT) * RESAMPLINGS) c.high = i;
    }
    return c;
}
