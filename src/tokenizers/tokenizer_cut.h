/* Private to the library: where a long text may be cut, so that its parts are encoded one after the
 * other. */
#ifndef VKT_DATA_TOKENIZER_CUT_H
#define VKT_DATA_TOKENIZER_CUT_H

#include "vktrain/tokenizers.h"

/* Bytes of the text's first part, about `want`: its tokens with those of the rest are the whole
 * text's, where control tokens are not looked for. n: no place is known for this tokenizer, or in
 * this text. */
size_t vkt__tokenizer_cut(const vkt_tokenizer *t, const char *text, size_t n, size_t want);

#endif
