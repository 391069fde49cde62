#version 460
/* y = dx [places, C]: of each place the row of x = dy [rows, C] times the w of what it holds (at = source), zeros where it
 * holds nothing. One invocation for four numbers. Twin: expert_combine_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { expert_rows_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint place = i / p.c4, c = i - place * p.c4;
    if (place >= p.places) return;
    uint from = p.at.v[place];
    p.y.v[i] = from < p.rows * p.k ? p.w.v[from] * p.x.v[from / p.k * p.c4 + c] : vec4(0.0);
}
