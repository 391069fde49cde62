#version 460
/* y [N, plain + m D]: a row's first `plain` numbers unchanged, then for each of its other m the row of the table [K, D] that
 * it names, zeros where there is none (below 0, from K on, NaN). One invocation per element of y. Twin: lookup_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { lookup_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint row = i / p.width, c = i - row * p.width;
    if (row >= p.n) return;
    float y = 0.0;
    if (c < p.plain) {
        y = p.x.v[row * p.cols + c];
    } else {
        uint k = (c - p.plain) / p.d, at = c - p.plain - k * p.d;
        float id = p.x.v[row * p.cols + p.plain + k];
        if (id >= 0.0 && id < float(p.rows)) y = p.table.v[min(uint(id), p.rows - 1) * p.d + at];
    }
    p.y.v[i] = y;
}
