#version 460
/* norm_bwd_held.comp by a workgroup for a chunk of rows, which keeps its columns' sums of dw and db in registers, too:
 * dy, s and ds are read once for all three. dw[k, c] = sum of dy (s - mean) rstd, db[k, c] = sum of dy, over rows
 * [k * chunk, (k + 1) * chunk), in order; sum_rows adds the chunks. An invocation's columns lie in adjacent fours; so
 * cols is a multiple of four. dx may lie over dy or ds. Twin: norm_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "gain.glsl"
#include "reduce.glsl"

layout(constant_id = VKT_SPEC_RMS) const uint RMS = 0;
layout(constant_id = VKT_SPEC_PER) const uint PER = 4;
layout(constant_id = VKT_SPEC_TYPE_DY) const uint DY = 0;
layout(constant_id = VKT_SPEC_TYPE_S) const uint S = 0;
layout(constant_id = VKT_SPEC_TYPE_DS) const uint DS = 0;
layout(constant_id = VKT_SPEC_TYPE_DX) const uint DX = 0;
layout(push_constant, scalar) uniform Push { norm_bwd_sums_params p; };

const uint FOURS = PER / 4;

/* Four neighbours in one load: of 16 bits two words. */
vec4 load_four(u32s from, uint type, uint i)
{
    if (type == T_F32) return f32x4s(from).v[i];
    uvec2 x = u32x2s(from).v[i];
    return vec4(widen2(type, x[0]), widen2(type, x[1]));
}

void store_four(u32s to, uint type, uint i, vec4 x)
{
    if (type == T_F32) f32x4s(to).v[i] = x;
    else u32x2s(to).v[i] = uvec2(narrow2(type, x.xy), narrow2(type, x.zw));
}

void main()
{
    uint k = flat_group(), cols = p.cols / 4, first = gl_LocalInvocationID.x;
    if (k >= p.splits) return;
    vec4 w[FOURS], dw[FOURS], db[FOURS];
    [[unroll]] for (uint j = 0; j < FOURS; j++) {
        uint c = first + j * gl_WorkGroupSize.x;
        w[j] = dw[j] = db[j] = vec4(0.0);
        if (c < cols) w[j] = p.w.v[c];
        [[unroll]] for (uint u = 0; u < 4; u++) w[j][u] = gain_of(w[j][u]);
    }
    uint end = min(p.rows, (k + 1) * p.chunk);
    for (uint r = k * p.chunk; r < end; r++) {
        vec4 g[FOURS], h[FOURS];
        float rstd = p.rstd.v[r], mean = 0.0, sum_g = 0.0, sum_gh = 0.0;
        if (RMS == 0) mean = p.mean.v[r];
        [[unroll]] for (uint j = 0; j < FOURS; j++) {
            uint c = first + j * gl_WorkGroupSize.x;
            g[j] = h[j] = vec4(0.0);
            if (c < cols) {
                g[j] = load_four(p.dy, DY, r * cols + c);
                h[j] = load_four(p.s, S, r * cols + c);
            }
        }
        [[unroll]] for (uint j = 0; j < FOURS; j++) {
            h[j] = (h[j] - mean) * rstd;
            dw[j] += g[j] * h[j];
            db[j] += g[j];
            g[j] *= w[j]; /* 0 past the row's end */
            [[unroll]] for (uint u = 0; u < 4; u++) {
                sum_g += g[j][u];
                sum_gh += g[j][u] * h[j][u];
            }
        }
        float mean_g = 0.0, mean_gh = wg_add(sum_gh) / float(p.cols);
        if (RMS == 0) mean_g = wg_add(sum_g) / float(p.cols);
        [[unroll]] for (uint j = 0; j < FOURS; j++) {
            uint c = first + j * gl_WorkGroupSize.x;
            precise vec4 d = rstd * (g[j] - mean_g - h[j] * mean_gh); /* no fma with ds: the bits of a sum apart */
            if (c >= cols) continue;
            if ((p.flags & VKT_NORM_RESIDUAL) != 0) d += load_four(p.ds, DS, r * cols + c);
            store_four(p.dx, DX, r * cols + c, d);
        }
    }
    [[unroll]] for (uint j = 0; j < FOURS; j++) {
        uint c = first + j * gl_WorkGroupSize.x;
        if (c >= cols) continue;
        p.dw.v[k * cols + c] = dw[j];
        if ((p.flags & VKT_NORM_BIAS) != 0) p.db.v[k * cols + c] = db[j];
    }
}
