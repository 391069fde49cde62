/* A run of a graph in one call: ids looked at and copied, the step block filled, the run submitted.
 * Knows nothing of what the graph computes. */
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "vktrain/data.h"
#include "vktrain/train.h"

/* False: one of them is refused, and nothing was copied. */
static bool copy_ids(const vkt_ids_in *in)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < in->n; i++) {
        uint32_t id = in->from[i] == in->ignored ? 0 : in->from[i];
        most = VKT_MAX(most, id);
    }
    if (in->n && most >= in->below) return false;
    memcpy(in->to, in->from, in->n * sizeof *in->to);
    if (in->order) vkt_token_order(in->from, (uint32_t)in->n, in->n_vocab, in->order, in->segments);
    return true;
}

vkt_status vkt_run_start(vkt_run_desc *d)
{
    d->refused = d->n_ids;
    for (size_t i = 0; i < d->n_ids; i++)
        if (d->ids[i].order && d->ids[i].n > UINT32_MAX)
            return vkt__fail(
                VKT_E_ARG, "run",
                "input %zu has %llu whole numbers to sort; at most 2^32 - 1 of one input "
                "can be sorted: give fewer in a run",
                i, (unsigned long long)d->ids[i].n);
    for (d->refused = 0; d->refused < d->n_ids; d->refused++) {
        const vkt_ids_in *in = &d->ids[d->refused];
        if (!copy_ids(in))
            return vkt__fail(VKT_E_ARG, "run",
                             "input %zu of whole numbers has one that is not below %llu",
                             d->refused, (unsigned long long)in->below);
    }
    if (d->step_block) vkt_optim_fill_step(d->optim, d->lr, d->step, d->seed, d->step_block);
    return vkt_graph_submit(d->g, d->slot, &d->ticket);
}
