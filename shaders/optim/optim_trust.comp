#version 460
/* The ratio of each tensor, from the sums of squares of its blocks: see vkt__whole. LAMB: |theta| / |u|, 1 where either norm is 0;
 * Muon: what makes |u| 1; Adafactor: the root mean square of theta, over what that of u is above 1, and no rate above 1 / sqrt(t). One
 * workgroup per tensor: an invocation adds every WORKGROUP-th block, then wg_add; the ratio is written for each of its blocks.
 * Twin: trust_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(constant_id = VKT_SPEC_RULE) const uint RULE = 0;
layout(push_constant, scalar) uniform Push { optim_trust_params p; };

float relative_step(uint t, float a, float b)
{
    float n = float(p.counts.v[t]), rate = p.step.b.lr * p.groups.v[p.blocks.v[p.tensors.v[t]]].lr_scale;
    if (rate <= 0.0) return 0.0;
    return max(1e-3, sqrt(a / n)) * min(rate, p.step.b.adam_g) / rate / max(1.0, sqrt(b / n));
}

void main()
{
    uint t = flat_group();
    if (t >= p.n) return;
    uint first = p.tensors.v[t], blocks = p.tensors.v[t + 1] - first;
    float a = 0.0, b = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < blocks; k += gl_WorkGroupSize.x)
        a += p.squares.v[2 * (first + k)], b += p.squares.v[2 * (first + k) + 1];
    a = wg_add(a), b = wg_add(b);
    float trust = a > 0.0 && b > 0.0 ? sqrt(a) / sqrt(b) : 1.0;
    if (RULE == VKT_UP_MUON) trust = 1.0 / max(sqrt(b), 1e-7);
    if (RULE == VKT_UP_ADAFACTOR) trust = relative_step(t, a, b);
    for (uint k = gl_LocalInvocationID.x; k < blocks; k += gl_WorkGroupSize.x) p.trust.v[first + k] = trust;
}
