/* A feed: batches of a loader for a graph that the caller builds. What trains by a recipe has lanes
 * instead (lane.c), which also know text, mixup and results. */
#include <stdio.h>

#include "data/dataset.h"
#include "tensor/graph/graph.h"
#include "vktrain/train.h"

typedef struct feed {
    vkt_feed in; /* first: a vkt_feed * points to it */
    vkt_gpu *gpu;
    vkt_graph *graph;
    vkt_loader *loader;
    vkt_buffer *memory[VKT_FEED_SLOTS];
    vkt_batch slots[VKT_FEED_SLOTS];
    uint64_t step_at; /* of the step block, in each slot's memory */
} feed;

enum { X, Y, W, STEP, N_INPUTS };

/* The inputs one after the other, each at a multiple of 256; returns the bytes of all. */
static uint64_t lay_out(const vkt_dataset_info *d, uint32_t batch, uint64_t at[N_INPUTS])
{
    const uint64_t bytes[N_INPUTS] = { 4ull * batch * d->n_inputs, 4ull * batch * d->n_labels,
                                       4ull * batch, vkt_step_block_bytes() };
    uint64_t end = 0;
    for (int i = 0; i < N_INPUTS; i++) {
        at[i] = end;
        end = vkt__align(end + bytes[i], 256);
    }
    return end;
}

static void make_inputs(vkt_graph *g, const vkt_dataset_info *d, uint32_t batch, vkt_feed *in)
{
    bool classify = d->task == VKT_TASK_CLASSIFY;
    vkt_shape x = { .rank = d->input_rank + 1, .d = { batch } };
    for (uint32_t i = 0; i < d->input_rank; i++) x.d[i + 1] = d->input_shape[i];
    in->x = vkt_input(g, x, VKT_F32, "x");
    in->y = vkt_input(g, classify ? vkt_shape1(batch) : vkt_shape2(batch, d->n_labels),
                      classify ? VKT_U32 : VKT_F32, "y");
    in->w = vkt_input(g, vkt_shape1(batch), VKT_F32, "weight");
}

vkt_status vkt_feed_create(vkt_graph *g, const vkt_loader_desc *desc, vkt_feed **out)
{
    vkt_status st = VKT_OK;
    const vkt_dataset_info *d = vkt_dataset_get_info(desc->data);
    uint64_t at[N_INPUTS], bytes = lay_out(d, desc->batch, at);
    if (!g->gpu) return vkt__fail(VKT_E_ARG, "train", "a graph without a gpu can't be fed");
    if (vkt__is_dense(d->task))
        return vkt__fail(VKT_E_ARG, "train",
                         "a feed supports no targets that are pictures: use vkt_train");
    if (d->context)
        return vkt__fail(VKT_E_ARG, "train",
                         "a feed supports tables and pictures, not text: use vkt_train");
    feed *f = vkt__alloc(sizeof *f);
    vkt_feed *in = *out = &f->in;
    f->gpu = g->gpu;
    f->graph = g;
    f->step_at = at[STEP];
    make_inputs(g, d, desc->batch, in);
    vkt_tensor *const inputs[N_INPUTS] = { in->x, in->y, in->w, vkt_step(g) };
    for (uint32_t i = 0; i < VKT_FEED_SLOTS; i++) {
        char label[32];
        snprintf(label, sizeof label, "batch %u", i);
        VKT_TRY(vkt_buffer_create(g->gpu, &(vkt_buffer_desc) { bytes, VKT_MEM_UPLOAD, label },
                                  &f->memory[i]));
        for (int k = 0; k < N_INPUTS; k++) vkt_bind(inputs[k], i, f->memory[i], at[k]);
        char *base = f->memory[i]->host;
        f->slots[i] = (vkt_batch) { .x = (float *)(void *)(base + at[X]),
                                    .y = (vkt_label *)(void *)(base + at[Y]),
                                    .w = (float *)(void *)(base + at[W]) };
    }
    vkt_loader_desc filled = *desc;
    filled.slots = f->slots;
    filled.n_slots = VKT_FEED_SLOTS;
    VKT_TRY(vkt_loader_create(&filled, &f->loader));
fail:
    if (st != VKT_OK) vkt_feed_destroy(out);
    return st;
}

void vkt_feed_destroy(vkt_feed **in)
{
    feed *f = (feed *)*in;
    if (!f) return;
    vkt_loader_destroy(&f->loader);
    for (uint32_t i = 0; i < VKT_FEED_SLOTS; i++) vkt_buffer_destroy(f->gpu, &f->memory[i]);
    free(f);
    *in = NULL;
}

vkt_status vkt_feed_run(vkt_feed *in, const vkt_optim *o, double lr, uint64_t step, uint64_t seed)
{
    feed *f = (feed *)in;
    uint32_t slot;
    uint64_t ticket;
    vkt_status st = vkt_loader_next(f->loader, &slot, NULL);
    if (st != VKT_OK) return st;
    if (o) vkt_optim_fill_step(o, lr, step, seed, (char *)f->memory[slot]->host + f->step_at);
    st = vkt_graph_submit(f->graph, slot, &ticket);
    if (st == VKT_OK) st = vkt_ticket_wait(f->gpu, ticket);
    vkt_loader_release(f->loader, slot);
    return st;
}
