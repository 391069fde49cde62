#version 460
/* dx = y (dy - sum(dy y)), row by row, y the softmax. One workgroup per row, each invocation the same strided share in
 * both passes, so that dx may lie over dy. Twin: softmax_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(push_constant, scalar) uniform Push { softmax_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols, first = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    float sum = 0.0;
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) sum += p.dy.v[base + c] * p.x.v[base + c];
    sum = wg_add(sum);
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x)
        p.y.v[base + c] = p.x.v[base + c] * (p.dy.v[base + c] - sum);
}
