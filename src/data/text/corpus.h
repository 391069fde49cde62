/* Private to the library: token data. Documents (documents.c) become a store of tokens (store.c) in
 * memory or lie in shards on disk (shard.c); the corpus deals them to the splits and cuts each
 * split into windows of `context` tokens, which are the examples. */
#ifndef VKT_DATA_CORPUS_H
#define VKT_DATA_CORPUS_H

#include "data/parts/parts.h"
#include "data/text/packing.h"
#include "data/text/spill.h"

struct vkt__corpus {
    vkt_tokenizer *tokenizer;
    uint32_t context;
    vkt__store store; /* of shard[0], where the documents were read as text */
    vkt__spill spill; /* where its tokens lie, if they are many */
    vkt__shard *shard;
    uint32_t n_shards;
    vkt__dealt dealt;
    bool whole; /* windows are these */
    bool pairs; /* documents 2i and 2i + 1 are two answers, and windows 2i and 2i + 1 are
                   example i */
    vkt__window *window[VKT_N_SPLITS];
    size_t n_windows[VKT_N_SPLITS];
    uint64_t hash; /* of the shards' content */
};

/* Source text, and the novel that is built in. */
vkt_status vkt__corpus_open(vkt_dataset *ds, const vkt_data_desc *desc);
vkt_status vkt__novel_open(vkt_dataset *ds, const vkt_data_desc *desc);
vkt_likeness vkt__corpus_is(const char *path);
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

/* The first document of a split: up to `most` of its tokens and whether each counts. Their number.
 */
uint32_t vkt__corpus_first(const vkt__corpus *c, vkt_split split, uint32_t most, uint32_t *tokens,
                           bool *counts);
/* Whether all tokens count. */
bool vkt__corpus_counts_all(const vkt__corpus *c);

/* The schema of a text that t makes tokens of, for a model of `vocab` ids (0: t's). Copies. ARG: t
 * has more. */
vkt_status vkt__text_schema(const vkt_tokenizer *t, uint32_t context, uint32_t vocab,
                            vkt__arena *arena, vkt__schema *out);

#endif
