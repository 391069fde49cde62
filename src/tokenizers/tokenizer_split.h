/* Private to the library: text cut into pieces by patterns. */
#ifndef VKT_DATA_TOKENIZER_SPLIT_H
#define VKT_DATA_TOKENIZER_SPLIT_H

#include "tokenizers/vocabulary.h"

typedef vkt_status (*vkt__piece_fn)(void *user, const char *bytes, size_t n);

vkt_status vkt__splitter_create(const char *pattern, const char *source, vkt__splitter **out);
void vkt__splitter_destroy(vkt__splitter **s);
/* Calls fn for each piece of text in order; together they are the text. Bytes that are not UTF-8
 * are pieces of their own. No splitters: the text is one piece. */
vkt_status vkt__split_text(vkt__splitter *const *splitters, uint32_t n_splitters, const char *text,
                           size_t n, vkt__piece_fn fn, void *user);

#endif
