#version 460
/* y = act(gate) up: SwiGLU with silu. One invocation per element, of 16 bits per pair. Gate and up may be halves of each row of
 * one tensor. All have one type. Twin: gated_ref. Shazeer 2020 (2002.05202). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"

layout(constant_id = VKT_SPEC_ACT) const int ACT = 4;
layout(constant_id = VKT_SPEC_HALVES) const uint HALVES = 0;
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(push_constant, scalar) uniform Push { gated_params p; };

const uint UNIT = X != T_F32 ? 2 : 1;

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, cols = p.cols / UNIT;
    if (i * UNIT >= p.n) return;
    uint at = HALVES != 0 ? i + i / cols * cols : i;
    vec2 gate = load_unit(p.gate, X, X != T_F32, at), up = load_unit(p.up, X, X != T_F32, at), y = vec2(0.0);
    [[unroll]] for (uint u = 0; u < UNIT; u++) y[u] = act_fwd(ACT, gate[u]) * up[u];
    store_unit(p.y, X, X != T_F32, i, y);
}
