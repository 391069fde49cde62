#version 460
/* dx = 2 / C weight[r] dloss[r] (x - y); dy is its negative. One invocation per element, so that dx may lie over x or
 * y. Twin: mse_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { mse_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, row = i / p.cols;
    if (row >= p.rows) return;
    float k = 2.0 / float(p.cols);
    if ((p.flags & VKT_XENT_WEIGHT) != 0) k *= p.weight.v[row];
    if ((p.flags & VKT_XENT_DLOSS) != 0) k *= p.dloss.v[row];
    p.z.v[i] = k * (p.x.v[i] - p.y.v[i]);
}
