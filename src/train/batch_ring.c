/* batch_ring.h */
#include <stdio.h>

#include "tensor/graph/graph.h"
#include "train/batch_ring.h"

/* The next 256-aligned place for `each` bytes. */
static uint64_t take(uint64_t *bytes, uint64_t each)
{
    uint64_t at = *bytes;
    *bytes = vkt__align(at + each, 256);
    return at;
}

void vkt__ring_bind(vkt__ring *l, vkt_tensor *t, uint64_t at, bool result)
{
    VKT_ASSERT(l->n_binds < VKT_COUNT(l->binds));
    l->binds[l->n_binds].t = t;
    l->binds[l->n_binds].at = at;
    l->binds[l->n_binds++].result = result;
    for (uint32_t i = 0; i < l->n_slots; i++)
        vkt_bind(t, i, result ? &l->plan_readback[i] : &l->plan_upload[i], at);
}

void vkt__ring_create(vkt_gpu *gpu, const vkt_dataset_info *d, vkt__ring *l, uint32_t batch,
                      uint32_t n_slots, uint64_t readback_bytes, const char *label,
                      vkt__ring_inputs *in)
{
    bool classify = d->task == VKT_TASK_CLASSIFY || d->task == VKT_TASK_SEGMENT;
    uint32_t rows = d->pairs ? 2 * batch : batch, n_targets = rows * d->n_targets;
    l->batch = batch;
    l->n_slots = n_slots;
    l->graph = vkt__graph_new(gpu);
    if (l->plain) vkt_graph_no_rewrite(l->graph);
    bool text = d->kind == VKT_DATA_KIND_TEXT;
    vkt_shape x = { .rank = d->input_rank + 1, .d = { rows } };
    for (uint32_t i = 0; i < d->input_rank; i++) x.d[i + 1] = d->input_shape[i];
    uint64_t bytes = 0;
    l->x_at = take(&bytes, (uint64_t)rows * d->n_inputs * 4);
    l->y_at = take(&bytes, (uint64_t)(text ? n_targets : batch * d->n_labels) * 4);
    l->w_at = take(&bytes, (uint64_t)n_targets * 4);
    l->y2_at = l->mixes ? take(&bytes, (uint64_t)batch * 4) : 0;
    l->w2_at = l->mixes ? take(&bytes, (uint64_t)batch * 4) : 0;
    l->step_at = take(&bytes, vkt_step_block_bytes());
    l->order_at = l->sorts ? take(&bytes, (uint64_t)n_targets * 4) : 0;
    l->segments_at = l->sorts ? take(&bytes, (d->n_outputs + 1ull) * 4) : 0;
    l->documents_at = l->masks ? take(&bytes, (uint64_t)n_targets * 4) : 0;
    in->x = vkt_input(l->graph, x, text ? VKT_U32 : VKT_F32, text ? "tokens" : "x");
    in->y = vkt_input(l->graph, classify ? vkt_shape1(n_targets) : vkt_shape2(batch, d->n_labels),
                      classify ? VKT_U32 : VKT_F32, "y");
    in->w = vkt_input(l->graph, vkt_shape1(n_targets), VKT_F32, "weight");
    in->step = vkt_step(l->graph);
    l->upload_bytes = bytes;
    l->readback_bytes = readback_bytes;
    for (uint32_t i = 0; i < n_slots; i++) {
        l->plan_upload[i] = (vkt_buffer) { .bytes = bytes, .label = label };
        l->plan_readback[i] = (vkt_buffer) { .bytes = readback_bytes, .label = label };
    }
    vkt__ring_bind(l, in->x, l->x_at, false);
    vkt__ring_bind(l, in->y, l->y_at, false);
    vkt__ring_bind(l, in->w, l->w_at, false);
    vkt__ring_bind(l, in->step, l->step_at, false);
    if (l->sorts) {
        vkt_shape segments = vkt_shape1(d->n_outputs + 1);
        vkt__ring_bind(l, vkt_input(l->graph, vkt_shape1(n_targets), VKT_U32, VKT_TOKEN_ORDER),
                       l->order_at, false);
        vkt__ring_bind(l, vkt_input(l->graph, segments, VKT_U32, VKT_TOKEN_SEGMENTS),
                       l->segments_at, false);
    }
    if (l->masks)
        vkt__ring_bind(l, vkt_input(l->graph, x, VKT_U32, VKT_TOKEN_DOCUMENTS), l->documents_at,
                       false);
    if (l->mixes) {
        in->y2 = vkt_input(l->graph, vkt_shape1(batch), VKT_U32, "other label");
        in->w2 = vkt_input(l->graph, vkt_shape1(batch), VKT_F32, "other weight");
        vkt__ring_bind(l, in->y2, l->y2_at, false);
        vkt__ring_bind(l, in->w2, l->w2_at, false);
    }
    /* A batch of pictures is copied among the graph's own tensors, whose memory others use later.
     */
    l->near_at = text ? 0 : l->y_at;
    if (!vkt_gpu_caps(gpu)->unified && !text) in->x = vkt_copy(l->graph, in->x);
}

uint64_t vkt__ring_result(vkt__ring *l, vkt_tensor *t, uint64_t *at)
{
    uint64_t here = *at;
    vkt__ring_bind(l, t, here, true);
    *at = vkt__align(here + vkt_shape_count(vkt_tensor_shape(t)) * 4, 256);
    return here;
}

static const float *result_at(const vkt__ring *l, uint32_t slot, uint64_t at)
{
    return (const float *)(const void *)((const char *)l->readback[slot]->host + at);
}

uint64_t vkt__ring_bytes(const vkt_gpu *gpu, const vkt__ring *l)
{
    uint64_t slot = vkt__align(l->upload_bytes, 256) + vkt__align(l->readback_bytes, 256),
             near =
                 vkt__align(l->upload_bytes - l->near_at, 256) + vkt__align(l->readback_bytes, 256);
    return l->n_slots * slot + (vkt_gpu_caps(gpu)->unified || !l->graph ? 0 : near);
}

/* All that is bound beside x moves to the device's own memory. */
static vkt_status bring_near(vkt_gpu *gpu, vkt__ring *l, const char *label)
{
    vkt_status st = VKT_OK;
    uint64_t in_bytes = l->upload_bytes - l->near_at;
    VKT_TRY(vkt_buffer_create(gpu, &(vkt_buffer_desc) { in_bytes, VKT_MEM_DEVICE, label },
                              &l->near_in));
    VKT_TRY(vkt_buffer_create(gpu, &(vkt_buffer_desc) { l->readback_bytes, VKT_MEM_DEVICE, label },
                              &l->near_out));
    for (uint32_t i = 0; i < l->n_slots; i++)
        for (uint32_t k = 0; k < l->n_binds; k++) {
            vkt_tensor *t = l->binds[k].t;
            bool result = l->binds[k].result;
            uint64_t at = l->binds[k].at;
            if (!result && at < l->near_at) continue;
            vkt_bind(t, i, result ? l->near_out : l->near_in, result ? at : at - l->near_at);
            if (result)
                vkt__graph_copy(t->g, i, true, l->near_out, 0, l->readback[i], l->readback_bytes);
            else
                vkt__graph_copy(t->g, i, false, l->upload[i], l->near_at, l->near_in, in_bytes);
        }
fail:
    return st;
}

vkt_status vkt__ring_allocate(vkt_gpu *gpu, vkt__ring *l, const char *label)
{
    vkt_status st = VKT_OK;
    for (uint32_t i = 0; i < l->n_slots; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s batch %u", label, i);
        VKT_TRY(vkt_buffer_create(gpu, &(vkt_buffer_desc) { l->upload_bytes, VKT_MEM_UPLOAD, name },
                                  &l->upload[i]));
        snprintf(name, sizeof name, "%s results %u", label, i);
        VKT_TRY(vkt_buffer_create(gpu,
                                  &(vkt_buffer_desc) { l->readback_bytes, VKT_MEM_READBACK, name },
                                  &l->readback[i]));
        for (uint32_t k = 0; k < l->n_binds; k++)
            vkt_bind(l->binds[k].t, i, l->binds[k].result ? l->readback[i] : l->upload[i],
                     l->binds[k].at);
        char *base = l->upload[i]->host;
        l->slots[i] = (vkt_batch) { .x = (float *)(void *)(base + l->x_at),
                                    .y = (vkt_label *)(void *)(base + l->y_at),
                                    .w = (float *)(void *)(base + l->w_at) };
        if (l->mixes) {
            l->slots[i].y2 = (vkt_label *)(void *)(base + l->y2_at);
            l->slots[i].w2 = (float *)(void *)(base + l->w2_at);
        }
        if (l->sorts) {
            l->slots[i].order = (uint32_t *)(void *)(base + l->order_at);
            l->slots[i].segments = (uint32_t *)(void *)(base + l->segments_at);
        }
        if (l->masks) l->slots[i].documents = (uint32_t *)(void *)(base + l->documents_at);
        l->step[i] = base + l->step_at;
        l->scalars[i] = result_at(l, i, 0);
        l->loss[i] = result_at(l, i, l->loss_at);
        l->hit[i] = result_at(l, i, l->hit_at);
        l->out[i] = result_at(l, i, l->out_at);
        l->terms[i] = result_at(l, i, l->terms_at);
    }
    if (l->n_slots && !vkt_gpu_caps(gpu)->unified) VKT_TRY(bring_near(gpu, l, label));
fail:
    return st;
}

void vkt__ring_destroy(vkt_gpu *gpu, vkt__ring *l)
{
    vkt_graph_destroy(&l->graph);
    vkt_buffer_destroy(gpu, &l->near_in);
    vkt_buffer_destroy(gpu, &l->near_out);
    for (uint32_t i = 0; i < VKT_MAX_SLOTS; i++) {
        vkt_buffer_destroy(gpu, &l->upload[i]);
        vkt_buffer_destroy(gpu, &l->readback[i]);
    }
}
