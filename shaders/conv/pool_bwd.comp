#version 460
/* dx [N, H, W, C] from dy [N, OH, OW, C] (y here; x is dx): each pixel gathers from the windows that hold it, in order: of
 * those where it was the maximum, by `index`; of all of them for the mean. One invocation per line and channel. Twin:
 * pool_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "pool.glsl"

/* The first window that holds padded position at; the last is at / stride. */
uint first_window(uint at, uint k, uint stride)
{
    return at < k ? 0 : (at - k) / stride + 1;
}

void main()
{
    uint image, row, c, wide = p.c / W;
    if (!my_line(p.h, image, row, c)) return;
    uint to = (image * p.h + row) * p.wd * wide + c, y = row + p.pad, oy0 = first_window(y, KH, STRIDE);
    for (uint col = 0; col < p.wd; col++) {
        uint x = col + p.pad_w, ox0 = first_window(x, KW, STRIDE_W);
        elem sum = elem(0.0);
        for (uint ky = 0; ky < (KH + STRIDE - 1) / STRIDE; ky++)
            for (uint kx = 0; kx < (KW + STRIDE_W - 1) / STRIDE_W; kx++) {
                uint oy = oy0 + ky, ox = ox0 + kx;
                if (oy >= p.oh || oy * STRIDE > y || ox >= p.ow || ox * STRIDE_W > x) continue;
                uint from = ((image * p.oh + oy) * p.ow + ox) * wide + c, place = (y - oy * STRIDE) * KW + x - ox * STRIDE_W;
                elem dy = LOAD(p.y, from);
                if (MEAN == 0) {
                    words where = LOAD_WORDS(p.index, from);
                    [[unroll]] for (uint i = 0; i < W; i++) AT(dy, i) = AT(where, i) == place ? AT(dy, i) : 0.0;
                }
                sum += MEAN != 0 && COUNTED != 0 ? dy * mean_scale(oy, ox) : dy;
            }
        STORE(p.x, to + col * wide, MEAN != 0 && COUNTED == 0 ? sum * p.scale : sum);
    }
}
