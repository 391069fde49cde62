/* Private to src/data: MNIST's array files, from bytes. */
#ifndef VKT_DATA_IDX_H
#define VKT_DATA_IDX_H

#include "data/parts/parts.h"

typedef struct vkt__idx {
    uint32_t rank, dim[4];
    uint64_t n_bytes; /* product of dim */
    uint8_t *data;    /* [dim], owned */
} vkt__idx;
/* u8 arrays of rank 1 (labels), 3 or 4 (images). */
vkt_status vkt__idx_parse(const void *bytes, size_t n, const char *name, vkt__idx *out);
void vkt__idx_finish(vkt__idx *idx);

#endif
