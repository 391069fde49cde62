/* Which op rows the benchmark measures on which shapes. */
#ifndef VKT_BENCH_OPS_TABLE_H
#define VKT_BENCH_OPS_TABLE_H

#include "tensor/ops/ops.h"

/* m, n: rows and columns, of matmul M and N. Pictures are [m, n, n, k]; a convolution goes to
 * `out` channels by taps x taps, padded to keep the size. dtype: of a matmul's operands, and of
 * attention's; result: of a matmul, in whose epilogue a bias, an activation and a sum may be.
 * Attention: m examples of n tokens, k heads of `out` numbers each; embedding: m examples of n
 * tokens, a vocabulary of k, rows of `out` numbers. */
typedef struct vkt__bench_shape {
    uint32_t m, n, k;
    vkt_layout layout;
    uint32_t out, taps, stride;
    vkt_dtype dtype, result;
    bool bias, residual;
    vkt_act act;
} vkt__bench_shape;

typedef enum vkt__bench_family {
    VKT__BENCH_ELEMENTS,
    VKT__BENCH_ROWS,
    VKT__BENCH_CLASSES,
    VKT__BENCH_ATTENTION,
    VKT__BENCH_EMBEDDING,
    VKT__BENCH_MATMUL,
    VKT__BENCH_IMAGES,
    VKT__BENCH_CONV
} vkt__bench_family;

/* whole: all nodes of the graph are the op (stages of a reduction), not only those of the row. */
typedef struct vkt__bench_entry {
    const vkt_op *op;
    void (*build)(vkt_graph *, vkt__bench_shape);
    vkt__bench_family family;
    bool whole;
    const char *what;
} vkt__bench_entry;
/* NULL: the row has no shapes here. */
const vkt__bench_entry *vkt__bench_entry_of(const vkt_op *op);

/* level 0: once, 1: quick and full, 2: full, 3: full on a GPU. checked: the twin computes only a
 * graph of m = checked, whose results are the first ones of the whole; 0: all. */
typedef struct vkt__bench_sized {
    vkt__bench_shape s;
    uint32_t level, checked;
} vkt__bench_sized;
const vkt__bench_sized *vkt__bench_sizes(vkt__bench_family family, size_t *n);

/* The graph of a case. *narrow, unless NULL: whether attention multiplies in s.dtype, as it does in
 * a step of that precision; on devices whose kernels don't it stays in f32. */
vkt_graph *vkt__bench_graph(vkt_gpu *gpu, const vkt__bench_entry *entry, vkt__bench_shape s,
                            bool *narrow);

/* "matmul bf16 NT M 64 N 64 K 64": what a row is called; entry NULL: that sample of the row. */
void vkt__bench_name(const vkt_op *op, const vkt__bench_entry *entry, vkt__bench_shape s,
                     uint32_t sample, char *out, size_t n);

/* The product that a convolution row computes, as the tiles of its kernels do. */
vkt__bench_shape vkt__bench_product_of(const vkt_op *op, vkt__bench_shape conv);

#endif
