/* What the batch norm rows share: forward (ops_batch.c), backward (ops_batch_bwd.c), with pooling
 * (ops_batch_pool.c). */
#ifndef VKT_TENSOR_BATCH_H
#define VKT_TENSOR_BATCH_H

#include "tensor/ops/ops.h"

/* Operands by number: of batch_norm; of batch_norm_sums; of batch_norm_bwd. The rows that pool have
 * the same first ones. */
enum { VKT__BN_X, VKT__BN_MEAN, VKT__BN_RSTD, VKT__BN_W, VKT__BN_B, VKT__BN_R, VKT__BN_IN };
enum { VKT__BN_Y, VKT__BN_PRE, VKT__BN_OUT };
enum {
    VKT__BNS_DY,
    VKT__BNS_X,
    VKT__BNS_MEAN,
    VKT__BNS_RSTD,
    VKT__BNS_V,
    VKT__BNS_DY2,
    VKT__BNS_IN
};
enum { VKT__BNS_SUM_G, VKT__BNS_SUM_GH, VKT__BNS_G, VKT__BNS_OUT };
enum {
    VKT__BNB_G,
    VKT__BNB_X,
    VKT__BNB_MEAN,
    VKT__BNB_RSTD,
    VKT__BNB_W,
    VKT__BNB_SUM_G,
    VKT__BNB_SUM_GH,
    VKT__BNB_IN
};
enum { VKT__BNS_PLACE = VKT__BNS_V, VKT__BNB_PLACE = VKT__BNB_IN };

/* How x is cut in groups and chunks, and all else of the push struct but the addresses. sums: in
 * chunks whose sums are merged later, a function of shapes only; else for elementwise kernels. */
struct batch_norm_params vkt__batch_params(const vkt_node *n, const vkt_tensor *x, bool sums);
/* The push struct of a backward op whose inputs begin with dy, x, mean, rstd, w, sums of g, of g h;
 * with their addresses and that of dx. */
struct batch_norm_params vkt__batch_bwd_params(vkt__rec *rec, const vkt_node *n);
/* Rows that a chunk holds: from *begin to before the result. */
uint64_t vkt__batch_chunk_rows(const struct batch_norm_params *p, uint64_t chunk, uint64_t *begin);
uint64_t vkt__batch_rows_in(const struct batch_norm_params *p, uint64_t group);

/* An invocation to a channel, or pair of channels, of each chunk of p. added: batch_norm_sums has a
 * second term. */
void vkt__batch_dispatch(vkt__rec *rec, vkt__shader kernel, vkt__shader pairs,
                         struct batch_norm_params *p, uint32_t act, uint32_t fixed, bool added);

/* For GPUs: how a workgroup of the kernels that merge chunks takes channels and rows
 * (batch_merge.glsl). */
typedef struct vkt__batch_tile {
    uint32_t wg, beside, blocks; /* blocks of channels: workgroups beside each other */
    uint32_t together;
    bool vectors;
} vkt__batch_tile;
/* chunks: that it merges; 0: it makes them. */
vkt__batch_tile vkt__batch_tile_of(const vkt_caps *c, uint32_t cols, uint32_t chunks);
/* An invocation to a channel; on GPUs, by a kernel that merges with a workgroup's lanes. */
void vkt__batch_dispatch_merge(vkt__rec *rec, vkt__shader kernel, vkt__shader tiled,
                               vkt__shader vectors, const void *p, uint32_t bytes, uint32_t cols,
                               uint32_t chunks);
enum { VKT__BATCH_CONSTANTS = 3 };
/* `strips` workgroups, times blocks of channels; the kernel's own constants, at most
 * VKT__BATCH_CONSTANTS, are in `more`. */
void vkt__batch_dispatch_strips(vkt__rec *rec, vkt__shader tiled, vkt__shader vectors,
                                const void *p, uint32_t bytes, uint32_t cols, uint32_t chunks,
                                uint32_t strips, const vkt__constant *more, uint32_t n_more);
typedef struct vkt__batch_kernels {
    vkt__shader kernel, pairs, tiled, vectors; /* the latter for GPUs */
} vkt__batch_kernels;
/* Sums of p's chunks: as vkt__batch_dispatch, on GPUs a workgroup a chunk and block of channels. */
void vkt__batch_dispatch_chunks(vkt__rec *rec, const vkt__batch_kernels *k,
                                struct batch_norm_params *p, uint32_t act, uint32_t fixed,
                                bool added);
/* Rows of a strip: many enough that merging `chunks` chunks is the smaller part, few enough that
 * there is work for every core. */
uint32_t vkt__batch_strip(const vkt_caps *c, uint32_t rows, uint32_t cols, uint32_t chunks);

/* What the chunks that a batch_finish merges are of. */
const vkt_tensor *vkt__batch_x(const vkt_node *finish);
/* 1 / standard deviation out of v: that, or by the running averages the variance. */
double vkt__batch_rstd(const vkt_node *n, double v);
/* The twin's dx at element i of batch_norm_bwd's inputs, where the gradient after the norm is g. */
double vkt__batch_dx(const vkt_node *n, const struct batch_norm_params *p, double *const *in,
                     uint64_t i, double g);
/* The gradient of batch_norm: its row's `grad`. */
void vkt__batch_norm_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx);
/* The end of the gradient of a norm n by its sums: of w and b; of x by the row `backward`, out of
 * d, or where there was pooling out of d and the windows' places (else place is NULL). */
void vkt__batch_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *d, const vkt_node *sums,
                     vkt_tensor *place, const vkt_op *backward, vkt_tensor **dx);

/* A sample case of the rows, forward and backward. */
typedef struct vkt__batch_case {
    const char *name;
    uint32_t x[3], virtual_batch;
    vkt_act act;
    bool residual, far; /* far: from zero */
} vkt__batch_case;
/* NULL past the last. */
const vkt__batch_case *vkt__batch_case_at(uint32_t i);
vkt_tensor *vkt__batch_case_x(vkt_graph *g, const vkt__batch_case *s);

/* Rows of a ghost batch when x has `rows` rows, and the number of ghost batches. */
uint32_t vkt__batch_group_rows(const vkt_node *n, uint32_t rows);
uint32_t vkt__batch_groups(const vkt_node *n, uint32_t rows);

double vkt__batch_stats_terms(const vkt_node *n);
double vkt__batch_finish_terms(const vkt_node *n);
/* Of batch_norm, batch_norm_sums and batch_norm_bwd, whose first inputs the rows that pool have
 * too. */
double vkt__batch_norm_terms(const vkt_node *n);
double vkt__batch_sums_terms(const vkt_node *n);
double vkt__batch_bwd_terms(const vkt_node *n);

#endif
