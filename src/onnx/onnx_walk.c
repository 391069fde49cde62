/* onnx_build.h: the walk over the nodes that a plan needs. */
#include "onnx/onnx_op.h"
#include "tensor/graph/graph.h"

/* ---- the walk ---- */

static void set_initializers(vkt__onnx_build *b)
{
    const vkt__onnx *f = b->f;
    for (size_t i = 0; i < f->n_initializers && b->st == VKT_OK; i++) {
        const vkt__onnx_tensor *t = &f->initializers[i];
        vkt__onnx_role role = b->plan->roles[i];
        vkt__onnx_value *v = &b->values[vkt__onnx_find(f, t->name)];
        if (role == VKT__ONNX_UNUSED) continue;
        *v = (vkt__onnx_value) { .type = t->type, .rank = t->rank, .initializer = (int)i };
        for (uint32_t k = 0; k < t->rank; k++) v->dims[k] = (int64_t)t->dims[k];
        if (role == VKT__ONNX_HOST)
            v->host = vkt__onnx_host_of(b, t);
        else if (!b->plan->filters[i])
            v->first = b->source.initializer(b->source.user, b->g, i);
    }
}

static void set_inputs(vkt__onnx_build *b, vkt_tensor *const *inputs, const bool *last)
{
    const vkt__onnx *f = b->f;
    for (size_t i = 0; i < f->n_inputs; i++) {
        vkt__onnx_value *v = &b->values[f->inputs[i].value];
        if (b->known && b->known[i]) {
            const vkt__onnx_host *h = vkt__onnx_host_of(b, b->known[i]);
            *v = (vkt__onnx_value) { .type = b->known[i]->type, .initializer = -1, .host = h };
            v->rank = h ? h->rank : 0;
            for (uint32_t k = 0; k < v->rank; k++) v->dims[k] = h->dims[k];
            continue;
        }
        if (!inputs[i]) continue;
        if (f->inputs[i].type && !vkt__onnx_type_bytes(f->inputs[i].type))
            vkt__onnx_refuse(b, "its input '%s' holds elements of type %s",
                             vkt__show(f->values[f->inputs[i].value].name).s,
                             vkt__onnx_type_name(f->inputs[i].type));
        vkt_shape s = vkt_tensor_shape(inputs[i]);
        *v = (vkt__onnx_value) { .type = f->inputs[i].type, .rank = s.rank, .initializer = -1 };
        if (!v->type) v->type = VKT__ONNX_FLOAT;
        for (uint32_t k = 0; k < s.rank; k++)
            v->dims[k] = s.d[last[i] ? vkt__onnx_last_axis(k, s.rank) : k];
        *(last[i] ? &v->last : &v->first) = inputs[i];
    }
}

static bool all_known(vkt__onnx_build *b)
{
    for (size_t i = 0; i < b->n->n_in; i++)
        if (b->n->in[i] >= 0 && !b->values[b->n->in[i]].host) return false;
    return true;
}

static void build_node(vkt__onnx_build *b)
{
    const vkt__onnx_op *op = vkt__onnx_op_of(b->n);
    if (!op) { /* of a branch: the plan has no others that are not known */
        vkt__onnx_refuse(b, "the op is not supported");
        return;
    }
    for (size_t i = 0; i < b->n->n_in; i++)
        if (!op->any_input && b->n->in[i] >= 0 && !b->values[b->n->in[i]].type)
            vkt__onnx_refuse(b, "its input '%s' is not there",
                             vkt__show(b->f->values[b->n->in[i]].name).s);
    if (!op->any_output && !vkt__onnx_out(b, 0))
        vkt__onnx_refuse(b, "its first output has no name");
    if (b->st != VKT_OK) return;
    vkt__where(b->g, b->n->where);
    if (op->fold && all_known(b))
        op->fold(b, op);
    else
        op->build(b, op);
    vkt__where(b->g, NULL);
    if (b->st == VKT_OK && b->g->status != VKT_OK) b->st = b->g->status;
}

/* Whether the branch that the node is of is taken: the conditions of all that are around it are
 * known by then, or its If says that they are not. */
static bool is_taken(const vkt__onnx_build *b, int guard)
{
    bool is, differs;
    while (guard) {
        const vkt__onnx_guard *g = &b->f->guards[guard - 1];
        if (!vkt__onnx_condition(b, g->condition, &is, &differs) || is != g->wants) return false;
        guard = g->outer;
    }
    return true;
}

vkt_status vkt__onnx_build_graph(vkt__onnx_build *b, vkt_tensor *const *inputs, const bool *last)
{
    const vkt__onnx *f = b->f = b->plan->f;
    b->values = vkt__arena_alloc(&b->arena, (f->n_values + 1) * sizeof *b->values);
    set_initializers(b);
    set_inputs(b, inputs, last);
    for (size_t k = 0; k < f->n_nodes && b->st == VKT_OK; k++) {
        if (!b->plan->needed[k] || !is_taken(b, f->nodes[k].guard)) continue;
        b->n = &f->nodes[k];
        build_node(b);
    }
    b->n = NULL;
    for (size_t k = 0; k < b->plan->n_outs; k++)
        if (!b->values[b->plan->outs[k]].type)
            vkt__onnx_refuse(b, "nothing gives its output '%s'",
                             vkt__show(f->values[b->plan->outs[k]].name).s);
    return b->st;
}

void vkt__onnx_build_finish(vkt__onnx_build *b)
{
    vkt__arena_finish(&b->arena);
}
