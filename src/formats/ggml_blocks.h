/* Numbers in the blocks of ggml's types, as GGUF files hold them. */
#ifndef VKT_FORMATS_GGML_BLOCKS_H
#define VKT_FORMATS_GGML_BLOCKS_H

#include "formats/gguf.h"

/* False: a type that is not read. */
bool vkt__ggml_can_read(uint32_t type);
/* n numbers, a whole number of blocks, out of bytes of a type that can be read. */
void vkt__ggml_read(uint32_t type, const unsigned char *from, uint64_t n, float *to);

#endif
