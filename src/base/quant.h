/* Numbers in few bits, in superblocks of VKT__QUANT_BLOCK in a row, as words of 32 bits: what a
 * frozen base is kept in. Words of a superblock; elements and bytes go from the lowest bits on:
 *
 * - F16 and BF16: 128, of two numbers each.
 * - Q8_0: 64 of four whole numbers; 4 of two f16 scales, one for 32 numbers.
 * - Q4_0: 32 of eight 4-bit numbers, less 8; 4 of two f16 scales, one for 32 numbers.
 * - NF4: 32 of eight indices of vkt__nf4; one of four 8-bit scales, one for 64 numbers; their
 * scale, f32.
 * - Q4_K: 36, as ggml's block_q4_K.
 * - Q6_K: 53, as ggml's block_q6_K and two bytes of 0.
 *
 * Kernels read the same: shaders/lib/quant.glsl. Formats: github.com/ggml-org/ggml, ggml-common.h;
 * NF4: github.com/bitsandbytes-foundation/bitsandbytes. */
#ifndef VKT_BASE_QUANT_H
#define VKT_BASE_QUANT_H

#include "vktrain/base.h"

enum { VKT__QUANT_BLOCK = 256, VKT__QUANT_MOST_WORDS = 128 };

/* The quantiles, rising from -1 to 1. */
extern const float vkt__nf4[16];

/* "nf4"; "auto" for AUTO. */
const char *vkt__quant_name(vkt_quant kind);
/* Words for n numbers; 0: they can't be packed so, because n is no multiple of a superblock (of 8
 * for F16 and BF16), or the kind is none. */
uint64_t vkt__quant_words(vkt_quant kind, uint64_t n);
/* Kinds that vkt__quantize can make: those which are no more than read are Q4_K and Q6_K. */
bool vkt__quant_can(vkt_quant kind);
/* n numbers, finite, into vkt__quant_words(kind, n) words. */
void vkt__quantize(vkt_quant kind, const float *x, uint64_t n, uint32_t *words);
/* Numbers [first, first + n) of those that lie in words; first and n are multiples of 8. */
void vkt__dequantize(vkt_quant kind, const uint32_t *words, uint64_t first, uint64_t n, float *x);
/* Word i of packed numbers as tests use them, from 32 random bits: scales are between 1/4 and 1/2.
 */
uint32_t vkt__quant_sample(vkt_quant kind, uint64_t i, uint32_t random);

#endif
