#version 460
/* One step of an update rule (rule.glsl) over flat buffers: theta parameters, g gradient, m and v moments.
 *
 * A rule's directions (VKT_UP_DIRECTION) are written beside theta, which stays; never PAIRS then.
 * Where SHADOW, theta is also written in 16 bits, for products to read: WIDE or PAIRS then, for a word is of two. Nothing is
 * written when the step is not ok, nor in frozen groups (lr_scale 0). Padding has theta = g = m = v = 0 and keeps it. Each
 * invocation computes 4 elements: adjacent ones as vec4s where WIDE (GPUs), else (except PAIRS) one per row of the workgroup;
 * its size is a power of two up to a block, so such a row lies in one block. Twin: vkt__optim_element. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0;
layout(constant_id = VKT_SPEC_TYPE_SHADOW) const uint SHADOW = 0; /* its type; f32: there is none */
layout(push_constant, scalar) uniform Push { optim_update_params p; };
#include "rule.glsl"

/* Returns the new theta; 0 past the end. */
float one(uint i, vkt_group_params group, float rate, float scale)
{
    if (i >= p.n) return 0.0;
    float theta = p.theta.v[i], m = 0.0, v = 0.0;
    if (HAS_M != 0) m = p.m.v[i];
    if (HAS_V != 0) v = p.v.v[i];
    update(rate * group.lr_scale, group.weight_decay, scale * p.grad.v[i], theta, m, v);
    if ((FORM & VKT_UP_DIRECTION) != 0) p.beside.v[i] = floatBitsToUint(theta);
    else p.theta.v[i] = theta;
    if (HAS_M != 0) p.m.v[i] = m;
    if (HAS_V != 0) p.v.v[i] = v;
    return theta;
}

vkt_group_params group_at(uint i)
{
    return p.groups.v[p.blocks.v[i / VKT_GROUP_BLOCK]];
}

#ifdef PAIRS
#include "ahead.glsl"

/* Two pairs per lane, side by side in a subgroup, which lies in one block; the lanes share loading the lines that are
 * AHEAD in the arrays. */
void rows_of_pairs(float rate, float scale)
{
    const uint AHEAD = 1024; /* bytes */
    uint S = gl_SubgroupSize, lane = gl_SubgroupInvocationID, base = (flat_group() * gl_NumSubgroups + gl_SubgroupID) * 2 * S;
    uint lines = max(S * 16 / LINE, 1u), array = lane / lines;
    uint64_t from = uint64_t(p.theta);
    if (array == 1) from = uint64_t(p.grad);
    if (HAS_M != 0 && array == 2) from = uint64_t(p.m);
    if (HAS_V != 0 && array == 3) from = uint64_t(p.v);
    uint never = touch(u8s(from), min(base * 8 + AHEAD + lane % lines * LINE, p.n * 4 - 1), p.n);
    [[unroll]] for (uint k = 0; k < 2; k++) {
        uint row = base + k * S, i = row + lane;
        if (2 * row >= p.n) return;
        vkt_group_params group = group_at(2 * row);
        if (group.lr_scale == 0.0 || 2 * i >= p.n) continue;
        vec2 theta = LOAD_PAIR(f32x4s(p.theta), i), g = LOAD_PAIR(f32x4s(p.grad), i), m = vec2(0.0), v = vec2(0.0);
        if (HAS_M != 0) m = LOAD_PAIR(f32x4s(p.m), i);
        if (HAS_V != 0) v = LOAD_PAIR(f32x4s(p.v), i);
        [[unroll]] for (int c = 0; c < 2; c++) {
            float tc = theta[c], mc = m[c], vc = v[c];
            update(rate * group.lr_scale, group.weight_decay, scale * g[c], tc, mc, vc);
            theta[c] = tc, m[c] = mc, v[c] = vc;
        }
        i += never;
        STORE_PAIR(f32x4s(p.theta), i, theta);
        if (SHADOW != T_F32) p.beside.v[i] = narrow2(SHADOW, theta);
        if (HAS_M != 0) STORE_PAIR(f32x4s(p.m), i, m);
        if (HAS_V != 0) STORE_PAIR(f32x4s(p.v), i, v);
    }
}
#endif

void main()
{
    if (p.scalars.s.ok == 0.0) return;
    float rate = p.step.b.lr, scale = p.scalars.s.scale;
#ifdef PAIRS
    rows_of_pairs(rate, scale);
#else
    uint base = flat_group() * gl_WorkGroupSize.x * 4;
    if (WIDE == 0) {
        [[unroll]] for (uint k = 0; k < 4; k++) {
            uint row = base + k * gl_WorkGroupSize.x;
            if (row >= p.n) return;
            vkt_group_params group = group_at(row);
            if (group.lr_scale != 0.0) one(row + gl_LocalInvocationID.x, group, rate, scale);
        }
        return;
    }
    uint i = base + gl_LocalInvocationID.x * 4;
    if (i >= p.n) return;
    vkt_group_params group = group_at(i);
    if (group.lr_scale == 0.0) return;
    if (i + 4 > p.n) {
        for (uint k = 0; k < 4 && i + k < p.n; k += 2) {
            vec2 pair = vec2(one(i + k, group, rate, scale), one(i + k + 1, group, rate, scale));
            if (SHADOW != T_F32) p.beside.v[(i + k) / 2] = narrow2(SHADOW, pair);
        }
        return;
    }
    vec4 theta = f32x4s(p.theta).v[i / 4], g = f32x4s(p.grad).v[i / 4], m = vec4(0.0), v = vec4(0.0);
    if (HAS_M != 0) m = f32x4s(p.m).v[i / 4];
    if (HAS_V != 0) v = f32x4s(p.v).v[i / 4];
    [[unroll]] for (int k = 0; k < 4; k++) {
        float tk = theta[k], mk = m[k], vk = v[k];
        update(rate * group.lr_scale, group.weight_decay, scale * g[k], tk, mk, vk);
        theta[k] = tk, m[k] = mk, v[k] = vk;
    }
    if ((FORM & VKT_UP_DIRECTION) != 0) {
        [[unroll]] for (int k = 0; k < 4; k++) p.beside.v[i + k] = floatBitsToUint(theta[k]);
    } else {
        f32x4s(p.theta).v[i / 4] = theta;
    }
    if (SHADOW != T_F32) {
        p.beside.v[i / 2] = narrow2(SHADOW, theta.xy);
        p.beside.v[i / 2 + 1] = narrow2(SHADOW, theta.zw);
    }
    if (HAS_M != 0) f32x4s(p.m).v[i / 4] = m;
    if (HAS_V != 0) f32x4s(p.v).v[i / 4] = v;
#endif
}
