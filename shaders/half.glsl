/* 16-bit floats by bits, two to a word, the lower half first; no device feature needed. Down: round to nearest even,
 * too large becomes Inf, NaN stays NaN, subnormals are kept. */

uint to_bf16(uint u)
{
    if ((u & 0x7fffffffu) > 0x7f800000u) return u >> 16 | 0x40u;
    return (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}

uint to_f16(uint u)
{
    uint sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return sign | 0x7e00u;
    if (a >= 0x477ff000u) return sign | 0x7c00u; /* 65520 and above */
    if (a >= 0x38800000u) return sign | (a + 0xfffu + (a >> 13 & 1u) - 0x38000000u) >> 13;
    uint e = a >> 23; /* below 2^-14: a multiple of 2^-24 */
    if (e < 102u) return sign;
    uint m = (a & 0x7fffffu) | 0x800000u, shift = 126u - e, q = m >> shift, rest = m & ((1u << shift) - 1u), tie = 1u << (shift - 1u);
    if (rest > tie || (rest == tie && (q & 1u) != 0)) q++;
    return sign | q;
}

uint from_f16(uint h)
{
    uint sign = (h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 1023u;
    if (e == 31u) return sign | 0x7f800000u | m << 13;
    if (e != 0u) return sign | (e + 112u) << 23 | m << 13;
    if (m == 0u) return sign;
    uint top = uint(findMSB(m));
    return sign | (top + 103u) << 23 | (m << (23u - top) & 0x7fffffu);
}
