#version 460
/* dx = w rstd (g - mean(g) - h mean(g h)), means over the group by batch_norm_total's sums (b, r here), h = (x - mean)
 * rstd; dx may lie over g (dy here). FIXED: dx = w rstd g. Twin: batch_norm_bwd_ref. Ioffe & Szegedy 2015 (1502.03167). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "together.glsl"
layout(constant_id = VKT_SPEC_FIXED) const uint FIXED = 0;
#include "batch.glsl"

void main()
{
    uint chunk, group, c, wide = p.cols / W;
    uvec2 rows;
    if (!my_chunk(chunk, group, c, rows)) return;
    uint at = group * wide + c;
    elem mean = LOAD(p.mean, at), rstd = rstd_at(at), w = LOAD(p.w, c) * rstd;
    float n = float(min(p.group_rows, p.rows - group * p.group_rows));
    elem mean_g = elem(0.0), slope = elem(0.0);
    if (FIXED == 0) {
        mean_g = LOAD(p.b, at) / n;
        slope = LOAD(p.r, at) / n * rstd;
    }
    uint r = rows.x;
    for (; are_together(r, rows.y); r += TOGETHER) {
        elem g[TOGETHER], x[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            g[j] = LOAD(p.dy, (r + j) * wide + c);
            x[j] = LOAD(p.x, (r + j) * wide + c);
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++)
            STORE(p.out0, (r + j) * wide + c, w * (g[j] - mean_g - (x[j] - mean) * slope));
    }
    for (; r < rows.y; r++) {
        uint i = r * wide + c;
        STORE(p.out0, i, w * (LOAD(p.dy, i) - mean_g - (LOAD(p.x, i) - mean) * slope));
    }
}
