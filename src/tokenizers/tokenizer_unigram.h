/* Private to the library: Unigram (T5, ALBERT, XLM-R): of all ways to cut a word into tokens the
 * one whose scores, logarithms of probabilities, have the largest sum. In memory pieces have a
 * plain space in place of U+2581, and byte tokens their byte. */
#ifndef VKT_DATA_TOKENIZER_UNIGRAM_H
#define VKT_DATA_TOKENIZER_UNIGRAM_H

#include "tokenizers/vocabulary.h"

struct vkt__unigram {
    double *score;          /* [n_vocab] */
    double lowest;          /* of all scores of the file */
    uint32_t unknown;       /* a character that is no token; VKT_NO_TOKEN: there is no such token */
    bool byte_fallback;     /* it becomes its bytes instead */
    uint32_t *order;        /* [n] ids of pieces, by their bytes */
    uint32_t n, begin[257]; /* order[begin[b]] is the first that begins with byte b or one above */
};

/* Makes the index of pieces. */
void vkt__unigram_index(vkt_tokenizer *t);
/* Appends the tokens of a word, which is UTF-8. FORMAT: it has a character that is no token, and
 * there is none for such ones. */
vkt_status vkt__unigram_encode(vkt_tokenizer *t, const char *word, size_t n, vkt_tokens *out);

#endif
