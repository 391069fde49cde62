/* Private to the library: WordPiece (BERT): a word is cut from its beginning into the longest
 * tokens that there are. In memory tokens that go on a word ("##ing") have no prefix, those that
 * begin one have a space before them. */
#ifndef VKT_DATA_TOKENIZER_WORDPIECE_H
#define VKT_DATA_TOKENIZER_WORDPIECE_H

#include "tokenizers/vocabulary.h"

struct vkt__wordpiece {
    const char *prefix; /* of tokens that go on a word */
    uint32_t max_chars; /* a longer word is unknown */
    uint32_t unknown;   /* what a word becomes that is not made of tokens */
    uint32_t longest;   /* bytes of a token */
};

/* A token of the file as the piece that it is in memory, appended. */
void vkt__wordpiece_piece(const char *token, const char *prefix, vkt__str *out);
/* Makes the index of pieces. */
void vkt__wordpiece_index(vkt_tokenizer *t);
/* Appends the tokens of a word, which is UTF-8. */
vkt_status vkt__wordpiece_encode(vkt_tokenizer *t, const char *word, size_t n, vkt_tokens *out);

#endif
