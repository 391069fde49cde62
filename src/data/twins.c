/* twins.h. Near ones by their distance to the nearest training row: copies that were changed a
 * little lie at distances of their own, with few between them and the usual ones. */
#include <math.h>

#include "base/words.h"
#include "data/pictures/picture_files.h"
#include "data/twins.h"

static const vkt_split held[] = { VKT_SPLIT_VALID, VKT_SPLIT_TEST };

uint64_t vkt__example_hash(const vkt_dataset *ds, vkt_split split, uint64_t i)
{
    const vkt__part *p = &ds->part[ds->of_part[split]];
    uint64_t at = ds->index[split][i], n = ds->schema.n_inputs;
    if (p->hash) return p->hash[at];
    if (p->files) return vkt__files_hash(p->files)[at];
    return p->pixels ? vkt__hash(p->pixels + at * n, n, n)
                     : vkt__hash(p->values + at * n, n * sizeof *p->values, n);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

vkt_status vkt__twins_drop(vkt_dataset *ds)
{
    vkt_status st = VKT_OK;
    uint64_t n = ds->info.n[VKT_SPLIT_TRAIN], *seen = NULL, dropped[VKT_N_SPLITS] = { 0 };
    if (!n || ds->schema.kind == VKT_DATA_KIND_TEXT) return VKT_OK;
    VKT_TRY(vkt__alloc_large(n, sizeof *seen, "the check for duplicates", &seen));
    for (uint64_t i = 0; i < n; i++) seen[i] = vkt__example_hash(ds, VKT_SPLIT_TRAIN, i);
    qsort(seen, n, sizeof *seen, by_number);
    for (size_t k = 0; k < VKT_COUNT(held); k++) {
        vkt_split s = held[k];
        uint64_t kept = 0, had = ds->info.n[s];
        for (uint64_t i = 0; i < had; i++) {
            uint64_t hash = vkt__example_hash(ds, s, i);
            if (!bsearch(&hash, seen, n, sizeof *seen, by_number))
                ds->index[s][kept++] = ds->index[s][i];
        }
        ds->info.n[s] = kept;
        dropped[s] = had - kept;
        if (had && !kept) {
            st = vkt__fail(VKT_E_ARG, "data",
                           "data.duplicates drop: all %llu %s examples equal training examples, "
                           "and none would be left",
                           (unsigned long long)had, vkt_split_name(s));
            goto fail;
        }
    }
    if (dropped[VKT_SPLIT_VALID] + dropped[VKT_SPLIT_TEST])
        vkt_log(VKT_LOG_INFO, "data",
                "%llu validation and %llu test examples equal training examples and are left out",
                (unsigned long long)dropped[VKT_SPLIT_VALID],
                (unsigned long long)dropped[VKT_SPLIT_TEST]);
fail:
    free(seen);
    return st;
}

/* ---- nearly equal ---- */

#define MOST_WORK 1e8
enum { FEWEST_HELD = 50, FEWEST_INPUTS = 2, FEWEST_NEAR = 5 };
/* Shares of the usual distance: a row nearer than the first is near; few lie between the two. */
static const double near_by = 0.05, between = 0.25;

static const float *row_of(const vkt_dataset *ds, vkt_split s, uint64_t i)
{
    const vkt__part *p = &ds->part[ds->of_part[s]];
    return p->values + (size_t)ds->index[s][i] * ds->schema.n_inputs;
}

/* Squared, to the nearest training row; 0 is that of an equal one. */
static double nearest(const vkt_dataset *ds, const float *x, uint64_t *which)
{
    uint32_t d = ds->schema.n_inputs;
    double best = INFINITY;
    for (uint64_t i = 0; i < ds->info.n[VKT_SPLIT_TRAIN]; i++) {
        const float *y = row_of(ds, VKT_SPLIT_TRAIN, i);
        double sum = 0;
        for (uint32_t k = 0; k < d && sum < best; k++) {
            double by = (double)x[k] - (double)y[k];
            sum += by * by;
        }
        if (sum < best) best = sum, *which = i;
    }
    return best;
}

static int by_distance(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

vkt_status vkt__twins_near(const vkt_dataset *ds, vkt__near *out)
{
    vkt_status st = VKT_OK;
    uint64_t n_train = ds->info.n[VKT_SPLIT_TRAIN], looked = 0, all = 0, n = 0, some = 0;
    double *distance = NULL, *sorted, least = INFINITY;
    *out = (vkt__near) { .n = 0 };
    for (size_t k = 0; k < VKT_COUNT(held); k++) all += ds->info.n[held[k]];
    double work = (double)n_train * ds->schema.n_inputs;
    bool table = ds->part[0].values && ds->schema.n_inputs >= FEWEST_INPUTS;
    if (!table || !n_train || MOST_WORK / work < FEWEST_HELD || all < FEWEST_HELD) return VKT_OK;
    uint64_t most = (uint64_t)fmin((double)all, MOST_WORK / work);
    VKT_TRY(vkt__alloc_large(2 * most + 4, sizeof *distance, "the check for near duplicates",
                             &distance));
    sorted = distance + most + 2;
    for (size_t k = 0; k < VKT_COUNT(held); k++) {
        uint64_t of = ds->info.n[held[k]], take = of * most / all, train = 0;
        for (uint64_t i = 0; i < take; i++) {
            uint64_t at = i * of / take;
            double by = sqrt(nearest(ds, row_of(ds, held[k], at), &train));
            if (by > 0 && by < least) {
                least = by;
                *out = (vkt__near) { 0, held[k], at, train };
            }
            if (by > 0) distance[looked++] = by;
        }
    }
    if (looked < FEWEST_HELD) goto fail;
    memcpy(sorted, distance, looked * sizeof *sorted);
    qsort(sorted, looked, sizeof *sorted, by_distance);
    /* The upper quartile: half of the rows may be copies. */
    double usual = sorted[3 * looked / 4];
    for (uint64_t i = 0; i < looked; i++) {
        n += sorted[i] < near_by * usual;
        some += sorted[i] >= near_by * usual && sorted[i] < between * usual;
    }
    if (n >= FEWEST_NEAR && 100 * n > looked && n > 2 * some)
        out->n = (uint64_t)((double)n * (double)all / (double)most);
fail:
    free(distance);
    return st;
}
