/* Recording a node: where its tensors lie, and the dispatch of its kernel. */
#include "tensor/graph/graph.h"
#include "tensor/graph/record.h"
#include "tensor/graph/view.h"

const vkt_buffer *vkt__place(const vkt_tensor *t, uint32_t slot, uint64_t *offset)
{
    uint64_t at = vkt__view_at(t) * vkt_dtype_bytes(t->dtype);
    t = vkt__home(t);
    if (t->bound) {
        VKT_ASSERT(t->buf[slot]);
        *offset = t->buf_offset[slot] + at;
        return t->buf[slot];
    }
    *offset = t->offset % t->g->chunk_bytes + at;
    return t->g->chunks[t->offset / t->g->chunk_bytes];
}

uint64_t vkt__addr(const vkt__rec *rec, const vkt_tensor *t)
{
    if (!t) return 0;
    uint64_t offset;
    const vkt_buffer *b = vkt__place(t, rec->slot, &offset);
    return b->addr + offset;
}

uint64_t vkt__addr_or(const vkt__rec *rec, const vkt_tensor *t, const vkt_tensor *instead)
{
    return vkt__addr(rec, t ? t : instead);
}

void vkt__dispatch(vkt__rec *rec, vkt__shader shader, const vkt__constant *spec, uint32_t n_spec,
                   const void *push, uint32_t push_bytes, uint64_t groups)
{
    vkt__kernel *k;
    if (rec->status != VKT_OK) return;
    VKT_ASSERT(groups <= UINT32_MAX);
    rec->status = vkt__kernel_get(rec->gpu, shader, spec, n_spec, rec->n_parts > 1, &k);
    if (rec->status != VKT_OK) return;
    if (rec->n_parts > 1)
        vkt__cmd_dispatch_part(rec->cmd, k, push, push_bytes, (uint32_t)groups, rec->part,
                               rec->n_parts);
    else
        vkt__cmd_dispatch(rec->cmd, k, push, push_bytes, (uint32_t)groups);
}

/* An op with nothing to do (a tensor with no elements) is not dispatched. */
static bool is_empty(const vkt_node *n)
{
    bool any = false;
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++) any = any || (n->out[i] && n->out[i]->count > 0);
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        any = any || (n->in[i] && (n->op->mutates >> i & 1) && n->in[i]->count > 0);
    return !any;
}

void vkt__record_node(vkt__rec *rec, const vkt_node *n)
{
    if (!is_empty(n)) n->op->record(rec, n);
}
