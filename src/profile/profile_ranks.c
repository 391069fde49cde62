/* Profiles several ranks: each rank's report of its steps, and all traces in one file. */
#include <math.h>
#include <stdio.h>

#include "comm/comm.h"
#include "profile/profiler.h"
#include "train/ranks/shares.h"

vkt_status vkt__profile_ranks(vkt_comm *c, const vkt_config *config, const vkt__exchange *before,
                              const vkt__exchange *after, vkt_profile *p)
{
    vkt_status st = VKT_OK;
    double n = (double)p->steps;
    vkt_profile_rank mine = {
        .rows = vkt__share_of(config, config->batch).rows,
        .hidden_ms = 1e3 * (after->hidden - before->hidden) / n,
        .exchange_ms =
            1e3 * (after->seconds - before->seconds + after->signals - before->signals) / n,
        .bytes = (after->sent - before->sent) / p->steps,
    };
    mine.own_ms = fmax(p->step_ms - mine.exchange_ms, 0);
    snprintf(mine.name, sizeof mine.name, "%s", c->names[c->rank]);
    p->n_ranks = c->size;
    p->rank = vkt__alloc(c->size * sizeof *p->rank);
    VKT_TRY(vkt__comm_all_gather(c, &mine, p->rank, sizeof mine));
fail:
    return st;
}

vkt_status vkt__profile_first(vkt_comm *c, double *at_s)
{
    vkt_status st = VKT_OK;
    double *all = vkt__alloc(c->size * sizeof *all);
    VKT_TRY(vkt__comm_all_gather(c, at_s, all, sizeof *all));
    for (uint32_t r = 0; r < c->size; r++) *at_s = VKT_MIN(*at_s, all[r]);
fail:
    free(all);
    return st;
}

vkt_status vkt__profile_texts(vkt_comm *c, vkt__str *text)
{
    vkt_status st = VKT_OK;
    uint64_t mine = text->len, most = 0, *bytes = vkt__alloc(c->size * sizeof *bytes);
    char *own = NULL, *all = NULL;
    VKT_TRY(vkt__comm_all_gather(c, &mine, bytes, sizeof mine));
    for (uint32_t r = 0; r < c->size; r++) most = VKT_MAX(most, bytes[r]);
    own = malloc(most + 1);
    all = malloc(most * c->size + 1);
    if (!own || !all) {
        st = vkt__fail(VKT_E_OOM_HOST, "profile", "no memory for the traces of %u ranks", c->size);
        goto fail;
    }
    memset(own, 0, most + 1);
    if (mine) memcpy(own, text->data, mine);
    VKT_TRY(vkt__comm_all_gather(c, own, all, most));
    for (uint32_t r = 1; c->rank == 0 && r < c->size; r++) {
        vkt__str_add(text, ",\n", 2);
        vkt__str_add(text, all + r * most, bytes[r]);
    }
fail:
    free(bytes);
    free(own);
    free(all);
    return st;
}
