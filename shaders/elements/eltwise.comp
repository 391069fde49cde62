#version 460
/* z[i] = op(x[i], y[i % m]), i < n: add, mul, scale, copy, fill, activation, activation gradient (x is dy, y is
 * what act_bwd takes). Each invocation computes 4 elements: adjacent ones as a vec4 where WIDE (GPUs), else
 * one per row of the workgroup, so that a subgroup's loads are contiguous (CPU drivers); with a 16-bit x, y or z (then
 * n is even) pairs, two rows of them. copy takes u32 too. Twin: eltwise_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"
#include "eltwise.glsl"

layout(constant_id = VKT_SPEC_OP) const uint OP = 0;
layout(constant_id = VKT_SPEC_ACT) const int ACT = 0;
layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0;
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(constant_id = VKT_SPEC_TYPE_Z) const uint Z = 0;
layout(push_constant, scalar) uniform Push { eltwise_params p; };

float apply(float x, float y)
{
    return eltwise(OP, ACT, x, y, p.s);
}

const bool HAS_X = OP != VKT_EL_FILL, HAS_Y = ELTWISE_BINARY(OP);

void rows_of_pairs()
{
    uint base = flat_group() * gl_WorkGroupSize.x * 2;
    [[unroll]] for (uint k = 0; k < 2; k++) {
        uint i = base + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (2 * i >= p.n) return;
        vec2 x = vec2(0.0), y = vec2(0.0);
        if (HAS_X) x = GET_PAIR(p.x, X, i);
        if (HAS_Y && p.m == p.n) y = GET_PAIR(p.y, Y, i);
        if (HAS_Y && p.m != p.n) y = vec2(load(p.y, Y, 2 * i % p.m), load(p.y, Y, (2 * i + 1) % p.m));
        PUT_PAIR(p.z, Z, i, vec2(apply(x[0], y[0]), apply(x[1], y[1])));
    }
}

#ifdef PAIRS
void main()
{
    rows_of_pairs();
}
#else
void one(uint i)
{
    if (i >= p.n) return;
    float x = 0.0, y = 0.0;
    if (HAS_X) x = load(p.x, T_F32, i);
    if (HAS_Y) y = load(p.y, T_F32, p.m == p.n ? i : i % p.m);
    store(p.z, i, apply(x, y));
}

/* A copy of whole numbers: as floats they would be subnormal, which a device may take for zero. */
void one_word(uint i)
{
    if (i < p.n) p.z.v[i] = p.x.v[i];
}

void main()
{
    if (X != T_U32 && (X != T_F32 || Y != T_F32 || Z != T_F32)) {
        rows_of_pairs();
        return;
    }
    uint base = flat_group() * gl_WorkGroupSize.x * 4;
    if (X == T_U32) {
        [[unroll]] for (uint k = 0; k < 4; k++) one_word(base + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
        return;
    }
    if (WIDE == 0) {
        [[unroll]] for (uint k = 0; k < 4; k++) one(base + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
        return;
    }
    uint i = base + gl_LocalInvocationID.x * 4;
    if (i + 4 > p.n) {
        for (uint k = 0; k < 4; k++) one(i + k);
        return;
    }
    vec4 x = vec4(0.0), y = vec4(0.0), z;
    if (HAS_X) x = f32x4s(p.x).v[i / 4];
    if (HAS_Y) y = f32x4s(p.y).v[i / 4];
    [[unroll]] for (int k = 0; k < 4; k++) z[k] = apply(x[k], y[k]);
    f32x4s(p.z).v[i / 4] = z;
}
#endif
