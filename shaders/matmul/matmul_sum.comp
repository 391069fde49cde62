#version 460
/* C [M, N] = end(sum of parts [K, M, N] over K in order + bias): the second half of a product whose k was cut into
 * K slices. One invocation per element, in the 16-bit variant per word of C. Twin: matmul_sum_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"

float total(uint i)
{
    float sum = 0.0;
    for (uint k = 0; k < p.K; k++) sum += p.a.v[k * (p.M * p.N) + i];
    return sum;
}

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, size = p.M * p.N;
#ifdef HALF
    uvec2 at = uvec2(2 * i, min(2 * i + 1, size - 1));
    if (2 * i < size) finish_pair(2 * i, at % p.N, vec2(total(at.x), total(at.y)), 2 * i + 1 < size);
#else
    if (i < size) finish(i, i % p.N, total(i));
#endif
}
