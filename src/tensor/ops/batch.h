/* What the batch norm rows share: forward (ops_batch.c), backward (ops_batch_bwd.c), with pooling
 * (ops_batch_pool.c). */
#ifndef VKT_TENSOR_BATCH_H
#define VKT_TENSOR_BATCH_H

#include "tensor/ops/ops.h"

/* How x is cut in groups and chunks, and all else of the push struct but the addresses. sums: in
 * chunks whose sums are merged later, a function of shapes only; else for elementwise kernels. */
struct batch_norm_params vkt__batch_params(const vkt_node *n, const vkt_tensor *x, bool sums);
/* Rows that a chunk holds: from *begin to before the result. */
uint64_t vkt__batch_chunk_rows(const struct batch_norm_params *p, uint64_t chunk, uint64_t *begin);
uint64_t vkt__batch_rows_in(const struct batch_norm_params *p, uint64_t group);

/* An invocation to a channel, or pair of channels, of each chunk of p. */
void vkt__batch_dispatch(vkt__rec *rec, const char *kernel, const char *pairs,
                         struct batch_norm_params *p, uint32_t act, uint32_t fixed);
/* An invocation to a channel. */
void vkt__batch_dispatch_columns(vkt__rec *rec, const char *kernel, const void *p, uint32_t bytes,
                                 uint32_t cols);

/* 1 / standard deviation out of v: that, or by the running averages the variance. */
double vkt__batch_rstd(const vkt_node *n, double v);
/* The twin's dx at element i of batch_norm_bwd's inputs, where the gradient after the norm is g. */
double vkt__batch_dx(const vkt_node *n, const struct batch_norm_params *p, double *const *in,
                     uint64_t i, double g);
/* The gradient of batch_norm: its row's `grad`. */
void vkt__batch_norm_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx);
/* The end of the gradient of a norm n by its sums: of w and b; of x out of d, or where there was
 * pooling out of d and the windows' places. */
void vkt__batch_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *d, const vkt_node *sums,
                     vkt_tensor *place, vkt_tensor **dx);

/* Case i of a norm by the batch, or by the running averages; NULL past the last. */
vkt_node *vkt__batch_sample(vkt_graph *g, uint32_t i, bool train, const char **name);

double vkt__batch_finish_terms(const vkt_node *n);
/* Of batch_norm, batch_norm_sums and batch_norm_bwd, whose first inputs the rows that pool have
 * too. */
double vkt__batch_norm_terms(const vkt_node *n);
double vkt__batch_sums_terms(const vkt_node *n);
double vkt__batch_bwd_terms(const vkt_node *n);

#endif
