/* A share of the training examples in place of all: what a learning curve is made of. Class by
 * class, whole groups where there are some; a larger share of the same seed has those of a smaller
 * one. */
#include <math.h>

#include "data/parts/parts.h"

typedef struct ticket {
    uint32_t class, draw, key, at; /* at: of the split */
} ticket;

static int by_draw(const void *a, const void *b)
{
    const ticket *x = a, *y = b;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    if (x->draw != y->draw) return x->draw < y->draw ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

vkt_status vkt__subset(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st = VKT_OK;
    ticket *t = NULL;
    uint8_t *kept = NULL;
    uint64_t n = ds->info.n[VKT_SPLIT_TRAIN], n_kept = 0;
    uint32_t *index = ds->index[VKT_SPLIT_TRAIN];
    if (!(desc->train_fraction > 0) || desc->train_fraction >= 1) return VKT_OK;
    if (ds->schema.kind == VKT_DATA_KIND_TEXT)
        return vkt__fail(VKT_E_ARG, "data",
                         "data.train_fraction is for tables and pictures: of a text give a part of "
                         "the files");
    bool classes = ds->schema.task == VKT_TASK_CLASSIFY && !ds->group && ds->part[0].labels;
    VKT_TRY(vkt__alloc_large(n + 1, sizeof *t, "a part of the examples", &t));
    VKT_TRY(vkt__alloc_large(n + 1, sizeof *kept, "a part of the examples", &kept));
    memset(kept, 0, n);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t key = ds->group ? ds->group[index[i]] : index[i];
        t[i] = (ticket) { classes ? vkt__dataset_label(ds, VKT_SPLIT_TRAIN, i)->u : 0,
                          vkt_rand_u32(~desc->train_seed, VKT_RNG_SPLIT, key), key, (uint32_t)i };
    }
    qsort(t, n, sizeof *t, by_draw);
    for (uint64_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && t[to].class == t[from].class;) to++;
        uint64_t most = (uint64_t)llround((double)(to - from) * desc->train_fraction);
        for (uint64_t i = from; i < to; i++) /* a group that was begun is taken whole */
            kept[t[i].at] = i - from < VKT_MAX(most, 1) ||
                            (ds->group && kept[t[i - 1].at] && t[i].key == t[i - 1].key);
    }
    for (uint64_t i = 0; i < n; i++)
        if (kept[i]) index[n_kept++] = index[i];
    ds->info.n[VKT_SPLIT_TRAIN] = n_kept;
    vkt_log(VKT_LOG_INFO, "data", "data.train_fraction %g: %llu of %llu training examples are used",
            desc->train_fraction, (unsigned long long)n_kept, (unsigned long long)n);
fail:
    free(t);
    free(kept);
    return st;
}
