#version 460
/* w = dw [rows, k]: the sum of a row of x = dy [rows, C] times that of y [places, C] which is its place (at = place), 0 where
 * there is none. One invocation an element, sums in order. Twin: expert_combine_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { expert_rows_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.rows * p.k) return;
    uint place = p.at.v[i], a = i / p.k * p.c4, b = place * p.c4;
    float sum = 0.0;
    if (place < p.places)
        for (uint c = 0; c < p.c4; c++) sum += dot(p.x.v[a + c], p.y.v[b + c]);
    p.w.v[i] = sum;
}
