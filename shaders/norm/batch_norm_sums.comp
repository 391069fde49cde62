#version 460
/* Over a chunk's rows: out0 = sum of g, out1 = sum of g h, [chunks, C]; g = dy act'(v), h = (x - mean) rstd; ADDED:
 * dy has a second term, w here. With an
 * activation g itself goes to r, over dy if need be. v is b here: the output, or the value before the activation. Twin:
 * batch_norm_sums_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "together.glsl"
#include "act.glsl"

layout(constant_id = VKT_SPEC_ACT) const int ACT = 0;
layout(constant_id = VKT_SPEC_ADDED) const uint ADDED = 0;
layout(constant_id = VKT_SPEC_FIXED) const uint FIXED = 0;
#include "batch.glsl"

elem mean, rstd, sum_g = elem(0.0), sum_gh = elem(0.0);

/* Of element i. */
void take(uint i, elem g, elem v, elem x)
{
    if (ACT != VKT_ACT_N_NONE) {
        [[unroll]] for (uint k = 0; k < W; k++) AT(g, k) *= act_bwd(ACT, AT(v, k));
        STORE(p.r, i, g);
    }
    sum_g += g;
    sum_gh += g * (x - mean) * rstd;
}

elem gradient_at(uint i)
{
    return ADDED != 0 ? LOAD(p.dy, i) + LOAD(p.w, i) : LOAD(p.dy, i);
}

elem value_at(uint i)
{
    return ACT != VKT_ACT_N_NONE ? LOAD(p.b, i) : elem(0.0);
}

void main()
{
    uint chunk, group, c, wide = p.cols / W;
    uvec2 rows;
    if (!my_chunk(chunk, group, c, rows)) return;
    mean = LOAD(p.mean, group * wide + c);
    rstd = rstd_at(group * wide + c);
    uint r = rows.x;
    for (; are_together(r, rows.y); r += TOGETHER) {
        elem g[TOGETHER], v[TOGETHER], x[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            uint i = (r + j) * wide + c;
            g[j] = gradient_at(i);
            v[j] = value_at(i);
            x[j] = LOAD(p.x, i);
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) take((r + j) * wide + c, g[j], v[j], x[j]);
    }
    for (; r < rows.y; r++) {
        uint i = r * wide + c;
        take(i, gradient_at(i), value_at(i), LOAD(p.x, i));
    }
    STORE(p.out0, chunk * wide + c, sum_g);
    STORE(p.out1, chunk * wide + c, sum_gh);
}
