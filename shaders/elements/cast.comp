#version 460
/* f32 -> f16 | bf16 and back: see elem.glsl. One invocation per word of two 16-bit numbers, where WIDE (GPUs) per two words,
 * whose f32s are loaded or stored as a vec4; after an odd count the upper half of the last word is 0. Twin: cast_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0;
layout(push_constant, scalar) uniform Push { cast_params p; };

void cast_word(uint word)
{
    uint i = 2 * word;
    if (i >= p.n) return;
    if (i + 1 < p.n) {
        store2(p.y, Y, word, load2(p.x, X, word));
        return;
    }
    float last = load(p.x, X, i);
    if (Y == T_F32) store(p.y, i, last);
    else p.y.v[word] = narrow(Y, last);
}

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (WIDE == 0) {
        cast_word(i);
    } else if (4 * i + 3 >= p.n) {
        cast_word(2 * i);
        cast_word(2 * i + 1);
    } else if (Y == T_F32) {
        uvec2 w = u32x2s(p.x).v[i];
        f32x4s(p.y).v[i] = vec4(widen2(X, w.x), widen2(X, w.y));
    } else {
        vec4 x = f32x4s(p.x).v[i];
        u32x2s(p.y).v[i] = uvec2(narrow2(Y, x.xy), narrow2(Y, x.zw));
    }
}
