#version 460
/* loss[r] = weight[r] ((1 - e) cw[t] nll(t) + e / V sum of cw[c] nll(c)), nll(c) = lse - (x[c] - top), t = target[r];
 * hit[r] = 1 if t is the first of the largest logits. Saves top = max(x) and lse = log(sum of exp(x - top)) apart, so
 * that large logits lose no digits. A row that doesn't count (t ignored or >= V) has loss 0; one with NaN, +Inf or
 * nothing but -Inf has loss and lse NaN. Then, where asked for, dlogits, which may lie over the logits if they are f32, and
 * are stored by pairs if not (pitch even): xent_slope.glsl.
 * One workgroup per row. Twin: xent_ref. PyTorch's cross_entropy. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(constant_id = VKT_SPEC_TYPE_DX) const uint DX = 0;
layout(push_constant, scalar) uniform Push { xent_params p; };
#include "xent_finish.glsl"

const uint UNIT = DX != T_F32 ? 2 : 1;

void main()
{
    uint row = flat_group(), base = row * p.pitch, first = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    uint t = p.target.v[row];
    bool weighted = (p.flags & VKT_XENT_CLASS_WEIGHT) != 0, smoothed = p.smoothing > 0.0;
    float top = uintBitsToFloat(0xff800000u), sum = 0.0, earlier = 0.0, below = 0.0;
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) {
        float x = p.logits.v[base + c];
        if (!is_nan(x)) top = max(top, x);
    }
    top = wg_max(top);
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) {
        float x = p.logits.v[base + c];
        sum += is_nan(x) ? x : exp_below(x - top);
        if (x == top && c < t) earlier = 1.0;
        if (smoothed) below += (top - x) * (weighted ? p.class_weight.v[c] : 1.0);
    }
    sum = wg_add(sum);
    earlier = wg_max(earlier);
    if (smoothed) below = wg_add(below);
    float x = xent_target(base, t, t % gl_WorkGroupSize.x == first);
    if (first == 0) xent_finish(row, top, sum, earlier, below, x);
    if ((p.flags & VKT_XENT_DLOGITS) == 0) return;
    xent_slope s = xent_slope_of(row);
    float lse = xent_lse(top, sum);
    for (uint c = first * UNIT; c < p.pitch; c += gl_WorkGroupSize.x * UNIT) {
        vec2 dx = vec2(0.0);
        [[unroll]] for (uint u = 0; u < UNIT; u++) dx[u] = xent_padded(s, c + u, p.logits.v[base + c + u], top, lse);
        store_unit(p.dlogits, DX, DX != T_F32, (base + c) / UNIT, dx);
    }
}
