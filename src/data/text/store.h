/* Private to src/data: documents as tokens, in memory or handed on some at a time. */
#ifndef VKT_DATA_STORE_H
#define VKT_DATA_STORE_H

#include "data/text/document.h"

/* Takes tokens away, in order. */
typedef vkt_status (*vkt__tokens_fn)(void *user, const uint32_t *id, size_t n);

typedef struct vkt__store {
    vkt_tokens tokens;  /* those that `out` has not taken */
    uint64_t n_out;     /* those that it has, before them */
    vkt__tokens_fn out; /* or NULL: all stay */
    void *user;
    size_t most;        /* tokens that stay before `out` takes them */
    uint64_t *document; /* [n_documents] where each begins */
    size_t n_documents, documents_cap;
    uint8_t *uncounted; /* a bit for each token that does not count in the loss; NULL: all do */
    size_t uncounted_cap;
    uint64_t n_bytes; /* of text */
} vkt__store;
/* Appends a document and the end token, if the tokenizer has one. FORMAT: it can't be encoded; the
 * line names it. */
vkt_status vkt__store_add(vkt__store *s, vkt_tokenizer *t, const vkt__document *d);
/* Gives `out` the rest. */
vkt_status vkt__store_hand_over(vkt__store *s);
/* Tokens so far, wherever they are. */
uint64_t vkt__store_count(const vkt__store *s);
void vkt__store_finish(vkt__store *s);

#endif
