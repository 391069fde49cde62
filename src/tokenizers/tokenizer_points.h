/* Private to the library: the classes of characters that WordPiece and Unigram files are split and
 * cleaned by. They are those of Hugging Face's tokenizers, so that ids are equal: of Unicode 8,
 * whatever Unicode the system's libraries know. */
#ifndef VKT_DATA_TOKENIZER_POINTS_H
#define VKT_DATA_TOKENIZER_POINTS_H

#include <stdbool.h>
#include <stdint.h>

bool vkt__is_white(int32_t c);
/* The characters of words: letters, marks, digits, connectors such as _, by utf8proc's Unicode. */
bool vkt__is_word(int32_t c);
/* Unicode's P, and what ASCII has besides: $ + < = > ^ ` | ~ */
bool vkt__is_punctuation(int32_t c);
/* Marks that take no place of their own (Mn); any marks (M). */
bool vkt__is_nonspacing(int32_t c);
bool vkt__is_mark(int32_t c);
/* Zero, U+FFFD, control, format and private characters; not \t, \n, \r. */
bool vkt__is_control(int32_t c);
/* The blocks of ideographs around which BERT puts spaces. */
bool vkt__is_ideograph(int32_t c);
/* Characters whose compatibility decomposition came after Unicode 12: they do not change. */
bool vkt__is_undecomposed(int32_t c);

#endif
