#version 460
/* Over a chunk's rows: out0 = sum of g, out1 = sum of g h, [chunks, C]; g = dy act'(v), h = (x - mean) rstd. With an
 * activation g itself goes to r, over dy if need be. v is b here: the output, or the value before the activation. Twin:
 * batch_norm_sums_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"

layout(constant_id = VKT_SPEC_ACT) const int ACT = 0;
layout(constant_id = VKT_SPEC_FIXED) const uint FIXED = 0;
#include "batch.glsl"

void main()
{
    uint chunk, group, c, wide = p.cols / W;
    uvec2 rows;
    if (!my_chunk(chunk, group, c, rows)) return;
    elem mean = LOAD(p.mean, group * wide + c), rstd = rstd_at(group * wide + c);
    elem sum_g = elem(0.0), sum_gh = elem(0.0);
    for (uint r = rows.x; r < rows.y; r++) {
        uint i = r * wide + c;
        elem g = LOAD(p.dy, i);
        if (ACT != VKT_ACT_N_NONE) {
            elem v = LOAD(p.b, i);
            [[unroll]] for (uint k = 0; k < W; k++) AT(g, k) *= act_bwd(ACT, AT(v, k));
            STORE(p.r, i, g);
        }
        sum_g += g;
        sum_gh += g * (LOAD(p.x, i) - mean) * rstd;
    }
    STORE(p.out0, chunk * wide + c, sum_g);
    STORE(p.out1, chunk * wide + c, sum_gh);
}
