#version 460
/* One step of a rule that also keeps changes of the gradient (rule.glsl) over flat buffers: d of changes, last: the gradient of the
 * step before. Four adjacent elements an invocation, a workgroup within a block. Where SHADOW, theta is also written in 16 bits.
 * Nothing is written when the step is not ok, nor in frozen groups. Padding is 0 and stays so. Twin: vkt__optim_element. */
#extension GL_GOOGLE_include_directive : require
#define VKT_UPDATE_MORE
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_SHADOW) const uint SHADOW = 0; /* its type; f32: there is none */
layout(push_constant, scalar) uniform Push { optim_update_more_params p; };
#include "rule.glsl"

/* Returns the new theta; 0 past the end. */
float one(uint i, float rate, float decay, float scale)
{
    if (i >= p.n) return 0.0;
    float theta = p.theta.v[i], m = p.m.v[i], v = p.v.v[i], d = p.d.v[i], last = p.last.v[i];
    update(rate, decay, scale * p.grad.v[i], theta, m, v, d, last);
    p.theta.v[i] = theta;
    p.m.v[i] = m;
    p.v.v[i] = v;
    p.d.v[i] = d;
    p.last.v[i] = last;
    return theta;
}

void main()
{
    if (p.scalars.s.ok == 0.0) return;
    uint from = (flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * 4;
    if (from >= p.n) return;
    vkt_group_params group = p.groups.v[p.blocks.v[from / VKT_GROUP_BLOCK]];
    if (group.lr_scale == 0.0) return;
    float rate = p.step.b.lr * group.lr_scale, scale = p.scalars.s.scale;
    for (uint i = from; i < from + 4 && i < p.n; i += 2) {
        vec2 pair = vec2(one(i, rate, group.weight_decay, scale), one(i + 1, rate, group.weight_decay, scale));
        if (SHADOW != T_F32) p.beside.v[i / 2] = narrow2(SHADOW, pair);
    }
}
