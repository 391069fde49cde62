/* Rows (their names are in row_names.h) and builders that other rows use. */
#ifndef VKT_TENSOR_OPS_H
#define VKT_TENSOR_OPS_H

#include "tensor/graph/op.h"
#include "tensor/graph/act.h"

/* What pair i of a head's `turning` numbers turns by from position to position. scaling: NULL:
 * none. */
double vkt__rope_frequency(uint32_t i, uint32_t turning, double theta,
                           const vkt_rope_scaling *scaling);

#define ROW(name) extern const vkt_op vkt__op_##name;
#include "tensor/ops/row_names.h"
#undef ROW

/* Every row, ended by NULL. */
extern const vkt_op *const vkt__rows[];

/* The loss's own gradient (a marker, gradient.h) as a real tensor of t's shape; anything else as it
 * is. */
vkt_tensor *vkt__real(vkt_graph *g, vkt_tensor *dy, const vkt_tensor *t);

/* d summed over the dimensions that a tensor of that shape was repeated over to get d's. */
vkt_tensor *vkt__sum_to(vkt_graph *g, vkt_tensor *d, vkt_shape shape);

/* dy * act'(v): v is the output where vkt__act_from_output, else the input. */
vkt_tensor *vkt__act_bwd(vkt_graph *g, vkt_tensor *dy, vkt_tensor *v, vkt_act act);

/* words [n] u32, numbers packed as `kind` that have that shape -> they, f32. The node runs wherever
 * its result is read: the result takes no memory for long. Kernel unpack.comp, twin unpack_ref. */
vkt_tensor *vkt__unpack_all(vkt_graph *g, vkt_tensor *words, vkt_quant kind, vkt_shape shape);
/* words as above, of shape [V, C], C a multiple of 8; ids [B, T] u32 -> their rows [B, T, C] f32.
 * An id >= V gives zeros. */
vkt_tensor *vkt__unpack_rows(vkt_graph *g, vkt_tensor *words, vkt_quant kind, vkt_shape shape,
                             vkt_tensor *ids);
/* The gradient of a table's rows that were looked up: x [n, D], ids [n] u32 -> [rows, D], each row
 * the sum of x's that name it; the ids are sorted on the device, one from `rows` on names none.
 * NULL: no ids, or more than 2^31. */
vkt_tensor *vkt__add_rows_sorted(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint32_t rows);
/* One element of an elementwise node in double: op is VKT_EL_*, but not dropout. */
double vkt__eltwise_element(uint32_t op, vkt_act act, double s, double x, double y);

/* Inputs of the product rows by number, after A and B: of the sums' epilogue, and what a step's
 * first micro-batch is known by. */
enum { VKT__MM_IN_BIAS = 2, VKT__MM_IN_V, VKT__MM_IN_R, VKT__MM_IN_STEP };

/* Inputs of an elementwise chain: what the first stage is of, stage k's operand at VKT__CHAIN_IN_Y
 * + k, the step block. */
enum {
    VKT__CHAIN_IN_X,
    VKT__CHAIN_IN_Y,
    VKT__CHAIN_IN_STEP = VKT__CHAIN_IN_Y + VKT_MAX_STAGES,
    VKT__CHAIN_N_IN
};

/* Places that a rewrite knows: of softmax_xent's output where it has the gradient too, and of the
 * loss's gradient, if that is not 1, among its inputs then; and of softmax_xent_bwd's inputs after
 * the others of softmax_xent. */
enum {
    VKT_XENT_OUT_DLOGITS = 4,
    VKT_XENT_IN_DLOSS_NOW = 5,
    VKT_XENT_IN_TOP = 5,
    VKT_XENT_IN_DLOSS = 7
};

/* What one node of a sum adds up at most. */
enum { VKT_SUM_CHUNK = 4096 };
/* Sum of squares of all elements -> [1]. */
vkt_tensor *vkt__sum_squares(vkt_graph *g, vkt_tensor *x);
/* Rows that one node of a sum over rows takes. */
uint32_t vkt__row_chunk(const vkt_graph *g);

/* A sum over rows that are sums of many rows each. */
vkt_tensor *vkt__sum_chunks(vkt_graph *g, vkt_tensor *x);
/* Whether a device does n, a sum_rows, as sum_group does several. */
bool vkt__sums_by_lanes(const vkt_caps *c, const vkt_node *n);

/* ---- the optimizer's rows ---- */

/* sum = (the step's first micro-batch ? 0 : sum) + x; sum is written. */
void vkt__accumulate(vkt_graph *g, vkt_tensor *sum, vkt_tensor *x);
/* average += the step's share of (x - average), where they lie. */
void vkt__ema(vkt_graph *g, vkt_tensor *average, vkt_tensor *x);

/* What optim_state reads and writes. */
typedef struct vkt__state_in {
    vkt_tensor *squares;    /* f32 of sum sum(g^2), g the gradient times the loss scale */
    vkt_tensor *loss;       /* f32 of that sum, without it */
    vkt_tensor *hits;       /* the same, or NULL */
    bool square;            /* squares has g itself */
    vkt_tensor *step;       /* the step block */
    vkt_tensor *skipped;    /* [1] u32, written: counts the steps that were not ok */
    vkt_tensor *loss_scale; /* [2] f32, written: struct vkt_loss_scale; NULL: none */
    uint32_t scale_every;   /* good steps after which it doubles */
} vkt__state_in;
/* The scalars of a step, struct vkt_scalars as [8] f32. */
vkt_tensor *vkt__optim_state(vkt_graph *g, const vkt__state_in *in);

/* What optim_update reads and writes. n elements; a block is VKT_GROUP_BLOCK of them. */
typedef struct vkt__update_in {
    vkt_tensor *theta;     /* [n] f32, written */
    vkt_tensor *grad;      /* [n] f32 */
    vkt_tensor *m, *v;     /* [n] f32, written; NULL where the rule has none */
    vkt_tensor *d, *last;  /* the same, of update_more */
    vkt_tensor *scalars;   /* [8] f32 of vkt__optim_state */
    vkt_tensor *step;      /* the step block */
    vkt_tensor *blocks;    /* [blocks] u32: group of each block */
    vkt_tensor *groups;    /* [G, 2] f32: struct vkt_group_params */
    vkt_tensor *shadow;    /* [n] f16 or bf16, written: theta's values; or NULL */
    vkt_tensor *direction; /* [n] f32, written in place of theta by a rule for whole tensors; may be
                              where grad is */
    vkt_tensor *scales;    /* of update8 */
} vkt__update_in;
void vkt__optim_update(vkt_graph *g, const vkt__update_in *in, vkt_attr attr);
/* The same for rules that also keep changes of the gradient. */
void vkt__optim_update_more(vkt_graph *g, const vkt__update_in *in, vkt_attr attr);
/* The same with moments in 8 bits: m and v are [ceil(n / 4)] u32, four codes a word, and `scales`
 * [2, blocks] f32, written: of m, then of v. attr.optim.first is the first element's number for
 * random bits. */
void vkt__optim_update8(vkt_graph *g, const vkt__update_in *in, vkt_attr attr);
/* What follows the directions of a rule for whole tensors: sums of squares [blocks, 2] f32 of theta
 * and u by block; from them the ratio of each tensor, `trust` [blocks] f32, an element for each of
 * its blocks; tensors [T + 1] u32: first block of each, and the end of the last; counts [T] u32:
 * their elements; in: step, blocks and groups of all; and the step with in->direction and those
 * ratios, or 1 where trust is NULL. */
void vkt__block_squares(vkt_graph *g, const vkt__update_in *in, vkt_tensor *squares);
void vkt__optim_trust_ratios(vkt_graph *g, const vkt__update_in *in, vkt_tensor *squares,
                             vkt_tensor *tensors, vkt_tensor *counts, vkt_tensor *trust,
                             uint32_t rule);
void vkt__optim_apply(vkt_graph *g, const vkt__update_in *in, vkt_tensor *trust, uint32_t rule);
/* A rule that keeps a number for each row and column: of_rows [rows] and of_cols [cols] f32,
 * written, move on by in->grad, [rows, cols]; then in->direction is made from them and the mean of
 * of_rows. A vector has of_rows NULL. */
void vkt__optim_line(vkt_graph *g, const vkt__update_in *in, vkt_tensor *kept, uint32_t rows,
                     bool columns);
void vkt__optim_lines(vkt_graph *g, const vkt__update_in *in, vkt_tensor *of_rows,
                      vkt_tensor *of_cols, vkt_tensor *mean, vkt_attr attr);
/* What the gradient is multiplied by, for a sum of squares and a limit (0: none). */
double vkt__optim_clip(double squares, double limit);

#endif
