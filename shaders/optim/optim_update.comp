#version 460
/* One step of an update rule over flat buffers: theta parameters, g gradient, m and v moments. With c the clip
 * factor and coupled decay:  g = c g + wd theta;  where decay is decoupled (AdamW, Lion):  g = c g.  lr is the scheduled
 * rate times the group's. t counts steps from 1. gamma and rho are beta1 and beta2 here.
 *
 *   SGD        theta -= lr g
 *   momentum   m = gamma m + g;  theta -= lr m
 *   Nesterov   m = gamma m + g;  theta -= lr (gamma m + g)
 *   RMSProp    v = rho v + (1-rho) g^2, v0 = 1;  m = gamma m + lr g / sqrt(v + eps);    theta -= m
 *     torch    v = rho v + (1-rho) g^2, v0 = 0;  m = gamma m + g / (sqrt(v) + eps);     theta -= lr m
 *   adam family: m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;
 *   Adam       theta -= lr m / (sqrt(v) + eps) * sqrt(1-b2^t) / (1-b1^t)
 *     torch    theta -= lr m / (1-b1^t) / (sqrt(v / (1-b2^t)) + eps)
 *   NAdam      theta -= lr (b1 m + (1-b1) g) / (sqrt(v) + eps) * sqrt(1-b2^t) / (1-b1^t)
 *     torch    theta -= lr (mu' m / (1 - P mu') + (1-mu) g / (1-P)) / (sqrt(v / (1-b2^t)) + eps),
 *              mu = mu_t, mu' = mu_t+1, mu_t = b1 (1 - 0.96^(0.004 t) / 2), P = mu_1 mu_2 ... mu_t
 *   AdamW      theta -= lr wd theta;  theta -= Adam's torch step (both forms)
 *   Lion       theta -= lr wd theta;  theta -= lr sign(b1 m + (1-b1) g);  m = b2 m + (1-b2) g
 *   Adamax     m = b1 m + (1-b1) g;  v = max(b2 v, |g| + eps), 0 until there is a gradient;  theta -= lr adam_m m / v
 * SGD, momentum, Nesterov, Lion, Adamax: both forms are the same. All four adam lines are
 *   theta -= lr (adam_m m + adam_g g) / (adam_v sqrt(v) + eps)
 * with factors of t that the host computes in double: vkt__optim_factors.
 *
 * Where SHADOW, theta is also written in 16 bits, for products to read: WIDE or PAIRS then, for a word is of two.
 * Nothing is written when the step is not ok, nor in frozen groups (lr_scale 0). Padding has theta = g = m = v = 0 and
 * keeps it. Each invocation computes 4 elements: adjacent ones as vec4s where WIDE (GPUs), else (but for PAIRS) one per row of
 * the workgroup; its size is a power of two up to a block, so such a row lies in one block. Sources: the
 * tuning playbook's FAQ; torch.optim 2.14; Lion: Chen et al. 2023 (arXiv 2302.06675);
 * Adamax: Kingma & Ba 2015 (arXiv 1412.6980), section 7, as torch.optim has it. Twin: vkt__optim_element. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_RULE) const uint RULE = 0;
layout(constant_id = VKT_SPEC_UPDATE_FORM) const uint FORM = 0; /* VKT_UP_TORCH, VKT_UP_DECOUPLED */
layout(constant_id = VKT_SPEC_HAS_M) const uint HAS_M = 0;
layout(constant_id = VKT_SPEC_HAS_V) const uint HAS_V = 0;
layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0;
layout(constant_id = VKT_SPEC_TYPE_SHADOW) const uint SHADOW = 0; /* its type; f32: there is none */
layout(push_constant, scalar) uniform Push { optim_update_params p; };

void update(float lr, float wd, float g, inout float theta, inout float m, inout float v)
{
    if ((FORM & VKT_UP_DECOUPLED) != 0) theta -= lr * wd * theta;
    else g += wd * theta;
    if (RULE == VKT_UP_SGD) {
        theta -= lr * g;
    } else if (RULE == VKT_UP_MOMENTUM) {
        m = p.beta1 * m + g;
        theta -= lr * m;
    } else if (RULE == VKT_UP_NESTEROV) {
        m = p.beta1 * m + g;
        theta -= lr * (p.beta1 * m + g);
    } else if (RULE == VKT_UP_RMSPROP) {
        v = p.beta2 * v + (1.0 - p.beta2) * g * g;
        if ((FORM & VKT_UP_TORCH) != 0) {
            m = p.beta1 * m + g / (sqrt(v) + p.eps);
            theta -= lr * m;
        } else {
            m = p.beta1 * m + lr * g / sqrt(v + p.eps);
            theta -= m;
        }
    } else if (RULE == VKT_UP_LION) {
        theta -= lr * sign(p.beta1 * m + (1.0 - p.beta1) * g);
        m = p.beta2 * m + (1.0 - p.beta2) * g;
    } else if (RULE == VKT_UP_ADAMAX) {
        m = p.beta1 * m + (1.0 - p.beta1) * g;
        if (g == 0.0 && v == 0.0) return;
        v = max(p.beta2 * v, abs(g) + p.eps);
        theta -= lr * (p.step.b.adam_m * m) / v;
    } else {
        m = p.beta1 * m + (1.0 - p.beta1) * g;
        v = p.beta2 * v + (1.0 - p.beta2) * g * g;
        float u = p.step.b.adam_m * m;
        if (RULE == VKT_UP_NADAM) u += p.step.b.adam_g * g;
        theta -= lr * u / (p.step.b.adam_v * sqrt(v) + p.eps);
    }
}

/* Returns the new theta; 0 past the end. */
float one(uint i, vkt_group_params group, float rate, float scale)
{
    if (i >= p.n) return 0.0;
    float theta = p.theta.v[i], m = 0.0, v = 0.0;
    if (HAS_M != 0) m = p.m.v[i];
    if (HAS_V != 0) v = p.v.v[i];
    update(rate * group.lr_scale, group.weight_decay, scale * p.grad.v[i], theta, m, v);
    p.theta.v[i] = theta;
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
    uint64_t from = uint64_t(p.theta4);
    if (array == 1) from = uint64_t(p.grad4);
    if (HAS_M != 0 && array == 2) from = uint64_t(p.m4);
    if (HAS_V != 0 && array == 3) from = uint64_t(p.v4);
    uint never = touch(u8s(from), min(base * 8 + AHEAD + lane % lines * LINE, p.n * 4 - 1), p.n);
    [[unroll]] for (uint k = 0; k < 2; k++) {
        uint row = base + k * S, i = row + lane;
        if (2 * row >= p.n) return;
        vkt_group_params group = group_at(2 * row);
        if (group.lr_scale == 0.0 || 2 * i >= p.n) continue;
        vec2 theta = LOAD_PAIR(p.theta4, i), g = LOAD_PAIR(p.grad4, i), m = vec2(0.0), v = vec2(0.0);
        if (HAS_M != 0) m = LOAD_PAIR(p.m4, i);
        if (HAS_V != 0) v = LOAD_PAIR(p.v4, i);
        [[unroll]] for (int c = 0; c < 2; c++) {
            float tc = theta[c], mc = m[c], vc = v[c];
            update(rate * group.lr_scale, group.weight_decay, scale * g[c], tc, mc, vc);
            theta[c] = tc, m[c] = mc, v[c] = vc;
        }
        i += never;
        STORE_PAIR(p.theta4, i, theta);
        if (SHADOW != T_F32) p.shadow.v[i] = narrow2(SHADOW, theta);
        if (HAS_M != 0) STORE_PAIR(p.m4, i, m);
        if (HAS_V != 0) STORE_PAIR(p.v4, i, v);
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
            if (SHADOW != T_F32) p.shadow.v[(i + k) / 2] = narrow2(SHADOW, pair);
        }
        return;
    }
    vec4 theta = p.theta4.v[i / 4], g = p.grad4.v[i / 4], m = vec4(0.0), v = vec4(0.0);
    if (HAS_M != 0) m = p.m4.v[i / 4];
    if (HAS_V != 0) v = p.v4.v[i / 4];
    [[unroll]] for (int k = 0; k < 4; k++) {
        float tk = theta[k], mk = m[k], vk = v[k];
        update(rate * group.lr_scale, group.weight_decay, scale * g[k], tk, mk, vk);
        theta[k] = tk, m[k] = mk, v[k] = vk;
    }
    p.theta4.v[i / 4] = theta;
    if (SHADOW != T_F32) {
        p.shadow.v[i / 2] = narrow2(SHADOW, theta.xy);
        p.shadow.v[i / 2 + 1] = narrow2(SHADOW, theta.zw);
    }
    if (HAS_M != 0) p.m4.v[i / 4] = m;
    if (HAS_V != 0) p.v4.v[i / 4] = v;
#endif
}
