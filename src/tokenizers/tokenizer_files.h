/* Private to the library: the other files of tokenizers. It takes bytes, so that they can be
 * fuzzed.
 */
#ifndef VKT_DATA_TOKENIZER_FILES_H
#define VKT_DATA_TOKENIZER_FILES_H

#include "tokenizers/vocabulary.h"

vkt_status vkt__tokenizer_parse_gpt2(const char *vocab, size_t n_vocab, const char *merges,
                                     size_t n_merges, const char *name, vkt_tokenizer **out);
/* BERT's vocab.txt; settings [n_settings]: its tokenizer_config.json, or NULL. */
vkt_status vkt__tokenizer_parse_vocab(const char *text, size_t n, const char *settings,
                                      size_t n_settings, const char *name, vkt_tokenizer **out);
vkt_status vkt__tokenizer_parse_ranks(const char *text, size_t n, const char *name,
                                      vkt_tokenizer **out);

#endif
