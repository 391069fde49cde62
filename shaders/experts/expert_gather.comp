#version 460
/* y [places, C]: the row of x [rows, C] whose k-th part of `at` = source a place holds, zeros where it holds none. One
 * invocation for four numbers. Twin: expert_gather_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { expert_rows_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint place = i / p.c4, c = i - place * p.c4;
    if (place >= p.places) return;
    uint from = p.at.v[place];
    p.y.v[i] = from < p.rows * p.k ? p.x.v[from / p.k * p.c4 + c] : vec4(0.0);
}
