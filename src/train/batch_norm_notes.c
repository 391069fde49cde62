/* batch_norm_notes.h */
#include "base/words.h"
#include "train/batch_norm_notes.h"

/* Of layers with batch norm those that may have ghost groups. */
static bool has_norm(const char *type)
{
    size_t n;
    const vkt_layer_type *t = vkt_layer_types(&n);
    for (size_t i = 0; i < n; i++)
        for (const vkt_layer_opt *o = t[i].opts; o->name && !strcmp(t[i].name, type); o++)
            if (!strcmp(o->name, "virtual_batch")) return true;
    return false;
}

/* The smallest ghost group of the layers, and whether one has none. */
static void look(const vkt_layer *l, size_t n, uint32_t *group, bool *whole)
{
    for (size_t i = 0; i < n; i++) {
        if (has_norm(l[i].type) && !l[i].frozen) {
            if (l[i].virtual_batch)
                *group = VKT_MIN(*group, l[i].virtual_batch);
            else
                *whole = true;
        }
        look(l[i].body, l[i].n_body, group, whole);
        look(l[i].shortcut, l[i].n_shortcut, group, whole);
    }
}

void vkt__batch_norm_notes(const vkt_config *c, uint32_t batch, uint32_t own)
{
    /* Below it the error of batch norm grows quickly: Wu and He 2018 (arXiv 1803.08494), figure 1.
     */
    enum { FEW = 16 };
    uint32_t group = UINT32_MAX, all = c->ranks > 1 && !c->batch_norm_sync ? own : batch;
    bool whole = false;
    look(c->layers, c->n_layers, &group, &whole);
    if (!whole && group == UINT32_MAX) return;
    if (c->accumulate > 1)
        vkt_log(VKT_LOG_INFO, "train",
                "batch norm takes mean and variance of each micro-batch of %u examples, not of the "
                "step's %.0f",
                batch, (double)batch * c->accumulate);
    if (all < batch)
        vkt_log(VKT_LOG_INFO, "train",
                "batch norm takes mean and variance of each rank's %u examples, not of the batch's "
                "%u; train.batch_norm_sync: true changes that",
                own, batch);
    if (group < all) {
        const char *of = all < batch ? "rank's " : "";
        uint32_t last = all % group;
        if (last)
            vkt_log(VKT_LOG_INFO, "train",
                    "batch norm with virtual_batch normalises in ghost groups of %u of each %s%u "
                    "examples, the last of %u",
                    group, *of ? of : "batch's ", all, last);
        else
            vkt_log(VKT_LOG_INFO, "train",
                    "batch norm with virtual_batch normalises in %u ghost groups of %u of each "
                    "%s%u examples",
                    all / group, group, *of ? of : "batch's ", all);
    }
    uint32_t least = VKT_MIN(group, whole ? all : group);
    if (least < all && all % least) least = all % least;
    least = VKT_MIN(least, all);
    if (least < FEW)
        vkt_log(VKT_LOG_WARN, "train",
                "batch norm takes mean and variance of only %u examples, which makes them noisy: "
                "layernorm or group_norm in its place do not depend on the batch, or raise "
                "train.batch%s",
                least,
                all < batch         ? " or set train.batch_norm_sync: true"
                : group < all       ? " or virtual_batch"
                : c->accumulate > 1 ? " and lower train.accumulate"
                                    : "");
}
