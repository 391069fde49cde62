/* The self-test of rows, for doctor and the tests. */
#ifndef VKT_TENSOR_CHECK_H
#define VKT_TENSOR_CHECK_H

#include "tensor/graph/op.h"

/* What vkt_check_ops should leave out. */
typedef struct vkt__check_desc {
    uint32_t most;     /* sample cases of each row at most; 0: all */
    const char *only;  /* names of rows, commas between them; NULL: all */
    bool compile_only; /* kernels are made and not run */
    bool no_named;     /* not products and convolutions that name their kernel: the class is nothing
                        * to them */
    bool few_foreign;  /* of cases that name a kernel shaped for other devices every eighth of its
                          family's first */
    bool at_once; /* a row's kernels are compiled by several threads, before any of them runs */
    uint32_t part, parts; /* of a row's cases every parts-th, from number `part` on; parts 0: all */
} vkt__check_desc;
vkt_status vkt__check_ops(vkt_gpu *gpu, const vkt__check_desc *desc,
                          void (*fn)(void *user, const vkt_check_result *r), void *user);

/* One graph, unplanned, whose inputs are samples, against its nodes' twins; why: what differs, ""
 * where nothing does. cancels: sums may be of terms that cancel, as those of rows' samples are not:
 * a result may be as far off as if its inputs were rounded. */
vkt_status vkt__check_graph(vkt_gpu *gpu, vkt_graph *g, bool cancels, char *why, size_t bytes);

#endif
