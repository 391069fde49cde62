/* A part of tensor.h, which says how it is used: graphs, their tensors, plans and runs. */
#ifndef VKTRAIN_TENSOR_GRAPH_H
#define VKTRAIN_TENSOR_GRAPH_H

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
/* Says what an input [count elements] holds in every run: rewrites read it, as a mask that hides
 * later tokens, which attention needs no memory for. The array stays as it is until the graph is
 * compiled; the input is bound as any other. */
VKT_API void vkt_known(vkt_tensor *t, const float *numbers);
/* Keep a tensor's memory until the end of a run, so that it can be read afterwards. */
VKT_API void vkt_keep(vkt_tensor *t, const char *name);

VKT_API vkt_shape vkt_tensor_shape(const vkt_tensor *t);
VKT_API vkt_dtype vkt_tensor_dtype(const vkt_tensor *t);

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

#ifdef __cplusplus
}
#endif
#endif
