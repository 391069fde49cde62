/* onnx_nodes.h */
#include "models/onnx_nodes.h"

#include <stdio.h>

#include "formats/protobuf.h"
#include "tensor/graph/act.h"

/* ---- messages ---- */

void vkt__attr_int(vkt__exporter *e, const char *name, int64_t v)
{
    vkt__pb_text(&e->attribute, 1, name);
    vkt__pb_int(&e->attribute, 3, v);
    vkt__pb_int(&e->attribute, 20, 2);
    vkt__pb_message(&e->node, 5, &e->attribute);
}

void vkt__attr_float(vkt__exporter *e, const char *name, float v)
{
    vkt__pb_text(&e->attribute, 1, name);
    vkt__pb_float(&e->attribute, 2, v);
    vkt__pb_int(&e->attribute, 20, 1);
    vkt__pb_message(&e->node, 5, &e->attribute);
}

void vkt__attr_text(vkt__exporter *e, const char *name, const char *v)
{
    vkt__pb_text(&e->attribute, 1, name);
    vkt__pb_text(&e->attribute, 4, v);
    vkt__pb_int(&e->attribute, 20, 3);
    vkt__pb_message(&e->node, 5, &e->attribute);
}

void vkt__attr_ints(vkt__exporter *e, const char *name, const int64_t *v, size_t n)
{
    vkt__pb_text(&e->attribute, 1, name);
    for (size_t i = 0; i < n; i++) vkt__pb_int(&e->attribute, 8, v[i]);
    vkt__pb_int(&e->attribute, 20, 7);
    vkt__pb_message(&e->node, 5, &e->attribute);
}

/* The node whose attributes were written before: inputs up to NULL ("" is an absent one). */
const char *vkt__emit_node(vkt__exporter *e, const char *type, const char *const *in,
                           const char *out)
{
    static const struct {
        const char *type;
        int64_t opset;
    } news[] = { { "GroupNormalization", 21 }, { "Gelu", 20 },   { "Resize", 18 },
                 { "ReduceMean", 18 },         { "Mish", 18 },   { "LayerNormalization", 17 },
                 { "HardSwish", 14 },          { "Softmax", 13 } };
    for (size_t i = 0; i < VKT_COUNT(news); i++)
        if (vkt__glob(news[i].type, type)) e->needs = VKT_MAX(e->needs, news[i].opset);
    for (; *in; in++) vkt__pb_text(&e->node, 1, *in);
    vkt__pb_text(&e->node, 2, out);
    vkt__pb_text(&e->node, 4, type);
    vkt__pb_message(&e->graph, 1, &e->node);
    return out;
}

/* A name for what an emitter needs between its nodes. */
const char *vkt__emit_extra(vkt__exporter *e)
{
    const char *name;
    do name = vkt__arena_printf(&e->arena, e->net ? "vkt_%u" : "_%u", e->n_extra++);
    while (e->net && vkt__onnx_find(e->net->f, name) >= 0); /* that of a file which we wrote */
    return name;
}

void vkt__emit_numbers(vkt__exporter *e, const char *name, const uint64_t *dims, uint32_t rank,
                       int type, const void *data, size_t bytes)
{
    for (uint32_t i = 0; i < rank; i++) vkt__pb_int(&e->tensor, 1, (int64_t)dims[i]);
    vkt__pb_int(&e->tensor, 2, type);
    vkt__pb_text(&e->tensor, 8, name);
    vkt__pb_bytes(&e->tensor, 9, data, bytes);
    vkt__pb_message(&e->graph, 5, &e->tensor);
}

/* A weight of ours whose name the file's net has for one of its own gets another. */
static const char *weight_name(vkt__exporter *e, const char *name)
{
    int v = e->net ? vkt__onnx_find(e->net->f, name) : -1;
    bool both = v >= 0 && e->net->f->values[v].initializer;
    return both ? vkt__arena_printf(&e->arena, "vkt_%s", name) : name;
}

void vkt__emit_weights(vkt__exporter *e, const vkt__st_tensor *t, size_t bytes)
{
    for (uint32_t i = 0; i < t->rank; i++) vkt__pb_int(&e->tensor, 1, (int64_t)t->shape[i]);
    vkt__pb_int(&e->tensor, 2, VKT__ONNX_F32);
    vkt__pb_text(&e->tensor, 8, weight_name(e, t->name));
    vkt__pb_head(&e->tensor, 9, bytes);
    vkt__pb_head(&e->graph, 5, e->tensor.len + bytes);
    vkt__str_add(&e->graph, e->tensor.data, e->tensor.len);
    e->tensor.len = 0;
    e->far_away = vkt__grow(e->far_away, e->n_far, &e->cap_far, sizeof *e->far_away);
    e->far_away[e->n_far++] = (vkt__far_bytes) { e->graph.len, bytes, t->data };
    e->n_far_bytes += bytes;
}

const char *vkt__emit_number(vkt__exporter *e, float v)
{
    const char *name = vkt__emit_extra(e);
    vkt__emit_numbers(e, name, NULL, 0, VKT__ONNX_F32, &v, sizeof v);
    return name;
}

const char *vkt__emit_ints(vkt__exporter *e, const int64_t *v, uint32_t n)
{
    const char *name = vkt__emit_extra(e);
    vkt__emit_numbers(e, name, (uint64_t[]) { n }, 1, VKT__ONNX_I64, v, n * sizeof *v);
    return name;
}

/* ---- values ---- */

const char *vkt__emit_name(vkt__exporter *e, const vkt_tensor *t)
{
    if (!t->node && !t->view_of) return weight_name(e, t->name);
    const char *name = vkt__arena_printf(&e->arena, e->net ? "vkt_t%zu" : "t%zu", t->index);
    if (!t->view_of || e->named[t->index]) return name;
    /* The first dimension holds the batch, whatever its size. */
    int64_t shape[VKT_MAX_RANK] = { -1 };
    e->named[t->index] = true;
    for (uint32_t i = 1; i < t->shape.rank; i++) shape[i] = t->shape.d[i];
    const char *from = vkt__emit_name(e, t->view_of);
    return vkt__emit_node(e, "Reshape", VKT__IN(from, vkt__emit_ints(e, shape, t->shape.rank)),
                          name);
}

bool vkt__emit_activation(vkt__exporter *e, vkt_act act, const char *x, const char *out)
{
    const vkt__act_row *a = &vkt__acts[act];
    if (!a->onnx) return false;
    const char *y = a->onnx_times_x ? vkt__emit_extra(e) : out;
    if (a->onnx_approximate) vkt__attr_text(e, "approximate", a->onnx_approximate);
    vkt__emit_node(e, a->onnx, VKT__IN(x), y);
    if (a->onnx_times_x) vkt__emit_node(e, "Mul", VKT__IN(x, y), out);
    return true;
}
