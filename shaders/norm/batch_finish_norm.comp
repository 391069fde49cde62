#version 460
/* batch_finish and batch_norm in one, of one group: each workgroup merges the chunks of its channels for itself, always in the
 * same order, and normalises `strip` rows; the first of them writes mean, rstd and the running averages, which no other reads.
 * Twin: batch_finish_norm_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"
#include "batch_merge.glsl"

layout(constant_id = VKT_SPEC_ACT) const int ACT = 0;
layout(constant_id = VKT_SPEC_FLAGS) const uint FLAGS = 0;
layout(push_constant, scalar) uniform Push { batch_finish_norm_params p; };

elem mean, scale, shift;

elem residual_at(uint i)
{
    return (FLAGS & VKT_BN_RESIDUAL) != 0 ? LOAD(p.r, i) : elem(0.0);
}

void end(uint i, elem x, elem residual)
{
    elem y = (x - mean) * scale + shift;
    if ((FLAGS & VKT_BN_RESIDUAL) != 0) y += residual;
    if ((FLAGS & VKT_BN_PRE) != 0) STORE(p.pre, i, y);
    [[unroll]] for (uint k = 0; k < W; k++) AT(y, k) = act_fwd(ACT, AT(y, k));
    STORE(p.y, i, y);
}

void main()
{
    uint wide = p.cols / W, blocks = (wide + BESIDE - 1) / BESIDE, strip = flat_group() / blocks,
         c = (flat_group() - strip * blocks) * BESIDE + my_place();
    if (strip * p.strip >= p.rows) return;
    bool mine = c < wide;
    elem squares;
    merge_means(p.means, p.squares, 0, p.rows, p.chunk, wide, c, mine, mean, squares);
    if (!mine) return;
    elem rstd = elem(1.0) / sqrt(squares / float(p.rows) + p.eps);
    if (strip == 0 && my_lane() == 0) {
        elem run_mean = LOAD(p.run_mean, c), run_var = LOAD(p.run_var, c);
        follow(run_mean, run_var, mean, squares, float(p.rows), 0.0, p.momentum);
        STORE(p.run_mean, c, run_mean);
        STORE(p.run_var, c, run_var);
        STORE(p.mean, c, mean);
        STORE(p.rstd, c, rstd);
        if (c == 0) p.count.v[0] += 1;
    }
    scale = rstd * LOAD(p.w, c);
    shift = LOAD(p.b, c);
    uint lanes = n_lanes(), r = strip * p.strip + my_lane(), last = min((strip + 1) * p.strip, p.rows);
    for (; r + (TOGETHER - 1) * lanes < last; r += TOGETHER * lanes) {
        elem x[TOGETHER], residual[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            x[j] = LOAD(p.x, (r + j * lanes) * wide + c);
            residual[j] = residual_at((r + j * lanes) * wide + c);
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) end((r + j * lanes) * wide + c, x[j], residual[j]);
    }
    for (; r < last; r += lanes) end(r * wide + c, LOAD(p.x, r * wide + c), residual_at(r * wide + c));
}
