/* batch_for.h */
#include "base/words.h"
#include "train/batch_for.h"

const char *vkt__batch_for(vkt__arena *a, vkt_optim_rule rule, uint64_t n_weights, uint32_t batch)
{
    return vkt__arena_printf(a, "%s/%llu/%u", vkt_optim_rule_name(rule),
                             (unsigned long long)n_weights, batch);
}

void vkt__batch_for_note(const vkt_config *c, uint64_t n_weights)
{
    vkt__arena a = { 0 };
    const char *now = vkt__batch_for(&a, c->optim.rule, n_weights, c->batch);
    if (c->batch_for && strcmp(c->batch_for, now) != 0)
        vkt_log(VKT_LOG_WARN, "train",
                "what was measured is %s (train.batch_for: optimizer, number of weights, batch "
                "size), and this run is %s: `vktrain study batch-size` measures again, or leave "
                "train.batch_for out",
                c->batch_for, now);
    vkt__arena_finish(&a);
}
