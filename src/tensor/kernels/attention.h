/* Attention's inputs and sizes; which kernel a node gets, and how it is launched. */
#ifndef VKT_TENSOR_ATTENTION_H
#define VKT_TENSOR_ATTENTION_H

#include "gpu/commands.h"
#include "tensor/graph/op.h"

/* Inputs of the forward row; of the backward row, after the same four. */
enum { VKT__ATT_Q, VKT__ATT_K, VKT__ATT_V, VKT__ATT_DOCS, VKT__ATT_START };
enum { VKT__ATT_DY = VKT__ATT_START, VKT__ATT_LSE, VKT__ATT_DELTA };

typedef struct {
    uint32_t B, T, S, H, Hkv, D;
    uint64_t q_row, kv_row; /* elements from row to row */
} vkt__att_dims;
vkt__att_dims vkt__att_dims_of(const vkt_node *n);

enum { VKT__ATT_MOST_HEAD = 256 };

/* attr.attention.kernel, 0: by device. DIRECT: rows in registers, for CPU drivers. STAGED: the
 * other side through shared memory. TILED: products of tiles. MATRIX: on matrix units, where
 * attr.attention.multiply is of 16 bits; with twice the keys at a time, twice the queries to a
 * workgroup, or both, which no device gets by itself, but by its number and `--cap attention=`.
 * QUERY, and on Mesa's CPU driver ONE, which is never named: one query a sequence. */
typedef enum {
    VKT__ATT_BY_DEVICE,
    VKT__ATT_DIRECT,
    VKT__ATT_STAGED,
    VKT__ATT_TILED,
    VKT__ATT_MATRIX,
    VKT__ATT_MATRIX_KEYS,
    VKT__ATT_MATRIX_ROWS,
    VKT__ATT_MATRIX_BOTH,
    VKT__ATT_QUERY,
    VKT__ATT_N_KERNELS,
    VKT__ATT_ONE
} vkt__att_kernel;
/* What is computed: the result; the gradient of q; those of k and v; one of these. */
typedef enum {
    VKT__ATT_FORWARD,
    VKT__ATT_BWD_Q,
    VKT__ATT_BWD_KV,
    VKT__ATT_BWD_K,
    VKT__ATT_BWD_V
} vkt__att_pass;

vkt__att_kernel vkt__att_choose(const vkt_caps *c, const vkt_node *n, vkt__att_pass pass);
const char *vkt__att_kernel_name(vkt__att_kernel kernel);
/* One of those on matrix units. */
bool vkt__att_on_units(vkt__att_kernel kernel);
/* How many kernels after VKT__ATT_MATRIX, in their order, this device may run. */
uint32_t vkt__att_more_on_units(const vkt_caps *c);
/* Whether the kernel named, if the device has what it needs, can compute this node. */
bool vkt__att_fits(vkt__att_kernel kernel, const vkt_caps *c, const vkt_node *n,
                   vkt__att_pass pass);
/* Whether the node names a kernel shaped for other devices. */
bool vkt__attention_is_foreign(const vkt_node *n, const vkt_caps *caps);

/* Whether the gradients of k and v are computed one after the other, for registers. */
bool vkt__att_splits(const vkt_caps *c, const vkt_node *n);

enum { VKT__ATT_SPEC = 13 };
typedef struct {
    vkt__shader shader;
    vkt__constant spec[VKT__ATT_SPEC];
    uint32_t n_spec;
    uint32_t owned; /* queries, of the gradients of k and v keys, to a workgroup */
} vkt__att_launch;
vkt__att_launch vkt__att_prepare(const vkt_caps *c, const vkt_node *n, vkt__att_pass pass);

/* Parts into which the keys of one query a sequence are cut, so that cores have work: 1, not at
 * all.
 */
uint32_t vkt__att_parts(const vkt_caps *c, const vkt_node *n);
/* What runs a part, and with one all. */
vkt__att_launch vkt__att_of_query(const vkt_caps *c, const vkt_node *n);

#endif
