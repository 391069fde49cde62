#version 460
/* f32 -> f16 | bf16 and back: see elem.glsl. One invocation per word of two 16-bit numbers; after an odd count the
 * upper half of the last word is 0. Twin: cast_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(push_constant, scalar) uniform Push { cast_params p; };

void main()
{
    uint word = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, i = 2 * word;
    if (i >= p.n) return;
    if (i + 1 < p.n) {
        store2(p.y, Y, word, load2(p.x, X, word));
        return;
    }
    float last = load(p.x, X, i);
    if (Y == T_F32) store(p.y, i, last);
    else p.y.v[word] = narrow(Y, last);
}
