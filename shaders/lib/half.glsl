/* 16-bit floats by bits, two to a word, the lower half first; no device feature needed. Down: round to nearest even,
 * too large becomes Inf, NaN stays NaN, subnormals are kept. */
#ifndef VKT_HALF
#define VKT_HALF

uint to_bf16(uint u)
{
    if ((u & 0x7fffffffu) > 0x7f800000u) return u >> 16 | 0x40u;
    return (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}

uint to_f16(uint u)
{
    uint sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
    uint h = (a + 0xfffu + (a >> 13 & 1u) - 0x38000000u) >> 13;
    /* Below 2^-14 a multiple of 2^-24, which is what float addition to 0.5 rounds to. */
    if (a < 0x38800000u) h = floatBitsToUint(uintBitsToFloat(a) + 0.5) - 0x3f000000u;
    if (a >= 0x477ff000u) h = 0x7c00u; /* 65520 and above */
    if (a > 0x7f800000u) h = 0x7e00u;
    return sign | h;
}

uint from_f16(uint h)
{
    uint sign = (h & 0x8000u) << 16, m = h & 0x7fffu, u = (m << 13) + 0x38000000u;
    if (m < 0x400u) u = floatBitsToUint(float(m) * 5.9604644775390625e-8); /* 2^-24 */
    if (m >= 0x7c00u) u = 0x7f800000u | m << 13;
    return sign | u;
}
#endif
