/* The split of one file's examples into train, validation and test: by class, a pure function of
 * the seed. */
#include <math.h>

#include "data/parts/parts.h"

/* Where each example goes, class by class: shuffle the class, deal test and validation off its
 * front. */
static vkt_status deal(const vkt_dataset *ds, const vkt_data_desc *desc, const bool *own,
                       const uint32_t *start, uint32_t *members, uint8_t *split)
{
    uint32_t n_classes = ds->schema.task == VKT_TASK_CLASSIFY ? ds->schema.n_outputs : 1, dealt = 0;
    for (uint32_t c = 0; c < n_classes; c++) {
        uint32_t n = start[c + 1] - start[c], *m = members + start[c];
        if (n == 0) continue;
        for (uint32_t i = n - 1; i > 0; i--) {
            uint32_t j = vkt_rand_below(desc->seed, VKT_RNG_SPLIT, (uint64_t)start[c] + i, i + 1),
                     keep = m[i];
            m[i] = m[j];
            m[j] = keep;
        }
        uint32_t n_test = own[VKT_SPLIT_TEST] ? 0 : (uint32_t)llround(n * desc->test_fraction);
        double valid = desc->folds ? 0 : desc->valid_fraction;
        uint32_t n_valid = own[VKT_SPLIT_VALID] ? 0 : (uint32_t)llround((n - n_test) * valid);
        if (n_test + n_valid >= n)
            return vkt__fail(
                VKT_E_ARG, "data",
                "%s%s has only %u examples: with data.valid_fraction %g and data.test_fraction %g "
                "none are left to train on; lower them",
                ds->schema.task == VKT_TASK_CLASSIFY ? "class " : "the data set",
                ds->schema.task == VKT_TASK_CLASSIFY ? vkt__show(ds->schema.classes[c]).s : "", n,
                own[VKT_SPLIT_VALID] ? 0 : desc->valid_fraction,
                own[VKT_SPLIT_TEST] ? 0 : desc->test_fraction);
        for (uint32_t i = 0; i < n; i++)
            split[m[i]] = i < n_test             ? VKT_SPLIT_TEST
                          : i < n_test + n_valid ? VKT_SPLIT_VALID
                                                 : VKT_SPLIT_TRAIN;
        /* Each class goes on with the fold at which the one before ended. */
        for (uint32_t i = n_test; i < n && desc->folds && !own[VKT_SPLIT_VALID]; i++)
            if (dealt++ % desc->folds == desc->fold) split[m[i]] = VKT_SPLIT_VALID;
    }
    return VKT_OK;
}

/* Examples to be dealt, grouped by class: class c has members[start[c]] .. members[start[c + 1] -
 * 1], rising. */
static void group(const vkt_dataset *ds, const uint8_t *split, uint32_t *start, uint32_t *members)
{
    const vkt__part *part = &ds->part[0];
    bool classes = ds->schema.task == VKT_TASK_CLASSIFY;
    uint32_t n_classes = classes ? ds->schema.n_outputs : 1;
    for (uint32_t i = 0; i < part->n; i++)
        if (split[i] == VKT_N_SPLITS) start[classes ? part->labels[i].u + 1 : 1]++;
    for (uint32_t c = 0; c < n_classes; c++) start[c + 1] += start[c];
    uint32_t n = start[n_classes];
    for (uint32_t i = part->n; i-- > 0;)
        if (split[i] == VKT_N_SPLITS) members[--start[classes ? part->labels[i].u + 1 : 1]] = i;
    /* start[c + 1] is now where class c starts. */
    for (uint32_t c = 0; c < n_classes; c++) start[c] = start[c + 1];
    start[n_classes] = n;
}

static vkt_status collect(vkt_dataset *ds, const uint8_t *split, vkt_split s)
{
    vkt_status st;
    const vkt__part *part = &ds->part[ds->of_part[s]];
    uint64_t n = 0;
    for (uint32_t i = 0; i < part->n; i++) n += !split || split[i] == s;
    VKT_TRY(vkt__alloc_large(n, sizeof(uint32_t), "the split", &ds->index[s]));
    for (uint32_t i = 0; i < part->n; i++)
        if (!split || split[i] == s) ds->index[s][ds->info.n[s]++] = i;
fail:
    return st;
}

static vkt_status check_count(const vkt_dataset *ds, vkt_split s, const char *key, double fraction)
{
    if (!(fraction > 0) || ds->info.n[s] > 0) return VKT_OK;
    return vkt__fail(
        VKT_E_ARG, "data",
        "data.%s %g of %u examples gives no %s example: too few; raise it or set it to 0", key,
        fraction, ds->part[0].n, vkt_split_name(s));
}

/* A train folder beside a valid or test one says where its examples belong; what is missing of the
 * three is dealt from it. */
static void settle(const uint8_t *fixed, const bool *own, bool all_own, uint8_t *split, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        split[i] = fixed ? fixed[i] : VKT_N_SPLITS;
        if (split[i] == VKT_SPLIT_TRAIN && own[VKT_SPLIT_TRAIN] && !all_own)
            split[i] = VKT_N_SPLITS;
    }
}

vkt_status vkt__split(vkt_dataset *ds, const vkt_data_desc *desc, const uint8_t *fixed,
                      const bool given[VKT_N_SPLITS])
{
    vkt_status st;
    uint32_t n = ds->part[0].n,
             n_classes = ds->schema.task == VKT_TASK_CLASSIFY ? ds->schema.n_outputs : 1;
    bool other_part = ds->of_part[VKT_SPLIT_TEST] == 1, own[VKT_N_SPLITS] = { 0 };
    uint32_t *start = NULL, *members = NULL;
    uint8_t *split = NULL;
    if (given) memcpy(own, given, sizeof own);
    own[VKT_SPLIT_TEST] |= other_part;
    VKT_TRY(vkt__alloc_large((uint64_t)n_classes + 1, sizeof *start, "the split", &start));
    VKT_TRY(vkt__alloc_large(n, sizeof *members, "the split", &members));
    VKT_TRY(vkt__alloc_large(n, 1, "the split", &split));
    memset(start, 0, ((size_t)n_classes + 1) * sizeof *start);
    settle(fixed, own, own[VKT_SPLIT_VALID] && own[VKT_SPLIT_TEST], split, n);
    ds->folded = desc->folds && !own[VKT_SPLIT_VALID];
    group(ds, split, start, members);
    VKT_TRY(deal(ds, desc, own, start, members, split));
    VKT_TRY(collect(ds, split, VKT_SPLIT_TRAIN));
    VKT_TRY(collect(ds, split, VKT_SPLIT_VALID));
    VKT_TRY(collect(ds, other_part ? NULL : split, VKT_SPLIT_TEST));
    if (!own[VKT_SPLIT_VALID])
        VKT_TRY(check_count(ds, VKT_SPLIT_VALID, "valid_fraction", desc->valid_fraction));
    if (!own[VKT_SPLIT_TEST])
        VKT_TRY(check_count(ds, VKT_SPLIT_TEST, "test_fraction", desc->test_fraction));
fail:
    free(start);
    free(members);
    free(split);
    return st;
}

vkt_status vkt__split_by_column(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__split_by *by)
{
    vkt_status st;
    uint8_t *split = NULL;
    if (!by->group && !by->order) return vkt__split(ds, desc, NULL, NULL);
    VKT_TRY(vkt__alloc_large(ds->part[0].n, 1, "the split", &split));
    VKT_TRY(by->group ? vkt__split_groups(ds, desc, by->group, split)
                      : vkt__split_in_time(ds, desc, by->order, split));
    VKT_TRY(collect(ds, split, VKT_SPLIT_TRAIN));
    VKT_TRY(collect(ds, split, VKT_SPLIT_VALID));
    VKT_TRY(collect(ds, ds->of_part[VKT_SPLIT_TEST] == 1 ? NULL : split, VKT_SPLIT_TEST));
    ds->folded = desc->folds > 0;
fail:
    free(split);
    return st;
}

const char *vkt_split_name(vkt_split s)
{
    static const char *const names[] = { "train", "valid", "test" };
    return (unsigned)s < VKT_COUNT(names) ? names[s] : "unknown";
}
