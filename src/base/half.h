/* Numbers of 16 bits in files: IEEE's half precision and bfloat16. */
#ifndef VKT_TRAIN_HALF_H
#define VKT_TRAIN_HALF_H

#include "base/words.h"

/* Exact. */
float vkt__from_f16(uint16_t h);
float vkt__from_bf16(uint16_t h);
/* To the nearest, of two as near to the even one; beyond the range to infinity. NaN stays NaN. */
uint16_t vkt__to_f16(float f);
uint16_t vkt__to_bf16(float f);

#endif
