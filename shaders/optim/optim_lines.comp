#version 460
/* u = scale g / sqrt(max(v, eps^2)), v the square that means of squares let expect: of a matrix that of its row times that of its
 * column over their mean, at least eps; of a vector (COLUMNS) the column's. Nothing is written when the step is not ok.
 * Twin: lines_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_OF_COLUMNS) const uint COLUMNS = 0;
layout(push_constant, scalar) uniform Push { optim_lines_params p; };

void main()
{
    if (p.scalars.s.ok == 0.0) return;
    float scale = p.scalars.s.scale, over = 1.0;
    uint base = flat_group() * gl_WorkGroupSize.x * 4 + gl_LocalInvocationID.x;
    if (COLUMNS == 0) over = max(p.mean.v[0], p.eps);
    [[unroll]] for (uint k = 0; k < 4; k++) {
        uint i = base + k * gl_WorkGroupSize.x;
        if (i >= p.n) return;
        float v = COLUMNS != 0 ? p.of_cols.v[i] : p.of_rows.v[i / p.cols] / over * p.of_cols.v[i % p.cols];
        p.u.v[i] = scale * p.grad.v[i] / sqrt(max(v, p.eps * p.eps));
    }
}
