#version 460
/* dgate = dy up act'(gate), dup = dy act(gate); act' from its input. One invocation per element, of 16 bits per pair, so dgate
 * may lie over gate, up or dy. Gate and up, and with them their gradients, may be halves of each row of one tensor. All have
 * one type. Twin: gated_bwd_ref. */
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
    vec2 dy = load_unit(p.dy, X, X != T_F32, i), gate = load_unit(p.gate, X, X != T_F32, at);
    vec2 up = load_unit(p.up, X, X != T_F32, at), dgate = vec2(0.0), dup = vec2(0.0);
    [[unroll]] for (uint u = 0; u < UNIT; u++) {
        dgate[u] = dy[u] * up[u] * act_bwd(ACT, gate[u]);
        dup[u] = dy[u] * act_fwd(ACT, gate[u]);
    }
    store_unit(p.y, X, X != T_F32, at, dgate);
    store_unit(p.dup, X, X != T_F32, at, dup);
}
