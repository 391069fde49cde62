/* Private to the library: what a tokenizer.json does to text before it is split: its
 * "normalizer". */
#ifndef VKT_DATA_TOKENIZER_NORMAL_H
#define VKT_DATA_TOKENIZER_NORMAL_H

#include "base/memory.h"

struct json_t;
typedef struct vkt__normalizer vkt__normalizer;

/* Into the arena. NULL: it is read; else what of it is not supported. */
const char *vkt__normalizer_read(const struct json_t *file, vkt__arena *a, vkt__normalizer **out);
/* *out becomes the text of any n bytes, normalised and UTF-8: a byte that is none becomes U+FFFD.
 * goes_on: text is before it, so that nothing is put there. OOM_HOST. */
vkt_status vkt__normalizer_apply(const vkt__normalizer *z, const char *text, size_t n, bool goes_on,
                                 vkt__str *out);
/* Whether it takes white space from a text's ends, which a stretch's need not be. */
bool vkt__normalizer_strips(const vkt__normalizer *z);

#endif
