/* Private to src/data: windows of whole documents. */
#ifndef VKT_DATA_PACKING_H
#define VKT_DATA_PACKING_H

#include "vktrain/data.h"

typedef struct vkt__window {
    uint64_t at; /* its first token in the split's stream */
    uint32_t n;  /* tokens, the last of which is a target only */
} vkt__window;

/* Windows of up to context + 1 tokens, each of as many whole documents in order as it has place
 * for. begin [n + 1]: where each document begins in the stream, then the stream's end. Documents
 * that are longer have a window of their last tokens, or are left out, or FORMAT, as too_long says;
 * it is logged how many. The caller frees *out. */
vkt_status vkt__pack_windows(const uint64_t *begin, size_t n, uint32_t context,
                             vkt_too_long too_long, const char *name, vkt__window **out,
                             size_t *n_out);

#endif
