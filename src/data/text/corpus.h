/* Private to src/data: token data. Documents (documents.c) become a store of tokens (store.c) in
 * memory or lie in shards on disk (shard.c); the corpus (corpus.c) deals them to the splits and
 * cuts each split into windows of `context` tokens, which are the examples. */
#ifndef VKT_DATA_CORPUS_H
#define VKT_DATA_CORPUS_H

#include "data/text/tokenizer.h"

/* ---- documents.c ---- */

/* A stretch of a document: its text, whether its tokens count in the loss, and whether control
 * tokens are recognised in it. */
typedef struct vkt__stretch {
    const char *text;
    size_t n;
    bool counts, special;
} vkt__stretch;
typedef struct vkt__document {
    const char *name; /* file, or file and line, for messages */
    const vkt__stretch *stretch;
    size_t n_stretches;
} vkt__document;
typedef vkt_status (*vkt__document_fn)(void *user, const vkt__document *d);

/* Where documents come from: paths, or a text that is one document. */
typedef struct vkt__source {
    const char *const *path;
    size_t n_paths;
    const char *name, *text; /* text: in place of the paths */
    size_t n_text;
} vkt__source;

/* Each document in order. A file is one (plain or gzip), but of a .jsonl file each line is one; of
 * a folder every file, by name, subfolders too; * and ? in a path's last part stand for any.
 * tokenizer: whose control tokens chats are written in; NULL: as plain text. IO, FORMAT: a path
 * with nothing there, an empty file, a line that is no document. */
vkt_status vkt__documents_read(const vkt__source *s, const vkt_tokenizer *tokenizer,
                               vkt__document_fn fn, void *user);
/* vkt_tokenizer_open; "chars" is made of the source's text. */
vkt_status vkt__documents_tokenizer(const vkt__source *s, const char *spec, vkt_tokenizer **out);

/* ---- jsonl.c: takes bytes, so that it can be fuzzed ---- */

/* Lines of {"text": ".."}, {"messages": [{"role": "..", "content": ".."}, ..]} or {"prompt": "..",
 * "completion": ".."}; of the last two only what the assistant says counts. */
vkt_status vkt__jsonl_read(const char *text, size_t n, const char *name,
                           const vkt_tokenizer *tokenizer, vkt__document_fn fn, void *user);

/* ---- store.c: tokens in memory ---- */

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

/* ---- shard.c ---- */

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

/* By its first bytes: ours, or llm.c's. */
bool vkt__shard_is(const void *bytes, size_t n);
/* Points into the bytes, which are aligned to 8 and outlive it. FORMAT: lengths that do not fit,
 * documents that do not rise. */
vkt_status vkt__shard_parse(const void *bytes, size_t n, const char *name, vkt__shard *out);
vkt_status vkt__shard_open(const char *path, vkt__shard *out);
void vkt__shard_close(vkt__shard *s);
/* Every token is below n_vocab: reads all. */
vkt_status vkt__shard_check(const vkt__shard *s, const char *name, uint32_t n_vocab);
/* llm.c's shards tell documents apart by the end token that begins each. */
vkt_status vkt__shard_find_documents(vkt__shard *s, uint32_t end);
vkt_status vkt__shard_write(const char *path, const vkt__store *store, const vkt_tokenizer *t);

/* ---- corpus.c ---- */

/* A run of a shard's tokens in a split. */
typedef struct vkt__span {
    uint64_t at; /* in the split's stream */
    uint64_t first, n;
    uint32_t shard;
} vkt__span;

struct vkt__corpus {
    vkt_tokenizer *tokenizer;
    uint32_t context;
    vkt__store store; /* of shard[0], where the documents were read as text */
    vkt__shard *shard;
    uint32_t n_shards;
    vkt__span *span[VKT_N_SPLITS];
    size_t n_spans[VKT_N_SPLITS];
    uint64_t n_tokens[VKT_N_SPLITS];
    uint64_t hash; /* of the shards' content */
};

/* Source text or novel. */
vkt_status vkt__corpus_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* All of the paths in the test split, with the schema's tokenizer and context. */
vkt_status vkt__corpus_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
void vkt__corpus_destroy(vkt__corpus **c);
/* Where the windows of an epoch of the shuffled stream begin: below the context. */
uint64_t vkt__corpus_shift(const vkt__corpus *c, vkt_split split, uint64_t seed, uint64_t epoch);
/* Window i, `shift` tokens on: tokens [context], and the tokens after each as targets [context],
 * VKT_NO_TOKEN where one does not count. documents [context], or NULL: where in the window each
 * token's document begins, 0 if before it. The number that count. */
uint32_t vkt__corpus_window(const vkt__corpus *c, vkt_split split, uint64_t i, uint64_t shift,
                            uint32_t *tokens, uint32_t *targets, uint32_t *documents);

#endif
