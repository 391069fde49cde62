/* Numbers of 16 bits: IEEE's half precision and bfloat16. */
#ifndef VKT_BASE_HALF_H
#define VKT_BASE_HALF_H

#include <stdint.h>

/* Exact. */
float vkt__from_f16(uint16_t h);
float vkt__from_bf16(uint16_t h);
/* To the nearest, of two as near to the even one; beyond the range to infinity. NaN stays NaN. */
uint16_t vkt__to_f16(float f);
uint16_t vkt__to_bf16(float f);
/* The nearest number of that type, rounded once from double. */
double vkt__round_f16(double v);
double vkt__round_bf16(double v);

#endif
