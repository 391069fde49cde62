#version 460
/* y = act((x - mean) rstd w + b + r), mean and rstd [groups, C] by batch_finish; FIXED: the running mean and variance [C]
 * instead. out0 = y, out1 the value before the activation where asked. Twin: batch_norm_ref. */
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
    elem mean = LOAD(p.mean, group * wide + c), scale = rstd_at(group * wide + c) * LOAD(p.w, c);
    elem shift = LOAD(p.b, c);
    for (uint r = rows.x; r < rows.y; r++) {
        uint i = r * wide + c;
        elem y = (LOAD(p.x, i) - mean) * scale + shift;
        if ((p.flags & VKT_BN_RESIDUAL) != 0) y += LOAD(p.r, i);
        if ((p.flags & VKT_BN_PRE) != 0) STORE(p.out1, i, y);
        [[unroll]] for (uint k = 0; k < W; k++) AT(y, k) = act_fwd(ACT, AT(y, k));
        STORE(p.out0, i, y);
    }
}
