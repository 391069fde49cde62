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

static bool has_memory(const vkt__rec *rec, const vkt_tensor *home)
{
    return home->bound ? home->buf[rec->slot] != NULL : home->g->n_chunks > 0;
}

/* In a slab, which begins at a multiple of 256 bytes: kernels are chosen by how addresses are
 * aligned. */
static uint64_t where_it_might_lie(const vkt_tensor *t)
{
    enum { SOME_SLAB = 1 << 20 };
    const vkt_tensor *home = vkt__home(t);
    return SOME_SLAB + (home->bound ? 0 : home->offset) +
           vkt__view_at(t) * vkt_dtype_bytes(t->dtype);
}

uint64_t vkt__addr(const vkt__rec *rec, const vkt_tensor *t)
{
    if (!t) return 0;
    uint64_t offset, end;
    if (rec->wishes && !has_memory(rec, vkt__home(t))) return where_it_might_lie(t);
    const vkt_buffer *b = vkt__place(t, rec->slot, &offset), *piece;
    piece = vkt__buffer_piece(b, offset, &end);
    return piece->addr + (offset - piece->from);
}

uint64_t vkt__addr_or(const vkt__rec *rec, const vkt_tensor *t, const vkt_tensor *instead)
{
    return vkt__addr(rec, t ? t : instead);
}

/* Lanes of a subgroup: as the constants ask, else the device's. */
static uint32_t lanes_of(const vkt_caps *caps, const vkt__constant *spec, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (spec[i].id == VKT_SPEC_LANES) return spec[i].value;
    return caps->subgroup;
}

void vkt__dispatch(vkt__rec *rec, vkt__shader shader, const vkt__constant *spec, uint32_t n_spec,
                   const void *push, uint32_t push_bytes, uint64_t groups)
{
    vkt__kernel *k;
    if (rec->status != VKT_OK) return;
    VKT_ASSERT(groups <= UINT32_MAX);
    if (rec->told) {
        vkt__str_printf(rec->told, "%s%u x %u lanes", rec->told->len ? ", " : "",
                        spec[0].value / lanes_of(rec->caps, spec, n_spec),
                        lanes_of(rec->caps, spec, n_spec));
        return;
    }
    if (rec->on_launch) {
        vkt__launch l = { shader, spec, push, n_spec, push_bytes, (uint32_t)groups };
        rec->on_launch(rec->user, &l);
        return;
    }
    if (rec->wishes) {
        vkt__kernel_wish(rec->gpu, shader, spec, n_spec);
        return;
    }
    rec->status = vkt__kernel_get(rec->gpu, shader, spec, n_spec, &k);
    if (rec->status != VKT_OK) return;
    if (rec->registers) {
        *rec->registers = VKT_MAX(*rec->registers, vkt__kernel_registers(rec->gpu, k));
        return;
    }
    if (rec->n_parts > 1)
        vkt__cmd_dispatch_part(rec->cmd, k, push, push_bytes, (uint32_t)groups, rec->part,
                               rec->n_parts);
    else
        vkt__cmd_dispatch(rec->cmd, k, push, push_bytes, (uint32_t)groups);
}

void vkt__dispatch_each(vkt__rec *rec, vkt__shader shader, const void *push, uint32_t push_bytes,
                        uint64_t count, uint32_t most)
{
    uint32_t wg = VKT_MIN(rec->caps->workgroup, most);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg } };
    vkt__dispatch(rec, shader, spec, VKT_COUNT(spec), push, push_bytes, (count + wg - 1) / wg);
}

/* An op with nothing to do (a tensor with no elements) is not dispatched. */
static bool is_empty(const vkt_node *n)
{
    bool any = false;
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++) any = any || (n->out[i] && n->out[i]->count > 0);
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        any = any || (n->in[i] && (n->op->in[i] & VKT_CHANGED) && n->in[i]->count > 0);
    return !any;
}

void vkt__record_node(vkt__rec *rec, const vkt_node *n)
{
    if (!is_empty(n)) n->op->record(rec, n);
}

void vkt__tell_kernel(const vkt_node *n, vkt__str *out)
{
    vkt__str launches = { 0 };
    vkt_gpu *gpu = vkt__gpu_of(n->g);
    bool is_compiled = n->g->n_chunks || !n->g->slab_bytes;
    if (!gpu || !n->op->kernel) return;
    if (is_compiled)
        vkt__record_node(&(vkt__rec) { .gpu = gpu, .caps = vkt_gpu_caps(gpu), .told = &launches },
                         n);
    vkt__str_printf(out, "%s%s%s%s", n->op->kernel(gpu, n), launches.len ? " (" : "",
                    launches.len ? launches.data : "", launches.len ? ")" : "");
    vkt__str_finish(&launches);
}

uint32_t vkt__node_registers(const vkt_node *n)
{
    uint32_t registers = 0;
    vkt_gpu *gpu = vkt__gpu_of(n->g);
    vkt__rec rec = { .gpu = gpu, .caps = vkt_gpu_caps(gpu), .registers = &registers };
    vkt__record_node(&rec, n);
    return registers;
}
