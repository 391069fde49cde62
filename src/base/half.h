/* Numbers of 16 bits: IEEE's half precision and bfloat16. */
#ifndef VKT_BASE_HALF_H
#define VKT_BASE_HALF_H

#include <stdint.h>
#include <string.h>

/* Exact. */
float vkt__from_f16(uint16_t h);
static inline float vkt__from_bf16(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* To the nearest, of two as near to the even one; beyond the range to infinity. NaN stays NaN. */
uint16_t vkt__to_f16(float f);
/* Here, as gradients are rounded by the million. */
static inline uint16_t vkt__to_bf16(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return (uint16_t)(f != f ? u >> 16 | 0x40 : (u + 0x7FFF + (u >> 16 & 1)) >> 16);
}
/* The nearest number of that type, rounded once from double. */
double vkt__round_f16(double v);
double vkt__round_bf16(double v);

#endif
