/* What the tuners' candidates are timed on. */
#ifndef VKT_TENSOR_TUNE_INPUTS_H
#define VKT_TENSOR_TUNE_INPUTS_H

#include "tensor/graph/op.h"

/* How many equal nodes a candidate's graph has at most, one after the other as in a step. */
#define VKT__TUNE_COPIES 8
/* Sets of inputs that a GPU's copies take in turn, so that none finds its own in the last cache. */
#define VKT__TUNE_SETS 3
#define VKT__TUNE_INPUTS 5 /* of a set at most; those that are NULL a node does without */

/* A candidate: its kernel's name, graph, the inputs of as many sets as there are, its last copy's
 * result; how long it takes. */
typedef struct vkt__tuned {
    const char *kernel;
    vkt_graph *g;
    vkt_tensor *in[VKT__TUNE_SETS][VKT__TUNE_INPUTS], *out;
    uint32_t copies; /* 0: 1 */
    double ms;
} vkt__tuned;

typedef struct vkt__tune_inputs {
    vkt_buffer *mem;                   /* all inputs, `sets` times */
    double *values[VKT__TUNE_INPUTS];  /* theirs: element i is values[i % period] */
    uint64_t period[VKT__TUNE_INPUTS]; /* as many as there are elements, or a prime number */
    uint64_t at[VKT__TUNE_INPUTS];     /* where in a set they begin */
    uint64_t bytes;                    /* of a set */
    uint32_t sets, copies;
} vkt__tune_inputs;

/* After how many elements a tensor's values may be the same again, so that no two of its tiles,
 * rows or slices are: a prime number that divides none of its lengths, and is larger than its rows
 * and its columns are many, so that no sum sees all of it; else all elements. */
uint64_t vkt__tune_period(vkt_shape shape);
/* Random inputs, exact in their types, for a graph like `shape`, where only in[0] and out are read;
 * freed by vkt__tune_free, whatever is returned. They repeat after vkt__tune_period. whole:
 * `values` have all elements. */
vkt_status vkt__tune_fill(vkt_gpu *gpu, const vkt__tuned *shape, bool whole, vkt__tune_inputs *out);
void vkt__tune_free(vkt_gpu *gpu, vkt__tune_inputs *inputs);
/* Wishes for the kernels of a candidate's graph of one set. */
void vkt__tune_wish(const vkt__tune_inputs *inputs, vkt__tuned *c);
/* Compiles a candidate's graph with all its sets bound. */
vkt_status vkt__tune_compile(const vkt__tune_inputs *inputs, vkt__tuned *c);

#endif
