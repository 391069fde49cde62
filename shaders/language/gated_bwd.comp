#version 460
/* dgate = dy up act'(gate), dup = dy act(gate); act' from its input. One invocation per element, so dgate may lie over
 * gate, up or dy. Gate and up, and with them their gradients, may be halves of
 * each row of one tensor. Twin: gated_bwd_ref. */
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
    float dy = p.dy.v[i], gate = p.gate.v[at], up = p.up.v[at];
    p.y.v[at] = dy * up * act_bwd(ACT, gate);
    p.dup.v[at] = dy * act_fwd(ACT, gate);
}
