/* Private to the library: how a tokenizer.json of WordPiece or Unigram cuts a normalised text into
 * words: its "pre_tokenizer". */
#ifndef VKT_DATA_TOKENIZER_WORDS_H
#define VKT_DATA_TOKENIZER_WORDS_H

#include "base/memory.h"
#include "tokenizers/tokenizer_split.h"

struct json_t;
typedef struct vkt__words vkt__words;

/* Into the arena. NULL: it is read; else what of it is not supported. */
const char *vkt__words_read(const struct json_t *file, vkt__arena *a, vkt__words **out);
/* Words have no white space in them; they keep a space before them (Metaspace, which writes it
 * U+2581). */
bool vkt__words_without_space(const vkt__words *w);
bool vkt__words_with_space(const vkt__words *w);
/* Calls fn for each word of a text, which is UTF-8; `first`: nothing was before it. U+2581 and the
 * space that it stands for are both a plain space in words of Metaspace. */
vkt_status vkt__words_cut(const vkt__words *w, const char *text, size_t n, bool first,
                          vkt__piece_fn fn, void *user);

#endif
