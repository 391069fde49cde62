/* vktrain tensor layer: a static graph of ops with reverse-mode gradients, planned into one slab of
 * device memory, recorded once and submitted again and again.
 *
 * Shape letters: B batch, R rows, C channels, M/N rows/columns of a product, K its inner size.
 * Row-major, last dimension fastest. Wrong shapes are latched: the builder returns an inert tensor,
 * later ops pass it on, vkt_graph_compile returns SHAPE and the first error was logged with the op
 * and both shapes. Builders never return NULL; tensors belong to their graph.
 *
 * Threads: as the gpu of the graph: one thread at a time. A graph without a gpu: one thread at a
 * time. Aborts: binding at an offset that is no multiple of 16, past the buffer's end or to a view;
 * running a graph that was not compiled, or an input of it that was not bound; reading or writing
 * beyond a tensor; a tensor of another graph; building or a second vkt_backward after planning.
 * Ownership: tensors belong to their graph, buffers bound to it to the caller, who keeps them as
 * long.
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

#define VKT_MAX_RANK 5

typedef enum vkt_dtype { VKT_F32, VKT_F16, VKT_BF16, VKT_U32 } vkt_dtype;
typedef struct vkt_shape {
    uint32_t rank;
    uint32_t d[VKT_MAX_RANK];
} vkt_shape;

typedef struct vkt_graph vkt_graph;
typedef struct vkt_tensor vkt_tensor;

static inline vkt_shape vkt_shape1(uint32_t a)
{
    vkt_shape s = { 1, { a, 0, 0, 0, 0 } };
    return s;
}
static inline vkt_shape vkt_shape2(uint32_t a, uint32_t b)
{
    vkt_shape s = { 2, { a, b, 0, 0, 0 } };
    return s;
}
static inline vkt_shape vkt_shape3(uint32_t a, uint32_t b, uint32_t c)
{
    vkt_shape s = { 3, { a, b, c, 0, 0 } };
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

/* Mixed precision: activations, their gradients and the factors of products lie in memory as f16 or
 * bf16; all arithmetic stays fp32, as do parameters, their gradients, logits, losses, statistics
 * and sums. It is a rewrite, so vkt_graph_no_rewrite switches it off. Call before vkt_backward. */
VKT_API void vkt_graph_precision(vkt_graph *g, vkt_dtype dtype);
/* Promise that `shadow` (an input of t's shape, f16 or bf16) always holds t's values: products read
 * it instead of a cast of t. */
VKT_API void vkt_shadow(vkt_tensor *t, vkt_tensor *shadow);
/* vkt_backward then gives the gradients of scale * loss; scale is an input of one f32. */
VKT_API void vkt_scale_loss(vkt_graph *g, vkt_tensor *scale);
/* Compute activations again in the backward pass where that lowers the memory of the plan; for
 * about a third more arithmetic, to the same bits. Call before planning. */
VKT_API void vkt_graph_recompute(vkt_graph *g);

/* A tensor whose memory the caller owns and binds before vkt_graph_compile. */
VKT_API vkt_tensor *vkt_input(vkt_graph *g, vkt_shape shape, vkt_dtype dtype, const char *name);
/* Bind for all slots (slot = VKT_ALL_SLOTS) or one. offset is in bytes, a multiple of 16. */
#define VKT_ALL_SLOTS UINT32_MAX
#define VKT_MAX_SLOTS 8
VKT_API void vkt_bind(vkt_tensor *t, uint32_t slot, const vkt_buffer *buf, uint64_t offset);
/* Keep a tensor's memory to the end of the graph, so that it can be read afterwards. */
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
/* The same with a result of another type than 16-bit operands: f32. */
VKT_API vkt_tensor *vkt_matmul_as(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b,
                                  vkt_dtype dtype);
/* A product for each leading index: a [..., M, K], b [..., N, K] -> [..., M, N], or as the layout
 * has it; the leading dimensions are the same. */
VKT_API vkt_tensor *vkt_matmul_batched(vkt_graph *g, vkt_layout layout, vkt_tensor *a,
                                       vkt_tensor *b, vkt_dtype dtype);
VKT_API vkt_tensor *vkt_linear_as(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                  vkt_act act, vkt_dtype dtype);

/* y = act(conv(x, w) + b): x [N, H, W, C], w [KH, KW, C / groups, CO], b [CO] or NULL -> [N, OH,
 * OW, CO], OH = (H + 2 pad - dilation (KH - 1) - 1) / stride + 1 rounded down. groups = C is
 * depthwise. Saves the pre-activation as vkt_linear does. PyTorch's conv2d, channels last; kernels
 * conv_*.comp.
 */
typedef struct vkt_conv_desc {
    uint32_t stride, pad, dilation, groups; /* both axes; stride, dilation, groups 0: 1 */
    vkt_act act;
} vkt_conv_desc;
VKT_API vkt_tensor *vkt_conv2d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                               const vkt_conv_desc *desc);

/* Maximum or mean of windows of size x size, x [N, H, W, C] -> [N, OH, OW, C], OH = (H + 2 pad -
 * size) / stride + 1 rounded down. pad is at most half the size; the mean counts it as zeros.
 * PyTorch's max_pool2d, avg_pool2d. Kernels pool*.comp. */
typedef struct vkt_pool_desc {
    uint32_t size, stride, pad; /* stride 0: size */
} vkt_pool_desc;
VKT_API vkt_tensor *vkt_max_pool(vkt_graph *g, vkt_tensor *x, const vkt_pool_desc *desc);
VKT_API vkt_tensor *vkt_avg_pool(vkt_graph *g, vkt_tensor *x, const vkt_pool_desc *desc);
/* x [N, H, W, C] -> its mean over H and W [N, C]. */
VKT_API vkt_tensor *vkt_global_avg_pool(vkt_graph *g, vkt_tensor *x);
/* Zeros around x [N, H, W, C]. */
VKT_API vkt_tensor *vkt_pad2d(vkt_graph *g, vkt_tensor *x, uint32_t top, uint32_t bottom,
                              uint32_t left, uint32_t right);

/* x [N, ...] -> [N, rest]; an image [N, H, W, C] channel by channel, as PyTorch flattens its own.
 */
VKT_API vkt_tensor *vkt_flatten(vkt_graph *g, vkt_tensor *x);

/* Elementwise; y has x's shape or that of x's last dimensions (broadcast over the leading ones). */
VKT_API vkt_tensor *vkt_add(vkt_graph *g, vkt_tensor *x, vkt_tensor *y);
VKT_API vkt_tensor *vkt_mul(vkt_graph *g, vkt_tensor *x, vkt_tensor *y);
VKT_API vkt_tensor *vkt_scale(vkt_graph *g, vkt_tensor *x, float s);
/* gelu: tanh form (Hendrycks & Gimpel 2016, arXiv 1606.08415); gelu_erf: the exact one. */
VKT_API vkt_tensor *vkt_activate(vkt_graph *g, vkt_tensor *x, vkt_act act);
VKT_API vkt_tensor *vkt_copy(vkt_graph *g, vkt_tensor *x); /* u32 too */
VKT_API vkt_tensor *vkt_fill(vkt_graph *g, vkt_shape shape, float value);
/* f32 <-> f16 | bf16, round to nearest even; bits packed by hand, no device feature needed. */
VKT_API vkt_tensor *vkt_cast(vkt_graph *g, vkt_tensor *x, vkt_dtype to);
/* Same data, other shape. Costs nothing. */
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
 * train: mean and variance of the batch, or of each ghost batch of `virtual_batch` examples in
 * order, the last of them shorter where B is no multiple; each ghost batch moves the running
 * averages by `momentum` and counts, as PyTorch's BatchNorm does when given the pieces one after
 * another. Otherwise by the running averages, which then only are read and have no gradient: a
 * frozen norm, whose x, w and b do have one. Examples whose loss weighs nothing (a picture that
 * could not be read) count in mean and variance like any other; there are no others while training,
 * whose batches run on over an epoch's end and are never padded (vkt_loader). Error: SHAPE also
 * where a ghost batch has one value a channel, of which there is no variance. Ioffe & Szegedy 2015
 * (arXiv 1502.03167); ghost batches: Hoffer et al. 2017 (arXiv 1705.08741). */
typedef struct vkt_batch_norm_desc {
    vkt_tensor *w, *b, *running_mean, *running_var, *count;
    float eps, momentum;    /* 1e-5 and 0.1 are usual; used as given */
    uint32_t virtual_batch; /* examples; 0 or more than B: B */
    bool train;
} vkt_batch_norm_desc;
VKT_API vkt_tensor *vkt_batch_norm(vkt_graph *g, vkt_tensor *x, const vkt_batch_norm_desc *desc);

/* y = (x - mean) / sqrt(var + eps) * w + b over each image's pixels and `groups` of channels. x [N,
 * ..., C], w, b [C]. Wu & He 2018 (arXiv 1803.08494). */
VKT_API vkt_tensor *vkt_group_norm(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                   uint32_t groups, float eps);

/* Zero with probability p, else x / (1 - p). The mask is a function of (seed, step, element): the
 * gradient recomputes it. step is the step block (vkt_step). Srivastava et al. 2014. */
VKT_API vkt_tensor *vkt_dropout(vkt_graph *g, vkt_tensor *x, vkt_tensor *step, float p);

/* Row losses of a classifier: loss[r] = weight[r] * ((1-e) * cw[y] * nll(y) + e/V * sum_c cw[c] *
 * nll(c)). logits [R, V], target [R] u32, weight [R] or NULL (1), class_weight cw [V] or NULL (1),
 * e = smoothing. A target equal to ignore_index, or >= V, gives loss 0 and gradient 0. hit[r] = 1
 * if the largest logit is the target's. desc NULL: neither smoothing nor an index to ignore. The
 * gradient takes the memory of the logits. Weights that sum to one make the mean exact. */
typedef struct vkt_xent_desc {
    float smoothing;
    vkt_maybe ignore_index; /* not given: none */
} vkt_xent_desc;
typedef struct vkt_loss {
    vkt_tensor *loss, *hit;
} vkt_loss; /* each [R] f32; hit is NULL for MSE */
VKT_API vkt_loss vkt_softmax_xent(vkt_graph *g, vkt_tensor *logits, vkt_tensor *target,
                                  vkt_tensor *weight, vkt_tensor *class_weight,
                                  const vkt_xent_desc *desc);
/* p = softmax(x) over the last dimension. */
VKT_API vkt_tensor *vkt_softmax(vkt_graph *g, vkt_tensor *x);
/* loss[r] = weight[r] * mean_c (x - y)^2; x, y [R, C] f32. */
VKT_API vkt_loss vkt_mse(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *weight);

/* ---- language ---- */

/* y[b, t] = table[ids[b, t]] (+ pos[start + t], or pos[t - docs[b, t]]). table [V, C], ids [B, T]
 * u32, pos [P, C] or NULL with P >= T, start [1] u32 or NULL (0), docs [B, T] u32 or NULL as of
 * vkt_attention, not with a start -> [B, T, C]. An id >= V gives zeros. For the gradient of the
 * table the ids come sorted: order [B T] u32 lists their places by rising id, places in order;
 * segments [V + 1] u32 says where each id begins in it (vkt_token_order of data.h makes both). They
 * may be NULL where the table needs no gradient. */
typedef struct vkt_embedding_in {
    vkt_tensor *table, *ids, *pos, *start, *order, *segments, *docs;
} vkt_embedding_in;
VKT_API vkt_tensor *vkt_embedding(vkt_graph *g, const vkt_embedding_in *in);

/* Rotary position embedding of the first `heads` heads of each row; columns after them are copied.
 * x [B, T, C], head size D (even), table [P, D] f32: the cosines of D/2 angles of each position,
 * then the sines (a constant; vkt_rope_table fills it). The position of x[b, t] is start + t, start
 * [1] u32 or NULL (0), or t - docs[b, t], docs [B, T] u32 as of vkt_attention. Su et al. 2021
 * (arXiv 2104.09864). */
typedef enum vkt_rope_layout {
    VKT_ROPE_INTERLEAVED, /* pairs (2i, 2i + 1): as published, GPT-J, Llama's own files */
    VKT_ROPE_HALF         /* pairs (i, i + D/2): GPT-NeoX, Llama in Hugging Face's files */
} vkt_rope_layout;
typedef struct vkt_rope_desc {
    uint32_t head, heads; /* D; heads that are rotated */
    vkt_rope_layout layout;
} vkt_rope_desc;
VKT_API vkt_tensor *vkt_rope(vkt_graph *g, vkt_tensor *x, vkt_tensor *table, vkt_tensor *docs,
                             vkt_tensor *start, const vkt_rope_desc *desc);
/* Slower turns, for more positions than a model was first trained with. */
typedef struct vkt_rope_scaling {
    bool llama3;   /* by wave length (Llama 3.1); else all angles are divided by the factor */
    double factor; /* 1 or more */
    /* llama3: waves that turn more than `high` times in the first context of that many positions
     * stay, those below `low` are divided by the factor. */
    double low, high;
    uint32_t context;
} vkt_rope_scaling;
/* Angle position * theta^(-2i/D), scaled unless NULL; table [positions, head]. */
VKT_API void vkt_rope_table(uint32_t positions, uint32_t head, double theta,
                            const vkt_rope_scaling *scaling, float *table);

/* y = act(gate) * up, elementwise: SwiGLU with silu, GeGLU with gelu. Shazeer 2020 (arXiv
 * 2002.05202). */
VKT_API vkt_tensor *vkt_gated(vkt_graph *g, vkt_tensor *gate, vkt_tensor *up, vkt_act act);

/* y = softmax(scale q k^T + mask) v, head by head; scores are never stored. q [B, T, H D], k, v
 * [B, S, Hkv D] -> [B, T, H D]; head h uses keys of head h / (H / Hkv). Or q, k and v side by side:
 * q [B, T, (H + 2 Hkv) D], k and v NULL (or given, as a cache: q's own are not read). docs [B, T]
 * u32 or NULL: the position at which each token's document begins; tokens see only their own. start
 * [1] u32 or NULL: the position of the first query where k and v are a cache of S positions; no
 * gradient then. Without start S = T unless `full`. SHAPE: D not a multiple of 4 or above 256. Dao
 * 2023 (arXiv 2307.08691). */
typedef struct vkt_attention_desc {
    uint32_t heads, kv_heads; /* kv_heads 0: heads */
    bool full;                /* tokens see later ones too; default causal */
    uint32_t window;          /* tokens see the last `window` positions, themselves included; with
                                 full as many on the other side too; 0: all */
    float scale;              /* 0: 1 / sqrt(D) */
} vkt_attention_desc;
VKT_API vkt_tensor *vkt_attention(vkt_graph *g, vkt_tensor *q, vkt_tensor *k, vkt_tensor *v,
                                  vkt_tensor *docs, vkt_tensor *start,
                                  const vkt_attention_desc *desc);

/* keys[b, start + t, :] = new_keys[b, t, key_column .. key_column + C), and values likewise, in
 * place: what generation appends to what it keeps. keys, values [B, P, C] (inputs), new_keys,
 * new_values [B, T, W] (may be one tensor), start [1] u32; positions beyond P are left out. */
VKT_API void vkt_cache_write(vkt_graph *g, vkt_tensor *keys, vkt_tensor *values,
                             vkt_tensor *new_keys, uint32_t key_column, vkt_tensor *new_values,
                             uint32_t value_column, vkt_tensor *start);

/* Sum of all elements -> [1]; fixed order. */
VKT_API vkt_tensor *vkt_sum(vkt_graph *g, vkt_tensor *x);
/* Sum over all but the last dimension -> [C]; fixed order. */
VKT_API vkt_tensor *vkt_sum_rows(vkt_graph *g, vkt_tensor *x);

/* The step block: what changes per step (learning rate, seeds, ...), one small buffer per slot that
 * shaders read. One per graph; every caller gets the same tensor, to be bound per slot. */
VKT_API vkt_tensor *vkt_step(vkt_graph *g);

/* Add to the graph the gradients of sum(loss) with respect to wrt[0..n); dwrt[i] has wrt[i]'s
 * shape, zero (a fill) if the loss does not depend on it. Call once per graph. */
VKT_API void vkt_backward(vkt_graph *g, vkt_tensor *loss, vkt_tensor *const *wrt, size_t n,
                          vkt_tensor **dwrt);

/* ---- planning and running ---- */

typedef struct vkt_plan_desc {
    uint32_t n_slots; /* recorded copies, each with its own bindings; 0: 1 */
    bool no_reuse;    /* every tensor its own memory, with guards: for tests */
    const char *label;
} vkt_plan_desc;

/* Levels, liveness and offsets, without touching the device. Logs and returns the first latched
 * error. */
VKT_API vkt_status vkt_graph_plan(vkt_graph *g, const vkt_plan_desc *desc);
/* Bytes of the activation slab, and the lower bound (largest sum of tensors alive at one level). */
VKT_API uint64_t vkt_graph_bytes(const vkt_graph *g);
VKT_API uint64_t vkt_graph_bytes_bound(const vkt_graph *g);
/* Bytes of it that are allocated: none before vkt_graph_compile. NULL: 0. */
VKT_API uint64_t vkt_graph_allocated(const vkt_graph *g);
/* The plan as text: ops, shapes, levels, offsets. Free it with vkt_free. */
VKT_API char *vkt_graph_explain(const vkt_graph *g);
/* Flops and bytes that one run needs by the rows' cost functions. */
VKT_API void vkt_graph_cost(const vkt_graph *g, double *flops, double *bytes);
/* Seconds that the nodes take one after the other on something that reaches so many flops and bytes
 * a second, each node the longer of the two; *n_nodes: how many there are, each at least a
 * dispatch. */
VKT_API double vkt_graph_seconds(const vkt_graph *g, double flops_per_s, double bytes_per_s,
                                 size_t *n_nodes);

/* Plan if not planned yet, allocate the slab, create pipelines, record the command buffers of each
 * slot. OOM_DEVICE before anything is run if the plan does not fit. */
VKT_API vkt_status vkt_graph_compile(vkt_graph *g, const vkt_plan_desc *desc);
/* Start a run; returns at once, but for a graph's first few runs, which are timed so that a long
 * graph can be cut into submissions of about vkt_caps.submit_ms. *ticket names it for
 * vkt_ticket_wait. */
VKT_API vkt_status vkt_graph_submit(vkt_graph *g, uint32_t slot, uint64_t *ticket);
/* Runs of n slots (1 to VKT_MAX_SLOTS), one after the other: as one submission where together they
 * stay within vkt_caps.submit_ms, else each by itself. *ticket is of the last. */
VKT_API vkt_status vkt_graph_submit_slots(vkt_graph *g, const uint32_t *slots, uint32_t n,
                                          uint64_t *ticket);
/* Whether the first runs have been timed, and took no longer than `ms` each in one submission. */
VKT_API bool vkt_graph_is_short(const vkt_graph *g, double ms);
/* Submit slot 0 and wait. */
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
    double ms, min_ms;   /* median and least of the runs */
    double flops, bytes; /* by the row's cost function */
} vkt_node_time;
/* Times every node of a compiled graph apart, median of `runs`. It really runs: mutated tensors
 * change. Blocks. UNSUPPORTED without timestamps. Free *out with vkt_free. */
VKT_API vkt_status vkt_graph_time(vkt_graph *g, uint32_t slot, uint32_t runs, vkt_node_time **out,
                                  size_t *n);

/* ---- tuning ---- */

typedef struct vkt_tune_shape {
    vkt_layout layout;
    uint32_t M, N, K;  /* > 0 */
    vkt_dtype in, out; /* of the operands, of the result */
    uint32_t count;    /* how many a graph has of those that a choice for it stands for; 0: 1 */
} vkt_tune_shape;
typedef struct vkt_tune_result {
    vkt_tune_shape shape;
    const char *table, *best; /* names of kernels: the table's for this shape, the one kept */
    double table_ms, best_ms; /* of one product */
    uint32_t n_tried;
    size_t index, n_shapes; /* which of those asked for */
    char what[80];          /* a convolution in words, instead of shape; empty for a product */
} vkt_tune_result;
typedef struct vkt_tune_desc {
    bool thorough;  /* every kernel that can run, and longer each; false: the likely ones */
    double seconds; /* begin no shape after this long; 0: no limit */
    void (*fn)(void *user, const vkt_tune_result *r); /* after each shape; may be NULL */
    void *user;
} vkt_tune_desc;
/* Time the matmul kernels on these shapes, each checked against the twin before it may win, and
 * keep the fastest in the cache folder by device, driver version, subgroup size and the kernels'
 * hash. A choice stands for all shapes of the same layout, types and powers of two. What there was
 * no time for is not kept. A kernel that fails is left out with a line; DEVICE: it lost the device,
 * and is left out by whoever opens it next. Blocks: seconds. */
VKT_API vkt_status vkt_tune(vkt_gpu *gpu, const vkt_tune_shape *shapes, size_t n,
                            const vkt_tune_desc *desc);
/* The products of a graph, each power of two once: what to tune before the graph is planned. At
 * most `most`; returns their number. unknown_only: those that no choice is kept for. */
VKT_API size_t vkt_graph_products(const vkt_graph *g, bool unknown_only, vkt_tune_shape *out,
                                  size_t most);

typedef enum vkt_conv_pass {
    VKT_CONV_FORWARD, /* x, filter -> y */
    VKT_CONV_DX,      /* dy, the filter with its taps transposed -> dx */
    VKT_CONV_DW       /* x, dy -> the filter's gradient, in slices of dy's rows */
} vkt_conv_pass;
typedef struct vkt_conv_shape {
    vkt_conv_pass pass;
    uint32_t n, h, w, c, oh, ow, co; /* [n, h, w, c] is what the filter moves over, [n, oh, ow, co]
                                        its positions: of VKT_CONV_DX dy and dx */
    uint32_t kh, kw, stride, pad, dilation, groups, slices;
    uint32_t count; /* as of vkt_tune_shape */
} vkt_conv_shape;
/* As vkt_tune, of convolutions. A choice stands for all of the same pass, filter and groups whose
 * positions and channels have the same powers of two. */
VKT_API vkt_status vkt_tune_convs(vkt_gpu *gpu, const vkt_conv_shape *shapes, size_t n,
                                  const vkt_tune_desc *desc);
/* As vkt_graph_products, of convolutions. */
VKT_API size_t vkt_graph_convs(const vkt_graph *g, bool unknown_only, vkt_conv_shape *out,
                               size_t most);

/* Under math: fast, a log line: how many of g's fp32 products run on matrix units as split
 * products, or why none can. Nothing under strict. */
VKT_API void vkt_graph_log_math(const vkt_graph *g);

/* ---- self-test ---- */

typedef struct vkt_check_result {
    const char *op; /* op row */
    uint32_t n_cases, n_failed;
    double worst;     /* largest share of the tolerance used; < 1 passes */
    char detail[200]; /* of the first failure */
} vkt_check_result;
/* Names of the op rows that the self-test has, by number from 0; NULL past the last. */
VKT_API const char *vkt_check_name(size_t i);
/* Run one's sample cases on the device against their C twins, with poisoned outputs and guard
 * bytes; of kernels shaped for other devices than this one a few. FAILED if a case failed; DEVICE
 * if it lost the device; ARG names the nearest if there is none. */
VKT_API vkt_status vkt_check_op(vkt_gpu *gpu, const char *op, vkt_check_result *r);
/* The same, but kernels are only compiled: none runs, and results are not looked at. */
VKT_API vkt_status vkt_compile_op(vkt_gpu *gpu, const char *op, vkt_check_result *r);
/* All of them: calls fn once per row. FAILED if any case failed. */
VKT_API vkt_status vkt_check_ops(vkt_gpu *gpu, void (*fn)(void *user, const vkt_check_result *r),
                                 void *user);

/* What a product loses here, from fp32 operands to the fp32 result. */
typedef struct vkt_accuracy {
    vkt_dtype dtype; /* that the operands are rounded to first */
    vkt_math math;
    const char *kernel; /* that this device uses; NULL: it has none, all else is 0 */
    double worst,
        rms;     /* error in units of the last place (2^-23) of the result's root mean square */
    double bits; /* kept of the result: -log2 (rms of the error / rms of the result) */
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
