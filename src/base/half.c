/* half.h, by the bits. */
#include <math.h>

#include "base/half.h"

static float of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

float vkt__from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3FF;
    if (exponent == 0) { /* zero or below the normal range: fraction * 2^-24 */
        float f = (float)fraction * 0x1p-24f;
        return sign ? -f : f;
    }
    return of_bits(sign | (exponent == 31 ? 0x7F800000u : (exponent + 112) << 23) | fraction << 13);
}

/* u without its `drop` lowest bits, rounded to nearest even. */
static uint32_t round_off(uint32_t u, uint32_t drop)
{
    uint32_t half = 1u << (drop - 1);
    return (u + (half - 1) + (u >> drop & 1)) >> drop;
}

uint16_t vkt__to_f16(float f)
{
    uint32_t u = bits_of(f), magnitude = u & 0x7FFFFFFF;
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    if (f != f) return (uint16_t)(sign | 0x7E00);
    if (magnitude >= 0x477FF000) return (uint16_t)(sign | 0x7C00); /* rounds to 65536 or more */
    if (magnitude < 0x38800000) {                                  /* below 2^-14 */
        uint32_t exponent = magnitude >> 23, drop = 126 - exponent;
        if (drop > 24) return sign; /* below 2^-25; drop 24: just there, half of 2^-24 */
        return (uint16_t)(sign | round_off((magnitude & 0x7FFFFF) | 0x800000, drop));
    }
    return (uint16_t)(sign | (round_off(magnitude, 13) - (112u << 10)));
}

/* v rounded to `bits` of significand, to nearest even; least: exponent of the smallest step. */
static double round_bits(double v, int bits, int least, double most)
{
    int e;
    if (!isfinite(v) || v == 0) return v;
    frexp(v, &e);
    e = e - bits > least ? e - bits : least;
    double r = ldexp(nearbyint(ldexp(v, -e)), e);
    return fabs(r) > most ? copysign(INFINITY, v) : r;
}

double vkt__round_f16(double v)
{
    return round_bits(v, 11, -24, 65504);
}

double vkt__round_bf16(double v)
{
    return round_bits(v, 8, -133, 0x1.fep127);
}
