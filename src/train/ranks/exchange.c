/* exchange.h: gradients leave in buckets, which are under way at the same time. */
#include "base/os.h"
#include "gpu/commands.h"
#include "nn/model_memory.h"
#include "tensor/graph/graph.h"
#include "train/ranks/buckets.h"
#include "train/ranks/exchange.h"

/* Elements. Smaller ones leave earlier, larger ones cost less by the message. */
enum { BUCKET = 1 << 18 };

vkt_status vkt__exchange_build(vkt_optim *o, const vkt_model *model, uint32_t accumulate,
                               vkt_tensor *loss, vkt_tensor *hits, vkt__buckets **out)
{
    vkt_status st = VKT_OK;
    vkt_graph *g = loss->g;
    vkt_buffer *gradients, *sums;
    uint64_t count;
    VKT_TRY(accumulate > 1 ? vkt_optim_accumulate(o) : vkt__optim_accumulate_seen(o));
    vkt__optim_sums(o, &gradients, &count, &sums);
    vkt__buckets *b = *out = vkt__buckets_create(model, BUCKET, VKT__COMM_JOBS - 2);
    vkt__optim_build_sums(o, g, loss, hits, b->whole, b->n_whole);
    for (uint32_t i = 0; i < b->n_pieces; i++)
        vkt__graph_hand_over(g, gradients, 4 * b->pieces[i].offset, 4 * b->pieces[i].count);
    vkt__graph_hand_over(g, sums, 0, sums->bytes);
fail:
    return st;
}

/* Batch norm's running averages become the mean of the ranks', by their shares of the batch, in
 * every step, not only before an evaluation: so an interruption changes nothing. Counters are each
 * rank's own. */
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
    for (uint64_t i = 0; i < n; i++) e->states[i] *= (float)e->share;
    VKT_TRY(vkt__comm_sum(e->comm, e->states, n));
    for (size_t i = 0; (p = vkt_model_state(e->model, i)); i++)
        if (p->dtype == VKT_U32)
            memcpy(e->states + p->offset, e->own_states + p->offset, p->count * 4);
    VKT_TRY(vkt_buffer_write(e->gpu, vkt_model_states(e->model), 0, e->states, 4 * n));
fail:
    return st;
}

static vkt_status wait_job(vkt__exchange *e, uint32_t i)
{
    return e->jobs[i] ? vkt__comm_sum_wait(e->comm, &e->jobs[i]) : VKT_OK;
}

/* ---- outer steps ---- */

static size_t outer_moment(const vkt__exchange *e)
{
    return vkt_optim_n_moments(e->optim) - 1;
}

static vkt_status begin_outer(vkt__exchange *e)
{
    vkt_status st = VKT_OK;
    e->outer = malloc(2 * e->count * sizeof *e->outer);
    if (!e->outer)
        return vkt__fail(VKT_E_OOM_HOST, "train", "no memory for train.sync: %.1f MiB",
                         (double)e->count * 8 / 1048576);
    VKT_TRY(vkt_buffer_read(e->gpu, vkt_model_values(e->model), 4 * vkt_model_frozen_flat(e->model),
                            e->outer, 4 * e->count));
    VKT_TRY(vkt__optim_read_moment(e->optim, outer_moment(e), e->outer + e->count));
    VKT_TRY(vkt__model_narrow(e->model, &e->narrow));
fail:
    return st;
}

/* DiLoCo (Douillard et al. 2023, arXiv 2311.08105): d is how far the ranks' mean has come from the
 * parameters before;  m = momentum m + d;  parameters += lr (momentum m + d). All ranks compute the
 * same. The mean is by the ranks' shares of the batch. */
static vkt_status outer_step(vkt__exchange *e)
{
    vkt_status st = VKT_OK;
    float lr = e->config->sync_lr, momentum = e->config->sync_momentum, *theta = e->outer,
          *m = e->outer + e->count;
    uint32_t n = e->buckets->n_pieces;
    vkt_buffer *values = vkt_model_values(e->model);
    uint64_t first = vkt_model_frozen_flat(e->model);
    VKT_TRY(vkt_buffer_read(e->gpu, values, 4 * first, e->host, 4 * e->count));
    for (uint64_t i = 0; i < e->count; i++) e->host[i] *= (float)e->share;
    for (uint32_t i = 0; i < n; i++) {
        vkt__range r = e->buckets->pieces[i];
        VKT_TRY(vkt__comm_sum_start(e->comm, e->host + r.offset, r.count, &e->jobs[i]));
    }
    for (uint32_t i = 0; i < n; i++) VKT_TRY(wait_job(e, i));
    for (uint64_t i = 0; i < e->count; i++) {
        float d = e->host[i] - theta[i];
        m[i] = momentum * m[i] + d;
        theta[i] += lr * (momentum * m[i] + d);
    }
    VKT_TRY(vkt_buffer_write(e->gpu, values, 4 * first, theta, 4 * e->count));
    VKT_TRY(vkt__optim_write_moment(e->optim, outer_moment(e), m));
    if (e->narrow) VKT_TRY(vkt_graph_run(e->narrow));
    VKT_TRY(average_states(e));
fail:
    return st;
}

bool vkt__exchange_due(const vkt__exchange *e, uint64_t step)
{
    return (step + 1) % e->config->sync_every == 0 ||
           step + 1 == vkt_schedule_total(&e->config->schedule);
}

vkt_status vkt__exchange_signals(vkt__exchange *e)
{
    uint64_t before = e->comm->bytes;
    double start = vkt__now();
    vkt_status st = vkt__comm_sum(e->comm, e->shared, VKT__SHARED_N);
    double end = vkt__now();
    e->newest.began = e->newest.ready = start;
    e->newest.ended = end;
    e->signals += end - start;
    e->sent += e->comm->bytes - before;
    return st;
}

/* ---- the exchange ---- */

/* A rank's own, and lost when the run is interrupted. */
static vkt_status begin_rest(vkt__exchange *e)
{
    e->rest = calloc(e->count, sizeof *e->rest);
    if (e->rest) return VKT_OK;
    return vkt__fail(VKT_E_OOM_HOST, "train", "no memory for train.compress: %.1f MiB",
                     (double)e->count * 4 / 1048576);
}

/* Where the optimizer has a part of the state: where all parts begin. */
static vkt_status share_state(vkt__exchange *e)
{
    vkt_status st = VKT_OK;
    uint32_t size = e->comm->size;
    if (e->config->sync_every > 1) return begin_outer(e);
    if (e->config->compress == VKT_COMPRESS_BF16) VKT_TRY(begin_rest(e));
    if (vkt__optim_own(e->optim).count == e->count) return VKT_OK;
    e->parts = vkt__alloc(2 * (size + 1) * sizeof *e->parts);
    e->cuts = e->parts + size + 1;
    for (uint32_t r = 0; r < size; r++) e->parts[r] = vkt__optim_part(e->count, r, size).offset;
    e->parts[size] = e->count;
    vkt__optim_on_whole(e->optim, vkt__exchange_whole, e);
    st = vkt__model_narrow(e->model, &e->narrow);
fail:
    return st;
}

/* The ranks' parts within a piece; NULL: they have none. */
static const uint64_t *cuts_of(const vkt__exchange *e, vkt__range r)
{
    if (!e->parts) return NULL;
    for (uint32_t k = 0; k <= e->comm->size; k++)
        e->cuts[k] = VKT_MIN(VKT_MAX(e->parts[k], r.offset) - r.offset, r.count);
    return e->cuts;
}

vkt_status vkt__exchange_create(const vkt__exchange_desc *d, vkt__exchange **out)
{
    vkt__exchange *e = *out = vkt__alloc(sizeof *e);
    e->comm = d->comm;
    e->gpu = d->gpu;
    vkt__optim_sums(d->optim, &e->gradients, &e->count, &e->sums);
    e->optim = d->optim;
    e->config = d->config;
    e->model = d->model;
    e->graph = d->graph;
    e->buckets = d->buckets;
    e->share = d->share;
    e->states = vkt__alloc((2 * vkt_model_state_count(e->model) + 1) * sizeof *e->states);
    e->own_states = e->states + vkt_model_state_count(e->model);
    e->copies = !vkt__buffer_reads_fast(e->gradients);
    e->host = e->copies ? malloc(e->count * sizeof *e->host) : e->gradients->host;
    if (e->host) return share_state(e);
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
    vkt_graph_destroy(&e->narrow);
    free(e->parts);
    free(e->rest);
    free(e->outer);
    free(e->states);
    free(e);
    *pe = NULL;
}

vkt__exchange_past vkt__exchange_take(vkt__exchange *e)
{
    vkt__exchange_past past = { e->seconds, e->hidden, e->signals, e->sent, e->rest };
    e->rest = NULL;
    return past;
}

void vkt__exchange_give(vkt__exchange *e, vkt__exchange_past *past)
{
    e->seconds = past->seconds;
    e->hidden = past->hidden;
    e->signals = past->signals;
    e->sent = past->sent;
    if (past->rest) {
        free(e->rest);
        e->rest = past->rest;
    }
    past->rest = NULL;
}

uint64_t vkt__exchange_bytes(const vkt__exchange *e)
{
    uint64_t gradient = e->rest ? 2 : 4, second = e->parts ? 4 : gradient;
    return (e->count * (gradient + second) + 8 * VKT__SHARED_N) * (e->comm->size - 1) /
           e->comm->size;
}

uint32_t vkt__exchange_sums(const vkt__exchange *e)
{
    return e->buckets->n_pieces + 1;
}

/* Until the device has come to the ticket. Messages only get on while MPI is called: sums that are
 * under way are looked after meanwhile. Once they are all there, the wait is the device's, which
 * notices a hang. */
static vkt_status wait_device(vkt__exchange *e, uint64_t ticket, uint32_t n_jobs)
{
    enum { IDLE_US = 100 };
    vkt_status st = VKT_OK;
    for (bool open = true; open && !vkt_ticket_done(e->gpu, ticket);) {
        open = false;
        for (uint32_t i = 0; i < n_jobs; i++) {
            bool done;
            if (!e->jobs[i]) continue;
            VKT_TRY(vkt__comm_sum_test(e->comm, &e->jobs[i], &done));
            open = open || !done;
        }
        if (open) vkt__sleep_us(IDLE_US);
    }
    VKT_TRY(vkt_ticket_wait(e->gpu, ticket));
fail:
    return st;
}

static vkt_status start_piece(vkt__exchange *e, uint32_t i)
{
    vkt__range r = e->buckets->pieces[i];
    float *at = e->host + r.offset;
    const uint64_t *cuts = cuts_of(e, r);
    if (!e->rest && !e->parts) return vkt__comm_sum_start(e->comm, at, r.count, &e->jobs[i]);
    if (!e->rest) return vkt__comm_scatter_start(e->comm, at, r.count, cuts, &e->jobs[i]);
    vkt__comm_work w = { e->parts ? VKT__COMM_SCATTER : VKT__COMM_SUM, at, r.count, cuts,
                         e->rest + r.offset };
    return vkt__comm_rounded_start(e->comm, &w, &e->jobs[i]);
}

/* The buckets in their order; each is on its way while backward makes the next. */
static vkt_status start_gradients(vkt__exchange *e)
{
    vkt_status st = VKT_OK;
    double first = 0;
    for (uint32_t i = 0; i < e->buckets->n_pieces; i++) {
        vkt__range r = e->buckets->pieces[i];
        VKT_TRY(wait_device(e, vkt__graph_handed(e->graph, i), i));
        if (i == 0) first = vkt__now();
        if (e->copies)
            VKT_TRY(vkt_buffer_read(e->gpu, e->gradients, 4 * r.offset, e->host + r.offset,
                                    4 * r.count));
        VKT_TRY(start_piece(e, i));
    }
    VKT_TRY(
        wait_device(e, vkt__graph_handed(e->graph, e->buckets->n_pieces), e->buckets->n_pieces));
    e->newest.began = first;
    e->newest.ready = vkt__now();
    e->hidden += e->newest.ready - first;
fail:
    return st;
}

/* Sums the squares over all parts: the update makes the norm from them. */
static vkt_status share_squares(vkt__exchange *e)
{
    vkt_status st = VKT_OK;
    if (!e->parts) return VKT_OK;
    double squares = vkt__optim_squares(e->optim, e->host);
    VKT_TRY(vkt__comm_sum_doubles(e->comm, &squares, 1));
    float sum = (float)squares;
    VKT_TRY(vkt_buffer_write(e->gpu, e->sums, VKT__SUMS_SQUARES, &sum, sizeof sum));
fail:
    return st;
}

vkt_status vkt__exchange_step(vkt__exchange *e)
{
    vkt_status st = VKT_OK;
    uint32_t n = e->buckets->n_pieces;
    uint64_t before = e->comm->bytes;
    float *loss = &e->shared[VKT__SHARED_LOSS], *hits = &e->shared[VKT__SHARED_HITS];
    VKT_TRY(start_gradients(e));
    double start = vkt__now();
    VKT_TRY(vkt_buffer_read(e->gpu, e->sums, 0, loss, sizeof *loss));
    VKT_TRY(vkt_buffer_read(e->gpu, e->sums, VKT__SUMS_HITS, hits, sizeof *hits));
    VKT_TRY(vkt__comm_sum_start(e->comm, e->shared, VKT__SHARED_N, &e->jobs[n]));
    VKT_TRY(average_states(e));
    for (uint32_t i = 0; i <= n; i++) VKT_TRY(wait_job(e, i));
    VKT_TRY(share_squares(e));
    vkt__range own = vkt__optim_own(e->optim);
    if (e->copies)
        VKT_TRY(vkt_buffer_write(e->gpu, e->gradients, 4 * own.offset, e->host + own.offset,
                                 4 * own.count));
    else
        vkt__buffer_written(e->gpu, e->gradients);
    VKT_TRY(vkt_buffer_write(e->gpu, e->sums, 0, loss, sizeof *loss));
    VKT_TRY(vkt_buffer_write(e->gpu, e->sums, VKT__SUMS_HITS, hits, sizeof *hits));
    e->newest.ended = vkt__now();
    e->seconds += e->newest.ended - start;
    e->sent += e->comm->bytes - before;
fail:
    return st;
}

vkt_status vkt__exchange_whole(void *user, float *data)
{
    vkt__exchange *e = user;
    vkt_status st = VKT_OK;
    uint32_t n = e->buckets->n_pieces;
    for (uint32_t i = 0; i < n; i++) {
        vkt__range r = e->buckets->pieces[i];
        VKT_TRY(
            vkt__comm_gather_start(e->comm, data + r.offset, r.count, cuts_of(e, r), &e->jobs[i]));
    }
    for (uint32_t i = 0; i < n; i++) VKT_TRY(wait_job(e, i));
fail:
    return st;
}

/* Uses the memory of the gradients, which the next step overwrites. */
static vkt_status share_parameters(vkt__exchange *e)
{
    vkt_status st = VKT_OK;
    vkt_buffer *values = vkt_model_values(e->model);
    vkt__range own = vkt__optim_own(e->optim);
    uint64_t first = vkt_model_frozen_flat(e->model);
    VKT_TRY(vkt_buffer_read(e->gpu, values, 4 * (first + own.offset), e->host + own.offset,
                            4 * own.count));
    VKT_TRY(vkt__exchange_whole(e, e->host));
    VKT_TRY(vkt_buffer_write(e->gpu, values, 4 * first, e->host, 4 * e->count));
    if (e->narrow) VKT_TRY(vkt_graph_run(e->narrow));
fail:
    return st;
}

vkt_status vkt__exchange_update(vkt__exchange *e, uint64_t ticket)
{
    vkt_status st = VKT_OK;
    if (!e->parts && !e->outer) return VKT_OK;
    VKT_TRY(vkt_ticket_wait(e->gpu, ticket));
    double start = vkt__now();
    uint64_t before = e->comm->bytes;
    VKT_TRY(e->outer ? outer_step(e) : share_parameters(e));
    e->newest.began = e->newest.ready = start;
    e->newest.ended = vkt__now();
    e->seconds += e->newest.ended - start;
    e->sent += e->comm->bytes - before;
fail:
    return st;
}
