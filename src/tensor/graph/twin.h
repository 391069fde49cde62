/* Running rows by their C twins. */
#ifndef VKT_TENSOR_TWIN_H
#define VKT_TENSOR_TWIN_H

#include "tensor/graph/op.h"

/* One node's twin; 16-bit outputs are rounded. */
void vkt__node_ref(const vkt_node *n, double *const *in, double *const *out);
/* Runs every node's twin on host memory: init(user, t, data) fills inputs, then done(user, t, data)
 * sees every tensor's values. Bound tensors that share a buffer share memory. */
void vkt__graph_ref(vkt_graph *g, void (*init)(void *user, const vkt_tensor *t, double *data),
                    void *user, void (*done)(void *user, const vkt_tensor *t, const double *data));

#endif
