/* model_memory.h */
#include <stdlib.h>

#include "base/memory.h"
#include "nn/model_memory.h"

vkt_status vkt__model_buffer_create(vkt_gpu *gpu, const vkt_buffer_desc *desc, vkt_buffer **out)
{
    if (gpu) return vkt_buffer_create(gpu, desc, out);
    vkt_buffer *b = vkt__alloc(sizeof *b);
    b->bytes = desc->bytes;
    b->label = desc->label;
    b->host = vkt__alloc(desc->bytes);
    *out = b;
    return VKT_OK;
}

void vkt__model_buffer_destroy(vkt_gpu *gpu, vkt_buffer **b)
{
    if (gpu) {
        vkt_buffer_destroy(gpu, b);
    } else if (*b) {
        free((*b)->host);
        free(*b);
        *b = NULL;
    }
}
