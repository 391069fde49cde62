#version 460
/* dlogits of softmax_xent: see xent_slope.glsl. One workgroup per row, one element at a time, so that dlogits may
 * lie over the logits; a pair at a time where dlogits is 16-bit (pitch even). Twin: xent_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_DX) const uint DX = 0;
layout(push_constant, scalar) uniform Push { xent_params p; };
#include "xent_slope.glsl"

const uint UNIT = DX != T_F32 ? 2 : 1;

void main()
{
    uint row = flat_group(), base = row * p.pitch;
    if (row >= p.rows) return;
    xent_slope s = xent_slope_of(row);
    float top = p.top.v[row], lse = p.lse.v[row];
    for (uint first = gl_LocalInvocationID.x * UNIT; first < p.pitch; first += gl_WorkGroupSize.x * UNIT) {
        vec2 dx = vec2(0.0);
        [[unroll]] for (uint u = 0; u < UNIT; u++)
            dx[u] = xent_padded(s, first + u, p.logits.v[base + first + u], top, lse);
        store_unit(p.dlogits, DX, DX != T_F32, (base + first) / UNIT, dx);
    }
}
