#version 460
/* As batch_norm_sums, with the gradient before the pooling in place of dy: over a chunk's rows out0 = sum of g, out1 = sum
 * of g h, [chunks, C]; g = dy where the pixel won its window, else 0. Twin: batch_norm_pool_sums_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(constant_id = VKT_SPEC_FIXED) const uint FIXED = 0;
#include "batch_pool.glsl"

void main()
{
    uint chunk, group, c, wide = p.cols / W, oh = windows(p.h, KH), ow = windows(p.wd, KW);
    uvec2 rows;
    if (!my_chunk(chunk, group, c, rows)) return;
    uint line = rows.x / p.wd, x = rows.x - line * p.wd, image = line / p.h, y = line - image * p.h;
    elem mean = LOAD(p.mean, group * wide + c), rstd = rstd_at(group * wide + c);
    elem sum_g = elem(0.0), sum_gh = elem(0.0);
    for (uint r = rows.x; r < rows.y; r++) {
        uint oy = y / STRIDE, ox = x / STRIDE, kh = y - oy * STRIDE, kw = x - ox * STRIDE;
        bool inside = oy < oh && ox < ow && kh < KH && kw < KW;
        uint from = inside ? ((image * oh + oy) * ow + ox) * wide + c : 0;
        elem g = through(LOAD(p.dy, from), LOAD_WORDS(p.place, from), inside ? kh * KW + kw : CUT + 1);
        sum_g += g;
        sum_gh += g * (LOAD(p.x, r * wide + c) - mean) * rstd;
        x++;
        y += x == p.wd ? 1 : 0;
        x = x == p.wd ? 0 : x;
        image += y == p.h ? 1 : 0;
        y = y == p.h ? 0 : y;
    }
    STORE(p.out0, chunk * wide + c, sum_g);
    STORE(p.out1, chunk * wide + c, sum_gh);
}
