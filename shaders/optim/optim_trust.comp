#version 460
/* The trust ratio of each tensor, |theta| / |u|, from the sums of squares of its blocks; 1 where either norm is 0. One
 * workgroup per tensor: an invocation adds every WORKGROUP-th block, then wg_add; the ratio is written for each of its blocks.
 * Twin: trust_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(push_constant, scalar) uniform Push { optim_trust_params p; };

void main()
{
    uint t = flat_group();
    if (t >= p.n) return;
    uint first = p.tensors.v[t], blocks = p.tensors.v[t + 1] - first;
    float a = 0.0, b = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < blocks; k += gl_WorkGroupSize.x)
        a += p.squares.v[2 * (first + k)], b += p.squares.v[2 * (first + k) + 1];
    a = wg_add(a), b = wg_add(b);
    float trust = a > 0.0 && b > 0.0 ? sqrt(a) / sqrt(b) : 1.0;
    for (uint k = gl_LocalInvocationID.x; k < blocks; k += gl_WorkGroupSize.x) p.trust.v[first + k] = trust;
}
