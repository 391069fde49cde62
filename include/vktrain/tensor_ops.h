/* A part of tensor.h, which says how shapes are written: the ops that graphs are built from. */
#ifndef VKTRAIN_TENSOR_OPS_H
#define VKTRAIN_TENSOR_OPS_H

#include "vktrain/tensor_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * Kernels lookup.comp, lookup_bwd.comp, of large tables id_sort.comp, id_segments.comp and
 * embedding_bwd.comp. */
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
    VKT_FN_RECIPROCAL, /* 1 / x */
    VKT_FN_ASIN,
    VKT_FN_ACOS,
    VKT_FN_ATAN,
    VKT_FN_SINH,
    VKT_FN_COSH,
    VKT_FN_ASINH,
    VKT_FN_ACOSH,
    VKT_FN_ATANH
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
 * looks at all ids of its line, or, where these are many and x needs no gradient, they are sorted
 * (each element's sum is then that of vkt_embedding's gradient): lines of up to 30,000, sorted any,
 * else SHAPE. Kernels scatter_add.comp; id_sort.comp, id_segments.comp, embedding_bwd.comp. */
VKT_API vkt_tensor *vkt_scatter_add(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint32_t axis,
                                    uint32_t size);

#ifdef __cplusplus
}
#endif
#endif
