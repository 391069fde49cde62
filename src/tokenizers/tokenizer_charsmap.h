/* Private to the library: SentencePiece's precompiled map of characters, which a tokenizer.json has
 * as its "Precompiled" normalizer. */
#ifndef VKT_DATA_TOKENIZER_CHARSMAP_H
#define VKT_DATA_TOKENIZER_CHARSMAP_H

#include "base/memory.h"

typedef struct vkt__charsmap vkt__charsmap;

/* From base64, into the arena; NULL: it is none. */
const vkt__charsmap *vkt__charsmap_read(const char *base64, size_t n, vkt__arena *a);
/* Appends the text, which is UTF-8, as the map has it. */
void vkt__charsmap_apply(const vkt__charsmap *m, const char *text, size_t n, vkt__str *out);
/* Bytes of n base64 digits into out (3 n / 4 long); -1: it is not base64. */
int64_t vkt__base64_read(const char *text, size_t n, char *out);

#endif
