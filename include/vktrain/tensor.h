/* vktrain tensor layer: a static graph of ops with reverse-mode gradients, planned into one slab of
 * device memory, recorded once and submitted many times.
 *
 * Shape letters: B batch, R rows, C channels, M/N rows/columns of a product, K its inner size.
 * Row-major, last dimension fastest. Wrong shapes are latched: the builder returns an inert tensor,
 * later ops pass it on, vkt_graph_compile returns SHAPE and the first error was logged with the op
 * and both shapes. Builders never return NULL; tensors belong to their graph.
 *
 * Threads: as the gpu of the graph: one thread at a time. A graph without a gpu: one thread at a
 * time. Aborts: binding at an offset that is not a multiple of 16, past the buffer's end or to a
 * view; running a graph that was not compiled or has an unbound input; reading or writing beyond a
 * tensor; using a tensor of another graph; building after planning; a second vkt_backward.
 * Ownership: tensors belong to their graph; buffers bound to a graph belong to the caller and must
 * outlive it.
 *
 * Example: y = relu(x w^T) and dw, where `gpu` is open and a buffer holds x and, from byte 256, w.
 *
 *     vkt_graph *g;
 *     vkt_graph_create(gpu, &g);
 *     vkt_tensor *x = vkt_input(g, vkt_shape2(8, 4), VKT_F32, "x"), *dw;
 *     vkt_tensor *w = vkt_input(g, vkt_shape2(3, 4), VKT_F32, "w");
 *     vkt_bind(x, VKT_ALL_SLOTS, buffer, 0);
 *     vkt_bind(w, VKT_ALL_SLOTS, buffer, 256);
 *     vkt_tensor *y = vkt_linear(g, x, w, NULL, VKT_ACT_RELU); // [8, 3]
 *     vkt_backward(g, y, &w, 1, &dw);                          // d sum(y) / dw: [3, 4]
 *     vkt_keep(dw, "dw");                                      // else its memory is reused
 *     vkt_plan_desc plan = { 1 };                              // a copy of the graph
 *     vkt_status st = vkt_graph_compile(g, &plan);             // says here if a shape is wrong
 *     if (st == VKT_OK) st = vkt_graph_run(g);                 // as often as you like
 */
#ifndef VKTRAIN_TENSOR_H
#define VKTRAIN_TENSOR_H

#include "vktrain/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VKT_MAX_RANK 6

typedef enum vkt_dtype { VKT_F32, VKT_F16, VKT_BF16, VKT_U32 } vkt_dtype;
typedef struct vkt_shape {
    uint32_t rank;
    uint32_t d[VKT_MAX_RANK];
} vkt_shape;

typedef struct vkt_graph vkt_graph;
typedef struct vkt_tensor vkt_tensor;

static inline vkt_shape vkt_shape1(uint32_t a)
{
    vkt_shape s = { 1, { a, 0, 0, 0, 0, 0 } };
    return s;
}
static inline vkt_shape vkt_shape2(uint32_t a, uint32_t b)
{
    vkt_shape s = { 2, { a, b, 0, 0, 0, 0 } };
    return s;
}
static inline vkt_shape vkt_shape3(uint32_t a, uint32_t b, uint32_t c)
{
    vkt_shape s = { 3, { a, b, c, 0, 0, 0 } };
    return s;
}
VKT_API uint64_t vkt_shape_count(vkt_shape s); /* elements; 1 for rank 0 */
VKT_API uint32_t vkt_dtype_bytes(vkt_dtype t);
VKT_API const char *vkt_dtype_name(vkt_dtype t);
/* "[128, 784] f32" into out. */
VKT_API const char *vkt_shape_text(vkt_shape s, vkt_dtype t, char out[96]);

/* ---- building ---- */

/* gpu may be NULL: then the graph can be built, differentiated, planned and run by its C twins. */
VKT_API vkt_status vkt_graph_create(vkt_gpu *gpu, vkt_graph **out);
VKT_API void vkt_graph_destroy(vkt_graph **g);

/* Switch off fusions (graph rewrites), to compare with them on. Call before vkt_backward. */
VKT_API void vkt_graph_no_rewrite(vkt_graph *g);

/* Mixed precision: activations, their gradients and the operands of matrix products are stored as
 * f16 or bf16; arithmetic, parameters and their gradients, logits, losses, statistics and sums stay
 * f32. It is a rewrite, so vkt_graph_no_rewrite switches it off. Call before vkt_backward. */
VKT_API void vkt_graph_precision(vkt_graph *g, vkt_dtype dtype);
/* Promise that `shadow` (an input of t's shape, f16 or bf16) always holds t's values: products read
 * it instead of a cast of t. */
VKT_API void vkt_shadow(vkt_tensor *t, vkt_tensor *shadow);
/* vkt_backward then gives the gradients of scale * loss; scale is an input of one f32. */
VKT_API void vkt_scale_loss(vkt_graph *g, vkt_tensor *scale);
/* Recompute activations in the backward pass where that lowers the memory of the plan, for about a
 * third more arithmetic and the same bits. Call before planning. */
VKT_API void vkt_graph_recompute(vkt_graph *g);

/* A tensor whose memory the caller owns and binds before vkt_graph_compile. */
VKT_API vkt_tensor *vkt_input(vkt_graph *g, vkt_shape shape, vkt_dtype dtype, const char *name);
/* Bind for all slots (slot = VKT_ALL_SLOTS) or one. offset is in bytes, a multiple of 16. */
#define VKT_ALL_SLOTS UINT32_MAX
#define VKT_MAX_SLOTS 8
VKT_API void vkt_bind(vkt_tensor *t, uint32_t slot, const vkt_buffer *buf, uint64_t offset);
/* Keep a tensor's memory until the end of a run, so that it can be read afterwards. */
VKT_API void vkt_keep(vkt_tensor *t, const char *name);

VKT_API vkt_shape vkt_tensor_shape(const vkt_tensor *t);
VKT_API vkt_dtype vkt_tensor_dtype(const vkt_tensor *t);

/* C = op(A) op(B), row-major. NT: A [M, K], B [N, K]; NN: A [M, K], B [K, N]; TN: A [K, M], B [K,
 * N]. Leading dimensions of A beyond two count as rows. A and B: both f32, f16 or bf16, which is
 * also C's type; sums are f32. Source: BLAS. Kernels matmul_*.comp. */
typedef enum vkt_layout { VKT_LAYOUT_NT, VKT_LAYOUT_NN, VKT_LAYOUT_TN } vkt_layout;
VKT_API const char *vkt_layout_name(vkt_layout layout); /* "NT" */
typedef enum vkt_act {
    VKT_ACT_NONE,
    VKT_ACT_RELU,
    VKT_ACT_GELU,
    VKT_ACT_GELU_ERF,
    VKT_ACT_SILU,
    VKT_ACT_SIGMOID,
    VKT_ACT_TANH,
    VKT_ACT_MISH,
    VKT_ACT_HARDSWISH
} vkt_act;
VKT_API vkt_tensor *vkt_matmul(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b);
/* y = act(x w^T + b): x [..., K], w [N, K], b [N] f32 or NULL -> [..., N] of x's type. Saves the
 * pre-activation when act needs it for its gradient (gelu, silu). */
VKT_API vkt_tensor *vkt_linear(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                               vkt_act act);
/* vkt_matmul with 16-bit operands and a result of another type: f32. */
VKT_API vkt_tensor *vkt_matmul_as(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b,
                                  vkt_dtype dtype);
/* One product per leading index: for NT a [..., M, K], b [..., N, K] -> [..., M, N], other layouts
 * accordingly; the leading dimensions of a and b are the same. */
VKT_API vkt_tensor *vkt_matmul_batched(vkt_graph *g, vkt_layout layout, vkt_tensor *a,
                                       vkt_tensor *b, vkt_dtype dtype);
VKT_API vkt_tensor *vkt_linear_as(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                  vkt_act act, vkt_dtype dtype);

/* y = act(conv(x, w) + b): x [N, H, W, C], w [KH, KW, C / groups, CO], b [CO] or NULL -> [N, OH,
 * OW, CO], OH = (H + 2 pad - dilation (KH - 1) - 1) / stride + 1 rounded down, or with pads[0] +
 * pads[1] for 2 pad, of columns pads[2] + pads[3]. groups = C is
 * depthwise. Saves the pre-activation as vkt_linear does. PyTorch's conv2d, channels last; kernels
 * conv_*.comp.
 */
typedef struct vkt_conv_desc {
    uint32_t stride, pad, dilation, groups; /* both axes; stride, dilation, groups 0: 1 */
    vkt_act act;
    const uint32_t *pads; /* zeros at the top, bottom, left and right; NULL: pad at each */
    const uint32_t *strides, *dilations; /* of rows and columns; NULL: the one above of both */
    const uint32_t *output_pads; /* transposed: of rows and columns; NULL: the argument of both */
} vkt_conv_desc;
VKT_API vkt_tensor *vkt_conv2d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                               const vkt_conv_desc *desc);
/* The same along one axis: x [N, L, C], w [K, C / groups, CO] -> [N, OL, CO]; pads: before the
 * first and after the last; of strides and dilations the first. */
VKT_API vkt_tensor *vkt_conv1d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                               const vkt_conv_desc *desc);

/* Maximum or mean of windows of size x size, x [N, H, W, C] -> [N, OH, OW, C], OH = (H + 2 pad -
 * size) / stride + 1 rounded down, or of two sizes, strides, paddings: of rows and of columns, or
 * of padding at four sides. pad is at most half the size. ceil: it is rounded up, unless the last
 * window would begin past the pixels and the padding before them; what it reaches past the end is
 * left out. The mean counts padding as zeros, or with pixels_only not at all. PyTorch's max_pool2d,
 * avg_pool2d (count_include_pad = not pixels_only). Kernels pool*.comp. */
typedef struct vkt_pool_desc {
    uint32_t size, stride, pad;             /* stride 0: size */
    const uint32_t *sizes, *strides, *pads; /* of rows and columns; NULL: the one above of both */
    const uint32_t *sides; /* padding at the top, bottom, left and right; NULL: as pads */
    bool ceil, pixels_only;
} vkt_pool_desc;
VKT_API vkt_tensor *vkt_max_pool(vkt_graph *g, vkt_tensor *x, const vkt_pool_desc *desc);
VKT_API vkt_tensor *vkt_avg_pool(vkt_graph *g, vkt_tensor *x, const vkt_pool_desc *desc);
/* x [N, H, W, C] -> its mean over H and W [N, C]. */
VKT_API vkt_tensor *vkt_global_avg_pool(vkt_graph *g, vkt_tensor *x);
/* Zeros around x [N, H, W, C]. */
VKT_API vkt_tensor *vkt_pad2d(vkt_graph *g, vkt_tensor *x, uint32_t top, uint32_t bottom,
                              uint32_t left, uint32_t right);

/* x [N, ...] -> [N, rest]; an image [N, H, W, C] is flattened channel by channel, in PyTorch's
 * order.
 */
VKT_API vkt_tensor *vkt_flatten(vkt_graph *g, vkt_tensor *x);

/* Elementwise; y has x's shape or that of x's last dimensions (broadcast over the leading ones). */
VKT_API vkt_tensor *vkt_add(vkt_graph *g, vkt_tensor *x, vkt_tensor *y);
VKT_API vkt_tensor *vkt_mul(vkt_graph *g, vkt_tensor *x, vkt_tensor *y);
VKT_API vkt_tensor *vkt_scale(vkt_graph *g, vkt_tensor *x, float s);
/* gelu: tanh form (Hendrycks & Gimpel 2016, arXiv 1606.08415); gelu_erf: the exact one. */
VKT_API vkt_tensor *vkt_activate(vkt_graph *g, vkt_tensor *x, vkt_act act);
VKT_API vkt_tensor *vkt_copy(vkt_graph *g, vkt_tensor *x); /* u32 too */
/* A copy through which no gradient goes: PyTorch's detach. */
VKT_API vkt_tensor *vkt_detach(vkt_graph *g, vkt_tensor *x);
VKT_API vkt_tensor *vkt_fill(vkt_graph *g, vkt_shape shape, float value);
/* f32 <-> f16 | bf16, rounded to nearest even; needs no device feature. u32 -> a float, rounded;
 * f32 or 16 bits -> u32: what is before the point, 0 for a negative number, no gradient. */
VKT_API vkt_tensor *vkt_cast(vkt_graph *g, vkt_tensor *x, vkt_dtype to);
/* The same data with another shape. Costs nothing. */
VKT_API vkt_tensor *vkt_reshape(vkt_graph *g, vkt_tensor *x, vkt_shape shape);

/* y = (s - mean(s)) * rstd(s) * w + b row by row over the last dimension C, s = x + r.
 * x [..., C], w, b [C], r [..., C] or NULL (b may be NULL). If `sum` is not NULL it gets s.
 * eps is added to the variance, in units of x^2; 1e-5 is usual. Ba et al. 2016 (arXiv 1607.06450).
 */
VKT_API vkt_tensor *vkt_layernorm(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                  vkt_tensor *r, float eps, vkt_tensor **sum);
/* y = s / sqrt(mean(s^2) + eps) * w. Zhang & Sennrich 2019 (arXiv 1910.07467). */
VKT_API vkt_tensor *vkt_rmsnorm(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *r,
                                float eps, vkt_tensor **sum);

/* y = (x - mean) / sqrt(var + eps) * w + b, channel by channel over all other dimensions. x [B,
 * ..., C]; w, b, running_mean, running_var [C] f32, count [1] u32 (PyTorch's num_batches_tracked).
 * train: uses mean and variance of the batch, or of each ghost batch of `virtual_batch` consecutive
 * examples (the last one is shorter if B is not a multiple); each ghost batch updates the running
 * averages with `momentum` and increments count, as PyTorch's BatchNorm does when it gets the ghost
 * batches one after another. Not train: uses the running averages, which are only read and have no
 * gradient (a frozen norm); x, w and b have gradients. Examples of weight 0 in the loss (a picture
 * that could not be read) count in mean and variance like any other; training batches contain no
 * padding (vkt_loader). Error: SHAPE also if a ghost batch has only one value per channel, because
 * that has no variance. Ioffe & Szegedy 2015 (arXiv 1502.03167); ghost batches: Hoffer et al. 2017
 * (arXiv 1705.08741). */
typedef struct vkt_batch_norm_desc {
    vkt_tensor *w, *b, *running_mean, *running_var, *count;
    float eps, momentum;    /* 1e-5 and 0.1 are usual; used as given */
    uint32_t virtual_batch; /* examples; 0 or more than B: B */
    bool train;
} vkt_batch_norm_desc;
VKT_API vkt_tensor *vkt_batch_norm(vkt_graph *g, vkt_tensor *x, const vkt_batch_norm_desc *desc);

/* y = (x - mean) / sqrt(var + eps) * w + b where mean and var are those of each image's pixels in
 * each of `groups` groups of channels. x [N, ..., C], w, b [C]. Wu & He 2018 (arXiv 1803.08494). */
VKT_API vkt_tensor *vkt_group_norm(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                   uint32_t groups, float eps);

/* Zero with probability p, else x / (1 - p). The mask is a function of (seed, step, element): the
 * gradient recomputes it. step is the step block (vkt_step). Srivastava et al. 2014. */
VKT_API vkt_tensor *vkt_dropout(vkt_graph *g, vkt_tensor *x, vkt_tensor *step, float p);
/* x + size * u, u uniform in [-1, 1): a function of (seed, step, element). step is the step block
 * (vkt_step). */
VKT_API vkt_tensor *vkt_noise(vkt_graph *g, vkt_tensor *x, vkt_tensor *step, float size);

/* Row losses of a classifier: loss[r] = weight[r] * ((1-e) * cw[y] * nll(y) + e/V * sum_c cw[c] *
 * nll(c)). logits [R, V], target [R] u32, weight [R] or NULL (1), class_weight cw [V] or NULL (1),
 * e = smoothing. A target equal to ignore_index, or >= V, gives loss 0 and gradient 0. hit[r] = 1
 * if the largest logit is the target's. desc NULL: no smoothing and no ignored index. The gradient
 * overwrites the logits. With weights that sum to 1 the sum of the losses is their mean. */
typedef struct vkt_xent_desc {
    float smoothing;
    vkt_maybe ignore_index; /* not given: none */
} vkt_xent_desc;
typedef struct vkt_loss {
    vkt_tensor *loss, *hit;
} vkt_loss; /* each [R] f32; hit is NULL where there are no classes */
VKT_API vkt_loss vkt_softmax_xent(vkt_graph *g, vkt_tensor *logits, vkt_tensor *target,
                                  vkt_tensor *weight, vkt_tensor *class_weight,
                                  const vkt_xent_desc *desc);
/* p = softmax(x) over the last dimension. */
VKT_API vkt_tensor *vkt_softmax(vkt_graph *g, vkt_tensor *x);
/* Focal loss of rows whose cross-entropy is known: (1 - p)^gamma * ce, p = exp(-ce) the target's
 * probability. ce [R] f32, as vkt_softmax_xent gives it without weights and smoothing; weight [R]
 * or NULL (1); class_weight [V] or NULL (1), with target [R] u32, a target >= V gives 0. gamma >=
 * 0. Lin et al. 2017 (arXiv 1708.02002). Kernel focal.comp, twins focal_ref, focal_bwd_ref. */
typedef struct vkt_focal_desc {
    vkt_tensor *weight, *class_weight, *target;
    float gamma;
} vkt_focal_desc;
VKT_API vkt_tensor *vkt_focal(vkt_graph *g, vkt_tensor *ce, const vkt_focal_desc *desc);
/* Losses of a number against its target. */
typedef enum vkt_element_loss {
    VKT_LOSS_MSE,   /* (x - y)^2 */
    VKT_LOSS_HUBER, /* (x - y)^2 / 2 within delta of y, beyond it linear: Huber 1964 */
    VKT_LOSS_BCE    /* binary cross-entropy of sigmoid(x), y in [0, 1] */
} vkt_element_loss;
/* loss[r] = weight[r] * mean_c of such a loss; x, y [R, C] f32, weight [R] or NULL (1), positive:
 * bce, [C] weights of y = 1, or NULL (1). delta > 0: of huber. No gradient with respect to weights,
 * nor of bce with respect to y. Kernels element_loss.comp, element_loss_bwd.comp, twins
 * element_ref, element_bwd_ref. */
typedef struct vkt_element_loss_desc {
    vkt_element_loss kind;
    vkt_tensor *weight, *positive;
    float delta;
} vkt_element_loss_desc;
VKT_API vkt_loss vkt_element_losses(vkt_graph *g, vkt_tensor *x, vkt_tensor *y,
                                    const vkt_element_loss_desc *desc);
/* The mean squared error: vkt_element_losses of VKT_LOSS_MSE. */
VKT_API vkt_loss vkt_mse(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *weight);

/* A row's first `plain` numbers, and for each of its others the row of the table that it names:
 * x [N, C] f32, table [K, D] -> [N, plain + (C - plain) D]. A number below 0 or from K on gives
 * zeros. K < 2^24, where f32 has all whole numbers. Gradient: of the table alone; x needs none.
 * Kernels lookup.comp, lookup_bwd.comp, twins lookup_ref, lookup_bwd_ref. */
VKT_API vkt_tensor *vkt_lookup(vkt_graph *g, vkt_tensor *x, vkt_tensor *table, uint32_t plain);

/* ---- language ---- */

/* y[b, t] = table[ids[b, t]] (+ pos[start + t], or pos[t - docs[b, t]]). table [V, C], ids [B, T]
 * u32, pos [P, C] or NULL with P >= T, start [1] u32 or NULL (0), docs [B, T] u32 or NULL as in
 * vkt_attention, only without start -> [B, T, C]. An id >= V gives zeros. The gradient of the table
 * needs the ids sorted: order [B T] u32 lists the places 0..BT-1 by rising id, equal ids by rising
 * place; segments [V + 1] u32 says where each id begins in order (vkt_token_order of data.h
 * computes both). Both may be NULL if the table needs no gradient. */
typedef struct vkt_embedding_in {
    vkt_tensor *table, *ids, *pos, *start, *order, *segments, *docs;
} vkt_embedding_in;
VKT_API vkt_tensor *vkt_embedding(vkt_graph *g, const vkt_embedding_in *in);

/* Rotary position embedding of the first `heads` heads of each row; columns after them are copied.
 * x [B, T, C], head size D (even), table [P, R] f32, R <= D even: the cosines of R/2 angles of each
 * position, then the sines (a constant; vkt_rope_table fills it). The elements of a head from R on
 * are copied. The position of x[b, t] is start + t, start [1] u32 or NULL (0), or t - docs[b, t],
 * docs [B, T] u32 as in vkt_attention. Su et al. 2021
 * (arXiv 2104.09864). */
typedef enum vkt_rope_layout {
    VKT_ROPE_INTERLEAVED, /* pairs (2i, 2i + 1): as published, GPT-J, Llama's own files */
    VKT_ROPE_HALF         /* pairs (i, i + R/2): GPT-NeoX, Llama in Hugging Face's files */
} vkt_rope_layout;
typedef struct vkt_rope_desc {
    uint32_t head, heads; /* D; heads that are rotated */
    vkt_rope_layout layout;
} vkt_rope_desc;
VKT_API vkt_tensor *vkt_rope(vkt_graph *g, vkt_tensor *x, vkt_tensor *table, vkt_tensor *docs,
                             vkt_tensor *start, const vkt_rope_desc *desc);
/* Lower rotation frequencies, for a longer context than the model was first trained with. */
typedef enum vkt_rope_kind {
    VKT_ROPE_LINEAR,  /* all frequencies are divided by the factor */
    VKT_ROPE_LLAMA3,  /* the low ones are (Llama 3.1, arXiv 2407.21783) */
    VKT_ROPE_YARN,    /* the same, in another way (Peng et al. 2023, arXiv 2309.00071) */
    VKT_ROPE_LONGROPE /* each is divided by its own (Ding et al. 2024, arXiv 2402.13753) */
} vkt_rope_kind;
typedef struct vkt_rope_scaling {
    vkt_rope_kind kind;
    double factor; /* 1 or more; not of longrope */
    /* llama3, yarn: frequencies with more than `high` turns in the original `context` are kept,
     * those with fewer than `low` are divided by the factor, those between are interpolated, by
     * their turns (llama3) or their indices (yarn, which rounds both bounds unless `exact`). */
    double low, high;
    bool exact;
    uint32_t context;
    double attention;     /* factor of the cosines and sines; 0: 1 */
    const float *factors; /* longrope: the divisors, [turning / 2] */
} vkt_rope_scaling;
/* Fills table [positions, turning] with cosines and sines of the angles
 * position * theta^(-2i/turning), scaled unless scaling is NULL. */
VKT_API void vkt_rope_table(uint32_t positions, uint32_t turning, double theta,
                            const vkt_rope_scaling *scaling, float *table);

/* y = act(gate) * up, elementwise: SwiGLU with silu, GeGLU with gelu. up NULL: gate is [..., 2 F],
 * its rows the gate and then up. Shazeer 2020 (arXiv 2002.05202). */
VKT_API vkt_tensor *vkt_gated(vkt_graph *g, vkt_tensor *gate, vkt_tensor *up, vkt_act act);

/* y = softmax(scale q k^T + mask) v, head by head; the scores are never stored. q [B, T, H D], k, v
 * [B, S, Hkv D] -> [B, T, H D]; head h uses keys of head h / (H / Hkv). Or q, k and v in one
 * tensor: q [B, T, (H + 2 Hkv) D], k and v NULL (if k and v are given, as a cache, those in q are
 * not read). docs [B, T] u32 or NULL: the position at which each token's document begins; tokens
 * attend only to their own document. start [1] u32 or NULL: the position of the first query where k
 * and v are a cache of S positions; no gradient then. Without start S = T unless `full`. SHAPE: D
 * not a multiple of 4 or above 256. Dao 2023 (arXiv 2307.08691). */
typedef struct vkt_attention_desc {
    uint32_t heads, kv_heads; /* kv_heads 0: heads */
    bool full;                /* tokens attend to later ones too; default: causal */
    uint32_t window;          /* tokens attend to the last `window` positions, their own included;
                                 with full, to as many later ones too; 0: all */
    float scale;              /* 0: 1 / sqrt(D) */
    float cap;                /* soft cap of the scores s: cap tanh(s / cap); 0: none */
} vkt_attention_desc;
VKT_API vkt_tensor *vkt_attention(vkt_graph *g, vkt_tensor *q, vkt_tensor *k, vkt_tensor *v,
                                  vkt_tensor *docs, vkt_tensor *start,
                                  const vkt_attention_desc *desc);

/* vkt_attention of any mask: scores are stored, so that a bias can be added to them. q [B, T, H D],
 * k, v [B, S, Hkv D]; bias and mask f32 or NULL, of a shape that is broadcast to [B, H, T, S]: the
 * bias is added to the scaled scores; where the mask is 0, a query does not attend to a key. A
 * query that attends to no key gets the mean of all values. Causal unless full: query t attends to
 * the keys up to t. Without bias and mask it is vkt_attention where that can do it. PyTorch's
 * scaled_dot_product_attention. SHAPE: a window or a cap. */
typedef struct vkt_attention_in {
    vkt_tensor *q, *k, *v, *bias, *mask;
} vkt_attention_in;
VKT_API vkt_tensor *vkt_attention_general(vkt_graph *g, const vkt_attention_in *in,
                                          const vkt_attention_desc *desc);

/* A recurrent layer along T: x [B, T, C], w_ih [G H, C], w_hh [G H, H], b_ih, b_hh [G H] or NULL,
 * h0 [B, H] or NULL (zeros), of an LSTM c0 [B, H] or NULL, too -> h [B, T, H], and *cells, unless
 * NULL, [B, T, H] of an LSTM. Gates, one after another: PyTorch's, G = 3: r, z, n; G = 4: i, f, g,
 * o. The new gate of a GRU is tanh(W x + b + r (U h + b')). reverse: from the last element to the
 * first. A workgroup walks all of a few examples' T. SHAPE: H above 1024. Cho et al. 2014 (arXiv
 * 1406.1078); Hochreiter & Schmidhuber 1997. Kernels rnn.comp, rnn_bwd.comp. */
typedef enum vkt_rnn_kind { VKT_RNN_GRU, VKT_RNN_LSTM } vkt_rnn_kind;
typedef struct vkt_rnn_desc {
    vkt_rnn_kind kind;
    vkt_tensor *w_ih, *w_hh, *b_ih, *b_hh, *h0, *c0;
    bool reverse;
} vkt_rnn_desc;
VKT_API vkt_tensor *vkt_rnn(vkt_graph *g, vkt_tensor *x, const vkt_rnn_desc *desc,
                            vkt_tensor **cells);

/* keys[b, start + t, :] = new_keys[b, t, key_column .. key_column + C), and values likewise, in
 * place: appends to the KV cache of generation. keys, values [B, P, C] (inputs), new_keys,
 * new_values [B, T, W] (may be one tensor), start [1] u32; positions beyond P are ignored. */
VKT_API void vkt_cache_write(vkt_graph *g, vkt_tensor *keys, vkt_tensor *values,
                             vkt_tensor *new_keys, uint32_t key_column, vkt_tensor *new_values,
                             uint32_t value_column, vkt_tensor *start);

/* Sum of all elements -> [1]; fixed order. */
VKT_API vkt_tensor *vkt_sum(vkt_graph *g, vkt_tensor *x);
/* Sum over all but the last dimension -> [C]; fixed order. */
VKT_API vkt_tensor *vkt_sum_rows(vkt_graph *g, vkt_tensor *x);

/* ---- general ops: any shape of up to VKT_MAX_RANK dimensions ----
 *
 * PyTorch's and NumPy's meaning. Shapes are broadcast as NumPy's: aligned at their last dimensions,
 * of two sizes one is 1 or both are equal. All are f32 (16 bits under mixed precision); those that
 * only move elements take u32 too. Sizes may be 0. SHAPE: shapes that do not fit, an axis past the
 * last. Axes are counted from 0; a set of them has bit i for axis i. */

/* Functions of one number, with constants s and t where they say so. Sine and cosine: |x| < 10^4.
 * Gradients at edges are PyTorch's. Kernel nd.comp, twin unary_ref. */
typedef enum vkt_fn {
    VKT_FN_EXP,
    VKT_FN_LOG,
    VKT_FN_SQRT,
    VKT_FN_RSQRT, /* 1 / sqrt(x) */
    VKT_FN_ABS,
    VKT_FN_NEG,
    VKT_FN_SIN,
    VKT_FN_COS,
    VKT_FN_ERF,
    VKT_FN_FLOOR,
    VKT_FN_CLAMP,      /* x within [s, t] */
    VKT_FN_LEAKY_RELU, /* x > 0 ? x : s x */
    VKT_FN_SOFTPLUS,   /* ln(1 + exp(x)) */
    VKT_FN_ELU,        /* x > 0 ? x : s (exp(x) - 1) */
    VKT_FN_RECIPROCAL  /* 1 / x */
} vkt_fn;
VKT_API vkt_tensor *vkt_unary(vkt_graph *g, vkt_fn fn, vkt_tensor *x, float s, float t);

/* Functions of two numbers. Comparisons give 1 or 0 and have no gradient; where both are equal,
 * min's and max's gradient is half to each. pow: x < 0 has a power where y is whole. Kernel
 * nd.comp, twin binary_ref. */
typedef enum vkt_fn2 {
    VKT_FN2_ADD,
    VKT_FN2_SUB,
    VKT_FN2_MUL,
    VKT_FN2_DIV,
    VKT_FN2_POW,
    VKT_FN2_MIN,
    VKT_FN2_MAX,
    VKT_FN2_EQ,     /* x == y */
    VKT_FN2_LT,     /* x < y */
    VKT_FN2_LE,     /* x <= y */
    VKT_FN2_EXP_SUB /* exp(x - y): a softmax, where y is the logarithm of the sum of exp(x) */
} vkt_fn2;
VKT_API vkt_tensor *vkt_binary(vkt_graph *g, vkt_fn2 fn, vkt_tensor *x, vkt_tensor *y);
/* condition != 0 ? x : y, all three broadcast. No gradient of the condition. */
VKT_API vkt_tensor *vkt_where(vkt_graph *g, vkt_tensor *condition, vkt_tensor *x, vkt_tensor *y);

/* Dimension i of the result is dimension order[i] of x. A copy, as all that follows. */
VKT_API vkt_tensor *vkt_permute(vkt_graph *g, vkt_tensor *x, const uint32_t *order);
/* x broadcast to the shape. */
VKT_API vkt_tensor *vkt_expand(vkt_graph *g, vkt_tensor *x, vkt_shape shape);
/* Along each dimension i count[i] elements, from first[i] on, each step[i]-th; step NULL: 1. */
VKT_API vkt_tensor *vkt_slice(vkt_graph *g, vkt_tensor *x, const uint32_t *first,
                              const uint32_t *count, const uint32_t *step);
/* x with the elements along a set of axes from the last to the first. */
VKT_API vkt_tensor *vkt_flip(vkt_graph *g, vkt_tensor *x, uint32_t axes);
/* x one after another counts[i] times along each dimension i: PyTorch's repeat, NumPy's tile.
 * SHAPE: more than VKT_MAX_RANK dimensions where each that is repeated and not of size 1 counts
 * twice. */
VKT_API vkt_tensor *vkt_repeat(vkt_graph *g, vkt_tensor *x, const uint32_t *counts);
/* x in n parts along an axis, part i of sizes[i] elements, into out[n]: vkt_slice n times. SHAPE:
 * the sizes do not add up to x's. */
VKT_API void vkt_split_along(vkt_graph *g, vkt_tensor *x, const uint32_t *sizes, uint32_t n,
                             uint32_t axis, vkt_tensor **out);
/* before[i] and after[i] elements of that value before and after each dimension i. Not u32. */
VKT_API vkt_tensor *vkt_pad(vkt_graph *g, vkt_tensor *x, const uint32_t *before,
                            const uint32_t *after, float value);
/* The same with elements of x. SHAPE: more of them than there are; of a mirror image less one.
 * Kernels pad_nd.comp, pad_nd_bwd.comp, twins pad_ref, pad_bwd_ref. */
typedef enum vkt_padding {
    VKT_PAD_CONSTANT, /* a value */
    VKT_PAD_REFLECT,  /* x's mirror image, its edge once: c b a b c b a */
    VKT_PAD_EDGE,     /* x's edge, as often as one likes: PyTorch's replicate */
    VKT_PAD_WRAP      /* x's other end: PyTorch's circular */
} vkt_padding;
VKT_API vkt_tensor *vkt_pad_by(vkt_graph *g, vkt_tensor *x, vkt_padding kind,
                               const uint32_t *before, const uint32_t *after);
/* n > 0 tensors one after another along an axis; their other dimensions are equal. */
VKT_API vkt_tensor *vkt_concat(vkt_graph *g, vkt_tensor *const *x, uint32_t n, uint32_t axis);

/* Over a set of axes (VKT_ALL_AXES: all), in a fixed order; keep: they stay, with size 1, else they
 * go (all of them: [1]). The gradient of a largest or smallest is shared by those that are equal
 * to it. SHAPE: anything but a sum over no elements. Kernel reduce_nd.comp, sums over leading axes
 * sum_rows.comp; twin reduce_ref. */
typedef enum vkt_reduction {
    VKT_REDUCE_SUM,
    VKT_REDUCE_MEAN,
    VKT_REDUCE_MAX,
    VKT_REDUCE_MIN,
    VKT_REDUCE_LOGSUMEXP,
    VKT_REDUCE_NORM1, /* the sum of |x| */
    VKT_REDUCE_NORM2  /* the root of the sum of x^2; its gradient at 0 is 0 */
} vkt_reduction;
#define VKT_ALL_AXES UINT32_MAX
VKT_API vkt_tensor *vkt_reduce(vkt_graph *g, vkt_reduction kind, vkt_tensor *x, uint32_t axes,
                               bool keep);
/* Where along an axis the largest (kind VKT_REDUCE_MAX) or smallest element is, the first of equal
 * ones: u32, of x's shape without the axis, or with keep where it has size 1. No gradient. SHAPE:
 * an axis of no elements, or of more than 2^24. Kernel reduce_nd.comp, twin place_ref. */
VKT_API vkt_tensor *vkt_arg(vkt_graph *g, vkt_reduction kind, vkt_tensor *x, uint32_t axis,
                            bool keep);
/* Sums of all elements up to each along an axis, itself included; backward: from each to the last.
 * SHAPE: lines of more than 2^24. Kernel cumsum.comp, twin cumsum_ref. */
VKT_API vkt_tensor *vkt_cumsum(vkt_graph *g, vkt_tensor *x, uint32_t axis, bool backward);
/* The k largest elements along the last axis, the largest first and of equal ones the first; *ids,
 * unless NULL: where they are, u32. SHAPE: k is 0 or more than there are, or k times their number
 * more than 50,000. Kernels top_k.comp, top_k_bwd.comp. */
VKT_API vkt_tensor *vkt_top_k(vkt_graph *g, vkt_tensor *x, uint32_t k, vkt_tensor **ids);
/* ids u32 -> [.., n] f32, 1 where the last dimension's place is the id, else 0. */
VKT_API vkt_tensor *vkt_one_hot(vkt_graph *g, vkt_tensor *ids, uint32_t n);
/* vkt_softmax and its logarithm over any one axis. */
VKT_API vkt_tensor *vkt_softmax_axis(vkt_graph *g, vkt_tensor *x, uint32_t axis);
VKT_API vkt_tensor *vkt_log_softmax(vkt_graph *g, vkt_tensor *x, uint32_t axis);

/* x [N, H, W, C] -> [N, h, w, C], PyTorch's interpolate. align_corners: bilinear only. SHAPE: an
 * empty picture, or one of more than 30,000 rows or columns. Kernels resize.comp, resize_bwd.comp,
 * twins resize_ref, resize_bwd_ref. */
typedef enum vkt_resize_kind {
    VKT_RESIZE_NEAREST,
    VKT_RESIZE_BILINEAR,
    VKT_RESIZE_AREA /* means of all elements that a result's touches: adaptive_avg_pool2d */
} vkt_resize_kind;
typedef struct vkt_resize_desc {
    vkt_resize_kind kind;
    uint32_t h, w;
    bool align_corners;
} vkt_resize_desc;
VKT_API vkt_tensor *vkt_resize(vkt_graph *g, vkt_tensor *x, const vkt_resize_desc *desc);
/* x [N, H, W, C] -> [N, h, w, C]: vkt_resize of areas. */
VKT_API vkt_tensor *vkt_adaptive_avg_pool(vkt_graph *g, vkt_tensor *x, uint32_t h, uint32_t w);

/* x [N, H, W, C], w [KH, KW, CO / groups, C], b [CO] or NULL -> [N, OH, OW, CO], OH = (H - 1)
 * stride - 2 pad + dilation (KH - 1) + output_pad + 1: what vkt_conv2d of [N, OH, OW, CO] with this
 * filter gives back as its gradient. output_pad is less than the stride. PyTorch's
 * conv_transpose2d, channels last; kernels conv_*.comp. */
VKT_API vkt_tensor *vkt_conv_transpose2d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                         const vkt_conv_desc *desc, uint32_t output_pad);
/* The same along one axis: x [N, L, C], w [K, CO / groups, C] -> [N, OL, CO]. */
VKT_API vkt_tensor *vkt_conv_transpose1d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                         const vkt_conv_desc *desc, uint32_t output_pad);

/* vkt_group_norm with a channel a group. */
VKT_API vkt_tensor *vkt_instance_norm(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                      float eps);
/* vkt_matmul_batched with leading dimensions that are broadcast. Where b has none they are rows of
 * one product (NT and NN); otherwise what is repeated is copied first. f32. */
VKT_API vkt_tensor *vkt_matmul_broadcast(vkt_graph *g, vkt_layout layout, vkt_tensor *a,
                                         vkt_tensor *b);

/* y[.., j, ..] = x[.., ids[.., j, ..], ..] along an axis; ids u32, of x's shape except along it
 * (vkt_expand widens it): PyTorch's gather. An id past the axis's end gives 0. Kernel
 * gather_nd.comp, twin gather_ref. */
VKT_API vkt_tensor *vkt_gather(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint32_t axis);
/* The other way: y[.., ids[.., j, ..], ..] += x[.., j, ..] from zeros, j in order; the axis has
 * `size` elements then, ids past which are left out. PyTorch's scatter_add. Every element of y
 * looks at all ids of its line: for lines of up to 30,000, else SHAPE. Kernel scatter_add.comp. */
VKT_API vkt_tensor *vkt_scatter_add(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint32_t axis,
                                    uint32_t size);

/* The step block: a small buffer per slot with the values that change every step (learning rate,
 * seeds, ...). Each graph has one; every call returns the same tensor, which is bound per slot. */
VKT_API vkt_tensor *vkt_step(vkt_graph *g);

/* Add to the graph the gradients of sum(loss) with respect to wrt[0..n); dwrt[i] has wrt[i]'s
 * shape, zero (a fill) if the loss does not depend on it. Call once per graph. */
VKT_API void vkt_backward(vkt_graph *g, vkt_tensor *loss, vkt_tensor *const *wrt, size_t n,
                          vkt_tensor **dwrt);

/* ---- planning and running ---- */

typedef struct vkt_plan_desc {
    uint32_t n_slots; /* recorded copies, each with its own bindings; 0: 1 */
    bool no_reuse;    /* every tensor gets its own memory with guard bytes: for tests */
    const char *label;
} vkt_plan_desc;

/* Computes levels, liveness and offsets without using the device. Returns the first latched error,
 * which was logged. */
VKT_API vkt_status vkt_graph_plan(vkt_graph *g, const vkt_plan_desc *desc);
/* Bytes of the activation slab, and the lower bound (largest sum of tensors alive at one level). */
VKT_API uint64_t vkt_graph_bytes(const vkt_graph *g);
VKT_API uint64_t vkt_graph_bytes_bound(const vkt_graph *g);
/* Bytes of the slab that are allocated: 0 before vkt_graph_compile, or if g is NULL. */
VKT_API uint64_t vkt_graph_allocated(const vkt_graph *g);
/* The plan as text: ops, shapes, levels, offsets. Free it with vkt_free. */
VKT_API char *vkt_graph_explain(const vkt_graph *g);
/* Flops and bytes of one run, by the cost functions of the op rows. */
VKT_API void vkt_graph_cost(const vkt_graph *g, double *flops, double *bytes);
/* Estimated seconds of one run on a device with these rates: the sum over the nodes of max(flops /
 * flops_per_s, bytes / bytes_per_s). *n_nodes: their number; each is at least one dispatch. */
VKT_API double vkt_graph_seconds(const vkt_graph *g, double flops_per_s, double bytes_per_s,
                                 size_t *n_nodes);

/* Plans the graph if it is not planned yet, allocates the slab, creates pipelines and records the
 * command buffers of each slot. OOM_DEVICE if the plan does not fit. */
VKT_API vkt_status vkt_graph_compile(vkt_graph *g, const vkt_plan_desc *desc);
/* Starts a run and returns at once, except for the first few runs of a graph: these are timed, so
 * that a long graph can be cut into submissions of about vkt_caps.submit_ms. *ticket identifies the
 * run for vkt_ticket_wait. */
VKT_API vkt_status vkt_graph_submit(vkt_graph *g, uint32_t slot, uint64_t *ticket);
/* Starts runs of n slots (1 to VKT_MAX_SLOTS), one after the other: as one submission if together
 * they stay within vkt_caps.submit_ms, else separately. *ticket is that of the last run. */
VKT_API vkt_status vkt_graph_submit_slots(vkt_graph *g, const uint32_t *slots, uint32_t n,
                                          uint64_t *ticket);
/* Whether the first runs have been timed and took at most `ms` each, as a single submission. */
VKT_API bool vkt_graph_is_short(const vkt_graph *g, double ms);
/* Submits slot 0 and waits. */
VKT_API vkt_status vkt_graph_run(vkt_graph *g);
/* Blocking access to a bound or kept tensor's data, as float32 or uint32 (4 bytes an element; f16
 * and bf16 are returned as stored, 2 bytes). */
VKT_API vkt_status vkt_tensor_read(vkt_tensor *t, uint32_t slot, void *data, uint64_t bytes);
VKT_API vkt_status vkt_tensor_write(vkt_tensor *t, uint32_t slot, const void *data, uint64_t bytes);

/* One node's time, as vkt_graph_time measures it. */
typedef struct vkt_node_time {
    const char *op;  /* row name */
    char result[96]; /* shape and dtype of its first output; "" when it works in place */
    uint32_t level;
    double start_ms;     /* sum of the medians before it */
    double ms, min_ms;   /* median and minimum of the runs */
    double flops, bytes; /* by the row's cost function */
} vkt_node_time;
/* Times every node of a compiled graph separately, as the median of `runs` runs. The nodes really
 * run: tensors that they update in place change. Blocks. UNSUPPORTED without timestamps. Free *out
 * with vkt_free. */
VKT_API vkt_status vkt_graph_time(vkt_graph *g, uint32_t slot, uint32_t runs, vkt_node_time **out,
                                  size_t *n);

/* ---- tuning ---- */

typedef struct vkt_tune_shape {
    vkt_layout layout;
    uint32_t M, N, K;  /* > 0 */
    vkt_dtype in, out; /* types of the operands and of the result */
    uint32_t count;    /* products in the graph that use the choice for this shape; 0: 1 */
    /* What else the kernel does to a sum, as the first of them has it; zero: nothing. */
    vkt_act act;
    bool bias, residual, derivative; /* adds a bias first, something like the result last; takes
                                        act's derivative, not act */
} vkt_tune_shape;
typedef struct vkt_tune_result {
    vkt_tune_shape shape;
    const char *table,
        *best; /* names of kernels: the built-in choice for this shape, and the one that is kept */
    double table_ms, best_ms; /* time of one product */
    uint32_t n_tried;
    vkt_status failed;      /* why the last of the kernels that were skipped was, else OK */
    size_t index, n_shapes; /* index of the shape, and number of shapes */
    char what[80]; /* describes a convolution, for which shape is not set; empty for a product */
} vkt_tune_result;
/* One kernel on one shape. */
typedef struct vkt_tune_candidate {
    const vkt_tune_shape *shape;
    const char *kernel;
    double ms;          /* of one product; INFINITY: it was not timed */
    double share;       /* the largest error, as a share of what is allowed; INFINITY: no result */
    uint32_t registers; /* of an invocation, where the driver tells; 0: it does not */
    vkt_status failed;  /* why there is no result */
} vkt_tune_candidate;
typedef struct vkt_tune_desc {
    bool thorough;  /* try every kernel that can run, measure longer, and fail where a choice can't
                       be kept; false: try the likely ones, and what can't be kept is a warning */
    double seconds; /* start no further shape after this time; 0: no limit */
    void (*fn)(void *user, const vkt_tune_result *r);      /* after each shape; may be NULL */
    void (*each)(void *user, const vkt_tune_candidate *c); /* after each kernel; may be NULL */
    void *user;
    bool keeps_nothing; /* choices do not change, and a kernel that disagrees with its twin is
                           timed, too */
    bool tries_again; /* a kernel that loses the device is logged as a warning: the caller opens the
                         device again, and leaves it out so */
} vkt_tune_desc;
/* Times the matmul kernels on these shapes, checks each against its twin, and keeps the fastest in
 * the cache folder, by device, driver version, subgroup size and the hash of the kernels. A choice
 * is used for all shapes with the same layout, types and powers of two. Shapes that were not
 * reached in time are not kept. A kernel that fails is skipped with a log line; DEVICE: it lost the
 * device, and will not be tried again on it. Blocks for seconds. */
VKT_API vkt_status vkt_tune(vkt_gpu *gpu, const vkt_tune_shape *shapes, size_t n,
                            const vkt_tune_desc *desc);
/* Lists the products of a graph for vkt_tune, one per choice (equal layout, types and powers of
 * two), at most `most`; returns their number. Call before planning. unknown_only: only those
 * without a kept choice. */
VKT_API size_t vkt_graph_products(const vkt_graph *g, bool unknown_only, vkt_tune_shape *out,
                                  size_t most);

typedef enum vkt_conv_pass {
    VKT_CONV_FORWARD, /* x, filter -> y */
    VKT_CONV_DX,      /* dy, transposed filter -> dx */
    VKT_CONV_DW       /* x, dy -> the filter's gradient, in slices of dy's rows */
} vkt_conv_pass;
typedef struct vkt_conv_shape {
    vkt_conv_pass pass;
    uint32_t n, h, w, c, oh, ow, co; /* [n, h, w, c] is the input, [n, oh, ow, co] the output; for
                                        VKT_CONV_DX these are dy and dx */
    uint32_t kh, kw, stride, pad, dilation, groups, slices; /* pad: at the top */
    uint32_t bottom, left, right;                           /* padding there */
    uint32_t stride_w, dilation_w;                          /* of columns */
    vkt_dtype multiply; /* 16 bits: factors are rounded to it, VKT_F32: they are not */
    uint32_t count;     /* as in vkt_tune_shape */
} vkt_conv_shape;
/* vkt_tune for convolutions. A choice is used for all convolutions with the same pass, filter and
 * groups whose positions and channels have the same powers of two. */
VKT_API vkt_status vkt_tune_convs(vkt_gpu *gpu, const vkt_conv_shape *shapes, size_t n,
                                  const vkt_tune_desc *desc);
/* vkt_graph_products for convolutions. */
VKT_API size_t vkt_graph_convs(const vkt_graph *g, bool unknown_only, vkt_conv_shape *out,
                               size_t most);

/* Under math: fast, logs how many fp32 products of g run on matrix units as split products, or why
 * none can. Under strict, does nothing. */
VKT_API void vkt_graph_log_math(const vkt_graph *g);

/* ---- self-test ---- */

typedef struct vkt_check_result {
    const char *op; /* op row */
    uint32_t n_cases, n_failed;
    double worst;     /* largest share of the tolerance used; < 1 passes */
    char detail[200]; /* of the first failure */
} vkt_check_result;
/* The name of the i-th op row of the self-test; NULL past the last. */
VKT_API const char *vkt_check_name(size_t i);
/* Runs the sample cases of an op on the device and compares them with their C twins, with poisoned
 * outputs and guard bytes; includes a few cases for kernels meant for other devices. FAILED if a
 * case failed; DEVICE if one lost the device; ARG if there is no such op. */
VKT_API vkt_status vkt_check_op(vkt_gpu *gpu, const char *op, vkt_check_result *r);
/* The same, but kernels are only compiled, not run. */
VKT_API vkt_status vkt_compile_op(vkt_gpu *gpu, const char *op, vkt_check_result *r);
/* Checks all ops and calls fn once per row. FAILED if any case failed. */
VKT_API vkt_status vkt_check_ops(vkt_gpu *gpu, void (*fn)(void *user, const vkt_check_result *r),
                                 void *user);

/* The precision of a matrix product on this device, from fp32 operands to the fp32 result. */
typedef struct vkt_accuracy {
    vkt_dtype dtype; /* type that the operands are rounded to first */
    vkt_math math;
    const char *kernel; /* kernel that this device uses; NULL: it has none, and all else is 0 */
    double worst,
        rms;     /* error in units of the last place (2^-23) of the result's root mean square */
    double bits; /* correct bits of the result: -log2 (rms of the error / rms of the result) */
} vkt_accuracy;
enum { VKT_N_ACCURACIES = 4 };
/* Measures C [64, 64] = A B^T of normally distributed numbers over 1024 terms, with fp32, bf16 and
 * fp16 operands and with fp32 ones under math: fast, against sums in double of the fp32 operands.
 */
VKT_API vkt_status vkt_measure_accuracy(vkt_gpu *gpu, vkt_accuracy out[VKT_N_ACCURACIES]);

#ifdef __cplusplus
}
#endif
#endif
