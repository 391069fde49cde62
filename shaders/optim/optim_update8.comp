#version 460
/* One step of an update rule (rule.glsl) over flat buffers, moments kept in 8 bits (moments8.glsl): a workgroup has a block of
 * VKT_GROUP_BLOCK elements, an invocation WORDS times four adjacent ones. The step itself is taken with the moments of this step before they
 * are rounded. Nothing is written when the step is not ok, nor in frozen groups. Elements past the end count as 0. Twin:
 * update8_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
#include "rng.h"

layout(constant_id = VKT_SPEC_WORDS) const uint WORDS = 1; /* an invocation */
layout(constant_id = VKT_SPEC_TYPE_SHADOW) const uint SHADOW = 0; /* its type; f32: there is none */
layout(push_constant, scalar) uniform Push { optim_update8_params p; };
#include "rule.glsl"
#include "moments8.glsl"

vec4 load(f32s x, uint i)
{
    if (i + 4 <= p.n) return f32x4s(x).v[i / 4];
    vec4 r = vec4(0.0);
    [[unroll]] for (int k = 0; k < 3; k++)
        if (i + k < p.n) r[k] = x.v[i + k];
    return r;
}

void store_theta(uint i, vec4 theta)
{
    if ((FORM & VKT_UP_DIRECTION) != 0) {
        [[unroll]] for (int k = 0; k < 4; k++)
            if (i + k < p.n) p.beside.v[i + k] = floatBitsToUint(theta[k]);
        return;
    }
    if (i + 4 <= p.n) {
        f32x4s(p.theta).v[i / 4] = theta;
    } else {
        [[unroll]] for (int k = 0; k < 3; k++)
            if (i + k < p.n) p.theta.v[i + k] = theta[k];
    }
    if (SHADOW == T_F32) return;
    p.beside.v[i / 2] = narrow2(SHADOW, theta.xy);
    if (i + 2 < p.n) p.beside.v[i / 2 + 1] = narrow2(SHADOW, theta.zw);
}

float keep(float most)
{
    return most < MOMENTS8_LEAST ? 0.0 : most;
}

void main()
{
    uint block = flat_group(), from = block * VKT_GROUP_BLOCK, blocks = (p.n - 1) / VKT_GROUP_BLOCK + 1;
    if (from >= p.n || p.scalars.s.ok == 0.0) return;
    vkt_group_params group = p.groups.v[p.blocks.v[block]];
    if (group.lr_scale == 0.0) return;
    float rate = p.step.b.lr * group.lr_scale, scale = p.scalars.s.scale, most_m = 0.0, most_v = 0.0;
    float scale_m = p.scales.v[block], scale_v = p.scales.v[blocks + block];
    vec4 m[WORDS], v[WORDS];
    [[unroll]] for (uint w = 0; w < WORDS; w++) {
        uint i = from + 4 * (w * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
        m[w] = v[w] = vec4(0.0);
        if (i >= p.n) continue;
        vec4 theta = load(p.theta, i), g = scale * load(p.grad, i);
        if (HAS_M != 0) m[w] = unpack_m(p.m.v[i / 4], scale_m);
        if (HAS_V != 0) v[w] = unpack_v(p.v.v[i / 4], scale_v);
        [[unroll]] for (int k = 0; k < 4; k++) {
            float tk = theta[k], mk = m[w][k], vk = v[w][k];
            update(rate, group.weight_decay, g[k], tk, mk, vk);
            bool there = i + k < p.n;
            theta[k] = tk, m[w][k] = there ? mk : 0.0, v[w][k] = there ? vk : 0.0;
        }
        store_theta(i, theta);
        vec4 a = abs(m[w]);
        most_m = max(most_m, max(max(a.x, a.y), max(a.z, a.w)));
        most_v = max(most_v, max(max(v[w].x, v[w].y), max(v[w].z, v[w].w)));
    }
    if (HAS_M != 0) most_m = keep(wg_max(most_m));
    if (HAS_V != 0) most_v = keep(wg_max(most_v));
    if (gl_LocalInvocationID.x == 0) p.scales.v[block] = most_m, p.scales.v[blocks + block] = most_v;
    uint key = moments8_bits(p.step.b.dropout_key, p.step.b.step);
    [[unroll]] for (uint w = 0; w < WORDS; w++) {
        uint i = from + 4 * (w * gl_WorkGroupSize.x + gl_LocalInvocationID.x), codes_m = 0, codes_v = 0;
        if (i >= p.n) continue;
        [[unroll]] for (int k = 0; k < 4; k++) {
            uint bits = moments8_bits(key, p.first + i + k);
            if (HAS_M != 0) codes_m |= m_code(m[w][k], most_m, float(bits & 0xffffu) * (1.0 / 65536.0)) << (8 * k);
            if (HAS_V != 0) codes_v |= v_code(v[w][k], most_v, float(bits >> 16) * (1.0 / 65536.0)) << (8 * k);
        }
        if (HAS_M != 0) p.m.v[i / 4] = codes_m;
        if (HAS_V != 0) p.v.v[i / 4] = codes_v;
    }
}
