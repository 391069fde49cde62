#version 460
/* C [M, N] = end(sum of parts [K, M, N] over K in order + bias): the second half of a product whose k was cut into
 * K slices. One invocation per element. Twin: matmul_sum_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const int ACT = 0;
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, n = p.M * p.N;
    if (i >= n) return;
    float sum = 0.0;
    for (uint k = 0; k < p.K; k++) sum += p.a.v[k * n + i];
    if ((p.flags & VKT_MM_BIAS) != 0) sum += p.bias.v[i % p.N];
    finish(i, sum);
}
