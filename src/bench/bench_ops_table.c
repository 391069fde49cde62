/* The op rows that the benchmark measures on fixed shapes, and how a graph with each is built. A
 * row that is not here is measured on its largest sample. */
#include "tensor/graph/sample.h"
#include "bench/bench_ops_table.h"
#include "tensor/graph/graph.h"
#include "tensor/passes/precision.h"
#include "shaders/params.h"

static vkt_tensor *positive(vkt_graph *g, uint32_t r, uint32_t c)
{
    return vkt__sample(g, vkt_shape2(r, c), VKT_F32, VKT_HINT_POSITIVE, 0);
}

static void build_add(vkt_graph *g, vkt__bench_shape s)
{
    vkt_add(g, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n));
}
static void build_mul(vkt_graph *g, vkt__bench_shape s)
{
    vkt_mul(g, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n));
}
static void build_scale(vkt_graph *g, vkt__bench_shape s)
{
    vkt_scale(g, vkt__sample2(g, s.m, s.n), 1.5f);
}
static void build_copy(vkt_graph *g, vkt__bench_shape s)
{
    vkt_copy(g, vkt__sample2(g, s.m, s.n));
}
static void build_fill(vkt_graph *g, vkt__bench_shape s)
{
    vkt_fill(g, vkt_shape2(s.m, s.n), 1.5f);
}
static void build_act(vkt_graph *g, vkt__bench_shape s)
{
    vkt_activate(g, vkt__sample2(g, s.m, s.n), VKT_ACT_GELU);
}
static void build_act_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt__act_bwd(g, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n), VKT_ACT_GELU);
}
/* What relu and dropout leave of a gradient. */
static void build_chain(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *in[] = { vkt__sample2(g, s.m, s.n), NULL, vkt__sample2(g, s.m, s.n), NULL,
                         vkt_step(g) };
    vkt_attr attr = { .chain = { .n = 2, .dropout_p = 0.1f } };
    attr.chain.stage[0].op = VKT_EL_DROPOUT;
    attr.chain.stage[1].op = VKT_EL_ACT_BWD;
    attr.chain.stage[1].act = VKT_ACT_RELU;
    vkt__op(g, &vkt__op_chain, in, VKT_COUNT(in), attr);
}
static void build_sum(vkt_graph *g, vkt__bench_shape s)
{
    vkt_sum(g, positive(g, s.m, s.n));
}
static void build_sum_rows(vkt_graph *g, vkt__bench_shape s)
{
    vkt_sum_rows(g, positive(g, s.m, s.n));
}
static void build_dropout(vkt_graph *g, vkt__bench_shape s)
{
    vkt_dropout(g, vkt__sample2(g, s.m, s.n), vkt_step(g), 0.1f);
}
static void build_noise(vkt_graph *g, vkt__bench_shape s)
{
    vkt_noise(g, vkt__sample2(g, s.m, s.n), vkt_step(g), 0.1f);
}
static void build_cast(vkt_graph *g, vkt__bench_shape s)
{
    vkt_cast(g, vkt__sample2(g, s.m, s.n), VKT_BF16);
}
static void build_softmax(vkt_graph *g, vkt__bench_shape s)
{
    vkt_softmax(g, vkt__sample2(g, s.m, s.n));
}

static void build_matmul(vkt_graph *g, vkt__bench_shape s)
{
    vkt_shape of_a = s.layout == VKT_LAYOUT_TN ? vkt_shape2(s.k, s.m) : vkt_shape2(s.m, s.k),
              of_b = s.layout == VKT_LAYOUT_NT ? vkt_shape2(s.n, s.k) : vkt_shape2(s.k, s.n);
    vkt_tensor *a = vkt__sample(g, of_a, s.dtype, VKT_HINT_NORMAL, 0),
               *b = vkt__sample(g, of_b, s.dtype, VKT_HINT_NORMAL, 0);
    vkt_tensor *bias = s.bias ? vkt__sample1(g, s.n) : NULL,
               *r = s.residual ? vkt__sample(g, vkt_shape2(s.m, s.n), s.result, VKT_HINT_NORMAL, 0)
                               : NULL;
    vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { a, b, bias, NULL, r }, 5,
            (vkt_attr) { .matmul = { .layout = s.layout, .act = s.act, .out = s.result } });
}

static void build_layernorm(vkt_graph *g, vkt__bench_shape s)
{
    vkt_layernorm(g, vkt__sample2(g, s.m, s.n), vkt__sample1(g, s.n), vkt__sample1(g, s.n), NULL,
                  1e-5f, NULL);
}

/* With the residual sum in it. */
static void build_rmsnorm(vkt_graph *g, vkt__bench_shape s)
{
    vkt_rmsnorm(g, vkt__sample2(g, s.m, s.n), vkt__sample1(g, s.n), vkt__sample2(g, s.m, s.n),
                1e-5f, NULL);
}

/* Gradient rows come from differentiating sum(y * r). */
static void differentiate(vkt_graph *g, vkt_tensor *y, vkt_tensor *const *wrt, size_t n)
{
    vkt_tensor *d[3], *r = vkt__sample(g, vkt_tensor_shape(y), VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_backward(g, vkt_sum(g, vkt_mul(g, y, r)), wrt, n, d);
}

static void build_norm_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x = vkt__sample2(g, s.m, s.n), *w = vkt__sample1(g, s.n), *b = vkt__sample1(g, s.n);
    differentiate(g, vkt_layernorm(g, x, w, b, NULL, 1e-5f, NULL), (vkt_tensor *[]) { x, w, b }, 3);
}

/* Of w and b alone: with x's, GPUs find all in norm_bwd. */
static void build_norm_dw(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x = vkt__sample2(g, s.m, s.n), *w = vkt__sample1(g, s.n), *b = vkt__sample1(g, s.n);
    differentiate(g, vkt_layernorm(g, x, w, b, NULL, 1e-5f, NULL), (vkt_tensor *[]) { w, b }, 2);
}

static void build_softmax_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x = vkt__sample2(g, s.m, s.n);
    differentiate(g, vkt_softmax(g, x), &x, 1);
}

static vkt_tensor *xent(vkt_graph *g, vkt__bench_shape s, vkt_tensor **x)
{
    *x = vkt__sample2(g, s.m, s.n);
    vkt_tensor *y = vkt__sample(g, vkt_shape1(s.m), VKT_U32, VKT_HINT_INDEX, s.n),
               *w = vkt__sample(g, vkt_shape1(s.m), VKT_F32, VKT_HINT_POSITIVE, 0);
    return vkt_softmax_xent(g, *x, y, w, NULL, &(vkt_xent_desc) { .smoothing = 0.1f }).loss;
}

static void build_xent(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x;
    xent(g, s, &x);
}

static void build_xent_bwd(vkt_graph *g, vkt__bench_shape s)
{
    /* With a dloss: without one the forward row writes the gradient. */
    vkt_tensor *x, *d, *loss = vkt_mul(g, xent(g, s, &x), vkt__sample1(g, s.m));
    vkt_backward(g, vkt_sum(g, loss), &x, 1, &d);
}

static void build_mse(vkt_graph *g, vkt__bench_shape s)
{
    vkt_mse(g, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n), NULL);
}

static void build_mse_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x = vkt__sample2(g, s.m, s.n), *d;
    vkt_backward(g, vkt_sum(g, vkt_mse(g, x, vkt__sample2(g, s.m, s.n), NULL).loss), &x, 1, &d);
}

static void build_focal(vkt_graph *g, vkt__bench_shape s)
{
    vkt_focal(g, vkt__sample1(g, s.m), &(vkt_focal_desc) { .gamma = 2 });
}

static void build_focal_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x = vkt__sample1(g, s.m), *d;
    vkt_backward(g, vkt_sum(g, vkt_focal(g, x, &(vkt_focal_desc) { .gamma = 2 })), &x, 1, &d);
}

/* moments8: codes, four a word. */
static void update_of(vkt_graph *g, uint32_t n, bool moments8)
{
    enum { N_GROUPS = 2 };
    const vkt_attr adamw = { .optim = { VKT_UP_ADAMW, true, 0.9f, 0.999f, 1e-8f } };
    uint32_t blocks = (n + VKT_GROUP_BLOCK - 1) / VKT_GROUP_BLOCK;
    vkt_shape moments = vkt_shape1(moments8 ? (n + 3) / 4 : n);
    vkt_dtype type = moments8 ? VKT_U32 : VKT_F32;
    uint32_t hint = moments8 ? VKT_HINT_INDEX : VKT_HINT_POSITIVE;
    vkt__update_in in = { .theta = vkt__sample1(g, n),
                          .grad = vkt__sample1(g, n),
                          .m = vkt__sample(g, moments, type, hint, UINT32_MAX),
                          .v = vkt__sample(g, moments, type, hint, UINT32_MAX),
                          .step = vkt_step(g) };
    in.scalars =
        vkt__sample(g, vkt_shape1(sizeof(struct vkt_scalars) / 4), VKT_F32, VKT_HINT_UNIT, 0);
    in.blocks = vkt__sample(g, vkt_shape1(blocks), VKT_U32, VKT_HINT_INDEX, N_GROUPS);
    in.groups = vkt__sample(g, vkt_shape2(N_GROUPS, 2), VKT_F32, VKT_HINT_POSITIVE, 0);
    if (moments8) {
        in.scales = vkt__sample(g, vkt_shape2(2, blocks), VKT_F32, VKT_HINT_POSITIVE, 0);
        vkt__optim_update8(g, &in, adamw);
    } else {
        vkt__optim_update(g, &in, adamw);
    }
}

static void build_update(vkt_graph *g, vkt__bench_shape s)
{
    update_of(g, s.m * s.n, false);
}

static void build_update8(vkt_graph *g, vkt__bench_shape s)
{
    update_of(g, s.m * s.n, true);
}

/* ---- pictures ---- */

static vkt_tensor *pictures(vkt_graph *g, vkt__bench_shape s)
{
    return vkt__sample(g, (vkt_shape) { 4, { s.m, s.n, s.n, s.k } }, VKT_F32, VKT_HINT_NORMAL, 0);
}

static vkt_tensor *batch_norm(vkt_graph *g, vkt__bench_shape s, vkt_tensor *x)
{
    return vkt_batch_norm(
        g, x,
        &(vkt_batch_norm_desc) {
            .w = vkt__sample1(g, s.k),
            .b = vkt__sample1(g, s.k),
            .running_mean = vkt__sample1(g, s.k),
            .running_var = vkt__sample(g, vkt_shape1(s.k), VKT_F32, VKT_HINT_POSITIVE, 0),
            .count = vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_INDEX, 99),
            .eps = 1e-5f,
            .momentum = 0.1f,
            .train = true });
}

static void build_batch_norm(vkt_graph *g, vkt__bench_shape s)
{
    batch_norm(g, s, pictures(g, s));
}

static void build_batch_norm_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x = pictures(g, s);
    differentiate(g, batch_norm(g, s, x), &x, 1);
}

static void build_pool(vkt_graph *g, vkt__bench_shape s)
{
    vkt_max_pool(g, pictures(g, s), &(vkt_pool_desc) { .size = 2 });
}

static void build_pool_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x = pictures(g, s);
    differentiate(g, vkt_max_pool(g, x, &(vkt_pool_desc) { .size = 2 }), &x, 1);
}

static vkt_tensor *filter(vkt_graph *g, vkt__bench_shape s)
{
    return vkt__sample(g, (vkt_shape) { 4, { s.taps, s.taps, s.k, s.out } }, VKT_F32,
                       VKT_HINT_NORMAL, 0);
}

static vkt_tensor *conv(vkt_graph *g, vkt__bench_shape s, vkt_tensor *x, vkt_tensor *w)
{
    return vkt_conv2d(g, x, w, NULL, &(vkt_conv_desc) { .stride = s.stride, .pad = s.taps / 2 });
}

static void build_conv(vkt_graph *g, vkt__bench_shape s)
{
    conv(g, s, pictures(g, s), filter(g, s));
}

static void build_conv_dx(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x = pictures(g, s);
    differentiate(g, conv(g, s, x, filter(g, s)), &x, 1);
}

static void build_conv_dw(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *w = filter(g, s);
    differentiate(g, conv(g, s, pictures(g, s), w), &w, 1);
}

/* ---- language ---- */

/* q, k and v in one tensor. */
static vkt_tensor *attention(vkt_graph *g, vkt__bench_shape s, vkt_tensor **qkv)
{
    *qkv = vkt__sample(g, vkt_shape3(s.m, s.n, 3 * s.k * s.out), VKT_F32, VKT_HINT_NORMAL, 0);
    return vkt_attention(g, *qkv, NULL, NULL, NULL, NULL, &(vkt_attention_desc) { .heads = s.k });
}

static void build_attention(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *qkv;
    attention(g, s, &qkv);
}

static void build_attention_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *qkv, *y = attention(g, s, &qkv);
    differentiate(g, y, &qkv, 1);
}

/* Of queries and keys; the values are copied. */
static void build_rope(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x =
        vkt__sample(g, vkt_shape3(s.m, s.n, 3 * s.k * s.out), VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_rope(g, x, vkt__sample2(g, s.n, s.out), NULL, NULL,
             &(vkt_rope_desc) { .head = s.out, .heads = 2 * s.k, .layout = VKT_ROPE_HALF });
}

static void build_gated(vkt_graph *g, vkt__bench_shape s)
{
    vkt_gated(g, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n), VKT_ACT_SILU);
}

static void build_gated_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *in[] = { vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n) };
    differentiate(g, vkt_gated(g, in[0], in[1], VKT_ACT_SILU), in, 2);
}

/* ---- general ops ---- */

static void build_unary(vkt_graph *g, vkt__bench_shape s)
{
    vkt_unary(g, VKT_FN_ABS, vkt__sample2(g, s.m, s.n), 0, 0);
}

static void build_binary(vkt_graph *g, vkt__bench_shape s)
{
    vkt_binary(g, VKT_FN2_SUB, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, 1));
}

static void build_permute(vkt_graph *g, vkt__bench_shape s)
{
    vkt_permute(g, vkt__sample2(g, s.m, s.n), (const uint32_t[]) { 1, 0 });
}

static void build_expand(vkt_graph *g, vkt__bench_shape s)
{
    vkt_expand(g, vkt__sample2(g, s.m, 1), vkt_shape2(s.m, s.n));
}

static void build_concat(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *x[] = { vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n) };
    vkt_concat(g, x, 2, 1);
}

static void build_reduce(vkt_graph *g, vkt__bench_shape s)
{
    vkt_reduce(g, VKT_REDUCE_LOGSUMEXP, vkt__sample2(g, s.m, s.n), 2, false);
}

static void build_cumsum(vkt_graph *g, vkt__bench_shape s)
{
    vkt_cumsum(g, vkt__sample2(g, s.m, s.n), 1, false);
}

static void build_place(vkt_graph *g, vkt__bench_shape s)
{
    vkt_arg(g, VKT_REDUCE_MAX, vkt__sample2(g, s.m, s.n), 1, false);
}

static vkt_tensor *embedding(vkt_graph *g, vkt__bench_shape s, vkt_tensor **table)
{
    uint32_t n = s.m * s.n;
    *table = vkt__sample2(g, s.k, s.out);
    return vkt_embedding(
        g, &(vkt_embedding_in) {
               .table = *table,
               .ids = vkt__sample(g, vkt_shape2(s.m, s.n), VKT_U32, VKT_HINT_CYCLE, s.k),
               .order = vkt__sample(g, vkt_shape1(n), VKT_U32, VKT_HINT_ORDER, s.k),
               .segments = vkt__sample(g, vkt_shape1(s.k + 1), VKT_U32, VKT_HINT_SEGMENTS, n) });
}

static void build_embedding(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *table;
    embedding(g, s, &table);
}

static void build_embedding_bwd(vkt_graph *g, vkt__bench_shape s)
{
    vkt_tensor *table, *y = embedding(g, s, &table);
    differentiate(g, y, &table, 1);
}

vkt__bench_shape vkt__bench_product_of(const vkt_op *op, vkt__bench_shape s)
{
    uint32_t side = (s.n - 1) / s.stride + 1, taps = s.taps * s.taps;
    vkt__bench_shape p = {
        .m = s.m * side * side, .n = s.out, .k = taps * s.k, .layout = VKT_LAYOUT_NN
    };
    if (op == &vkt__op_conv2d_dx)
        p = (vkt__bench_shape) { .m = s.m * s.n * s.n,
                                 .n = s.k,
                                 .k = VKT_MAX(taps * s.out / s.stride / s.stride, 1),
                                 .layout = VKT_LAYOUT_NN };
    if (op == &vkt__op_conv2d_dw)
        p = (vkt__bench_shape) { .m = p.k, .n = s.out, .k = p.m, .layout = VKT_LAYOUT_TN };
    return p;
}

/* ---- the rows and their shapes ---- */

static const vkt__bench_entry entries[] = {
    { &vkt__op_add, build_add, VKT__BENCH_ELEMENTS, false, "" },
    { &vkt__op_mul, build_mul, VKT__BENCH_ELEMENTS, false, "" },
    { &vkt__op_scale, build_scale, VKT__BENCH_ELEMENTS, false, "" },
    { &vkt__op_copy, build_copy, VKT__BENCH_ELEMENTS, false, "" },
    { &vkt__op_fill, build_fill, VKT__BENCH_ELEMENTS, false, "" },
    { &vkt__op_act, build_act, VKT__BENCH_ELEMENTS, false, " gelu" },
    { &vkt__op_act_bwd, build_act_bwd, VKT__BENCH_ELEMENTS, false, " gelu" },
    { &vkt__op_dropout, build_dropout, VKT__BENCH_ELEMENTS, false, "" },
    { &vkt__op_noise, build_noise, VKT__BENCH_ELEMENTS, false, "" },
    { &vkt__op_chain, build_chain, VKT__BENCH_ELEMENTS, false, " dropout, relu_bwd" },
    { &vkt__op_cast, build_cast, VKT__BENCH_ELEMENTS, false, " f32 to bf16" },
    { &vkt__op_optim_update, build_update, VKT__BENCH_ELEMENTS, false, " adamw" },
    { &vkt__op_optim_update8, build_update8, VKT__BENCH_ELEMENTS, false, " adamw" },
    { &vkt__op_matmul, build_matmul, VKT__BENCH_MATMUL, true, "" },
    { &vkt__op_sum, build_sum, VKT__BENCH_ELEMENTS, true, "" },
    { &vkt__op_sum_rows, build_sum_rows, VKT__BENCH_ROWS, true, "" },
    { &vkt__op_layernorm, build_layernorm, VKT__BENCH_ROWS, false, "" },
    { &vkt__op_rmsnorm, build_rmsnorm, VKT__BENCH_ROWS, false, " residual" },
    { &vkt__op_norm_bwd, build_norm_bwd, VKT__BENCH_ROWS, false, " layernorm" },
    { &vkt__op_norm_dw, build_norm_dw, VKT__BENCH_ROWS, false, " layernorm" },
    { &vkt__op_softmax, build_softmax, VKT__BENCH_ROWS, false, "" },
    { &vkt__op_softmax_bwd, build_softmax_bwd, VKT__BENCH_ROWS, false, "" },
    { &vkt__op_softmax_xent, build_xent, VKT__BENCH_CLASSES, false, "" },
    { &vkt__op_softmax_xent_bwd, build_xent_bwd, VKT__BENCH_CLASSES, false, "" },
    { &vkt__op_element_loss, build_mse, VKT__BENCH_ROWS, false, "" },
    { &vkt__op_element_loss_bwd, build_mse_bwd, VKT__BENCH_ROWS, false, "" },
    { &vkt__op_focal, build_focal, VKT__BENCH_ROWS, false, "" },
    { &vkt__op_focal_bwd, build_focal_bwd, VKT__BENCH_ROWS, false, "" },
    { &vkt__op_attention, build_attention, VKT__BENCH_ATTENTION, false, "" },
    { &vkt__op_attention_bwd, build_attention_bwd, VKT__BENCH_ATTENTION, false, "" },
    { &vkt__op_rope, build_rope, VKT__BENCH_ATTENTION, false, "" },
    { &vkt__op_gated, build_gated, VKT__BENCH_ROWS, false, " silu" },
    { &vkt__op_gated_bwd, build_gated_bwd, VKT__BENCH_ROWS, false, " silu" },
    { &vkt__op_embedding, build_embedding, VKT__BENCH_EMBEDDING, false, "" },
    { &vkt__op_embedding_bwd, build_embedding_bwd, VKT__BENCH_EMBEDDING, false, "" },
    { &vkt__op_unary, build_unary, VKT__BENCH_ELEMENTS, false, " abs" },
    { &vkt__op_binary, build_binary, VKT__BENCH_ELEMENTS, false, " sub, a column" },
    { &vkt__op_permute, build_permute, VKT__BENCH_ELEMENTS, false, " transpose" },
    { &vkt__op_expand, build_expand, VKT__BENCH_ELEMENTS, false, " a column" },
    { &vkt__op_concat, build_concat, VKT__BENCH_ELEMENTS, false, " columns" },
    { &vkt__op_reduce, build_reduce, VKT__BENCH_ROWS, false, " logsumexp" },
    { &vkt__op_cumsum, build_cumsum, VKT__BENCH_ROWS, false, "" },
    { &vkt__op_place, build_place, VKT__BENCH_ROWS, false, " of the largest" },
    { &vkt__op_conv2d, build_conv, VKT__BENCH_CONV, false, "" },
    { &vkt__op_conv2d_dx, build_conv_dx, VKT__BENCH_CONV, false, "" },
    { &vkt__op_conv2d_dw, build_conv_dw, VKT__BENCH_CONV, false, "" },
    { &vkt__op_batch_stats, build_batch_norm, VKT__BENCH_IMAGES, false, "" },
    { &vkt__op_batch_norm, build_batch_norm, VKT__BENCH_IMAGES, false, "" },
    { &vkt__op_batch_norm_sums, build_batch_norm_bwd, VKT__BENCH_IMAGES, false, "" },
    { &vkt__op_batch_norm_bwd, build_batch_norm_bwd, VKT__BENCH_IMAGES, false, "" },
    { &vkt__op_max_pool, build_pool, VKT__BENCH_IMAGES, false, " 2x2" },
    { &vkt__op_max_pool_bwd, build_pool_bwd, VKT__BENCH_IMAGES, false, " 2x2" },
};

static const vkt__bench_sized elements[] = { { { .m = 64, .n = 64 }, 0 },
                                             { { .m = 1024, .n = 1024 }, 1 },
                                             { { .m = 4096, .n = 4096 }, 3 } };
static const vkt__bench_sized rows[] = { { { .m = 64, .n = 64 }, 0 },
                                         { { .m = 1024, .n = 1024 }, 1 },
                                         { { .m = 65536, .n = 64 }, 2 },
                                         { { .m = 8192, .n = 768 },
                                           3 }, /* GPT-2, 8 x 1024 tokens */
                                         { { .m = 4096, .n = 4096 }, 3 } };
static const vkt__bench_sized classes[] = { { { .m = 64, .n = 10 }, 0 },
                                            { { .m = 128, .n = 10 }, 2 },
                                            { { .m = 1024, .n = 1000 }, 1 },
                                            { { .m = 4096, .n = 8192 }, 3 },
                                            { { .m = 8192, .n = 50304 }, 3, .checked = 16 } };
static const vkt__bench_sized attentions[] = {
    { { .m = 2, .n = 24, .k = 2, .out = 8 }, 0, .checked = 1 },
    { { .m = 12, .n = 64, .k = 4, .out = 32 }, 1 }, /* char-gpt */
    { { .m = 2, .n = 512, .k = 4, .out = 64 }, 2, .checked = 1 },
    { { .m = 8, .n = 1024, .k = 12, .out = 64 }, 3, .checked = 1 },
    { { .m = 8, .n = 1024, .k = 12, .out = 128 }, 3, .checked = 1 },
};
static const vkt__bench_sized embeddings[] = {
    { { .m = 2, .n = 12, .k = 10, .out = 8 }, 0 },
    { { .m = 12, .n = 64, .k = 75, .out = 128 }, 1 },
    { { .m = 8, .n = 1024, .k = 50304, .out = 768 }, 3 },
};
static const vkt__bench_sized products[] = {
    { { .m = 64, .n = 64, .k = 64, .layout = VKT_LAYOUT_NT }, 0 },
    { { .m = 128, .n = 256, .k = 784, .layout = VKT_LAYOUT_NT }, 1 },
    { { .m = 128, .n = 784, .k = 256, .layout = VKT_LAYOUT_NN }, 1 },
    { { .m = 256, .n = 784, .k = 128, .layout = VKT_LAYOUT_TN },
      1 }, /* a layer of an MLP: forward, dx, dw */
    { { .m = 512, .n = 512, .k = 512, .layout = VKT_LAYOUT_NT }, 1 },
    { { .m = 512, .n = 512, .k = 512, .layout = VKT_LAYOUT_NN }, 2 },
    { { .m = 512, .n = 512, .k = 512, .layout = VKT_LAYOUT_TN }, 2 },
    { { .m = 1024, .n = 1024, .k = 1024, .layout = VKT_LAYOUT_NT }, 2 },
    { { .m = 1024, .n = 1024, .k = 1024, .layout = VKT_LAYOUT_NN }, 3 },
    { { .m = 1024, .n = 1024, .k = 1024, .layout = VKT_LAYOUT_TN }, 3 },
    { { .m = 2048, .n = 2048, .k = 2048, .layout = VKT_LAYOUT_NT }, 3 },
    { { .m = 4096, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_NT }, 3 },
    { { .m = 4096, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_NN }, 3 },
    { { .m = 4096, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_TN }, 3 },
    /* a token each of 8 texts: GPT-2's largest layer, its head; layers of a larger model */
    { { .m = 8, .n = 3072, .k = 768, .layout = VKT_LAYOUT_NN }, 2 },
    { { .m = 8, .n = 50257, .k = 768, .layout = VKT_LAYOUT_NT }, 3 },
    { { .m = 2, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_NT }, 3 },
    { { .m = 16, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_NT }, 3 },
    { { .m = 8, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_NT, .dtype = VKT_BF16 }, 3 },
    /* GPT-2's, 8 x 1024 tokens: a layer's first product forward, of the gradients; the head */
    { { .m = 8192, .n = 3072, .k = 768, .layout = VKT_LAYOUT_NT, .dtype = VKT_BF16 }, 3 },
    { { .m = 8192, .n = 768, .k = 3072, .layout = VKT_LAYOUT_NN, .dtype = VKT_BF16 }, 3 },
    { { .m = 3072, .n = 768, .k = 8192, .layout = VKT_LAYOUT_TN, .dtype = VKT_BF16 }, 3 },
    { { .m = 8192, .n = 50304, .k = 768, .layout = VKT_LAYOUT_NT, .dtype = VKT_BF16 }, 3 },
    { { .m = 64, .n = 64, .k = 64, .layout = VKT_LAYOUT_NT, .dtype = VKT_BF16 }, 0 },
    { { .m = 64, .n = 64, .k = 64, .layout = VKT_LAYOUT_NT, .dtype = VKT_F16 }, 0 },
    { { .m = 512, .n = 512, .k = 512, .layout = VKT_LAYOUT_NT, .dtype = VKT_BF16 }, 1 },
    { { .m = 512, .n = 512, .k = 512, .layout = VKT_LAYOUT_NT, .dtype = VKT_F16 }, 1 },
    { { .m = 1024, .n = 1024, .k = 1024, .layout = VKT_LAYOUT_NT, .dtype = VKT_BF16 }, 2 },
    { { .m = 1024, .n = 1024, .k = 1024, .layout = VKT_LAYOUT_NT, .dtype = VKT_F16 }, 2 },
    { { .m = 4096, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_NT, .dtype = VKT_BF16 }, 3 },
    { { .m = 4096, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_NN, .dtype = VKT_BF16 }, 3 },
    { { .m = 4096, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_TN, .dtype = VKT_BF16 }, 3 },
    { { .m = 4096, .n = 4096, .k = 4096, .layout = VKT_LAYOUT_NT, .dtype = VKT_F16 }, 3 },
};
static const vkt__bench_sized images[] = { { { .m = 2, .n = 6, .k = 3 }, 0 },
                                           { { .m = 64, .n = 28, .k = 32 }, 1 },
                                           { { .m = 256, .n = 56, .k = 64 }, 3 } };
/* The layers of the small CNN and of ResNet-20, ResNet-18's first; on GPUs ResNet-50's too. */
static const vkt__bench_sized convs[] = {
    { { .m = 2, .n = 6, .k = 3, .out = 4, .taps = 3, .stride = 1 }, 0 },
    { { .m = 64, .n = 28, .k = 1, .out = 32, .taps = 3, .stride = 1 }, 1 },
    { { .m = 16, .n = 14, .k = 32, .out = 64, .taps = 3, .stride = 1 }, 1 },
    { { .m = 8, .n = 32, .k = 16, .out = 16, .taps = 3, .stride = 1 }, 2 },
    { { .m = 16, .n = 32, .k = 16, .out = 32, .taps = 3, .stride = 2 }, 2 },
    { { .m = 16, .n = 14, .k = 64, .out = 128, .taps = 1, .stride = 1 }, 2 },
    { { .m = 32, .n = 8, .k = 64, .out = 64, .taps = 3, .stride = 1 }, 2 },
    { { .m = 16, .n = 32, .k = 16, .out = 32, .taps = 1, .stride = 2 }, 2 },
    { { .m = 8, .n = 64, .k = 3, .out = 64, .taps = 7, .stride = 2 }, 2 },
    { { .m = 16, .n = 56, .k = 64, .out = 64, .taps = 3, .stride = 1 }, 3 },
    { { .m = 32, .n = 14, .k = 256, .out = 256, .taps = 3, .stride = 1 }, 3 },
};
static const struct {
    const vkt__bench_sized *list;
    size_t n;
} families[] = {
    [VKT__BENCH_ELEMENTS] = { elements, VKT_COUNT(elements) },
    [VKT__BENCH_ROWS] = { rows, VKT_COUNT(rows) },
    [VKT__BENCH_CLASSES] = { classes, VKT_COUNT(classes) },
    [VKT__BENCH_ATTENTION] = { attentions, VKT_COUNT(attentions) },
    [VKT__BENCH_EMBEDDING] = { embeddings, VKT_COUNT(embeddings) },
    [VKT__BENCH_MATMUL] = { products, VKT_COUNT(products) },
    [VKT__BENCH_IMAGES] = { images, VKT_COUNT(images) },
    [VKT__BENCH_CONV] = { convs, VKT_COUNT(convs) },
};

vkt_graph *vkt__bench_graph(vkt_gpu *gpu, const vkt__bench_entry *entry, vkt__bench_shape s,
                            bool *narrow)
{
    vkt_graph *g = vkt__graph_new(gpu);
    bool any = false;
    entry->build(g, s);
    for (size_t k = 0; k < g->n_nodes && entry->family == VKT__BENCH_ATTENTION && s.dtype; k++)
        if (g->nodes[k]->op->narrow) any |= g->nodes[k]->op->narrow(gpu, g->nodes[k], s.dtype);
    any = any && vkt__narrow_all(g, s.dtype) > 0;
    if (narrow) *narrow = any;
    return g;
}

const vkt__bench_entry *vkt__bench_entry_of(const vkt_op *op)
{
    for (size_t i = 0; i < VKT_COUNT(entries); i++)
        if (entries[i].op == op) return &entries[i];
    return NULL;
}

const vkt__bench_sized *vkt__bench_sizes(vkt__bench_family family, size_t *n)
{
    *n = families[family].n;
    return families[family].list;
}
