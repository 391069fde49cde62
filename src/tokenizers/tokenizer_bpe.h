/* Private to the library: merging the tokens of a piece. */
#ifndef VKT_DATA_TOKENIZER_BPE_H
#define VKT_DATA_TOKENIZER_BPE_H

#include "tokenizers/vocabulary.h"

/* NULL if there is no merge of the two. */
const vkt__merge *vkt__merge_find(const vkt_tokenizer *t, uint32_t left, uint32_t right);
void vkt__merge_index(vkt_tokenizer *t);
/* The id of a token of these bytes; VKT_NO_TOKEN: none. Needs whole_words' index. */
uint32_t vkt__whole_find(const vkt_tokenizer *t, const char *bytes, size_t n);
void vkt__whole_index(vkt_tokenizer *t);
/* Appends the tokens of one piece. FORMAT: it has a byte that the vocabulary lacks. */
vkt_status vkt__bpe_encode(vkt_tokenizer *t, const char *bytes, size_t n, vkt_tokens *out);
void vkt__word_cache_destroy(vkt__word_cache **c);
/* Room for n more. */
vkt_status vkt__tokens_reserve(vkt_tokens *t, size_t n);

#endif
