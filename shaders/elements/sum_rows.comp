#version 460
/* out[s, c] = sum over rows [s * chunk, (s + 1) * chunk) of x[r, c]: one invocation per (s, c), rows in order, so
 * neighbours read neighbouring columns. Twin: sum_rows_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(push_constant, scalar) uniform Push { sum_rows_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint s = i / p.cols, c = i % p.cols;
    if (s >= p.splits) return;
    uint end = min(p.rows, (s + 1) * p.chunk);
    float sum = 0.0;
    for (uint r = s * p.chunk; r < end; r++) sum += load(p.x, X, r * p.cols + c);
    p.y.v[i] = sum;
}
