/* onnx.h: the evaluation graph, before any rewrite, node by node: each op row has an emitter here.
 * An image op works on channels first in ONNX, so it stands between two transpositions, which
 * runtimes cancel. Field numbers from onnx.proto (IR version 10). */
#include "models/onnx.h"

#include "models/onnx_back.h"
#include "nn/layer_list.h"

#include <stdio.h>

#include "base/os.h"
#include "data/inputs.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/act.h"
#include "tensor/kernels/attention.h"
#include "tensor/ops/ops.h"
#include "formats/protobuf.h"
#include "shaders/params.h"

enum { OPSET = 21, IR_VERSION = 10, FLOAT = 1, INT64 = 7 };

typedef struct exporter {
    vkt_graph *g;
    const vkt__weights *weights;
    vkt__str graph; /* nodes and initializers so far */
    vkt__str node, attribute, tensor;
    const vkt__onnx_net *net; /* the file that it began as, or NULL */
    int64_t needs;            /* the opset of the newest op so far */
    bool *named;              /* [n_tensors]: views that have their Reshape */
    uint32_t n_extra;
    vkt__arena arena;
} exporter;

/* ---- messages ---- */

static void attr_int(exporter *e, const char *name, int64_t v)
{
    vkt__pb_text(&e->attribute, 1, name);
    vkt__pb_int(&e->attribute, 3, v);
    vkt__pb_int(&e->attribute, 20, 2);
    vkt__pb_message(&e->node, 5, &e->attribute);
}

static void attr_float(exporter *e, const char *name, float v)
{
    vkt__pb_text(&e->attribute, 1, name);
    vkt__pb_float(&e->attribute, 2, v);
    vkt__pb_int(&e->attribute, 20, 1);
    vkt__pb_message(&e->node, 5, &e->attribute);
}

static void attr_text(exporter *e, const char *name, const char *v)
{
    vkt__pb_text(&e->attribute, 1, name);
    vkt__pb_text(&e->attribute, 4, v);
    vkt__pb_int(&e->attribute, 20, 3);
    vkt__pb_message(&e->node, 5, &e->attribute);
}

static void attr_ints(exporter *e, const char *name, const int64_t *v, size_t n)
{
    vkt__pb_text(&e->attribute, 1, name);
    for (size_t i = 0; i < n; i++) vkt__pb_int(&e->attribute, 8, v[i]);
    vkt__pb_int(&e->attribute, 20, 7);
    vkt__pb_message(&e->node, 5, &e->attribute);
}

/* The node whose attributes were written before: inputs up to NULL ("" is an absent one). */
static const char *node(exporter *e, const char *type, const char *const *in, const char *out)
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

#define IN(...) ((const char *const[]) { __VA_ARGS__, NULL })

/* A name for what an emitter needs between its nodes. */
static const char *extra(exporter *e)
{
    return vkt__arena_printf(&e->arena, e->net ? "vkt_%u" : "_%u", e->n_extra++);
}

static void initializer(exporter *e, const char *name, const uint64_t *dims, uint32_t rank,
                        int type, const void *data, size_t bytes)
{
    for (uint32_t i = 0; i < rank; i++) vkt__pb_int(&e->tensor, 1, (int64_t)dims[i]);
    vkt__pb_int(&e->tensor, 2, type);
    vkt__pb_text(&e->tensor, 8, name);
    vkt__pb_bytes(&e->tensor, 9, data, bytes);
    vkt__pb_message(&e->graph, 5, &e->tensor);
}

static const char *constant(exporter *e, float v)
{
    const char *name = extra(e);
    initializer(e, name, NULL, 0, FLOAT, &v, sizeof v);
    return name;
}

static const char *constant_ints(exporter *e, const int64_t *v, uint32_t n)
{
    const char *name = extra(e);
    initializer(e, name, (uint64_t[]) { n }, 1, INT64, v, n * sizeof *v);
    return name;
}

/* ---- values ---- */

static const char *name_of(exporter *e, const vkt_tensor *t)
{
    if (!t->node && !t->view_of) return t->name;
    const char *name = vkt__arena_printf(&e->arena, e->net ? "vkt_t%zu" : "t%zu", t->index);
    if (!t->view_of || e->named[t->index]) return name;
    /* The first dimension holds the batch, whatever its size. */
    int64_t shape[VKT_MAX_RANK] = { -1 };
    e->named[t->index] = true;
    for (uint32_t i = 1; i < t->shape.rank; i++) shape[i] = t->shape.d[i];
    const char *from = name_of(e, t->view_of);
    return node(e, "Reshape", IN(from, constant_ints(e, shape, t->shape.rank)), name);
}

static const char *result_of(exporter *e, const vkt_node *n)
{
    return vkt__arena_printf(&e->arena, e->net ? "vkt_t%zu" : "t%zu", n->out[0]->index);
}

/* ---- ops: in[] are the names of a node's inputs, "" for absent ones ---- */

typedef bool emitter(exporter *e, const vkt_node *n, const char *const *in, const char *out);

static bool activation(exporter *e, vkt_act act, const char *x, const char *out)
{
    const vkt__act_row *a = &vkt__acts[act];
    if (!a->onnx) return false;
    const char *y = a->onnx_times_x ? extra(e) : out;
    if (a->onnx_approximate) attr_text(e, "approximate", a->onnx_approximate);
    node(e, a->onnx, IN(x), y);
    if (a->onnx_times_x) node(e, "Mul", IN(x, y), out);
    return true;
}

static bool emit_activate(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    return activation(e, n->attr.eltwise.act, in[0], out);
}

static bool emit_linear(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    vkt_act act = n->attr.matmul.act;
    const char *y = act ? extra(e) : out;
    if (n->attr.matmul.batched && n->attr.matmul.layout == VKT_LAYOUT_NN && !act) {
        node(e, "MatMul", IN(in[0], in[1]), out);
        return true;
    }
    if (n->attr.matmul.batched || n->attr.matmul.layout != VKT_LAYOUT_NT ||
        n->in[0]->dtype != VKT_F32)
        return false;
    if (n->in[0]->shape.rank == 2) {
        attr_int(e, "transB", 1);
        node(e, "Gemm", *in[2] ? IN(in[0], in[1], in[2]) : IN(in[0], in[1]), y);
    } else {
        const char *w = node(e, "Transpose", IN(in[1]), extra(e));
        const char *product = node(e, "MatMul", IN(in[0], w), *in[2] ? extra(e) : y);
        if (*in[2]) node(e, "Add", IN(product, in[2]), y);
    }
    return !act || activation(e, act, y, out);
}

static bool emit_add(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)n;
    node(e, "Add", IN(in[0], in[1]), out);
    return true;
}

static bool emit_mul(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)n;
    node(e, "Mul", IN(in[0], in[1]), out);
    return true;
}

static bool emit_scale(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    node(e, "Mul", IN(in[0], constant(e, n->attr.eltwise.s)), out);
    return true;
}

static bool emit_copy(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)n;
    node(e, "Identity", IN(in[0]), out);
    return true;
}

static bool emit_softmax(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)n;
    attr_int(e, "axis", -1);
    node(e, "Softmax", IN(in[0]), out);
    return true;
}

static bool emit_layernorm(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    if (n->in[3]) return false; /* a residual fused into it: a rewrite's */
    attr_int(e, "axis", -1);
    attr_float(e, "epsilon", n->attr.norm.eps);
    node(e, "LayerNormalization", *in[2] ? IN(in[0], in[1], in[2]) : IN(in[0], in[1]), out);
    return true;
}

/* x / sqrt(mean(x^2) + eps) * w: RMSNormalization itself is of a later opset. */
static bool emit_rmsnorm(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    if (n->in[3]) return false;
    const char *square = node(e, "Mul", IN(in[0], in[0]), extra(e));
    const char *axes = constant_ints(e, (int64_t[]) { -1 }, 1);
    const char *mean = node(e, "ReduceMean", IN(square, axes), extra(e));
    const char *sum = node(e, "Add", IN(mean, constant(e, n->attr.norm.eps)), extra(e));
    const char *root = node(e, "Sqrt", IN(sum), extra(e));
    const char *y = node(e, "Div", IN(in[0], root), extra(e));
    node(e, "Mul", IN(y, in[1]), out);
    return true;
}

/* A part of qkv [3, N, H, T, D], without the first dimension. */
static const char *part(exporter *e, const char *qkv, int64_t i)
{
    const char *which = constant_ints(e, &i, 1);
    const char *one = node(e, "Gather", IN(qkv, which), extra(e));
    return node(e, "Squeeze", IN(one, constant_ints(e, (int64_t[]) { 0 }, 1)), extra(e));
}

/* Of every token to all, from one tensor [N, T, 3 H D]; a zero in a shape keeps the dimension. */
static bool emit_attention(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    int64_t heads = n->attr.attention.heads, D = n->attr.attention.head;
    if (!n->attr.attention.full || n->attr.attention.window || n->attr.attention.cap > 0 ||
        n->attr.attention.kv_heads != heads || n->in[VKT__ATT_K] || n->in[VKT__ATT_DOCS] ||
        n->in[VKT__ATT_START])
        return false;
    const char *x =
        node(e, "Reshape",
             IN(in[VKT__ATT_Q], constant_ints(e, (int64_t[]) { 0, 0, 3, heads, D }, 5)), extra(e));
    attr_ints(e, "perm", (int64_t[]) { 2, 0, 3, 1, 4 }, 5);
    x = node(e, "Transpose", IN(x), extra(e));
    const char *q = part(e, x, 0), *k = part(e, x, 1), *v = part(e, x, 2);
    attr_ints(e, "perm", (int64_t[]) { 0, 1, 3, 2 }, 4);
    k = node(e, "Transpose", IN(k), extra(e));
    x = node(e, "MatMul", IN(q, k), extra(e));
    x = node(e, "Mul", IN(x, constant(e, n->attr.attention.scale)), extra(e));
    attr_int(e, "axis", -1);
    x = node(e, "Softmax", IN(x), extra(e));
    x = node(e, "MatMul", IN(x, v), extra(e));
    attr_ints(e, "perm", (int64_t[]) { 0, 2, 1, 3 }, 4);
    x = node(e, "Transpose", IN(x), extra(e));
    node(e, "Reshape", IN(x, constant_ints(e, (int64_t[]) { 0, 0, heads * D }, 3)), out);
    return true;
}

/* The graph is of one example, whose constants ONNX's operators repeat for as many as there are. */
static bool emit_fill(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)in;
    vkt_shape s = n->out[0]->shape;
    uint64_t dims[VKT_MAX_RANK], count = vkt_shape_count(s);
    float *data = vkt__alloc(count * sizeof *data);
    for (uint32_t i = 0; i < s.rank; i++) dims[i] = s.d[i];
    for (uint64_t i = 0; i < count; i++) data[i] = n->attr.eltwise.s;
    initializer(e, out, dims, s.rank, FLOAT, data, (size_t)count * sizeof *data);
    free(data);
    return true;
}

/* ---- ops of images, [N, H, W, C] here ---- */

static const int64_t to_first[] = { 0, 3, 1, 2 }, to_last[] = { 0, 2, 3, 1 };

static const char *channels_first(exporter *e, const char *x)
{
    attr_ints(e, "perm", to_first, 4);
    return node(e, "Transpose", IN(x), extra(e));
}

static bool channels_last(exporter *e, const char *x, const char *out)
{
    attr_ints(e, "perm", to_last, 4);
    node(e, "Transpose", IN(x), out);
    return true;
}

/* pads: at the top, left, bottom and right. */
static void window(exporter *e, uint32_t kh, uint32_t kw, const int64_t strides[2],
                   const int64_t pads[4])
{
    attr_ints(e, "kernel_shape", (int64_t[]) { kh, kw }, 2);
    attr_ints(e, "strides", strides, 2);
    attr_ints(e, "pads", pads, 4);
}

/* The filter is stored as PyTorch's, [CO, CI, KH, KW], which is ONNX's too. */
static bool emit_conv(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    const char *x = channels_first(e, in[0]), *y;
    const int64_t strides[] = { n->attr.conv.stride, vkt__conv_stride_w(&n->attr) },
                  dilations[] = { n->attr.conv.dilation, vkt__conv_dilation_w(&n->attr) },
                  pads[] = { n->attr.conv.pad, vkt__conv_pad(&n->attr, VKT__LEFT),
                             vkt__conv_pad(&n->attr, VKT__BOTTOM),
                             vkt__conv_pad(&n->attr, VKT__RIGHT) };
    if (n->in[1]->node || n->in[0]->dtype != VKT_F32) return false;
    window(e, n->attr.conv.kh, n->attr.conv.kw, strides, pads);
    attr_ints(e, "dilations", dilations, 2);
    attr_int(e, "group", n->attr.conv.groups);
    y = node(e, "Conv", *in[2] ? IN(x, in[1], in[2]) : IN(x, in[1]), extra(e));
    if (n->attr.conv.act == VKT_ACT_NONE) return channels_last(e, y, out);
    const char *active = extra(e);
    return activation(e, n->attr.conv.act, y, active) && channels_last(e, active, out);
}

static bool emit_pool(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    bool mean = strcmp(n->op->name, "avg_pool") == 0;
    const int64_t pad = n->attr.pool.pad, beside = (uint32_t)(pad + n->attr.pool.more_pad),
                  stride = n->attr.pool.stride,
                  across = (uint32_t)(stride + n->attr.pool.more_stride),
                  bottom = (uint32_t)(pad + n->attr.pool.more_after[0]),
                  right = (uint32_t)(beside + n->attr.pool.more_after[1]);
    const char *x = channels_first(e, in[0]);
    window(e, n->attr.pool.kh, n->attr.pool.kw, (int64_t[]) { stride, across },
           (int64_t[]) { pad, beside, bottom, right });
    if (n->attr.pool.ceil) attr_int(e, "ceil_mode", 1);
    if (mean) attr_int(e, "count_include_pad", !n->attr.pool.pixels_only);
    return channels_last(e, node(e, mean ? "AveragePool" : "MaxPool", IN(x), extra(e)), out);
}

static bool emit_pad(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    const int32_t *before = n->attr.pad.before, *after = n->attr.pad.after;
    const char *pads =
        constant_ints(e, (int64_t[]) { 0, before[0], before[1], 0, 0, after[0], after[1], 0 }, 8);
    node(e, "Pad", IN(in[0], pads), out);
    return true;
}

static bool emit_batch_norm(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    bool image = n->in[0]->shape.rank == 4;
    if (!n->attr.batch.fixed || (!image && n->in[0]->shape.rank != 2)) return false;
    const char *x = image ? channels_first(e, in[0]) : in[0],
               *y = image || n->attr.batch.act ? extra(e) : out;
    attr_float(e, "epsilon", n->attr.batch.eps);
    node(e, "BatchNormalization", IN(x, in[3], in[4], in[1], in[2]), y);
    if (n->attr.batch.act) {
        const char *active = image ? extra(e) : out;
        if (!activation(e, n->attr.batch.act, y, active)) return false;
        y = active;
    }
    return !image || channels_last(e, y, out);
}

static bool emit_group_norm(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    if (n->in[0]->shape.rank != 4 || !*in[1] || !*in[2]) return false;
    const char *x = channels_first(e, in[0]);
    attr_float(e, "epsilon", n->attr.group.eps);
    attr_int(e, "num_groups", n->attr.group.groups);
    return channels_last(e, node(e, "GroupNormalization", IN(x, in[1], in[2]), extra(e)), out);
}

/* Columns of [N, C] from `first` to before `end`. */
static const char *columns(exporter *e, const char *x, int64_t first, int64_t end)
{
    return node(e, "Slice",
                IN(x, constant_ints(e, &first, 1), constant_ints(e, &end, 1),
                   constant_ints(e, (int64_t[]) { 1 }, 1)),
                extra(e));
}

/* A row of zeros stands before the table and one behind it, for ids that are none of its own. */
static bool emit_lookup(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    int64_t plain = n->attr.lookup.plain, cols = n->in[0]->shape.d[1];
    uint32_t rows = n->in[1]->shape.d[0], d = n->in[1]->shape.d[1];
    const char *zeros = extra(e);
    float *zero = vkt__alloc(d * sizeof *zero);
    initializer(e, zeros, (uint64_t[]) { 1, d }, 2, FLOAT, zero, d * sizeof *zero);
    free(zero);
    attr_int(e, "axis", 0);
    const char *table = node(e, "Concat", IN(zeros, in[1], zeros), extra(e)),
               *id = columns(e, in[0], plain, cols);
    id = node(e, "Clip", IN(id, constant(e, -1), constant(e, (float)rows)), extra(e));
    id = node(e, "Floor", IN(id), extra(e));
    id = node(e, "Add", IN(id, constant(e, 1)), extra(e));
    attr_int(e, "to", INT64);
    id = node(e, "Cast", IN(id), extra(e));
    attr_int(e, "axis", 0);
    const char *y = node(e, "Gather", IN(table, id), extra(e)),
               *shape = constant_ints(e, (int64_t[]) { -1, (cols - plain) * d }, 2);
    y = node(e, "Reshape", IN(y, shape), plain ? extra(e) : out);
    if (!plain) return true;
    const char *numbers = columns(e, in[0], 0, plain);
    attr_int(e, "axis", 1);
    node(e, "Concat", IN(numbers, y), out);
    return true;
}

/* [N, H * W, C] to [N, C, H * W]: what flatten does to an image. */
static bool emit_swap(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)n;
    attr_ints(e, "perm", (int64_t[]) { 0, 2, 1 }, 3);
    node(e, "Transpose", IN(in[0]), out);
    return true;
}

/* ---- general ops; dimension 0 holds the batch, which none of them touches ---- */

static bool emit_unary(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    if (n->attr.map.part != VKT_ND_UNARY || n->attr.map.fn != VKT_FN_CLAMP) return false;
    node(e, "Clip", IN(in[0], constant(e, n->attr.map.s), constant(e, n->attr.map.t)), out);
    return true;
}

static bool emit_binary(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    static const char *const names[] = {
        [VKT_FN2_ADD] = "Add", [VKT_FN2_MUL] = "Mul", [VKT_FN2_DIV] = "Div"
    };
    uint32_t fn = n->attr.map.fn;
    if (n->attr.map.part != VKT_ND_BINARY || fn >= VKT_COUNT(names) || !names[fn]) return false;
    node(e, names[fn], IN(in[0], in[1]), out);
    return true;
}

static bool emit_permute(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    int64_t order[VKT_MAX_RANK] = { 0 };
    uint32_t rank = n->in[0]->shape.rank;
    for (uint32_t k = 0; k < rank; k++) order[k] = n->attr.permute.order[k];
    if (order[0] != 0) return false;
    attr_ints(e, "perm", order, rank);
    node(e, "Transpose", IN(in[0]), out);
    return true;
}

static bool emit_slice(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    int64_t first[VKT_MAX_RANK], end[VKT_MAX_RANK], axes[VKT_MAX_RANK], step[VKT_MAX_RANK];
    uint32_t rank = n->in[0]->shape.rank;
    for (uint32_t k = 1; k < rank; k++) {
        first[k] = n->attr.window.first[k];
        step[k] = n->attr.window.step[k];
        end[k] = first[k] + (n->out[0]->shape.d[k] - 1) * step[k] + 1;
        axes[k] = k;
    }
    node(e, "Slice",
         IN(in[0], constant_ints(e, first + 1, rank - 1), constant_ints(e, end + 1, rank - 1),
            constant_ints(e, axes + 1, rank - 1), constant_ints(e, step + 1, rank - 1)),
         out);
    return true;
}

static bool emit_concat(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    const char *all[VKT_MAX_IN + 1] = { NULL };
    if (n->attr.along.axis == 0) return false;
    for (uint32_t i = 0; i < VKT_MAX_IN && n->in[i]; i++) all[i] = in[i];
    attr_int(e, "axis", n->attr.along.axis);
    node(e, "Concat", all, out);
    return true;
}

/* PyTorch's nearest takes the pixel that a result's begins in, its bilinear the centers. */
static bool emit_resize(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    bool nearest = n->attr.resize.kind == VKT_RESIZE_NEAREST;
    const char *x = channels_first(e, in[0]);
    attr_ints(e, "axes", (int64_t[]) { 2, 3 }, 2);
    attr_text(e, "coordinate_transformation_mode",
              nearest                        ? "asymmetric"
              : n->attr.resize.align_corners ? "align_corners"
                                             : "half_pixel");
    attr_text(e, "mode", nearest ? "nearest" : "linear");
    if (nearest) attr_text(e, "nearest_mode", "floor");
    const char *size = constant_ints(e, (int64_t[]) { n->attr.resize.h, n->attr.resize.w }, 2);
    return channels_last(e, node(e, "Resize", IN(x, "", "", size), extra(e)), out);
}

/* The filter of conv2d_dx: emit_transpose writes the unflipped one. */
static bool emit_flip(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)e;
    (void)in;
    (void)out;
    return !n->in[0]->node;
}

static bool emit_transpose(exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    const vkt_node *flip = n->in[1]->node;
    const uint32_t *x = n->in[0]->shape.d;
    const int64_t strides[] = { n->attr.conv.stride, vkt__conv_stride_w(&n->attr) },
                  dilations[] = { n->attr.conv.dilation, vkt__conv_dilation_w(&n->attr) },
                  kernel[] = { n->attr.conv.kh, n->attr.conv.kw },
                  size[] = { n->attr.conv.h, n->attr.conv.w },
                  pads[] = { n->attr.conv.pad, vkt__conv_pad(&n->attr, VKT__LEFT),
                             vkt__conv_pad(&n->attr, VKT__BOTTOM),
                             vkt__conv_pad(&n->attr, VKT__RIGHT) };
    int64_t more[2];
    if (!flip || flip->op != &vkt__op_conv2d_flip || flip->in[0]->node) return false;
    for (int i = 0; i < 2; i++)
        more[i] = size[i] - ((x[i + 1] - 1) * strides[i] - pads[i] - pads[i + 2] +
                             dilations[i] * (kernel[i] - 1) + 1);
    const char *first = channels_first(e, in[0]);
    window(e, n->attr.conv.kh, n->attr.conv.kw, strides, pads);
    attr_ints(e, "dilations", dilations, 2);
    attr_ints(e, "output_padding", more, 2);
    attr_int(e, "group", n->attr.conv.groups);
    const char *w = name_of(e, flip->in[0]);
    return channels_last(e, node(e, "ConvTranspose", IN(first, w), extra(e)), out);
}

static const struct {
    const char *op;
    emitter *emit;
} emitters[] = {
    { "matmul", emit_linear },
    { "activate", emit_activate },
    { "add", emit_add },
    { "mul", emit_mul },
    { "scale", emit_scale },
    { "copy", emit_copy },
    { "softmax", emit_softmax },
    { "layernorm", emit_layernorm },
    { "rmsnorm", emit_rmsnorm },
    { "conv2d", emit_conv },
    { "max_pool", emit_pool },
    { "avg_pool", emit_pool },
    { "pad2d", emit_pad },
    { "batch_norm", emit_batch_norm },
    { "group_norm", emit_group_norm },
    { "swap", emit_swap },
    { "lookup", emit_lookup },
    { "attention", emit_attention },
    { "fill", emit_fill },
    { "unary", emit_unary },
    { "binary", emit_binary },
    { "permute", emit_permute },
    { "slice", emit_slice },
    { "concat", emit_concat },
    { "resize", emit_resize },
    { "conv2d_flip", emit_flip },
    { "conv2d_dx", emit_transpose },
};

static vkt_status emit(exporter *e, const vkt_node *n)
{
    const char *in[VKT_MAX_IN];
    size_t k = 0;
    while (k < VKT_COUNT(emitters) && strcmp(emitters[k].op, n->op->name) != 0) k++;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) in[i] = n->in[i] ? name_of(e, n->in[i]) : "";
    if (k < VKT_COUNT(emitters) && emitters[k].emit(e, n, in, result_of(e, n))) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "export",
                     "the model has a '%s' of %s, which the ONNX export does not support: export "
                     "to .safetensors instead",
                     n->op->name, vkt__text(n->out[0]));
}

/* ---- the file ---- */

/* A graph's input or output, [N, rest] f32. */
static void value_info(vkt__str *graph, uint32_t field, const char *name, vkt_shape shape)
{
    vkt__str dim = { 0 }, dims = { 0 }, tensor = { 0 }, type = { 0 }, info = { 0 };
    for (uint32_t i = 0; i < shape.rank; i++) {
        if (i == 0)
            vkt__pb_text(&dim, 2, "N");
        else
            vkt__pb_int(&dim, 1, shape.d[i]);
        vkt__pb_message(&dims, 1, &dim);
    }
    vkt__pb_int(&tensor, 1, FLOAT);
    vkt__pb_message(&tensor, 2, &dims);
    vkt__pb_message(&type, 1, &tensor);
    vkt__pb_text(&info, 1, name);
    vkt__pb_message(&info, 2, &type);
    vkt__pb_message(graph, field, &info);
    vkt__str_finish(&dim);
    vkt__str_finish(&dims);
    vkt__str_finish(&tensor);
    vkt__str_finish(&type);
    vkt__str_finish(&info);
}

/* What the layers behind the file's net take: its result as they see it. */
static vkt_tensor *head_of(exporter *e, vkt_model *m)
{
    const vkt__layer *l = &m->layers.layers[0];
    const char *from = e->net->f->values[e->net->plan->out].name, *in = from;
    vkt_shape shape = { .rank = l->out.rank + 1, .d = { 1 } };
    int64_t dims[VKT_MAX_RANK] = { -1 };
    for (uint32_t i = 0; i < l->out.rank; i++) dims[i + 1] = shape.d[i + 1] = l->out.d[i];
    if (e->net->picture) channels_last(e, from, in = extra(e));
    if (e->net->row)
        in = node(e, "Reshape", IN(from, constant_ints(e, dims, shape.rank)), extra(e));
    vkt__layer_list rest = m->layers;
    rest.layers++;
    rest.n--;
    return vkt__model_build_list(m, e->g, &rest, vkt_input(e->g, shape, VKT_F32, in), false);
}

static bool is_of_net(const exporter *e, const char *name)
{
    size_t n = e->net ? strlen(e->net->prefix) : 0;
    int v = e->net && !strncmp(name, e->net->prefix, n) ? vkt__onnx_find(e->net->f, name + n) : -1;
    return v >= 0;
}

/* The outputs of `losses` but the one that is written already: "LAYER.output". */
static void emit_heads(exporter *e, vkt_model *m, const vkt_tensor *y)
{
    for (size_t i = 0; i < m->n_heads; i++) {
        const vkt_tensor *head = m->heads[i].y;
        bool again = head == y;
        for (size_t k = 0; k < i; k++) again = again || m->heads[k].y == head;
        if (again) continue;
        const char *name = vkt__arena_printf(&e->arena, "%s.output", m->heads[i].on);
        node(e, "Identity", IN(name_of(e, head)), name);
        value_info(&e->graph, 12, name, vkt_tensor_shape(head));
    }
}

static vkt_status emit_graph(exporter *e, vkt_model *m, const vkt_dataset_info *info,
                             const vkt__loss_terms *terms, double temperature)
{
    vkt_status st = VKT_OK;
    bool classify = info->task != VKT_TASK_REGRESS && info->task != VKT_TASK_PICTURE,
         softmax = info->task == VKT_TASK_CLASSIFY || info->task == VKT_TASK_SEGMENT;
    vkt_shape shape = { .rank = info->input_rank + 1, .d = { 1 } };
    for (uint32_t i = 0; i < info->input_rank; i++) shape.d[i + 1] = info->input_shape[i];
    if (e->net) vkt__onnx_back_graph(e->net, e->weights, false, &e->graph);
    vkt_tensor *y = e->net
                        ? head_of(e, m)
                        : vkt_model_build(m, e->g, vkt_input(e->g, shape, VKT_F32, "input"), false);
    y = vkt__loss_terms_output(terms, m, e->g, info, y);
    VKT_TRY(e->g->status);
    e->named = vkt__arena_alloc(&e->arena, (e->g->n_tensors + 1) * sizeof *e->named);
    for (size_t i = 0; i < e->g->n_nodes; i++) VKT_TRY(emit(e, e->g->nodes[i]));
    const char *out = node(e, "Identity", IN(name_of(e, y)), classify ? "logits" : "value");
    const char *scaled = out;
    if (temperature > 0)
        scaled = node(e, "Div", IN(out, constant(e, (float)temperature)), extra(e));
    if (softmax) attr_int(e, "axis", -1);
    if (classify) node(e, softmax ? "Softmax" : "Sigmoid", IN(scaled), "probabilities");
    for (size_t i = 0; i < e->weights->n_model; i++) {
        const vkt__st_tensor *t = &e->weights->model[i];
        uint64_t count = 1;
        for (uint32_t k = 0; k < t->rank; k++) count *= t->shape[k];
        if (strcmp(t->dtype, "F32") != 0) continue; /* a counter, which no graph reads */
        if (is_of_net(e, t->name)) continue;
        initializer(e, t->name, t->shape, t->rank, FLOAT, t->data, (size_t)count * 4);
    }
    vkt__pb_text(&e->graph, 2, "vktrain");
    if (!e->net) value_info(&e->graph, 11, "input", shape);
    value_info(&e->graph, 12, out, vkt_tensor_shape(y));
    if (classify) value_info(&e->graph, 12, "probabilities", vkt_tensor_shape(y));
    emit_heads(e, m, y);
    if (e->net && e->needs > e->net->f->opset)
        st = vkt__fail(VKT_E_ARG, "export",
                       "the layers behind the net of '%s' need ops of opset %lld, and its own are "
                       "those of opset %lld: write that file again with a newer one, or export to "
                       ".safetensors instead",
                       e->net->f->path, (long long)e->needs, (long long)e->net->f->opset);
fail:
    return st;
}

static bool is_same_file(const char *one, const char *other)
{
    uint64_t a[2] = { 0 }, b[2] = { 0 };
    return vkt__path_look(one, a) == VKT__FILE && vkt__path_look(other, b) == VKT__FILE &&
           !memcmp(a, b, sizeof a);
}

vkt_status vkt__onnx_write(vkt_model *m, const vkt_dataset *data, const vkt__weights *w,
                           const vkt__loss_terms *terms, double temperature, const char *path)
{
    vkt_status st;
    exporter e = { .g = vkt__graph_new(vkt_model_gpu(m)), .weights = w };
    vkt__str model = { 0 };
    vkt_data_column column;
    if (vkt_dataset_get_info(data)->kind == VKT_DATA_KIND_TABLE &&
        vkt__dataset_column(data, 0, &column, NULL) && column.sentence) {
        st = vkt__fail(VKT_E_FORMAT, "export",
                       "column '%s' holds sentences, and ONNX has no place for their tokenizer: "
                       "export to .safetensors instead",
                       vkt__show(column.name).s);
        goto fail;
    }
    if (vkt_model_count(m) > (1u << 29) - (1u << 20)) {
        st =
            vkt__fail(VKT_E_FORMAT, "export",
                      "the model's %llu weights are more than the 2 GiB of an ONNX file: export to "
                      ".safetensors instead",
                      (unsigned long long)vkt_model_count(m));
        goto fail;
    }
    e.net = vkt__onnx_net_of(m);
    if (e.net && is_same_file(e.net->f->path, path)) {
        st = vkt__fail(VKT_E_ARG, "export",
                       "'%s' is the file of the run's net, which the run needs as it is: export "
                       "to another one",
                       path);
        goto fail;
    }
    if (e.net && m->layers.is_graph) {
        st = vkt__fail(VKT_E_ARG, "export",
                       "layers that name their inputs by `from` stand behind the net of '%s': "
                       "export to .safetensors instead",
                       e.net->f->path);
        goto fail;
    }
    if (e.net && m->layers.n == 1 && !m->layers.layers[0].spec.cut)
        vkt__onnx_back_graph(e.net, w, true, &e.graph);
    else
        VKT_TRY(emit_graph(&e, m, vkt_dataset_get_info(data), terms, temperature));
    if (e.net) {
        vkt__onnx_back_model(e.net, &model);
    } else {
        vkt__pb_int(&model, 1, IR_VERSION);
        vkt__pb_text(&model, 2, "vktrain");
        vkt__pb_text(&model, 3, VKT_VERSION);
        vkt__pb_text(&e.node, 1, "");
        vkt__pb_int(&e.node, 2, OPSET);
        vkt__pb_message(&model, 8, &e.node);
    }
    vkt__pb_message(&model, 7, &e.graph);
    vkt__pb_text(&e.node, 1, "vktrain.schema");
    vkt__pb_text(&e.node, 2, vkt_dataset_schema(data));
    vkt__pb_message(&model, 14, &e.node);
    VKT_TRY(vkt__file_replace(path, model.data, model.len));
fail:
    vkt__str_finish(&model);
    vkt__str_finish(&e.graph);
    vkt__str_finish(&e.node);
    vkt__str_finish(&e.attribute);
    vkt__str_finish(&e.tensor);
    vkt__arena_finish(&e.arena);
    vkt_graph_destroy(&e.g);
    return st;
}
