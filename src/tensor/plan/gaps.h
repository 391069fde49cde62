/* Tensors that have a place in the slab, by place, and where among them another one fits. */
#ifndef VKT_TENSOR_GAPS_H
#define VKT_TENSOR_GAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Memory from `at` to before `end`, in use at levels first to last. */
typedef struct vkt__placed {
    uint64_t at, end;
    uint32_t first, last;
} vkt__placed;

typedef struct vkt__gaps {
    struct vkt__gap_node *list; /* a balanced tree; [0] stands for none */
    uint32_t n, most, top;
    uint32_t peak;        /* the level with most memory in use */
    uint64_t chunk_bytes; /* nothing straddles a multiple of it */
    bool no_reuse;        /* all are in use at the same time */
    uint64_t work;        /* places looked at */
} vkt__gaps;

/* Room for `most`. */
vkt__gaps vkt__gaps_new(uint32_t most, uint64_t chunk_bytes, uint32_t peak, bool no_reuse);
void vkt__gaps_clear(vkt__gaps *g);
void vkt__gaps_add(vkt__gaps *g, const vkt__placed *p);
/* Where `bytes` that are in use at levels first to last go: into the lowest gap, or the tightest;
 * above all where there is none. */
uint64_t vkt__gaps_find(vkt__gaps *g, uint64_t bytes, uint32_t first, uint32_t last, bool tightest);
void vkt__gaps_finish(vkt__gaps *g);

#endif
