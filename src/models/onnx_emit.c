/* An op's node as those of an ONNX file: its emitter, by the row's name. Those of pictures and of
 * GRU and LSTM: onnx_emit_pictures.c, onnx_rnn.c. */
#include "models/onnx_nodes.h"

#include "tensor/graph/act.h"
#include "tensor/kernels/attention.h"
#include "tensor/ops/ops.h"
#include "shaders/params.h"

static const char *result_of(vkt__exporter *e, const vkt_node *n)
{
    return vkt__arena_printf(&e->arena, e->net ? "vkt_t%zu" : "t%zu", n->out[0]->index);
}

static bool emit_activate(vkt__exporter *e, const vkt_node *n, const char *const *in,
                          const char *out)
{
    return vkt__emit_activation(e, n->attr.eltwise.act, in[0], out);
}

/* A product's second factor with its last axes the other way round. */
static const char *turned(vkt__exporter *e, const vkt_node *n, const char *x)
{
    int64_t order[VKT_MAX_RANK] = { 0 };
    uint32_t rank = n->in[1]->shape.rank;
    for (uint32_t k = 0; k < rank; k++) order[k] = k;
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    vkt__attr_ints(e, "perm", order, rank);
    return vkt__emit_node(e, "Transpose", VKT__IN(x), vkt__emit_extra(e));
}

static bool emit_linear(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    vkt_act act = n->attr.matmul.act;
    const char *y = act ? vkt__emit_extra(e) : out;
    if (n->attr.matmul.batched && n->attr.matmul.layout != VKT_LAYOUT_TN && !act) {
        vkt__emit_node(
            e, "MatMul",
            VKT__IN(in[0], n->attr.matmul.layout == VKT_LAYOUT_NT ? turned(e, n, in[1]) : in[1]),
            out);
        return true;
    }
    if (n->attr.matmul.batched || n->attr.matmul.layout != VKT_LAYOUT_NT ||
        n->in[0]->dtype != VKT_F32)
        return false;
    if (n->in[0]->shape.rank == 2) {
        vkt__attr_int(e, "transB", 1);
        vkt__emit_node(e, "Gemm", *in[2] ? VKT__IN(in[0], in[1], in[2]) : VKT__IN(in[0], in[1]), y);
    } else {
        const char *w = vkt__emit_node(e, "Transpose", VKT__IN(in[1]), vkt__emit_extra(e));
        const char *product =
            vkt__emit_node(e, "MatMul", VKT__IN(in[0], w), *in[2] ? vkt__emit_extra(e) : y);
        if (*in[2]) vkt__emit_node(e, "Add", VKT__IN(product, in[2]), y);
    }
    return !act || vkt__emit_activation(e, act, y, out);
}

static bool emit_add(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)n;
    vkt__emit_node(e, "Add", VKT__IN(in[0], in[1]), out);
    return true;
}

static bool emit_mul(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)n;
    vkt__emit_node(e, "Mul", VKT__IN(in[0], in[1]), out);
    return true;
}

static bool emit_scale(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    vkt__emit_node(e, "Mul", VKT__IN(in[0], vkt__emit_number(e, n->attr.eltwise.s)), out);
    return true;
}

static bool emit_copy(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)n;
    vkt__emit_node(e, "Identity", VKT__IN(in[0]), out);
    return true;
}

static bool emit_softmax(vkt__exporter *e, const vkt_node *n, const char *const *in,
                         const char *out)
{
    (void)n;
    vkt__attr_int(e, "axis", -1);
    vkt__emit_node(e, "Softmax", VKT__IN(in[0]), out);
    return true;
}

static bool emit_layernorm(vkt__exporter *e, const vkt_node *n, const char *const *in,
                           const char *out)
{
    if (n->in[3]) return false; /* a residual fused into it: a rewrite's */
    vkt__attr_int(e, "axis", -1);
    vkt__attr_float(e, "epsilon", n->attr.norm.eps);
    vkt__emit_node(e, "LayerNormalization",
                   *in[2] ? VKT__IN(in[0], in[1], in[2]) : VKT__IN(in[0], in[1]), out);
    return true;
}

/* x / sqrt(mean(x^2) + eps) * w: RMSNormalization itself is of a later opset. */
static bool emit_rmsnorm(vkt__exporter *e, const vkt_node *n, const char *const *in,
                         const char *out)
{
    if (n->in[3]) return false;
    const char *square = vkt__emit_node(e, "Mul", VKT__IN(in[0], in[0]), vkt__emit_extra(e));
    const char *axes = vkt__emit_ints(e, (int64_t[]) { -1 }, 1);
    const char *mean = vkt__emit_node(e, "ReduceMean", VKT__IN(square, axes), vkt__emit_extra(e));
    const char *sum = vkt__emit_node(e, "Add", VKT__IN(mean, vkt__emit_number(e, n->attr.norm.eps)),
                                     vkt__emit_extra(e));
    const char *root = vkt__emit_node(e, "Sqrt", VKT__IN(sum), vkt__emit_extra(e));
    const char *y = vkt__emit_node(e, "Div", VKT__IN(in[0], root), vkt__emit_extra(e));
    vkt__emit_node(e, "Mul", VKT__IN(y, in[1]), out);
    return true;
}

/* A part of qkv [3, N, H, T, D], without the first dimension. */
static const char *part(vkt__exporter *e, const char *qkv, int64_t i)
{
    const char *which = vkt__emit_ints(e, &i, 1);
    const char *one = vkt__emit_node(e, "Gather", VKT__IN(qkv, which), vkt__emit_extra(e));
    return vkt__emit_node(e, "Squeeze", VKT__IN(one, vkt__emit_ints(e, (int64_t[]) { 0 }, 1)),
                          vkt__emit_extra(e));
}

/* x [N, T, H D] with its heads first, [N, H, T, D], or as `order` says; a zero in a shape keeps the
 * dimension. */
static const char *by_head(vkt__exporter *e, const vkt_node *n, const char *x, const int64_t *order)
{
    const int64_t shape[] = { 0, 0, n->attr.attention.heads, n->attr.attention.head };
    x = vkt__emit_node(e, "Reshape", VKT__IN(x, vkt__emit_ints(e, shape, 4)), vkt__emit_extra(e));
    vkt__attr_ints(e, "perm", order, 4);
    return vkt__emit_node(e, "Transpose", VKT__IN(x), vkt__emit_extra(e));
}

/* Queries, keys and values out of one tensor [N, T, 3 H D], keys with their last axes turned. */
static void thirds(vkt__exporter *e, const vkt_node *n, const char *x, const char *qkv[3])
{
    int64_t heads = n->attr.attention.heads, D = n->attr.attention.head;
    x = vkt__emit_node(e, "Reshape",
                       VKT__IN(x, vkt__emit_ints(e, (int64_t[]) { 0, 0, 3, heads, D }, 5)),
                       vkt__emit_extra(e));
    vkt__attr_ints(e, "perm", (int64_t[]) { 2, 0, 3, 1, 4 }, 5);
    x = vkt__emit_node(e, "Transpose", VKT__IN(x), vkt__emit_extra(e));
    for (int i = 0; i < 3; i++) qkv[i] = part(e, x, i);
    vkt__attr_ints(e, "perm", (int64_t[]) { 0, 1, 3, 2 }, 4);
    qkv[1] = vkt__emit_node(e, "Transpose", VKT__IN(qkv[1]), vkt__emit_extra(e));
}

/* Of every token to all, of one sequence or of another's. */
static bool emit_attention(vkt__exporter *e, const vkt_node *n, const char *const *in,
                           const char *out)
{
    static const int64_t rows[] = { 0, 2, 1, 3 }, columns[] = { 0, 2, 3, 1 };
    int64_t heads = n->attr.attention.heads, D = n->attr.attention.head;
    const char *qkv[3];
    if (!n->attr.attention.full || n->attr.attention.window || n->attr.attention.cap > 0 ||
        n->attr.attention.kv_heads != heads || !n->in[VKT__ATT_K] != !n->in[VKT__ATT_V] ||
        n->in[VKT__ATT_DOCS] || n->in[VKT__ATT_START])
        return false;
    if (n->in[VKT__ATT_K]) {
        qkv[0] = by_head(e, n, in[VKT__ATT_Q], rows);
        qkv[1] = by_head(e, n, in[VKT__ATT_K], columns);
        qkv[2] = by_head(e, n, in[VKT__ATT_V], rows);
    } else {
        thirds(e, n, in[VKT__ATT_Q], qkv);
    }
    const char *x = vkt__emit_node(e, "MatMul", VKT__IN(qkv[0], qkv[1]), vkt__emit_extra(e));
    x = vkt__emit_node(e, "Mul", VKT__IN(x, vkt__emit_number(e, n->attr.attention.scale)),
                       vkt__emit_extra(e));
    vkt__attr_int(e, "axis", -1);
    x = vkt__emit_node(e, "Softmax", VKT__IN(x), vkt__emit_extra(e));
    x = vkt__emit_node(e, "MatMul", VKT__IN(x, qkv[2]), vkt__emit_extra(e));
    vkt__attr_ints(e, "perm", rows, 4);
    x = vkt__emit_node(e, "Transpose", VKT__IN(x), vkt__emit_extra(e));
    vkt__emit_node(e, "Reshape", VKT__IN(x, vkt__emit_ints(e, (int64_t[]) { 0, 0, heads * D }, 3)),
                   out);
    return true;
}

/* The graph is of one example, whose constants ONNX's operators repeat for as many as there are. */
static bool emit_fill(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)in;
    vkt_shape s = n->out[0]->shape;
    uint64_t dims[VKT_MAX_RANK], count = vkt_shape_count(s);
    float *data = vkt__alloc(count * sizeof *data);
    for (uint32_t i = 0; i < s.rank; i++) dims[i] = s.d[i];
    for (uint64_t i = 0; i < count; i++) data[i] = n->attr.eltwise.s;
    vkt__emit_numbers(e, out, dims, s.rank, VKT__ONNX_F32, data, (size_t)count * sizeof *data);
    free(data);
    return true;
}

/* ---- ids, and tensors that are turned ---- */

/* Columns of [N, C] from `first` to before `end`. */
static const char *columns(vkt__exporter *e, const char *x, int64_t first, int64_t end)
{
    return vkt__emit_node(e, "Slice",
                          VKT__IN(x, vkt__emit_ints(e, &first, 1), vkt__emit_ints(e, &end, 1),
                                  vkt__emit_ints(e, (int64_t[]) { 1 }, 1)),
                          vkt__emit_extra(e));
}

/* A row of zeros stands before the table and one behind it, for ids that are none of its own. */
static bool emit_lookup(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    int64_t plain = n->attr.lookup.plain, cols = n->in[0]->shape.d[1];
    uint32_t rows = n->in[1]->shape.d[0], d = n->in[1]->shape.d[1];
    const char *zeros = vkt__emit_extra(e);
    float *zero = vkt__alloc(d * sizeof *zero);
    vkt__emit_numbers(e, zeros, (uint64_t[]) { 1, d }, 2, VKT__ONNX_F32, zero, d * sizeof *zero);
    free(zero);
    vkt__attr_int(e, "axis", 0);
    const char *table =
                   vkt__emit_node(e, "Concat", VKT__IN(zeros, in[1], zeros), vkt__emit_extra(e)),
               *id = columns(e, in[0], plain, cols);
    id = vkt__emit_node(e, "Clip",
                        VKT__IN(id, vkt__emit_number(e, -1), vkt__emit_number(e, (float)rows)),
                        vkt__emit_extra(e));
    id = vkt__emit_node(e, "Floor", VKT__IN(id), vkt__emit_extra(e));
    id = vkt__emit_node(e, "Add", VKT__IN(id, vkt__emit_number(e, 1)), vkt__emit_extra(e));
    vkt__attr_int(e, "to", VKT__ONNX_I64);
    id = vkt__emit_node(e, "Cast", VKT__IN(id), vkt__emit_extra(e));
    vkt__attr_int(e, "axis", 0);
    const char *y = vkt__emit_node(e, "Gather", VKT__IN(table, id), vkt__emit_extra(e)),
               *shape = vkt__emit_ints(e, (int64_t[]) { -1, (cols - plain) * d }, 2);
    y = vkt__emit_node(e, "Reshape", VKT__IN(y, shape), plain ? vkt__emit_extra(e) : out);
    if (!plain) return true;
    const char *numbers = columns(e, in[0], 0, plain);
    vkt__attr_int(e, "axis", 1);
    vkt__emit_node(e, "Concat", VKT__IN(numbers, y), out);
    return true;
}

/* [N, H * W, C] to [N, C, H * W]: what flatten does to an image. */
static bool emit_swap(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)n;
    vkt__attr_ints(e, "perm", (int64_t[]) { 0, 2, 1 }, 3);
    vkt__emit_node(e, "Transpose", VKT__IN(in[0]), out);
    return true;
}

/* ---- general ops; dimension 0 holds the batch, which none of them touches ---- */

static bool emit_unary(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    if (n->attr.map.part != VKT_ND_UNARY || n->attr.map.fn != VKT_FN_CLAMP) return false;
    vkt__emit_node(
        e, "Clip",
        VKT__IN(in[0], vkt__emit_number(e, n->attr.map.s), vkt__emit_number(e, n->attr.map.t)),
        out);
    return true;
}

static bool emit_binary(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    static const char *const names[] = {
        [VKT_FN2_ADD] = "Add", [VKT_FN2_MUL] = "Mul", [VKT_FN2_DIV] = "Div"
    };
    uint32_t fn = n->attr.map.fn;
    if (n->attr.map.part != VKT_ND_BINARY || fn >= VKT_COUNT(names) || !names[fn]) return false;
    vkt__emit_node(e, names[fn], VKT__IN(in[0], in[1]), out);
    return true;
}

/* The mean of the members. */
static bool emit_reduce(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    int64_t axes[VKT_MAX_RANK];
    uint32_t rank = n->in[0]->shape.rank, n_axes = 0;
    if (n->attr.reduce.kind != VKT_REDUCE_MEAN || (n->attr.reduce.axes & 1)) return false;
    for (uint32_t k = 1; k < rank; k++)
        if (n->attr.reduce.axes >> k & 1) axes[n_axes++] = k;
    vkt__attr_int(e, "keepdims", n->out[0]->shape.rank == rank);
    vkt__emit_node(e, "ReduceMean", VKT__IN(in[0], vkt__emit_ints(e, axes, n_axes)), out);
    return true;
}

static bool emit_permute(vkt__exporter *e, const vkt_node *n, const char *const *in,
                         const char *out)
{
    int64_t order[VKT_MAX_RANK] = { 0 };
    uint32_t rank = n->in[0]->shape.rank;
    for (uint32_t k = 0; k < rank; k++) order[k] = n->attr.permute.order[k];
    if (order[0] != 0) return false;
    vkt__attr_ints(e, "perm", order, rank);
    vkt__emit_node(e, "Transpose", VKT__IN(in[0]), out);
    return true;
}

/* Whose first dimension is no batch. */
static bool is_weight(const vkt_tensor *t)
{
    return !t->node && !t->view_of && strcmp(t->name, "input") != 0;
}

static bool emit_slice(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    int64_t first[VKT_MAX_RANK], end[VKT_MAX_RANK], axes[VKT_MAX_RANK], step[VKT_MAX_RANK];
    uint32_t rank = n->in[0]->shape.rank, at = is_weight(n->in[0]) ? 0 : 1, n_axes = rank - at;
    for (uint32_t k = at; k < rank; k++) {
        first[k] = n->attr.window.first[k];
        step[k] = n->attr.window.step[k];
        end[k] = first[k] + (n->out[0]->shape.d[k] - 1) * step[k] + 1;
        axes[k] = k;
    }
    vkt__emit_node(
        e, "Slice",
        VKT__IN(in[0], vkt__emit_ints(e, first + at, n_axes), vkt__emit_ints(e, end + at, n_axes),
                vkt__emit_ints(e, axes + at, n_axes), vkt__emit_ints(e, step + at, n_axes)),
        out);
    return true;
}

static bool emit_concat(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    const char *all[VKT_MAX_IN + 1] = { NULL };
    if (n->attr.along.axis == 0) return false;
    for (uint32_t i = 0; i < VKT_MAX_IN && n->in[i]; i++) all[i] = in[i];
    vkt__attr_int(e, "axis", n->attr.along.axis);
    vkt__emit_node(e, "Concat", all, out);
    return true;
}

static const struct {
    const char *op;
    vkt__emitter *emit;
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
    { "conv2d", vkt__emit_conv },
    { "max_pool", vkt__emit_pool },
    { "avg_pool", vkt__emit_pool },
    { "pad2d", vkt__emit_pad },
    { "batch_norm", vkt__emit_batch_norm },
    { "group_norm", vkt__emit_group_norm },
    { "swap", emit_swap },
    { "lookup", emit_lookup },
    { "attention", emit_attention },
    { "fill", emit_fill },
    { "unary", emit_unary },
    { "binary", emit_binary },
    { "reduce", emit_reduce },
    { "permute", emit_permute },
    { "slice", emit_slice },
    { "concat", emit_concat },
    { "resize", vkt__emit_resize },
    { "rnn", vkt__emit_rnn },
    { "conv2d_flip", vkt__emit_flip },
    { "conv2d_dx", vkt__emit_transpose },
};

vkt_status vkt__emit(vkt__exporter *e, const vkt_node *n)
{
    const char *in[VKT_MAX_IN];
    size_t k = 0;
    while (k < VKT_COUNT(emitters) && strcmp(emitters[k].op, n->op->name) != 0) k++;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) in[i] = n->in[i] ? vkt__emit_name(e, n->in[i]) : "";
    if (k < VKT_COUNT(emitters) && emitters[k].emit(e, n, in, result_of(e, n))) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "export",
                     "the model has a '%s' of %s, which the ONNX export does not support: export "
                     "to .safetensors instead",
                     n->op->name, vkt__text(n->out[0]));
}
