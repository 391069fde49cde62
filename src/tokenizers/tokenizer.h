/* Private to the library: how a tokenizer is put together. */
#ifndef VKT_DATA_TOKENIZER_H
#define VKT_DATA_TOKENIZER_H

#include "tokenizers/vocabulary.h"

/* The token between documents of the tokenizers that vktrain makes. */
#define VKT__END_TEXT "<|endoftext|>"

/* What the readers fill in before vkt__tokenizer_finish: a vocabulary of n ids, all unused. ARG or
 * FORMAT when n is 0 or above 2^24. */
vkt_status vkt__tokenizer_create(const char *kind, const char *source, uint64_t n,
                                 vkt_tokenizer **out);
/* Ids 0..255 are the bytes. */
void vkt__tokenizer_byte_vocabulary(vkt_tokenizer *t);
/* Copies; FORMAT if the id is past the vocabulary or already taken. */
vkt_status vkt__tokenizer_set(vkt_tokenizer *t, uint64_t id, const char *bytes, size_t n);
/* The id must be set. */
vkt_status vkt__tokenizer_add(vkt_tokenizer *t, uint64_t id, bool special);
/* Appended; compiled by finish. */
void vkt__tokenizer_pattern(vkt_tokenizer *t, const char *pattern);
/* Makes the indices, compiles the patterns, checks that text can be encoded, hashes. n_merges of
 * `merges` are copied. */
vkt_status vkt__tokenizer_finish(vkt_tokenizer *t, const vkt__merge *merges, size_t n_merges);
/* What is before a stretch of a text: nothing, a token that is found before text is split, text. */
typedef enum vkt__behind { VKT__BEHIND_NOTHING, VKT__BEHIND_TOKEN, VKT__BEHIND_TEXT } vkt__behind;
/* vkt_tokenizer_encode of a stretch: no space is put before one that goes on. */
vkt_status vkt__tokenizer_encode_stretch(vkt_tokenizer *t, const char *text, size_t n, bool special,
                                         vkt__behind behind, vkt_tokens *out);
/* What out's tokens from `first` on leave the next stretch behind. */
vkt__behind vkt__tokenizer_behind(const vkt_tokenizer *t, const vkt_tokens *out, size_t first);
/* vkt_tokenizer_train of texts [n] in memory, as whole documents each; fewer than n_vocab tokens
 * where no further pair occurs twice. lowercase: a word is the same tokens whatever its letters'
 * case, and at a text's beginning as within it, where a space is before it. */
vkt_status vkt__tokenizer_train_texts(const char *const *texts, size_t n_texts, uint32_t n_vocab,
                                      bool lowercase, vkt_tokenizer **out);

#endif
