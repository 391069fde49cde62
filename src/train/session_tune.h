/* Tuning as training needs it. Knows graphs, not sessions. */
#ifndef VKT_TRAIN_SESSION_TUNE_H
#define VKT_TRAIN_SESSION_TUNE_H

#include "vktrain/tensor.h"

/* Before a graph is planned: where the gpu tunes by itself (vkt__gpu_tunes), times the kernels of
 * products and convolutions that no choice is kept for. *tuned_s: seconds that graphs of the same
 * job took so far, added to. Blocks: a job for vkt_gpu_desc.tune_seconds at most, and the shape
 * begun. */
vkt_status vkt__tune_new(vkt_gpu *gpu, vkt_graph *g, double *tuned_s);
/* All products and convolutions of two graphs, for runs to come. */
vkt_status vkt__tune_graphs(vkt_gpu *gpu, const vkt_graph *a, const vkt_graph *b,
                            const vkt_tune_desc *desc);

#endif
