/* Private to src/data: tokens in a file that training maps into memory. */
#ifndef VKT_DATA_SHARD_H
#define VKT_DATA_SHARD_H

#include "base/os.h"
#include "data/text/store.h"

/* Tokens of one shard, in memory or mapped. */
typedef struct vkt__shard {
    const void *tokens; /* [n] u16 or u32, little endian, aligned */
    uint32_t width;     /* bytes of a token: 2 or 4 */
    uint64_t n;
    const uint64_t *document; /* [n_documents] where each begins, rising from 0 */
    uint64_t n_documents;
    const uint8_t *uncounted; /* [(n + 7) / 8] bits, or NULL */
    uint64_t *own_document;   /* document, where it is not in the map */
    vkt__map map;             /* what it lies in, if mapped */
    /* As its header says; of llm.c's shards none. */
    uint64_t tokenizer_hash, content_hash;
    const char *tokenizer; /* [n_tokenizer] a tokenizer.json */
    uint64_t n_tokenizer;
} vkt__shard;

/* A file that is a shard, ours or llm.c's, by its first bytes, or by its name: one whose head is
 * damaged is not taken for a text. */
bool vkt__shard_at(const char *path);
/* The shard at path, or the files of a folder where one is a shard; none: *n is 0. */
vkt_status vkt__shards_list(const char *path, vkt__arena *a, const char ***out, uint32_t *n);
/* Points into the bytes, which are aligned to 8 and outlive it. FORMAT: lengths that do not fit,
 * documents that do not rise. */
vkt_status vkt__shard_parse(const void *bytes, size_t n, const char *name, vkt__shard *out);
vkt_status vkt__shard_open(const char *path, vkt__shard *out);
void vkt__shard_close(vkt__shard *s);
/* Every token is below n_vocab, and their hash is the header's (not of llm.c's): reads all. */
vkt_status vkt__shard_check(const vkt__shard *s, const char *name, uint32_t n_vocab);
/* llm.c's shards tell documents apart by the end token that begins each. */
vkt_status vkt__shard_find_documents(vkt__shard *s, uint32_t end);

/* A shard that is written while its tokens come: begin, put any number of times, end. After end or
 * drop the file is closed. */
typedef struct vkt__shard_out {
    FILE *f;
    const char *path; /* not copied */
    const vkt_tokenizer *tokenizer;
    uint32_t width;
    uint64_t hash; /* of the tokens so far */
} vkt__shard_out;
vkt_status vkt__shard_begin(const char *path, const vkt_tokenizer *t, vkt__shard_out *o);
vkt_status vkt__shard_put(void *out, const uint32_t *id, size_t n); /* a vkt__tokens_fn */
/* The store's tables; it has handed over all of its tokens. */
vkt_status vkt__shard_end(vkt__shard_out *o, const vkt__store *store);
void vkt__shard_drop(vkt__shard_out *o);

#endif
