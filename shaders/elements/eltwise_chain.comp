#version 460
/* z[i] = the stages one after another on x[i], i < n; stage k is an op of eltwise.comp with operand yk[i % mk], dropout or noise.
 * Each invocation computes 4 elements: adjacent ones as a vec4 where WIDE (GPUs), else one per row of the workgroup;
 * with PAIRS, or where a tensor is 16-bit (then n is even), two pairs. The bits are those of the ops' own kernels. z may lie over x or an operand as long as it.
 * Twin: chain_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"
#include "eltwise.glsl"
#include "rng.h"

layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0;
layout(constant_id = VKT_SPEC_OP0) const uint OP0 = VKT_EL_COPY;
layout(constant_id = VKT_SPEC_OP1) const uint OP1 = VKT_EL_COPY;
layout(constant_id = VKT_SPEC_OP2) const uint OP2 = VKT_EL_COPY;
layout(constant_id = VKT_SPEC_ACT0) const int ACT0 = 0;
layout(constant_id = VKT_SPEC_ACT1) const int ACT1 = 0;
layout(constant_id = VKT_SPEC_ACT2) const int ACT2 = 0;
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0; /* types */
layout(constant_id = VKT_SPEC_TYPE_Y0) const uint Y0 = 0;
layout(constant_id = VKT_SPEC_TYPE_Y1) const uint Y1 = 0;
layout(constant_id = VKT_SPEC_TYPE_Y2) const uint Y2 = 0;
layout(constant_id = VKT_SPEC_TYPE_Z) const uint Z = 0;
layout(push_constant, scalar) uniform Push { eltwise_chain_params p; };

const bool DROPS = OP0 == VKT_EL_DROPOUT || OP1 == VKT_EL_DROPOUT || OP2 == VKT_EL_DROPOUT;
const bool NOISY = OP0 == VKT_EL_NOISE || OP1 == VKT_EL_NOISE || OP2 == VKT_EL_NOISE;

/* What random bits need of the step block; 0 without one. */
uint drop_key, drop_step, drop_first;

uint bits_of(uint i)
{
    return vkt_dropout_bits(drop_key, drop_step, p.id, drop_first + i);
}

float stage(uint op, int act, float x, float y, float s, uint i)
{
    if (op == VKT_EL_DROPOUT) return bits_of(i) >= p.threshold ? x * s : 0.0;
    if (op == VKT_EL_NOISE) return x + (float(bits_of(i)) * (1.0 / 8388608.0) - 1.0) * s; /* from -1 to 1 */
    return eltwise(op, act, x, y, s);
}

float stages(float x, float y0, float y1, float y2, uint i)
{
    x = stage(OP0, ACT0, x, y0, p.s0, i);
    x = stage(OP1, ACT1, x, y1, p.s1, i);
    return stage(OP2, ACT2, x, y2, p.s2, i);
}

#define OPERAND(k, i) (ELTWISE_BINARY(OP##k) ? load(p.y##k, Y##k, p.m##k == p.n ? (i) : (i) % p.m##k) : 0.0)

void pairs()
{
    uint base = flat_group() * gl_WorkGroupSize.x * 2;
    [[unroll]] for (uint k = 0; k < 2; k++) {
        uint i = base + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (2 * i >= p.n) return;
        vec2 x = GET_PAIR(p.x, X, i), y0 = vec2(0.0), y1 = vec2(0.0), y2 = vec2(0.0);
#define PAIR(k) if (ELTWISE_BINARY(OP##k)) { if (p.m##k == p.n) y##k = GET_PAIR(p.y##k, Y##k, i); else y##k = vec2(OPERAND(k, 2 * i), OPERAND(k, 2 * i + 1)); }
        PAIR(0)
        PAIR(1)
        PAIR(2)
        PUT_PAIR(p.z, Z, i, vec2(stages(x[0], y0[0], y1[0], y2[0], 2 * i), stages(x[1], y0[1], y1[1], y2[1], 2 * i + 1)));
    }
}

#ifdef PAIRS
void elements()
{
    pairs();
}
#else
void one(uint i)
{
    if (i < p.n) store(p.z, i, stages(load(p.x, T_F32, i), OPERAND(0, i), OPERAND(1, i), OPERAND(2, i), i));
}

void elements()
{
    if ((X | Y0 | Y1 | Y2 | Z) != T_F32) {
        pairs();
        return;
    }
    uint base = flat_group() * gl_WorkGroupSize.x * 4;
    if (WIDE == 0) {
        [[unroll]] for (uint k = 0; k < 4; k++) one(base + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
        return;
    }
    uint i = base + gl_LocalInvocationID.x * 4;
    if (i + 4 > p.n) {
        for (uint k = 0; k < 4; k++) one(i + k);
        return;
    }
    vec4 x = f32x4s(p.x).v[i / 4], y0 = vec4(0.0), y1 = vec4(0.0), y2 = vec4(0.0), z;
    if (ELTWISE_BINARY(OP0)) y0 = f32x4s(p.y0).v[i / 4];
    if (ELTWISE_BINARY(OP1)) y1 = f32x4s(p.y1).v[i / 4];
    if (ELTWISE_BINARY(OP2)) y2 = f32x4s(p.y2).v[i / 4];
    [[unroll]] for (int k = 0; k < 4; k++) z[k] = stages(x[k], y0[k], y1[k], y2[k], i + k);
    f32x4s(p.z).v[i / 4] = z;
}
#endif

void main()
{
    drop_key = 0;
    drop_step = 0;
    drop_first = 0;
    if (DROPS || NOISY) {
        drop_key = p.step.b.dropout_key;
        drop_step = p.step.b.step;
        drop_first = vkt_dropout_first(p.n, p.step.b.rows, p.step.b.row);
    }
    elements();
}
