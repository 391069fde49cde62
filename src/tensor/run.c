/* Running a planned graph: memory, pipelines, one recorded command buffer per slot, submission. */
#include "tensor/op.h"

static const vkt_tensor *home(const vkt_tensor *t)
{
    for (;;) {
        if (t->view_of) t = t->view_of;
        else if (t->home != t) t = t->home;
        else return t;
    }
}

/* The buffer and byte offset where a tensor lies. */
static const vkt_buffer *place(const vkt_tensor *t, uint32_t slot, uint64_t *offset)
{
    t = home(t);
    if (t->bound) {
        VKT_ASSERT(t->buf[slot]);
        *offset = t->buf_offset[slot];
        return t->buf[slot];
    }
    *offset = t->offset % t->g->chunk_bytes;
    return t->g->chunks[t->offset / t->g->chunk_bytes];
}

uint64_t vkt__addr(const vkt__rec *rec, const vkt_tensor *t)
{
    if (!t) return 0;
    uint64_t offset;
    const vkt_buffer *b = place(t, rec->slot, &offset);
    return b->addr + offset;
}

uint64_t vkt__addr_or(const vkt__rec *rec, const vkt_tensor *t, const vkt_tensor *instead)
{
    return vkt__addr(rec, t ? t : instead);
}

void vkt__dispatch(vkt__rec *rec, const char *kernel, const uint32_t *spec, uint32_t n_spec, const void *push,
                   uint32_t push_bytes, uint64_t groups)
{
    vkt__kernel *k;
    if (rec->status != VKT_OK) return;
    VKT_ASSERT(groups <= UINT32_MAX);
    rec->status = vkt__kernel_get(rec->gpu, kernel, spec, n_spec, &k);
    if (rec->status == VKT_OK) vkt__cmd_dispatch(rec->cmd, k, push, push_bytes, (uint32_t)groups);
}

uint32_t vkt__reduce_workgroup(const vkt_caps *c, uint32_t most)
{
    if (c->klass == VKT_CLASS_CPU && c->subgroup_arith) return c->subgroup;
    uint32_t wg = 1, limit = VKT_MIN(most, c->workgroup);
    while (wg * 2 <= limit) wg *= 2;
    return VKT_MAX(wg, VKT_MIN(c->subgroup, c->workgroup));
}

uint32_t vkt__row_workgroup(const vkt_caps *c, uint32_t cols, uint32_t passes)
{
    uint32_t wg = vkt__reduce_workgroup(c, VKT_MIN(256, VKT_MAX(cols, 1)));
    while ((uint64_t)passes * cols / wg > 50000 && wg * 2 <= c->workgroup) wg *= 2;
    return wg;
}

/* An op with nothing to do (a tensor with no elements) is not dispatched. */
static bool is_empty(const vkt_node *n)
{
    bool any = false;
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++) any = any || (n->out[i] && n->out[i]->count > 0);
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) any = any || (n->in[i] && (n->op->mutates >> i & 1) && n->in[i]->count > 0);
    return !any;
}

void vkt__record_node(vkt__rec *rec, const vkt_node *n)
{
    if (!is_empty(n)) n->op->record(rec, n);
}

static vkt_status record_slot(vkt_graph *g, uint32_t slot, const char *label)
{
    vkt__rec rec = { g->gpu, vkt_gpu_caps(g->gpu), NULL, slot, VKT_OK };
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__cmd_create(g->gpu, label, 0, &g->cmd[slot]));
    rec.cmd = g->cmd[slot];
    for (uint32_t l = 0; l < g->n_levels; l++) {
        if (l) vkt__cmd_barrier(rec.cmd);
        for (size_t k = 0; k < g->n_nodes; k++)
            if (g->nodes[k]->level == l) vkt__record_node(&rec, g->nodes[k]);
    }
    VKT_TRY(rec.status);
    VKT_TRY(vkt__cmd_end(rec.cmd));
fail:
    return st;
}

vkt_status vkt_graph_compile(vkt_graph *g, const vkt_plan_desc *desc)
{
    vkt_status st = VKT_OK;
    VKT_ASSERT(g->gpu && g->n_chunks == 0);
    const char *label = desc->label ? desc->label : "graph";
    VKT_TRY(vkt_graph_plan(g, desc));
    for (uint64_t at = 0; at < g->slab_bytes; at += g->chunk_bytes) {
        if (g->n_chunks == VKT_MAX_CHUNKS) {
            st = vkt__fail(VKT_OOM_DEVICE, "plan", "'%s' needs more than %d allocations of %.1f MiB: use a smaller batch", label, VKT_MAX_CHUNKS,
                           (double)g->chunk_bytes / 1048576);
            goto fail;
        }
        vkt_buffer_desc chunk = { VKT_MIN(g->slab_bytes - at, g->chunk_bytes), VKT_MEM_DEVICE, label };
        VKT_TRY(vkt_buffer_create(g->gpu, &chunk, &g->chunks[g->n_chunks]));
        g->n_chunks++;
    }
    for (uint32_t s = 0; s < g->n_slots; s++) VKT_TRY(record_slot(g, s, label));
fail:
    if (st != VKT_OK) g->status = st;
    return st;
}

vkt_status vkt_graph_submit(vkt_graph *g, uint32_t slot, uint64_t *ticket)
{
    VKT_ASSERT(slot < g->n_slots && g->cmd[slot]);
    return vkt__submit(g->gpu, g->cmd[slot], ticket);
}

vkt_status vkt_graph_run(vkt_graph *g)
{
    uint64_t ticket = 0;
    vkt_status st = vkt_graph_submit(g, 0, &ticket);
    return st == VKT_OK ? vkt_ticket_wait(g->gpu, ticket) : st;
}

vkt_status vkt_tensor_read(vkt_tensor *t, uint32_t slot, void *data, uint64_t bytes)
{
    uint64_t offset;
    VKT_ASSERT(bytes <= t->bytes);
    if (bytes == 0) return VKT_OK;
    const vkt_buffer *b = place(t, slot, &offset);
    return vkt_buffer_read(t->g->gpu, b, offset, data, bytes);
}

vkt_status vkt_tensor_write(vkt_tensor *t, uint32_t slot, const void *data, uint64_t bytes)
{
    uint64_t offset;
    VKT_ASSERT(bytes <= t->bytes);
    if (bytes == 0) return VKT_OK;
    const vkt_buffer *b = place(t, slot, &offset);
    return vkt_buffer_write(t->g->gpu, (vkt_buffer *)(uintptr_t)b, offset, data, bytes);
}
