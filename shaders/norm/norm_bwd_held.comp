#version 460
/* norm_bwd.comp with the row in registers: dy, s, w and ds are read once, dx written once. One workgroup per row. dx may
 * lie over dy or ds. Twin: norm_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "gain.glsl"
#include "reduce.glsl"
#include "row.glsl"

layout(constant_id = VKT_SPEC_RMS) const uint RMS = 0;
layout(constant_id = VKT_SPEC_TYPE_DY) const uint DY = 0;
layout(constant_id = VKT_SPEC_TYPE_S) const uint S = 0;
layout(constant_id = VKT_SPEC_TYPE_DS) const uint DS = 0;
layout(constant_id = VKT_SPEC_TYPE_DX) const uint DX = 0;
layout(push_constant, scalar) uniform Push { norm_bwd_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols;
    if (row >= p.rows) return;
    float g[PER], h[PER], t[PER], rstd = p.rstd.v[row], mean = 0.0, sum_g = 0.0, sum_gh = 0.0;
    if (RMS == 0) mean = p.mean.v[row];
    uint late = ROW_AHEAD(p.dy, DY, row) + ROW_AHEAD(p.s, S, row);
    if ((p.flags & VKT_NORM_RESIDUAL) != 0) late += ROW_AHEAD(p.ds, DS, row);
    ROW_LOAD_AS(g, p.dy, DY, base, p.cols)
    ROW_LOAD(t, p.w, 0, p.cols)
    ROW_LOAD_AS(h, p.s, S, base, p.cols)
    [[unroll]] for (uint j = 0; j < PER; j++) {
        g[j] *= gain_of(t[j]); /* 0 past the row's end */
        h[j] = (h[j] - mean) * rstd;
        sum_g += g[j];
        sum_gh += g[j] * h[j];
    }
    float mean_g = 0.0, mean_gh = wg_add(sum_gh) / float(p.cols);
    if (RMS == 0) mean_g = wg_add(sum_g) / float(p.cols);
    precise float d;
    [[unroll]] for (uint j = 0; j < PER; j++) g[j] = rstd * (g[j] - mean_g - h[j] * mean_gh);
    if ((p.flags & VKT_NORM_RESIDUAL) != 0) {
        ROW_LOAD_AS(t, p.ds, DS, base, p.cols)
        [[unroll]] for (uint j = 0; j < PER; j++) {
            d = g[j] + t[j];
            g[j] = d;
        }
    }
    ROW_STORE_AS(g, p.dx, DX, base + late, p.cols)
}
