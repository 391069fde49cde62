#version 460
/* What batch_norm_sums.comp computes, for GPUs: a workgroup a chunk of rows and a block of channels. Twin:
 * batch_norm_sums_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"
#include "batch_merge.glsl"

layout(constant_id = VKT_SPEC_ACT) const int ACT = 0;
layout(constant_id = VKT_SPEC_ADDED) const uint ADDED = 0;
layout(constant_id = VKT_SPEC_FIXED) const uint FIXED = 0;
#include "batch.glsl"

elem mean = elem(0.0), rstd = elem(0.0), sum_g = elem(0.0), sum_gh = elem(0.0);

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
    uint wide = p.cols / W, blocks = (wide + BESIDE - 1) / BESIDE, chunk = flat_group() / blocks, group,
         c = (flat_group() - chunk * blocks) * BESIDE + my_place(), lanes = n_lanes();
    uvec2 rows = rows_of_chunk(chunk, group);
    if (group >= p.groups) return;
    uint r = rows.x + my_lane(), end = c < wide ? rows.y : 0;
    if (c < wide) {
        mean = LOAD(p.mean, group * wide + c);
        rstd = rstd_at(group * wide + c);
    }
    for (; r + (TOGETHER - 1) * lanes < end; r += TOGETHER * lanes) {
        elem g[TOGETHER], v[TOGETHER], x[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            uint i = (r + j * lanes) * wide + c;
            g[j] = gradient_at(i);
            v[j] = value_at(i);
            x[j] = LOAD(p.x, i);
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) take((r + j * lanes) * wide + c, g[j], v[j], x[j]);
    }
    for (; r < end; r += lanes) {
        uint i = r * wide + c;
        take(i, gradient_at(i), value_at(i), LOAD(p.x, i));
    }
    add_lanes(sum_g, sum_gh);
    if (c >= wide || my_lane() != 0) return;
    STORE(p.out0, chunk * wide + c, sum_g);
    STORE(p.out1, chunk * wide + c, sum_gh);
}
