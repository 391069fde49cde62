#version 460
/* softmax_xent.comp for long rows on GPUs: the largest logit and the sum of exp(x - it) in one walk, in which the sum is
 * rescaled when a larger logit is met; one more walk each for smoothing and for dlogits. A trip takes UNITS fours (for
 * dlogits one), of adjacent columns where WIDE (pitch a multiple of four, addresses of 16 bytes), else one workgroup's size
 * apart, or pairs of columns where dlogits are of 16 bits (pitch even). One workgroup per row. Twin: xent_ref. Milakov &
 * Gimelshein 2018 (arXiv 1805.02867). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0;
layout(constant_id = VKT_SPEC_TYPE_DX) const uint DX = 0;
layout(push_constant, scalar) uniform Push { xent_params p; };
#include "xent_finish.glsl"

const uint UNITS = 2;
#define NONE uintBitsToFloat(0xff800000u) /* -Inf */
const float LEAST = -3.4e38;              /* in its place where there would be Inf - Inf */

/* Column of element `i` of four `four`, counted over the whole row. */
uint column(uint four, uint i)
{
    uint wg = gl_WorkGroupSize.x, lane = gl_LocalInvocationID.x;
    if (WIDE != 0) return (four * wg + lane) * 4 + i;
    return DX != T_F32 ? ((four * 2 + i / 2) * wg + lane) * 2 + i % 2 : (four * 4 + i) * wg + lane;
}

/* The four's logits; NONE past the row's end. */
vec4 logits(uint base, uint four)
{
    vec4 x = vec4(NONE);
    if (WIDE != 0) {
        uint c = column(four, 0);
        if (c < p.cols) x = f32x4s(p.logits).v[(base + c) / 4];
        if (c + 3 >= p.cols) x = mix(vec4(NONE), x, lessThan(c + uvec4(0, 1, 2, 3), uvec4(p.cols)));
        return x;
    }
    [[unroll]] for (uint i = 0; i < 4; i++)
        if (column(four, i) < p.cols) x[i] = p.logits.v[base + column(four, i)];
    return x;
}

void main()
{
    uint row = flat_group(), base = row * p.pitch, wg = gl_WorkGroupSize.x, fours = (p.pitch + 4 * wg - 1) / (4 * wg);
    if (row >= p.rows) return;
    uint t = p.target.v[row], at = 0; /* column of the first largest */
    bool weighted = (p.flags & VKT_XENT_CLASS_WEIGHT) != 0;
    float mine = NONE, sum = 0.0, below = 0.0;
    for (uint f = 0; f < fours; f += UNITS) {
        vec4 x[UNITS];
        float before = mine;
        [[unroll]] for (uint u = 0; u < UNITS; u++) x[u] = logits(base, f + u);
        [[unroll]] for (uint u = 0; u < UNITS; u++)
            [[unroll]] for (uint i = 0; i < 4; i++)
                if (x[u][i] > mine) {
                    mine = x[u][i];
                    at = column(f + u, i);
                }
        sum *= exp_below(max(before, LEAST) - max(mine, LEAST));
        [[unroll]] for (uint u = 0; u < UNITS; u++)
            [[unroll]] for (uint i = 0; i < 4; i++) sum += is_nan(x[u][i]) ? x[u][i] : exp_below(x[u][i] - max(mine, LEAST));
    }
    float top = wg_max(mine);
    sum = wg_add(sum * exp_below(max(mine, LEAST) - max(top, LEAST)));
    float earlier = wg_max(mine == top && at < t ? 1.0 : 0.0);
    if (p.smoothing > 0.0) {
        for (uint c = gl_LocalInvocationID.x; c < p.cols; c += wg)
            below += (top - p.logits.v[base + c]) * (weighted ? p.class_weight.v[c] : 1.0);
        below = wg_add(below);
    }
    uint reader = (WIDE != 0 ? t / 4 : t) % wg;
    float x_t = xent_target(base, t, reader == gl_LocalInvocationID.x);
    if (gl_LocalInvocationID.x == 0) xent_finish(row, top, sum, earlier, below, x_t);
    if ((p.flags & VKT_XENT_DLOGITS) == 0) return;
    xent_slope s = xent_slope_of(row);
    float lse = xent_lse(top, sum);
    for (uint f = 0; f < fours; f++) {
        vec4 x = logits(base, f);
        uint c = column(f, 0);
        [[unroll]] for (uint i = 0; i < 4; i++)
            if (column(f, i) < p.pitch) x[i] = xent_padded(s, column(f, i), x[i], top, lse);
        if (WIDE != 0 && c < p.pitch && DX == T_F32) f32x4s(p.dlogits).v[(base + c) / 4] = x;
        if (WIDE != 0 && c < p.pitch && DX != T_F32) store4(p.dlogits, DX, (base + c) / 4, x);
        if (WIDE == 0 && DX != T_F32)
            [[unroll]] for (uint i = 0; i < 4; i += 2)
                if (column(f, i) < p.pitch) store2(p.dlogits, DX, (base + column(f, i)) / 2, vec2(x[i], x[i + 1]));
        if (WIDE == 0 && DX == T_F32)
            [[unroll]] for (uint i = 0; i < 4; i++)
                if (column(f, i) < p.pitch) store(p.dlogits, base + column(f, i), x[i]);
    }
}
