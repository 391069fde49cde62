#version 460
/* f32 -> f16 | bf16 and back, by bits: see half.glsl. One invocation per word of two 16-bit numbers; after an odd
 * count the upper half of the last word is 0. Twin: cast_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "half.glsl"

layout(constant_id = 3) const uint DOWN = 0; /* 1: from f32; 0: to f32 */
layout(constant_id = 4) const uint BF16 = 0;
layout(push_constant, scalar) uniform Push { cast_params p; };

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
