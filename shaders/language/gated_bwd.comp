#version 460
/* dgate = dy up act'(gate), dup = dy act(gate); act' from its input. One invocation per element, so dgate may lie over
 * gate, up or dy. Twin: gated_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"

layout(constant_id = VKT_SPEC_ACT) const int ACT = 4;
layout(push_constant, scalar) uniform Push { gated_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    float dy = p.dy.v[i], gate = p.gate.v[i], up = p.up.v[i];
    p.y.v[i] = dy * up * act_bwd(ACT, gate);
    p.dup.v[i] = dy * act_fwd(ACT, gate);
}
