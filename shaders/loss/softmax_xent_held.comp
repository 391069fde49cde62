#version 460
/* softmax_xent.comp with the row in registers: logits are read once; dlogits of 16 bits need WIDE. One workgroup per row.
 * Twin: xent_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
#include "row.glsl"

layout(constant_id = VKT_SPEC_TYPE_DX) const uint DX = 0;
layout(push_constant, scalar) uniform Push { xent_params p; };
#include "xent_finish.glsl"

void main()
{
    uint row = flat_group(), base = row * p.cols;
    if (row >= p.rows) return;
    uint t = p.target.v[row];
    bool weighted = (p.flags & VKT_XENT_CLASS_WEIGHT) != 0, smoothed = p.smoothing > 0.0;
    float v[PER], top = uintBitsToFloat(0xff800000u), sum = 0.0, earlier = 0.0, below = 0.0;
    ROW_LOAD(v, p.logits, base, p.cols)
    [[unroll]] for (uint j = 0; j < PER; j++)
        if (row_column(j) < p.cols && !is_nan(v[j])) top = max(top, v[j]);
    top = wg_max(top);
    [[unroll]] for (uint j = 0; j < PER; j++) {
        uint c = row_column(j);
        if (c >= p.cols) continue;
        sum += is_nan(v[j]) ? v[j] : exp_below(v[j] - top);
        if (v[j] == top && c < t) earlier = 1.0;
        if (smoothed) below += (top - v[j]) * (weighted ? p.class_weight.v[c] : 1.0);
    }
    sum = wg_add(sum);
    earlier = wg_max(earlier);
    if (smoothed) below = wg_add(below);
    float x = xent_target(base, t, row_lane(t) == gl_LocalInvocationID.x);
    if (gl_LocalInvocationID.x == 0) xent_finish(row, top, sum, earlier, below, x);
    if ((p.flags & VKT_XENT_DLOGITS) == 0) return;
    xent_slope s = xent_slope_of(row);
    float lse = xent_lse(top, sum);
    [[unroll]] for (uint j = 0; j < PER; j++) v[j] = xent_dlogit(s, row_column(j), v[j], top, lse);
    ROW_STORE_AS(v, p.dlogits, DX, base, p.cols)
}
