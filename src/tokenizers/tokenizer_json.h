/* Private to the library: Hugging Face's tokenizer.json. It takes bytes, so that it can be fuzzed.
 */
#ifndef VKT_DATA_TOKENIZER_JSON_H
#define VKT_DATA_TOKENIZER_JSON_H

#include "tokenizers/vocabulary.h"

vkt_status vkt__tokenizer_parse_json(const char *text, size_t n, const char *name,
                                     vkt_tokenizer **out);

/* vkt_tokenizer_json, and with it how conversations are written: what schemas and shards keep, and
 * vkt__tokenizer_parse_json reads back. */
char *vkt__tokenizer_kept(const vkt_tokenizer *t);

/* Whether `kept` was written before vktrain counted the tokens of conversations, and put tokens
 * around texts, as it does now. */
bool vkt__tokenizer_kept_earlier(const char *kept);

/* Reads the "normalizer" of a bpe's file, before the bpe is finished: NFC, or steps, which go into
 * a file again. FORMAT: it is not supported. */
struct json_t;
vkt_status vkt__tokenizer_normalize(vkt_tokenizer *t, const struct json_t *file);

/* A vocabulary of Hugging Face's shape: {token: id} with bytes as stand-ins (or characters), and a
 * list of added tokens, or NULL. The caller adds patterns, then merges. */
vkt_status vkt__tokenizer_from_vocabulary(struct json_t *vocab, const struct json_t *added,
                                          bool chars, const char *name, vkt_tokenizer **out);
/* The list's "left right" or ["left", "right"], then vkt__tokenizer_finish. */
vkt_status vkt__tokenizer_merges(vkt_tokenizer *t, const struct json_t *vocab,
                                 const struct json_t *list);

#endif
