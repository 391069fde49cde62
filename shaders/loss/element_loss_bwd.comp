#version 460
/* dx = weight[r] dloss[r] / C times the slope of the loss at x. One invocation per element, so that dx may lie over x or y; per pair where
 * dx is 16-bit (then C is even). Twin: element_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"
#include "element_loss.glsl"

layout(constant_id = VKT_SPEC_TYPE_DX) const uint DX = 0;
layout(push_constant, scalar) uniform Push { element_loss_params p; };

const uint UNIT = DX != T_F32 ? 2 : 1;

void main()
{
    uint unit = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, i = unit * UNIT, row = i / p.cols;
    if (row >= p.rows) return;
    float k = 1.0 / float(p.cols);
    if ((p.flags & VKT_XENT_WEIGHT) != 0) k *= p.weight.v[row];
    if ((p.flags & VKT_XENT_DLOSS) != 0) k *= p.dloss.v[row];
    vec2 dx = vec2(0.0);
    [[unroll]] for (uint u = 0; u < UNIT; u++) {
        float positive = (p.flags & VKT_XENT_CLASS_WEIGHT) != 0 ? p.positive.v[(i + u) % p.cols] : 1.0;
        dx[u] = k * element_slope(p.x.v[i + u], p.y.v[i + u], p.delta, positive);
    }
    store_unit(p.z, DX, DX != T_F32, unit, dx);
}
