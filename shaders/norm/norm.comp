#version 460
/* y = (s - mean(s)) rstd w + b (or 1 + w), s = x + r, rstd = 1 / sqrt(var(s) + eps); RMS: mean = 0. x, r, s, y [R, C], w, b [C],
 * mean, rstd [R]. One workgroup per row, each invocation a strided share of it in every pass, so that y may lie
 * over x or r; the share is of pairs where x, r, s or y is 16-bit (then C is even). Centred two-pass variance. Twin: norm_ref. Ba et al. 2016 (1607.06450), Zhang & Sennrich 2019. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "gain.glsl"
#include "reduce.glsl"

layout(constant_id = VKT_SPEC_RMS) const uint RMS = 0;
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(constant_id = VKT_SPEC_TYPE_R) const uint R = 0;
layout(constant_id = VKT_SPEC_TYPE_S) const uint S = 0;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(push_constant, scalar) uniform Push { norm_params p; };

const bool PAIRWISE = X != T_F32 || R != T_F32 || S != T_F32 || Y != T_F32;
const uint UNIT = PAIRWISE ? 2 : 1;

void main()
{
    uint row = flat_group(), units = p.cols / UNIT, base = row * units, first = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    bool residual = (p.flags & VKT_NORM_RESIDUAL) != 0, bias = (p.flags & VKT_NORM_BIAS) != 0;
    float sum = 0.0, squares = 0.0, mean = 0.0;
    for (uint c = first; c < units; c += gl_WorkGroupSize.x) {
        vec2 v = load_unit(p.x, X, PAIRWISE, base + c);
        if (residual) {
            v += load_unit(p.r, R, PAIRWISE, base + c);
            store_unit(p.s, S, PAIRWISE, base + c, v);
            v = vec2(rounded(S, v[0]), rounded(S, v[1])); /* as later passes will see it */
        }
        [[unroll]] for (uint u = 0; u < UNIT; u++) {
            sum += v[u];
            squares += v[u] * v[u];
        }
    }
    if (RMS == 0) {
        mean = wg_add(sum) / float(p.cols);
        squares = 0.0;
        for (uint c = first; c < units; c += gl_WorkGroupSize.x) {
            vec2 v = load_unit(p.s, S, PAIRWISE, base + c) - mean;
            [[unroll]] for (uint u = 0; u < UNIT; u++) squares += v[u] * v[u];
        }
    }
    float rstd = 1.0 / sqrt(wg_add(squares) / float(p.cols) + p.eps);
    for (uint c = first; c < units; c += gl_WorkGroupSize.x) {
        vec2 y = (load_unit(p.s, S, PAIRWISE, base + c) - mean) * rstd;
        [[unroll]] for (uint u = 0; u < UNIT; u++) {
            y[u] *= gain_of(p.w.v[c * UNIT + u]);
            if (bias) y[u] += p.b.v[c * UNIT + u];
        }
        store_unit(p.y, Y, PAIRWISE, base + c, y);
    }
    if (first != 0) return;
    if (RMS == 0) p.mean.v[row] = mean;
    p.rstd.v[row] = rstd;
}
