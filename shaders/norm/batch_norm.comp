#version 460
/* y = act((x - mean) rstd w + b + r), mean and rstd [groups, C] by batch_finish; FIXED: the running mean and variance [C]
 * instead. out0 = y, out1 the value before the activation where asked. Twin: batch_norm_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "together.glsl"
#include "act.glsl"

layout(constant_id = VKT_SPEC_ACT) const int ACT = 0;
layout(constant_id = VKT_SPEC_FIXED) const uint FIXED = 0;
#include "batch.glsl"

elem mean, scale, shift;

elem residual_at(uint i)
{
    return (p.flags & VKT_BN_RESIDUAL) != 0 ? LOAD(p.r, i) : elem(0.0);
}

void end(uint i, elem x, elem residual)
{
    elem y = (x - mean) * scale + shift;
    if ((p.flags & VKT_BN_RESIDUAL) != 0) y += residual;
    if ((p.flags & VKT_BN_PRE) != 0) STORE(p.out1, i, y);
    [[unroll]] for (uint k = 0; k < W; k++) AT(y, k) = act_fwd(ACT, AT(y, k));
    STORE(p.out0, i, y);
}

void main()
{
    uint chunk, group, c, wide = p.cols / W;
    uvec2 rows;
    if (!my_chunk(chunk, group, c, rows)) return;
    mean = LOAD(p.mean, group * wide + c);
    scale = rstd_at(group * wide + c) * LOAD(p.w, c);
    shift = LOAD(p.b, c);
    uint r = rows.x;
    for (; are_together(r, rows.y); r += TOGETHER) {
        elem x[TOGETHER], residual[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) x[j] = LOAD(p.x, (r + j) * wide + c);
        if ((p.flags & VKT_BN_RESIDUAL) != 0)
            [[unroll]] for (uint j = 0; j < TOGETHER; j++) residual[j] = LOAD(p.r, (r + j) * wide + c);
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) end((r + j) * wide + c, x[j], residual[j]);
    }
    for (; r < rows.y; r++) end(r * wide + c, LOAD(p.x, r * wide + c), residual_at(r * wide + c));
}
