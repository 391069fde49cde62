#version 460
/* batch_norm_total and batch_norm_bwd in one, of one group: each workgroup adds up the chunks' sums of its channels for
 * itself, always in the same order, and finds dx of `strip` rows; the first of them writes db and dw. dx may lie over g. Twin:
 * batch_total_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "batch_merge.glsl"

layout(push_constant, scalar) uniform Push { batch_total_bwd_params p; };

void main()
{
    uint wide = p.cols / W, blocks = (wide + BESIDE - 1) / BESIDE, strip = flat_group() / blocks,
         c = (flat_group() - strip * blocks) * BESIDE + my_place();
    if (strip * p.strip >= p.rows) return;
    bool mine = c < wide;
    elem sum_g, sum_gh;
    merge_sums(p.parts_g, p.parts_gh, 0, p.chunks, wide, c, mine, sum_g, sum_gh);
    if (!mine) return;
    if (strip == 0 && my_lane() == 0) {
        STORE(p.db, c, sum_g);
        STORE(p.dw, c, sum_gh);
    }
    elem mean = LOAD(p.mean, c), rstd = LOAD(p.rstd, c), w = LOAD(p.w, c) * rstd;
    float n = float(p.rows);
    elem mean_g = sum_g / n, slope = sum_gh / n * rstd;
    uint lanes = n_lanes(), r = strip * p.strip + my_lane(), last = min((strip + 1) * p.strip, p.rows);
    for (; r + (TOGETHER - 1) * lanes < last; r += TOGETHER * lanes) {
        elem g[TOGETHER], x[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            g[j] = LOAD(p.g, (r + j * lanes) * wide + c);
            x[j] = LOAD(p.x, (r + j * lanes) * wide + c);
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++)
            STORE(p.dx, (r + j * lanes) * wide + c, w * (g[j] - mean_g - (x[j] - mean) * slope));
    }
    for (; r < last; r += lanes) {
        uint i = r * wide + c;
        STORE(p.dx, i, w * (LOAD(p.g, i) - mean_g - (LOAD(p.x, i) - mean) * slope));
    }
}
