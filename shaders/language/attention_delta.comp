#version 460
/* delta[b, h, t] = sum over a head of dy y: what the gradient of the softmax subtracts. One invocation per element,
 * sums in order. Twin: attention_delta_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_D4) const uint D4 = 8;
layout(constant_id = VKT_SPEC_TYPE_DY) const uint DY = 0;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(push_constant, scalar) uniform Push { attention_delta_params p; };

vec4 load_four(u32s x, uint type, uint i)
{
    return type == T_F32 ? f32x4s(x).v[i] : load4(x, type, i);
}

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    uint t = i % p.T, h = i / p.T % p.heads, b = i / p.T / p.heads;
    uint at = ((b * p.T + t) * p.heads + h) * D4;
    float sum = 0.0;
    for (uint d = 0; d < D4; d++) sum += dot(load_four(p.dy, DY, at + d), load_four(p.y, Y, at + d));
    p.delta.v[i] = sum;
}
