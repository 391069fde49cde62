#version 460
/* y = (s - mean(s)) rstd w + b, s = x + r, rstd = 1 / sqrt(var(s) + eps); RMS: mean = 0. x, r, s, y [R, C], w, b [C],
 * mean, rstd [R]. One workgroup per row, each invocation a strided share of it in every pass, so that y may lie
 * over x or r. Centred two-pass variance. Twin: norm_ref. Ba et al. 2016 (1607.06450), Zhang & Sennrich 2019. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(constant_id = 4) const uint RMS = 0;
layout(push_constant, scalar) uniform Push { norm_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols, first = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    bool residual = (p.flags & VKT_NORM_RESIDUAL) != 0, bias = (p.flags & VKT_NORM_BIAS) != 0;
    float sum = 0.0, squares = 0.0, mean = 0.0;
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) {
        float v = p.x.v[base + c];
        if (residual) {
            v += p.r.v[base + c];
            p.s.v[base + c] = v;
        }
        sum += v;
        squares += v * v;
    }
    if (RMS == 0) {
        mean = wg_add(sum) / float(p.cols);
        squares = 0.0;
        for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) {
            float v = p.s.v[base + c] - mean;
            squares += v * v;
        }
    }
    float rstd = 1.0 / sqrt(wg_add(squares) / float(p.cols) + p.eps);
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) {
        float y = (p.s.v[base + c] - mean) * rstd * p.w.v[c];
        if (bias) y += p.b.v[c];
        p.y.v[base + c] = y;
    }
    if (first != 0) return;
    if (RMS == 0) p.mean.v[row] = mean;
    p.rstd.v[row] = rstd;
}
