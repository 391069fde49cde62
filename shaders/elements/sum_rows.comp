#version 460
/* out[s, c] = sum over rows [s * chunk, (s + 1) * chunk) of x[r, c]: one invocation per (s, c), rows in order, so
 * neighbours read neighbouring columns. Twin: sum_rows_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "together.glsl"

layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(push_constant, scalar) uniform Push { sum_rows_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint s = i / p.cols, c = i % p.cols;
    if (s >= p.splits) return;
    uint end = min(p.rows, (s + 1) * p.chunk);
    float sum = 0.0;
    uint r = s * p.chunk;
    for (; are_together(r, end); r += TOGETHER) {
        float x[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) x[j] = load(p.x, X, (r + j) * p.cols + c);
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) sum += x[j];
    }
    for (; r < end; r++) sum += load(p.x, X, r * p.cols + c);
    p.y.v[i] = sum;
}
