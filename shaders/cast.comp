#version 460
/* f32 -> f16 | bf16 and back, by bits: round to nearest even, too large becomes Inf, NaN stays NaN, subnormals are
 * kept. One invocation per word of two 16-bit numbers; after an odd count the upper half of the last word is 0.
 * No device feature needed. Twin: cast_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint DOWN = 0; /* 1: from f32; 0: to f32 */
layout(constant_id = 4) const uint BF16 = 0;
layout(push_constant, scalar) uniform Push { cast_params p; };

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

uint down(uint u)
{
    return BF16 != 0 ? to_bf16(u) : to_f16(u);
}

uint up(uint h)
{
    return BF16 != 0 ? h << 16 : from_f16(h);
}

void main()
{
    uint word = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, i = 2 * word;
    if (i >= p.n) return;
    bool pair = i + 1 < p.n;
    if (DOWN != 0) {
        uint w = down(p.x.v[i]);
        if (pair) w |= down(p.x.v[i + 1]) << 16;
        p.y.v[word] = w;
    } else {
        uint w = p.x.v[word];
        p.y.v[i] = up(w & 0xffffu);
        if (pair) p.y.v[i + 1] = up(w >> 16);
    }
}
