/* Splits that a column of a table decides: groups that stay together, and time. What has no column
 * is split.c's. */
#include <math.h>

#include "data/parts/parts.h"

static vkt_status too_few(const char *what, uint32_t n, const char *split)
{
    return vkt__fail(VKT_E_ARG, "data",
                     "%s: its %u different values leave no %s example: set data.valid_fraction and "
                     "data.test_fraction so that they do, or fewer data.folds",
                     what, n, split);
}

/* The share of the examples for the test split; 0: the test set is a part of its own. */
static double test_share(const vkt_dataset *ds, const vkt_data_desc *desc)
{
    return ds->of_part[VKT_SPLIT_TEST] == 1 ? 0 : desc->test_fraction;
}

/* Groups in a shuffled order, each to the place that lacks most examples: test; then the folds, or
 * training and validation. place [n_groups]: 0 test, 1 + the fold, or 1 training and 2 validation.
 */
static void place_groups(const vkt_dataset *ds, const vkt_data_desc *desc, const uint32_t *size,
                         uint32_t n_groups, uint32_t *place)
{
    uint32_t n_places = 1 + (desc->folds ? desc->folds : 2), *order = vkt__alloc(n_groups * 4);
    double n = ds->part[0].n, test = test_share(ds, desc),
           *lacks = vkt__alloc(n_places * sizeof *lacks);
    lacks[0] = n * test;
    for (uint32_t p = 1; p < n_places; p++)
        lacks[p] = n * (1 - test) *
                   (desc->folds ? 1.0 / desc->folds
                    : p == 2    ? desc->valid_fraction
                                : 1 - desc->valid_fraction);
    for (uint32_t g = 0; g < n_groups; g++) order[g] = g;
    for (uint32_t i = n_groups - 1; i > 0; i--) {
        uint32_t j = vkt_rand_below(desc->seed, VKT_RNG_SPLIT, i, i + 1), keep = order[i];
        order[i] = order[j];
        order[j] = keep;
    }
    for (uint32_t i = 0; i < n_groups; i++) {
        uint32_t to = 1;
        for (uint32_t p = 0; p < n_places; p++)
            if (lacks[p] > lacks[to]) to = p;
        place[order[i]] = to;
        lacks[to] -= size[order[i]];
    }
    free(order);
    free(lacks);
}

static vkt_status check_splits(const vkt_dataset *ds, const vkt_data_desc *desc, const char *what,
                               uint32_t n_values, const uint8_t *split)
{
    uint64_t n[VKT_N_SPLITS + 1] = { 0 };
    for (uint32_t i = 0; i < ds->part[0].n; i++) n[split[i]]++;
    if (n[VKT_SPLIT_TRAIN] == 0) return too_few(what, n_values, "training");
    if (n[VKT_SPLIT_VALID] == 0 && (desc->folds || desc->valid_fraction > 0))
        return too_few(what, n_values, "validation");
    if (n[VKT_SPLIT_TEST] == 0 && test_share(ds, desc) > 0) return too_few(what, n_values, "test");
    return VKT_OK;
}

vkt_status vkt__split_groups(const vkt_dataset *ds, const vkt_data_desc *desc,
                             const uint32_t *group, uint8_t *split)
{
    uint32_t n = ds->part[0].n, n_groups = 0;
    for (uint32_t i = 0; i < n; i++) n_groups = VKT_MAX(n_groups, group[i] + 1);
    uint32_t *size = vkt__alloc(n_groups * sizeof *size), *place = vkt__alloc(n_groups * 4);
    for (uint32_t i = 0; i < n; i++) size[group[i]]++;
    place_groups(ds, desc, size, n_groups, place);
    uint32_t valid = desc->folds ? 1 + desc->fold : 2;
    for (uint32_t i = 0; i < n; i++)
        split[i] = place[group[i]] == 0       ? VKT_SPLIT_TEST
                   : place[group[i]] == valid ? VKT_SPLIT_VALID
                                              : VKT_SPLIT_TRAIN;
    free(size);
    free(place);
    return check_splits(ds, desc, "data.group", n_groups, split);
}

vkt_status vkt__split_in_time(const vkt_dataset *ds, const vkt_data_desc *desc,
                              const uint32_t *order, uint8_t *split)
{
    uint32_t n = ds->part[0].n, n_test = (uint32_t)llround(n * test_share(ds, desc));
    uint32_t left = n - VKT_MIN(n_test, n), end = left,
             begin = left - (uint32_t)llround(left * desc->valid_fraction);
    if (desc->folds) {
        begin = (uint32_t)((uint64_t)left * (desc->fold + 1) / (desc->folds + 1));
        end = (uint32_t)((uint64_t)left * (desc->fold + 2) / (desc->folds + 1));
    }
    for (uint32_t i = 0; i < n; i++)
        split[order[i]] = i < begin   ? VKT_SPLIT_TRAIN
                          : i < end   ? VKT_SPLIT_VALID
                          : i >= left ? VKT_SPLIT_TEST
                                      : VKT_N_SPLITS;
    return check_splits(ds, desc, "data.time", n, split);
}
