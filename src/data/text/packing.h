/* Private to src/data: windows of whole documents. */
#ifndef VKT_DATA_PACKING_H
#define VKT_DATA_PACKING_H

#include "data/text/shard.h"
#include "vktrain/data.h"

typedef struct vkt__window {
    uint64_t at; /* its first token in the split's stream */
    uint32_t n;  /* tokens; the last one is a target only */
} vkt__window;

/* Windows of up to context + 1 tokens, each of as many whole documents in order as it has place
 * for. begin [n + 1]: where each document begins in the stream, then the stream's end. Documents
 * that are longer have a window of their last tokens, or are left out, or FORMAT, as too_long says;
 * it is logged how many. The caller frees *out. */
vkt_status vkt__pack_windows(const uint64_t *begin, size_t n, uint32_t context,
                             vkt_too_long too_long, const char *name, vkt__window **out,
                             size_t *n_out);

/* Of documents in pairs, a window each of the context's tokens and one more: two for every
 * pair, in order; *n_out counts pairs. One that is longer makes its pair too long. */
vkt_status vkt__pack_pairs(const uint64_t *begin, size_t n, uint32_t context, vkt_too_long too_long,
                           const char *name, vkt__window **out, size_t *n_out);

/* A run of a shard's tokens in a split. */
typedef struct vkt__span {
    uint64_t at; /* in the split's stream */
    uint64_t first, n;
    uint32_t shard;
} vkt__span;

/* The splits' streams: spans one after the other. Free each span[]. */
typedef struct vkt__dealt {
    vkt__span *span[VKT_N_SPLITS];
    size_t n_spans[VKT_N_SPLITS];
    uint64_t n_tokens[VKT_N_SPLITS];
} vkt__dealt;

uint64_t vkt__count_documents(const vkt__shard *shard, uint32_t n);
/* The documents of n shards to the splits by desc's fractions and seed, of pairs the two of each
 * together. Whole ones (pairs are) count with the tokens that their windows keep; a single one that
 * need not be whole is cut. Into *out, which begins as { 0 }. */
vkt_status vkt__deal(const vkt__shard *shard, uint32_t n, bool pairs, bool whole,
                     const vkt_data_desc *desc, vkt__dealt *out);

#endif
