#version 460
/* y [rows, C]: of each row the sum of its k places of x [places, C], each times its w. One invocation for four numbers,
 * in the order of the k. Twin: expert_combine_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { expert_rows_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint row = i / p.c4, c = i - row * p.c4;
    if (row >= p.rows) return;
    vec4 sum = vec4(0.0);
    for (uint j = row * p.k; j < (row + 1) * p.k; j++) {
        uint place = p.at.v[j];
        if (place >= p.places) continue;
        float w = 1.0;
        if (p.weighted != 0) w = p.w.v[j];
        sum += w * p.x.v[place * p.c4 + c];
    }
    p.y.v[i] = sum;
}
