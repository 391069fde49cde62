#version 460
/* y = max over windows of act((x - mean) rstd w + b), the first of equals; a NaN wins. Mean and rstd as batch_norm has
 * them. out0 = y, `place` which pixel it was. One invocation per block of lines of windows and channels. Twin:
 * batch_norm_pool_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"

layout(constant_id = VKT_SPEC_ACT) const int ACT = 0;
layout(constant_id = VKT_SPEC_FIXED) const uint FIXED = 0;
#include "batch_pool.glsl"

void main()
{
    uint image, row, line, c, wide = p.cols / W, oh = windows(p.h, KH), ow = windows(p.wd, KW);
    uint n = my_lines(oh, image, row, line, c), to = line * ow * wide + c, per_group = p.group_rows / (p.h * p.wd);
    for (uint k = 0; k < n; k++) {
        uint at = image / per_group * wide + c;
        elem mean = LOAD(p.mean, at), scale = rstd_at(at) * LOAD(p.w, c), shift = LOAD(p.b, c);
        uint from = (image * p.h + row * STRIDE) * p.wd * wide + c;
        for (uint ox = 0; ox < ow; ox++) {
            elem best = elem(0.0);
            words place = words(0);
            [[unroll]] for (uint t = 0; t < KH * KW; t++) {
                elem y = (LOAD(p.x, from + (t / KW * p.wd + t % KW) * wide) - mean) * scale + shift;
                [[unroll]] for (uint i = 0; i < W; i++) {
                    float v = act_fwd(ACT, AT(y, i));
                    bool wins = t == 0 || v > AT(best, i) || is_nan(v);
                    AT(best, i) = wins ? v : AT(best, i);
                    AT(place, i) = wins ? t : AT(place, i);
                }
            }
            if (ACT == VKT_ACT_N_RELU)
                [[unroll]] for (uint i = 0; i < W; i++) AT(place, i) = AT(best, i) > 0.0 ? AT(place, i) : CUT;
            STORE(p.out0, to, best);
            STORE_WORDS(p.place, to, place);
            to += wide;
            from += STRIDE * wide;
        }
        row++;
        image += row == oh ? 1 : 0;
        row = row == oh ? 0 : row;
    }
}
