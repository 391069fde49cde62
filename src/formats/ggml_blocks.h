/* Numbers in the blocks of ggml's types, as GGUF files hold them. */
#ifndef VKT_FORMATS_GGML_BLOCKS_H
#define VKT_FORMATS_GGML_BLOCKS_H

#include "formats/gguf.h"

/* False: a type that is not read. */
bool vkt__ggml_can_read(uint32_t type);
/* n numbers, a whole number of blocks, out of bytes of a type that can be read. */
void vkt__ggml_read(uint32_t type, const unsigned char *from, uint64_t n, float *to);
/* The kind of base/quant.h that keeps such numbers unchanged; AUTO: none does. */
vkt_quant vkt__ggml_kept(uint32_t type);
/* n numbers, a whole number of blocks, of a type that is kept, as numbers [first, first + n) of
 * those in words, which begin as 0. */
void vkt__ggml_keep(uint32_t type, const unsigned char *from, uint64_t n, uint64_t first,
                    uint32_t *words);
/* Bytes of n numbers. */
uint64_t vkt__ggml_bytes(uint32_t type, uint64_t n);
/* Numbers of a block; 0: a type that is not written. F32, F16, BF16, Q8_0, Q4_0 and Q4_K are. */
uint32_t vkt__ggml_can_write(uint32_t type);
/* n finite numbers, a whole number of blocks, into vkt__ggml_bytes(type, n) bytes. */
void vkt__ggml_write(uint32_t type, const float *from, uint64_t n, unsigned char *to);

#endif
