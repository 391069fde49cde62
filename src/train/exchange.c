/* exchange.h: gradients leave in buckets, which are under way at the same time. */
#include "base/os.h"
#include "gpu/commands.h"
#include "optim/optim_flat.h"
#include "train/exchange.h"

/* So that adding up one bucket overlaps with the way of the next; and no more than there are jobs.
 */
enum { BUCKET = 1 << 20 };

static uint64_t bucket_of(uint64_t count)
{
    uint64_t least = vkt__align(count / (VKT__COMM_JOBS - 2) + 1, 1024);
    return VKT_MAX(least, (uint64_t)BUCKET);
}

vkt_status vkt__exchange_create(vkt_comm *comm, vkt_gpu *gpu, vkt_optim *o, vkt_model *model,
                                vkt__exchange **out)
{
    vkt__exchange *e = *out = vkt__alloc(sizeof *e);
    e->comm = comm;
    e->gpu = gpu;
    vkt__optim_sums(o, &e->gradients, &e->count, &e->sums);
    e->model = model;
    e->states = vkt__alloc((2 * vkt_model_state_count(model) + 1) * sizeof *e->states);
    e->own_states = e->states + vkt_model_state_count(model);
    e->copies = !vkt__buffer_reads_fast(e->gradients);
    e->host = e->copies ? malloc(e->count * sizeof *e->host) : e->gradients->host;
    if (e->host) return VKT_OK;
    uint64_t bytes = e->count * sizeof *e->host;
    vkt__exchange_destroy(out);
    return vkt__fail(VKT_E_OOM_HOST, "train", "no memory for a host copy of %.1f MiB of gradients",
                     (double)bytes / 1048576);
}

void vkt__exchange_destroy(vkt__exchange **pe)
{
    vkt__exchange *e = *pe;
    if (!e) return;
    if (e->copies) free(e->host);
    free(e->states);
    free(e);
    *pe = NULL;
}

uint64_t vkt__exchange_bytes(const vkt__exchange *e)
{
    return 2 * (e->count + VKT__SHARED_N) * sizeof(float) * (e->comm->size - 1) / e->comm->size;
}

/* Batch norm's running averages become the mean of the ranks' in every step, not only before an
 * evaluation: so an interruption changes nothing. Counters are each rank's own. */
static vkt_status average_states(vkt__exchange *e)
{
    vkt_status st = VKT_OK;
    uint64_t n = vkt_model_state_count(e->model);
    const vkt_param *p;
    if (!n) return VKT_OK;
    VKT_TRY(vkt_buffer_read(e->gpu, vkt_model_states(e->model), 0, e->states, 4 * n));
    memcpy(e->own_states, e->states, 4 * n);
    for (size_t i = 0; (p = vkt_model_state(e->model, i)); i++)
        if (p->dtype == VKT_U32) memset(e->states + p->offset, 0, p->count * 4);
    VKT_TRY(vkt__comm_sum(e->comm, e->states, n));
    for (uint64_t i = 0; i < n; i++) e->states[i] /= (float)e->comm->size;
    for (size_t i = 0; (p = vkt_model_state(e->model, i)); i++)
        if (p->dtype == VKT_U32)
            memcpy(e->states + p->offset, e->own_states + p->offset, p->count * 4);
    VKT_TRY(vkt_buffer_write(e->gpu, vkt_model_states(e->model), 0, e->states, 4 * n));
fail:
    return st;
}

vkt_status vkt__exchange_step(vkt__exchange *e)
{
    vkt_status st = VKT_OK;
    double start = vkt__now();
    uint64_t bucket = bucket_of(e->count);
    uint32_t n = 0;
    float *loss = &e->shared[VKT__SHARED_LOSS], *hits = &e->shared[VKT__SHARED_HITS];
    VKT_TRY(vkt_buffer_read(e->gpu, e->sums, 0, loss, sizeof *loss));
    VKT_TRY(vkt_buffer_read(e->gpu, e->sums, VKT__SUMS_HITS, hits, sizeof *hits));
    VKT_TRY(vkt__comm_sum_start(e->comm, e->shared, VKT__SHARED_N, &e->jobs[n++]));
    for (uint64_t at = 0; at < e->count; at += bucket) {
        uint64_t count = VKT_MIN(bucket, e->count - at);
        if (e->copies)
            VKT_TRY(vkt_buffer_read(e->gpu, e->gradients, 4 * at, e->host + at, 4 * count));
        VKT_TRY(vkt__comm_sum_start(e->comm, e->host + at, count, &e->jobs[n++]));
    }
    VKT_TRY(average_states(e));
    VKT_TRY(vkt__comm_sum_wait(e->comm, &e->jobs[0]));
    for (uint32_t i = 1; i < n; i++) {
        uint64_t at = (i - 1) * bucket, count = VKT_MIN(bucket, e->count - at);
        VKT_TRY(vkt__comm_sum_wait(e->comm, &e->jobs[i]));
        if (e->copies)
            VKT_TRY(vkt_buffer_write(e->gpu, e->gradients, 4 * at, e->host + at, 4 * count));
    }
    if (!e->copies) vkt__buffer_written(e->gpu, e->gradients);
    VKT_TRY(vkt_buffer_write(e->gpu, e->sums, 0, loss, sizeof *loss));
    VKT_TRY(vkt_buffer_write(e->gpu, e->sums, VKT__SUMS_HITS, hits, sizeof *hits));
fail:
    e->seconds += vkt__now() - start;
    return st;
}
