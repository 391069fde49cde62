/* Private to the library: byte-pair encoding as SentencePiece does it (Llama 2, Mistral, TinyLlama,
 * Gemma), from a tokenizer.json: words keep the space before them, written as U+2581 in the file, a
 * character that is no token becomes its bytes, <0x00> to <0xFF>. In memory pieces have a plain
 * space in place of U+2581, and byte tokens their byte. */
#ifndef VKT_DATA_TOKENIZER_SPM_H
#define VKT_DATA_TOKENIZER_SPM_H

#include "tokenizers/vocabulary.h"

struct json_t;

/* Whether the file's model is of this kind. */
bool vkt__spm_is(const struct json_t *file);
/* Where a space is put before text. NULL: as the file says, into *out; else what of its normalizer
 * or pre_tokenizer is not supported. */
const char *vkt__spm_scheme(const struct json_t *file, vkt__prefix *out);
/* A token of the file as the piece that it is in memory: its length, in out [n]. *byte: it is a
 * byte's. */
size_t vkt__spm_piece(const char *token, size_t n, char *out, bool *byte);
/* Makes the index of pieces; false: it lacks the token of byte *lacks. */
bool vkt__spm_index(vkt_tokenizer *t, unsigned *lacks);
/* Appends the tokens of a text without added tokens; `first`: nothing was before it;
 * `inside`: text was, so that no space is put before it. */
vkt_status vkt__spm_encode(vkt_tokenizer *t, const char *text, size_t n, bool first, bool inside,
                           vkt_tokens *out);

#endif
