#version 460
/* y [N, OH, OW, C] = maximum or mean of each window of x [N, H, W, C]: one invocation per line and channel. The maximum's
 * place in the window goes to `index`: the first of equals; a NaN wins. Padding never wins, and counts as zeros in the
 * mean. Twin: pool_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "pool.glsl"

void main()
{
    uint image, row, c, wide = p.c / W;
    if (!my_line(p.oh, image, row, c)) return;
    uint y0 = row * STRIDE - p.pad, to = (image * p.oh + row) * p.ow * wide + c;
    for (uint ox = 0; ox < p.ow; ox++) {
        uint x0 = ox * STRIDE_W - p.pad_w;
        elem best = elem(0.0), sum = elem(0.0);
        words where = words(0);
        bool any = false;
        for (uint kh = 0; kh < KH; kh++)
            for (uint kw = 0; kw < KW; kw++) {
                uint y = y0 + kh, x = x0 + kw; /* outside before the first too: it wraps round */
                if (y >= p.h || x >= p.wd) continue;
                elem v = LOAD(p.x, ((image * p.h + y) * p.wd + x) * wide + c);
                if (MEAN != 0) sum += v;
                else [[unroll]] for (uint i = 0; i < W; i++) {
                    bool wins = !any || AT(v, i) > AT(best, i) || is_nan(AT(v, i));
                    AT(best, i) = wins ? AT(v, i) : AT(best, i);
                    AT(where, i) = wins ? kh * KW + kw : AT(where, i);
                }
                any = true;
            }
        STORE(p.y, to + ox * wide, MEAN != 0 ? sum * mean_scale(row, ox) : best);
        if (MEAN == 0) STORE_WORDS(p.index, to + ox * wide, where);
    }
}
