#version 460
/* norm.comp with the row in registers: x, r, w and b are read once, y and s written once. One workgroup per row. Centred
 * two-pass variance, over registers. y may lie over x or r. Twin: norm_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "gain.glsl"
#include "reduce.glsl"
#include "row.glsl"

layout(constant_id = VKT_SPEC_RMS) const uint RMS = 0;
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(constant_id = VKT_SPEC_TYPE_R) const uint R = 0;
layout(constant_id = VKT_SPEC_TYPE_S) const uint S = 0;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(push_constant, scalar) uniform Push { norm_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols;
    if (row >= p.rows) return;
    float v[PER], t[PER], mean = 0.0, sum = 0.0;
    uint late = ROW_AHEAD(p.x, X, row);
    if ((p.flags & VKT_NORM_RESIDUAL) != 0) late += ROW_AHEAD(p.r, R, row);
    ROW_LOAD_AS(v, p.x, X, base, p.cols)
    if ((p.flags & VKT_NORM_RESIDUAL) != 0) {
        ROW_LOAD_AS(t, p.r, R, base, p.cols)
        [[unroll]] for (uint j = 0; j < PER; j++) v[j] += t[j];
        ROW_STORE_AS(v, p.s, S, base, p.cols)
        [[unroll]] for (uint j = 0; j < PER; j++) v[j] = rounded(S, v[j]);
    }
    if (RMS == 0) {
        [[unroll]] for (uint j = 0; j < PER; j++) sum += v[j];
        mean = wg_add(sum) / float(p.cols);
    }
    float squares = 0.0;
    [[unroll]] for (uint j = 0; j < PER; j++)
        if (row_column(j) < p.cols) squares += (v[j] - mean) * (v[j] - mean);
    float rstd = 1.0 / sqrt(wg_add(squares) / float(p.cols) + p.eps);
    ROW_LOAD(t, p.w, 0, p.cols)
    [[unroll]] for (uint j = 0; j < PER; j++) v[j] = (v[j] - mean) * rstd * gain_of(t[j]);
    if ((p.flags & VKT_NORM_BIAS) != 0) {
        ROW_LOAD(t, p.b, 0, p.cols)
        [[unroll]] for (uint j = 0; j < PER; j++) v[j] += t[j];
    }
    ROW_STORE_AS(v, p.y, Y, base + late, p.cols)
    if (gl_LocalInvocationID.x != 0) return;
    if (RMS == 0) p.mean.v[row] = mean;
    p.rstd.v[row] = rstd;
}
