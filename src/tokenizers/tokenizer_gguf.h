/* Private to the library: the tokenizer of a GGUF file. */
#ifndef VKT_DATA_TOKENIZER_GGUF_H
#define VKT_DATA_TOKENIZER_GGUF_H

#include "tokenizers/vocabulary.h"
#include "formats/gguf.h"

/* With what the file says of conversations. FORMAT: another kind than byte-level BPE and
 * SentencePiece's BPE, or a way to split text that is not known; the line names it. */
vkt_status vkt__tokenizer_parse_gguf(const vkt__gguf *g, vkt_tokenizer **out);

#endif
