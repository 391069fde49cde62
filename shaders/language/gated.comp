#version 460
/* y = act(gate) up: SwiGLU with silu. One invocation per element. Gate and up may be halves of each row of one
 * tensor. Twin: gated_ref. Shazeer 2020 (2002.05202). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"

layout(constant_id = VKT_SPEC_ACT) const int ACT = 4;
layout(constant_id = VKT_SPEC_HALVES) const uint HALVES = 0;
layout(push_constant, scalar) uniform Push { gated_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    uint at = HALVES != 0 ? i + i / p.cols * p.cols : i;
    p.y.v[i] = act_fwd(ACT, p.gate.v[at]) * p.up.v[at];
}
