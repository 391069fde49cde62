#version 460
/* keys[b, start + t, c] = new_keys[b, t, key_column + c], and values likewise; positions past the caches are left out. One
 * invocation per element of what is new in one of them. Twin: cache_write_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { cache_write_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    uint c = i % p.C, row = i / p.C, b = row / p.T, at = p.start.v[0] + row % p.T;
    if (at >= p.P) return;
    p.keys.v[(b * p.P + at) * p.C + c] = p.new_keys.v[row * p.W + p.key_column + c];
    p.values.v[(b * p.P + at) * p.C + c] = p.new_values.v[row * p.W + p.value_column + c];
}
