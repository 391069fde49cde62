/* Private to the library: what a tokenizer.json of WordPiece or Unigram does to text before it is
 * split: its "normalizer". */
#ifndef VKT_DATA_TOKENIZER_NORMAL_H
#define VKT_DATA_TOKENIZER_NORMAL_H

#include "base/memory.h"

struct json_t;
typedef struct vkt__normalizer vkt__normalizer;

/* Into the arena. NULL: it is read; else what of it is not supported. */
const char *vkt__normalizer_read(const struct json_t *file, vkt__arena *a, vkt__normalizer **out);
/* *out becomes the text of any n bytes, normalised and UTF-8: a byte that is none becomes U+FFFD.
 * OOM_HOST. */
vkt_status vkt__normalizer_apply(const vkt__normalizer *z, const char *text, size_t n,
                                 vkt__str *out);

#endif
