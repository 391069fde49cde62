#version 460
/* theta -= lr r u for a rule that gives directions: u one of each element, r one of each block of VKT_GROUP_BLOCK elements (TRUST), or
 * 1. Where decay is decoupled, theta -= lr wd theta before.
 * Where SHADOW, theta is also written in 16 bits, and an invocation has adjacent elements, as a word is of two. Nothing is written
 * when the step is not ok, nor in frozen groups. Twin: apply_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_SHADOW) const uint SHADOW = 0; /* its type; f32: there is none */
layout(constant_id = VKT_SPEC_TRUST) const uint TRUST = 1;
layout(constant_id = VKT_SPEC_UPDATE_FORM) const uint FORM = 0;
layout(push_constant, scalar) uniform Push { optim_apply_params p; };

/* Returns the new theta; 0 past the end. */
float one(uint i, vec2 rate)
{
    if (i >= p.n) return 0.0;
    float theta = p.theta.v[i];
    if ((FORM & VKT_UP_DECOUPLED) != 0) theta -= rate.y * theta;
    theta -= rate.x * p.u.v[i];
    p.theta.v[i] = theta;
    return theta;
}

/* Of u, and of decay. */
vec2 rate_at(uint i)
{
    uint block = i / VKT_GROUP_BLOCK;
    vkt_group_params group = p.groups.v[p.blocks.v[block]];
    float rate = p.step.b.lr * group.lr_scale;
    return vec2(TRUST != 0 ? rate * p.trust.v[block] : rate, rate * group.weight_decay);
}

void main()
{
    if (p.scalars.s.ok == 0.0) return;
    uint base = flat_group() * gl_WorkGroupSize.x * 4;
    if (SHADOW == T_F32) {
        [[unroll]] for (uint k = 0; k < 4; k++) {
            uint row = base + k * gl_WorkGroupSize.x;
            if (row >= p.n) return;
            vec2 rate = rate_at(row);
            if (rate.x != 0.0) one(row + gl_LocalInvocationID.x, rate);
        }
        return;
    }
    uint from = base + gl_LocalInvocationID.x * 4;
    if (from >= p.n) return;
    vec2 rate = rate_at(from);
    if (rate.x == 0.0) return;
    for (uint i = from; i < from + 4 && i < p.n; i += 2) {
        vec2 pair = vec2(one(i, rate), one(i + 1, rate));
        p.shadow.v[i / 2] = narrow2(SHADOW, pair);
    }
}
