#version 460
/* dx = rstd (g - mean(g) - h mean(g h)) + ds, g = dy w, h = (s - mean) rstd; RMS: without mean(g). One workgroup per
 * row, each invocation the same strided share in both passes, so that dx may lie over dy or ds. Twin: norm_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(constant_id = 4) const uint RMS = 0;
layout(push_constant, scalar) uniform Push { norm_bwd_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols, first = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    float rstd = p.rstd.v[row], mean = 0.0, sum_g = 0.0, sum_gh = 0.0;
    if (RMS == 0) mean = p.mean.v[row];
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) {
        float g = p.dy.v[base + c] * p.w.v[c];
        sum_g += g;
        sum_gh += g * (p.s.v[base + c] - mean) * rstd;
    }
    float mean_g = 0.0, mean_gh = wg_add(sum_gh) / float(p.cols);
    if (RMS == 0) mean_g = wg_add(sum_g) / float(p.cols);
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) {
        float g = p.dy.v[base + c] * p.w.v[c], h = (p.s.v[base + c] - mean) * rstd;
        precise float d = rstd * (g - mean_g - h * mean_gh); /* no fma with ds: the bits of a sum apart */
        if ((p.flags & VKT_NORM_RESIDUAL) != 0) d += p.ds.v[base + c];
        p.dx.v[base + c] = d;
    }
}
