/* Push structs and the step block, one source for C and GLSL. Addresses first, in the order inputs,
 * saved, outputs; then 4-byte scalars; at most 128 bytes. ADDR(type) is a 64-bit address in C and a
 * buffer reference in GLSL, so that no shader needs 64-bit integers; each address stands once, and a
 * shader that also reads it as another type casts it: f32x4s(p.x). */
#ifndef VKT_PARAMS_H
#define VKT_PARAMS_H

#include "numbers.h" /* of activations and update rules: made from include/vktrain */
#include "spec.h"

#ifdef VULKAN
#define ADDR(type) type
#define F32 float
#define U32 uint
#else
#include <assert.h>
#include <stdint.h>
#define ADDR(type) uint64_t
#define F32 float
#define U32 uint32_t
#endif

/* What changes from step to step; written by the host into each slot, read by shaders. */
struct vkt_step_block {
    F32 lr;                     /* scheduled rate */
    F32 adam_m, adam_g, adam_v; /* the adam family's bias corrections: see optim/rule.glsl */
    F32 clip;                   /* global norm limit; 0: none */
    U32 step;                   /* from 0 */
    U32 dropout_key;            /* of (seed, dropout): see rng.h */
    U32 micro;                  /* of this step: 0 begins a new sum of gradients */
    F32 inv_weight; /* what loss and gradient are multiplied by: 1, or 1 / sum of weights */
    F32 ema;        /* share of the new parameters in their moving average */
    U32 rows, row; /* examples of this device's part of the batch, and which one of the batch is its
                      first; 0: all of it */
};

/* What a step reports: optim_state.comp writes it, updates and the host read it. */
struct vkt_scalars {
    F32 loss, grad_norm;
    F32 clip; /* 1, or limit / norm */
    F32 ok;   /* 1, or 0: NaN or Inf in loss or norm, nothing was updated */
    F32 hits;
    F32 skipped;    /* updates left out since the start of the process */
    F32 scale;      /* what the gradient is multiplied by: clip * inv_weight / loss_scale */
    F32 loss_scale; /* that this step's gradient was computed with; 1 without */
};

/* The loss scale of fp16, kept on the device by optim_state.comp: halved when a step overflows,
 * doubled after `every` steps in a row that did not. Powers of two, so that scaling is exact. */
struct vkt_loss_scale {
    F32 scale;
    F32 good; /* steps in a row without overflow; a whole number */
};
#define VKT_LOSS_SCALE_LEAST 1.0
#define VKT_LOSS_SCALE_MOST 16777216.0

/* One parameter group; updates find it by 256-element blocks. */
struct vkt_group_params {
    F32 lr_scale; /* 0: frozen */
    F32 weight_decay;
};
#define VKT_GROUP_BLOCK 256
#define VKT_MOMENTS8                                                                               \
    0x6d380001u /* purpose of the random bits that moments in 8 bits are rounded by */

/* eltwise.comp: z = op(x, y) */
#define VKT_EL_ADD 0
#define VKT_EL_MUL 1
#define VKT_EL_SCALE 2
#define VKT_EL_COPY 3
#define VKT_EL_FILL 4
#define VKT_EL_ACT 5
#define VKT_EL_ACT_BWD 6
struct eltwise_params {
    ADDR(u32s)
    x; /* u32s: elements of the type that the kernel was specialized for, see elem.glsl */
    ADDR(u32s) y;
    ADDR(u32s) z;
    U32 n; /* elements of z */
    U32 m; /* elements of y: index i % m */
    F32 s;
    U32 pad;
};

/* eltwise_chain.comp: up to VKT_CHAIN_STAGES of these one after another; operand k is stage k's */
#define VKT_EL_DROPOUT 7
#define VKT_EL_NOISE 8
#define VKT_CHAIN_STAGES 3
struct eltwise_chain_params {
    ADDR(u32s) x;
    ADDR(u32s) y0, y1, y2;
    ADDR(step_ref) step;
    ADDR(u32s) z;
    U32 n;             /* elements of z */
    U32 m0, m1, m2;    /* elements of the operands: index i % m */
    F32 s0, s1, s2;    /* of scale; of dropout 1 / (1 - p); the size of noise */
    U32 id, threshold; /* of dropout; id also of noise */
    U32 pad;
};

/* matmul_*.comp: C [M, N] = op(A) op(B), then bias, then an activation or times an activation's
 * derivative, then plus R. A kernel says before it includes this as what it reads A and B; C, aux
 * and r may be of 16 bits: see matmul_end.glsl. */
#ifndef VKT_MM_MATRIX
#define VKT_MM_MATRIX f32s
#endif
struct matmul_params {
    ADDR(VKT_MM_MATRIX) a;
    ADDR(VKT_MM_MATRIX) b;
    ADDR(f32s) bias; /* [N]; where VKT_MM_SUMS the sums [M] or [N], as no product has both */
    ADDR(f32s) c;
    ADDR(f32s) aux; /* [M, N]: written before the activation, or where the derivative is taken: see
                       act_bwd */
    ADDR(f32s) r;   /* [M, N], may be C */
    ADDR(step_ref) step;
    U32 M, N, K;
    U32 flags;
    U32 slice; /* steps of k that a slice takes; K: all. Slice s's C is [M, N] number s */
    U32 batch; /* > 0: number of products, of matrices one after the other; no slices */
    U32 tiles; /* workgroups that compute C; where VKT_MM_SUMS others lie between them */
    U32 pad;
};
#define VKT_MM_BIAS 1u
#define VKT_MM_PRE 2u            /* aux is written */
#define VKT_MM_SUMS 4u           /* A's or B's column sums are written, over `bias`; TN */
#define VKT_MM_NEVER 0x80000000u /* no product has it: masks what is loaded for the cache alone */
/* Added to constant ACT: the derivative of that activation is meant; R is left out in a step's
 * first micro-batch; R is added; the sums are of B's columns. */
#define VKT_MM_ACT_BWD 16
#define VKT_MM_MICRO 32
#define VKT_MM_RESIDUAL 64
#define VKT_MM_SUMS_B 128

/* sum.comp: chunk sums */
struct sum_params {
    ADDR(u32s) x;
    ADDR(f32s) y;
    U32 n, chunk, groups;
    U32 pad;
};

/* sum_rows.comp: column sums of x [rows, cols] in `splits` chunks of rows */
struct sum_rows_params {
    ADDR(u32s) x;
    ADDR(f32s) y;
    U32 rows, cols, chunk, splits;
};

/* What one dispatch takes that does the same for several tensors; of those that are not there no
 * column, and no element. sum_group.comp: y[i] [cols[i]] = sums of columns of x[i] [rows[i],
 * cols[i]] */
#define VKT_GROUPED 5
struct sum_group_params {
    ADDR(f32s) x[VKT_GROUPED];
    ADDR(f32s) y[VKT_GROUPED];
    U32 rows[VKT_GROUPED];
    U32 cols[VKT_GROUPED];
    U32 pad[2];
};

#include "norm_params.h"

/* softmax.comp: x -> y; softmax_bwd.comp: dy, y -> dx */
struct softmax_params {
    ADDR(f32s) dy;
    ADDR(f32s) x;
    ADDR(f32s) y;
    U32 rows, cols;
};

#include "loss_params.h"
#include "expert_params.h"
#include "general_params.h"

/* cast.comp */
struct cast_params {
    ADDR(u32s) x;
    ADDR(u32s) y;
    U32 n; /* elements */
    U32 pad;
};

/* accumulate.comp: sum = (first micro-batch ? 0 : sum) + x */
struct accumulate_params {
    ADDR(f32s) sum;
    ADDR(f32s) x;
    ADDR(step_ref) step;
    U32 n, pad;
};

/* ema.comp: average += share * (x - average) */
struct ema_params {
    ADDR(f32s) average;
    ADDR(f32s) x;
    ADDR(step_ref) step;
    U32 n, pad;
};

/* optim_state.comp */
struct optim_state_params {
    ADDR(u32s) squares; /* [n_squares], f32, and so on: each is summed */
    ADDR(u32s) loss;
    ADDR(u32s) hits;
    ADDR(step_ref) step;
    ADDR(u32s) skipped;
    ADDR(loss_scale_ref) loss_scale;
    ADDR(scalars_ref) scalars;
    U32 n_squares, n_loss, n_hits;
    U32 scale_every; /* vkt_loss_scale; 0: there is none */
};

struct optim_update_params {
    ADDR(f32s) theta;
    ADDR(f32s) grad;
    ADDR(f32s) m;
    ADDR(f32s) v;
    ADDR(scalars_ref) scalars;
    ADDR(step_ref) step;
    ADDR(u32s) blocks; /* group of each block of VKT_GROUP_BLOCK elements */
    ADDR(groups_ref) groups;
    ADDR(u32s) beside; /* theta in 16 bits, or directions as bits of f32, or not there */
    U32 n;
    F32 beta1, beta2, eps; /* momentum and rmsprop: gamma is beta1, rho is beta2 */
};

/* optim_update_more.comp: of rules that also keep changes of the gradient. */
struct optim_update_more_params {
    ADDR(f32s) theta, grad;
    ADDR(f32s) m, v, d, last;
    ADDR(scalars_ref) scalars;
    ADDR(step_ref) step;
    ADDR(u32s) blocks;
    ADDR(groups_ref) groups;
    ADDR(u32s) beside; /* as optim_update's */
    U32 n;
    F32 beta1, beta2, beta3, eps;
    U32 pad;
};

/* Rules for whole tensors: optim_squares.comp, optim_trust.comp, optim_apply.comp. */
struct optim_squares_params {
    ADDR(f32s) theta, u;
    ADDR(f32s) squares; /* [blocks, 2] of theta and u */
    ADDR(scalars_ref) scalars;
    U32 n;
    U32 pad;
};
struct optim_trust_params {
    ADDR(f32s) squares;
    ADDR(u32s) tensors; /* [n + 1]: first block of each, and the end of the last */
    ADDR(f32s) trust;   /* [blocks] */
    ADDR(u32s) counts;  /* [n] elements of each tensor */
    ADDR(step_ref) step;
    ADDR(u32s) blocks;
    ADDR(groups_ref) groups;
    U32 n;
    U32 pad;
};
struct optim_apply_params {
    ADDR(f32s) theta, u, trust; /* trust: where VKT_SPEC_TRUST */
    ADDR(scalars_ref) scalars;
    ADDR(step_ref) step;
    ADDR(u32s) blocks;
    ADDR(groups_ref) groups;
    ADDR(u32s) shadow; /* theta in 16 bits, or not there */
    U32 n;
    U32 pad;
};

/* optim_line.comp, of a matrix: means of squares of its rows, or columns, move on. */
struct optim_line_params {
    ADDR(f32s) grad, kept;
    ADDR(scalars_ref) scalars;
    ADDR(step_ref) step;
    U32 rows, cols;
};
/* optim_lines.comp: the directions that those give. */
struct optim_lines_params {
    ADDR(f32s) grad, u;
    ADDR(f32s) of_rows, of_cols, mean; /* of a vector there are but those of columns */
    ADDR(scalars_ref) scalars;
    U32 n, cols;
    F32 eps;
    U32 pad;
};

/* optim_update8.comp: moments in 8 bits, see optim/moments8.glsl. */
struct optim_update8_params {
    ADDR(f32s) theta, grad;
    ADDR(u32s) m, v;   /* four codes a word */
    ADDR(f32s) scales; /* of each block: the largest |m|; behind all, the largest v */
    ADDR(scalars_ref) scalars;
    ADDR(step_ref) step;
    ADDR(u32s) blocks;
    ADDR(groups_ref) groups;
    ADDR(u32s) beside; /* as optim_update's */
    U32 n, first; /* of all that is trained, which element is this one's first: for random bits */
    F32 beta1, beta2, eps;
};

/* embedding.comp: y = table[id] (+ pos[place]); *_bwd.comp: their gradients. A row's place is
 * start + row % T, or counted from the first row of its document. */
#define VKT_EMBED_POS 1u
#define VKT_EMBED_START 2u
#define VKT_EMBED_DOCS 4u
#define VKT_EMBED_ADD 8u /* of the gradient of a table */
struct unpack_params {
    ADDR(u32s) x, ids, y; /* x: src/base/quant.h; ids: of rows */
    U32 n, rows, cols;    /* eights of y; of x: rows, eights of a row */
    U32 pad;
};
struct embedding_params {
    ADDR(f32s) table; /* [V, C] */
    ADDR(u32s) ids;   /* [rows] */
    ADDR(f32s) pos;   /* [P, C] */
    ADDR(u32s) start; /* [1] position of each row's first token */
    ADDR(u32s) docs;  /* [rows] where in its T each one's document begins */
    ADDR(f32s) y;     /* [rows, C] */
    U32 rows, cols, T;
    U32 vocab, n_pos;
    U32 flags;
};
struct embedding_bwd_params {
    ADDR(f32s) dy;       /* [rows, C] */
    ADDR(u32s) order;    /* [rows] */
    ADDR(u32s) segments; /* [n + 1] */
    ADDR(u32s) r;        /* [n, C], added where there is one */
    ADDR(f32s) dx;       /* [n, C] */
    U32 rows, cols, n;
    U32 flags; /* VKT_EMBED_ADD */
};
struct embedding_pos_bwd_params {
    ADDR(f32s) dy;   /* [rows, C] */
    ADDR(u32s) docs; /* [rows] */
    ADDR(f32s) dx;   /* [n, C] */
    U32 rows, cols, n, T;
    U32 flags;
    U32 pad;
};

/* rope.comp: rotates the first n_rot heads of each row, copies the others */
#define VKT_ROPE_HALVES 1u /* pairs (i, i + D/2); else (2i, 2i + 1) */
#define VKT_ROPE_BACK 2u   /* by minus the angle: the gradient */
#define VKT_ROPE_START 4u
#define VKT_ROPE_DOCS 8u
struct rope_params {
    ADDR(u32s) x;     /* [rows, cols] */
    ADDR(f32s) table; /* [P, turning]: cosines, then sines */
    ADDR(u32s) start; /* [1] */
    ADDR(u32s) docs;  /* [rows] */
    ADDR(u32s) y;
    U32 n;             /* pairs in all: rows * cols / 2 */
    U32 cols, T, head; /* T rows to a sequence; D */
    U32 n_rot;         /* columns that are rotated */
    U32 turning;       /* of a head's numbers, the first ones; D or fewer */
    U32 n_pos;
    U32 flags;
};

/* attention*.comp. Rows of q, k, v are strided, so that they may lie side by side in one tensor. */
#define VKT_ATT_CAUSAL 1u
#define VKT_ATT_DOCS 2u
#define VKT_ATT_START 4u
struct attention_params {
    ADDR(f32x4s) q; /* [B, T, heads, D] */
    ADDR(f32x4s) k; /* [B, S, heads / group, D], of a cache perhaps in 16 bits */
    ADDR(f32x4s) v;
    ADDR(u32s) docs;   /* [B, T] first position of each token's document */
    ADDR(u32s) start;  /* [1] position of the first query: keys before it and up to it are there */
    ADDR(f32x4s) y;    /* [B, T, heads, D] */
    ADDR(f32s) lse;    /* [B, heads, T] */
    U32 batch, T, S;   /* queries, keys of a sequence */
    U32 heads, group;  /* group: query heads to a key's head */
    U32 q_row, kv_row; /* vec4 from row to row */
    U32 window;        /* 0: none */
    U32 flags;
    F32 scale;
    F32 cap;   /* cap.glsl */
    U32 parts; /* attention_query.comp: of the keys that a query sees, each with a row of y and lse
                */
};
struct attention_bwd_params {
    ADDR(f32x4s) q;
    ADDR(f32x4s) k;
    ADDR(f32x4s) v;
    ADDR(u32s) docs;
    ADDR(f32x4s) dy;
    ADDR(f32s) lse;
    ADDR(f32s) delta; /* [B, heads, T] sum of dy y */
    ADDR(f32x4s) dx;  /* dq, or dk */
    ADDR(f32x4s) dv;
    U32 batch, T, S;
    U32 heads, group;
    U32 q_row, kv_row;
    U32 window;
    U32 flags;
    F32 scale;
    F32 cap;
    U32 pad;
};
struct attention_delta_params {
    ADDR(u32s) dy; /* f32 or 16 bits, as y */
    ADDR(u32s) y;
    ADDR(f32s) delta;
    U32 T, heads, n; /* n: of delta */
    U32 pad;
};
struct attention_join_params {
    ADDR(f32x4s) parts; /* [B, parts, heads, D] */
    ADDR(f32s) lses;    /* [B, heads, parts] */
    ADDR(f32x4s) y;     /* [B, heads, D] */
    ADDR(f32s) lse;     /* [B, heads] */
    U32 n_parts, heads;
    U32 n; /* vec4 of y */
    U32 pad;
};

/* cache_write.comp */
struct cache_write_params {
    ADDR(u32s) keys; /* [B, P, C] f32, f16 or bf16 */
    ADDR(u32s) values;
    ADDR(f32s) new_keys; /* [B, T, W] */
    ADDR(f32s) new_values;
    ADDR(u32s) start; /* [1] */
    U32 P, C, T, W, key_column, value_column;
    U32 n; /* B T C, of 16 bits half of it */
    U32 pad;
};

/* gated.comp: y = act(gate) up; gated_bwd.comp: both gradients */
struct gated_params {
    ADDR(u32s) gate; /* side by side with up: [.., 2 cols], and so are their gradients */
    ADDR(u32s) up;
    ADDR(u32s) dy;
    ADDR(u32s) y; /* or dgate */
    ADDR(u32s) dup;
    U32 n, cols; /* cols 0: gate and up are apart */
};
/* conv_*.comp: y [N, oh, ow, co] from x [N, h, wd, c], NHWC, and w [kh, kw, ci = c / groups, co];
 * for the gradient of w w is dy and y is dw. flags: VKT_MM_BIAS, VKT_MM_PRE */
struct conv_params {
    ADDR(elems) x; /* elems.glsl */
    ADDR(elems) w;
    ADDR(f32s) bias; /* [co] */
    ADDR(f32s) y;
    ADDR(f32s) pre; /* as y, before the activation */
    U32 h, wd, c;
    U32 oh, ow, co;
    U32 kh, kw, ci;
    U32 pad, dil, groups; /* pad: before the first row; dil: of rows, of columns << 16 */
    U32 pixels;           /* N oh ow */
    U32 slice;            /* gradient of w: rows of pixels that a slice takes */
    U32 flags;
    U32 pad_w; /* before the first column */
};
/* pool.comp, pool_bwd.comp: x [N, h, wd, c], y and index [N, oh, ow, c] */
struct pool_params {
    ADDR(elems) x;
    ADDR(elems) y;
    ADDR(elems) index; /* u32: kh KW + kw of the maximum */
    U32 h, wd, c;
    U32 oh, ow;
    U32 pad, pad_w; /* before the first row, the first column */
    U32 lines;      /* of the side that is written */
    F32 scale;      /* of the mean */
    U32 low, high;  /* rows that count, of x with its padding: from, to before */
    U32 low_w, high_w;
    U32 unused;
};
/* swap.comp: x [n, a, b], y [n, b, a] */
struct swap_params {
    ADDR(f32s) x;
    ADDR(f32s) y;
    U32 n, a, b, pad;
};
/* lookup.comp, lookup_bwd.comp: x [n, cols], y [n, width = plain + (cols - plain) d], table [rows,
 * d]; or both gradients */
#define VKT_LOOKUP_COLUMNS 16 /* of the gradient of a row of the table, an invocation */
struct lookup_params {
    ADDR(f32s) x;
    ADDR(f32s) table;
    ADDR(f32s) y;
    U32 n, cols, plain, width, rows, d;
};
/* pad.comp */
struct pad_params {
    ADDR(f32s) x;
    ADDR(f32s) y;
    U32 h, wd, c;
    U32 oh, ow;
    U32 top, left; /* modulo 2^32 */
    U32 lines;     /* N oh */
};
/* conv_flip.comp */
struct conv_flip_params {
    ADDR(f32s) w;
    ADDR(f32s) y;
    U32 n; /* elements */
    U32 c, co, groups;
};
/* conv_flips.comp: the same of several filters, without groups */
struct conv_flips_params {
    ADDR(f32s) w[VKT_GROUPED];
    ADDR(f32s) y[VKT_GROUPED];
    U32 n[VKT_GROUPED];
    U32 channels[VKT_GROUPED]; /* c + 65536 co */
    U32 pad[2];
};

/* bench_*.comp: the device's ceilings */
#define VKT_BENCH_COPY 0
#define VKT_BENCH_READ 1
#define VKT_BENCH_WRITE 2
#define VKT_BENCH_TRIAD 3
struct bench_stream_params {
    ADDR(f32s) x;
    ADDR(f32s) y;
    ADDR(f32s) z;
    U32 n; /* floats, or vec4 where WIDE; a multiple of the workgroup's share */
    F32 s;
};
struct bench_fma_params {
    ADDR(f32s) z;
    U32 n, trips;
    F32 a, b;
};
struct bench_matrix_params {
    ADDR(f32s) z;
    U32 trips, pad;
};
struct bench_count_params {
    ADDR(u32s) z;
    U32 index, pad;
};

#ifndef VULKAN
static_assert(sizeof(struct vkt_step_block) % 16 == 0, "step blocks lie one after the other");
static_assert(sizeof(struct optim_update_params) <= 128, "push constants");
static_assert(sizeof(struct optim_update_more_params) <= 128, "push constants");
static_assert(sizeof(struct optim_update8_params) <= 128, "push constants");
static_assert(sizeof(struct eltwise_chain_params) <= 128, "push constants");
static_assert(sizeof(struct matmul_params) <= 128, "push constants");
static_assert(sizeof(struct conv_params) <= 128, "push constants");
static_assert(sizeof(struct sum_group_params) <= 128, "push constants");
static_assert(sizeof(struct conv_flips_params) <= 128, "push constants");
static_assert(sizeof(struct xent_params) <= 128, "push constants");
static_assert(sizeof(struct attention_bwd_params) <= 128, "push constants");
#endif
#endif
