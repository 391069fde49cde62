/* Private to src/data: documents as tokens in memory. */
#ifndef VKT_DATA_STORE_H
#define VKT_DATA_STORE_H

#include "data/text/document.h"

typedef struct vkt__store {
    vkt_tokens tokens;
    uint64_t *document; /* [n_documents] where each begins */
    size_t n_documents, documents_cap;
    uint8_t *uncounted; /* a bit for each token that does not count in the loss; NULL: all do */
    size_t uncounted_cap;
    uint64_t n_bytes; /* of text */
} vkt__store;
/* Appends a document and the end token, if the tokenizer has one. FORMAT: it can't be encoded; the
 * line names it. */
vkt_status vkt__store_add(vkt__store *s, vkt_tokenizer *t, const vkt__document *d);
void vkt__store_finish(vkt__store *s);

#endif
