#version 460
/* As batch_norm_bwd, with the gradient before the pooling in place of g: dx = w rstd (g - mean(g) - h mean(g h)), g = dy
 * where the pixel won its window, else 0; b, r: batch_norm_total's sums. One invocation per block of lines and channels.
 * Twin: batch_norm_pool_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(constant_id = VKT_SPEC_FIXED) const uint FIXED = 0;
#include "batch_pool.glsl"

void main()
{
    uint image, y, line, c, wide = p.cols / W, oh = windows(p.h, KH), ow = windows(p.wd, KW);
    uint n = my_lines(p.h, image, y, line, c), i = line * p.wd * wide + c, per_group = p.group_rows / (p.h * p.wd);
    for (uint k = 0; k < n; k++) {
        uint group = image / per_group, at = group * wide + c, oy = y / STRIDE, kh = y - oy * STRIDE;
        elem mean = LOAD(p.mean, at), rstd = rstd_at(at), w = LOAD(p.w, c) * rstd;
        float rows = float(min(p.group_rows, p.rows - group * p.group_rows));
        elem mean_g = elem(0.0), slope = elem(0.0);
        if (FIXED == 0) {
            mean_g = LOAD(p.b, at) / rows;
            slope = LOAD(p.r, at) / rows * rstd;
        }
        bool row_inside = oy < oh && kh < KH;
        for (uint ox = 0; ox * STRIDE < p.wd; ox++) {
            bool inside = row_inside && ox < ow;
            uint from = inside ? ((image * oh + oy) * ow + ox) * wide + c : 0;
            elem dy = LOAD(p.dy, from);
            words place = LOAD_WORDS(p.place, from);
            for (uint kw = 0; kw < STRIDE; kw++) {
                if (ox * STRIDE + kw >= p.wd) break;
                elem g = through(dy, place, inside && kw < KW ? kh * KW + kw : CUT + 1);
                STORE(p.out0, i, w * (g - mean_g - (LOAD(p.x, i) - mean) * slope));
                i += wide;
            }
        }
        y++;
        image += y == p.h ? 1 : 0;
        y = y == p.h ? 0 : y;
    }
}
