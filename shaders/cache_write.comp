#version 460
/* cache[b, start + t, c] = x[b, t, column + c], positions past the cache left out. One invocation per element of the
 * part of x. Twin: cache_write_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { cache_write_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    uint c = i % p.C, row = i / p.C, b = row / p.T, at = p.start.v[0] + row % p.T;
    if (at < p.P) p.cache.v[(b * p.P + at) * p.C + c] = p.x.v[row * p.W + p.column + c];
}
