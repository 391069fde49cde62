#version 460
/* dx = rstd (g - mean(g) - h mean(g h)) + ds, g = dy w, h = (s - mean) rstd; RMS: without mean(g). One workgroup per
 * row, each invocation the same strided share in both passes, so that dx may lie over dy or ds; the share is of
 * pairs where dy, s, ds or dx is 16-bit (then C is even). Twin: norm_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "gain.glsl"
#include "reduce.glsl"

layout(constant_id = VKT_SPEC_RMS) const uint RMS = 0;
layout(constant_id = VKT_SPEC_TYPE_DY) const uint DY = 0;
layout(constant_id = VKT_SPEC_TYPE_S) const uint S = 0;
layout(constant_id = VKT_SPEC_TYPE_DS) const uint DS = 0;
layout(constant_id = VKT_SPEC_TYPE_DX) const uint DX = 0;
layout(push_constant, scalar) uniform Push { norm_bwd_params p; };

const bool PAIRWISE = DY != T_F32 || S != T_F32 || DS != T_F32 || DX != T_F32;
const uint UNIT = PAIRWISE ? 2 : 1;

void main()
{
    uint row = flat_group(), units = p.cols / UNIT, base = row * units, first = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    float rstd = p.rstd.v[row], mean = 0.0, sum_g = 0.0, sum_gh = 0.0;
    if (RMS == 0) mean = p.mean.v[row];
    for (uint c = first; c < units; c += gl_WorkGroupSize.x) {
        vec2 dy = load_unit(p.dy, DY, PAIRWISE, base + c), s = load_unit(p.s, S, PAIRWISE, base + c);
        [[unroll]] for (uint u = 0; u < UNIT; u++) {
            float g = dy[u] * gain_of(p.w.v[c * UNIT + u]);
            sum_g += g;
            sum_gh += g * (s[u] - mean) * rstd;
        }
    }
    float mean_g = 0.0, mean_gh = wg_add(sum_gh) / float(p.cols);
    if (RMS == 0) mean_g = wg_add(sum_g) / float(p.cols);
    for (uint c = first; c < units; c += gl_WorkGroupSize.x) {
        vec2 dy = load_unit(p.dy, DY, PAIRWISE, base + c), s = load_unit(p.s, S, PAIRWISE, base + c);
        precise vec2 d = vec2(0.0); /* no fma with ds: the bits of a sum apart */
        [[unroll]] for (uint u = 0; u < UNIT; u++) {
            float g = dy[u] * gain_of(p.w.v[c * UNIT + u]), h = (s[u] - mean) * rstd;
            d[u] = rstd * (g - mean_g - h * mean_gh);
        }
        if ((p.flags & VKT_NORM_RESIDUAL) != 0) d += load_unit(p.ds, DS, PAIRWISE, base + c);
        store_unit(p.dx, DX, PAIRWISE, base + c, d);
    }
}
