/* Shared by every kernel: address types, the flat workgroup index, reductions over a workgroup, activations.
 * A kernel declares `layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;` through this. */
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer f32s { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer u32s { uint v[]; };
/* Several floats at a time: four on GPUs; in variants compiled with PAIRS two, as a 64-bit word: Mesa's CPU driver
 * turns loads by address into gathers, whose cost is per element and not per byte. */
#ifdef PAIRS
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer f32x4s { uint64_t v[]; };
#define elems f32x4s
#define LOAD_PAIR(from, i) uintBitsToFloat(unpackUint2x32((from).v[i]))
#define STORE_PAIR(to, i, x) (to).v[i] = packUint2x32(floatBitsToUint(x))
#else
#define elems f32s
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer f32x4s { vec4 v[]; };
#endif
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer u32x4s { uvec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer u32x2s { uvec2 v[]; };

/* Named in params.h before they have their structs from there. */
layout(buffer_reference) buffer step_ref;
layout(buffer_reference) buffer scalars_ref;
layout(buffer_reference) buffer groups_ref;
layout(buffer_reference) buffer loss_scale_ref;

#include "params.h"
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer step_ref { vkt_step_block b; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer scalars_ref { vkt_scalars s; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer groups_ref { vkt_group_params v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer loss_scale_ref { vkt_loss_scale s; };

#include "elem.glsl"

uint flat_group()
{
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

bool is_bad(float x)
{
    return (floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u; /* NaN or Inf; isnan may be optimised out */
}

bool is_nan(float x)
{
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

float make_nan()
{
    return uintBitsToFloat(0x7fc00000u);
}

/* exp of what a softmax sees, x <= 0: some drivers' exp misbehaves far below. */
float exp_below(float x)
{
    return x < -87.0 ? 0.0 : exp(x);
}

/* ---- activations: numbers of vkt_act ---- */

const int ACT_NONE = 0, ACT_RELU = 1, ACT_GELU = 2, ACT_GELU_ERF = 3, ACT_SILU = 4, ACT_SIGMOID = 5, ACT_TANH = 6;

/* 1 / (1 + exp(-x)), argument clamped so that exp stays finite (KERNELS.md, 8.11). */
float sigmoid(float x)
{
    return 1.0 / (1.0 + exp(-clamp(x, -80.0, 80.0)));
}

/* tanh x = 2 sigmoid(2x) - 1 loses relative accuracy near 0: a series there. */
float tanh_safe(float x)
{
    float x2 = x * x;
    if (abs(x) < 0.125) return x * (1.0 + x2 * (-1.0 / 3.0 + x2 * (2.0 / 15.0 + x2 * (-17.0 / 315.0))));
    return 2.0 * sigmoid(2.0 * x) - 1.0;
}

/* erfc for x >= 0: Numerical Recipes' Chebyshev fit, relative error 1.2e-7. */
float erfc_pos(float x)
{
    float t = 1.0 / (1.0 + 0.5 * x);
    float p = -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 +
              t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
    return t * exp(max(-x * x + p, -80.0));
}

float erf_safe(float x)
{
    float a = abs(x);
    if (a < 0.5) {
        float x2 = x * x; /* Maclaurin: 2/sqrt(pi) (x - x^3/3 + x^5/10 - x^7/42 + x^9/216 - x^11/1320) */
        return x * 1.1283791671 * (1.0 + x2 * (-1.0 / 3.0 + x2 * (0.1 + x2 * (-1.0 / 42.0 + x2 * (1.0 / 216.0 - x2 / 1320.0)))));
    }
    return sign(x) * (1.0 - erfc_pos(a));
}

const float GELU_K = 0.7978845608, GELU_C = 0.044715;

float act_fwd(int act, float x)
{
    if (act == ACT_RELU) return max(x, 0.0);
    if (act == ACT_GELU) return x * sigmoid(2.0 * GELU_K * (x + GELU_C * x * x * x));
    if (act == ACT_GELU_ERF) return x >= 0.0 ? x - 0.5 * x * erfc_pos(x * 0.7071067812) : 0.5 * x * erfc_pos(-x * 0.7071067812);
    if (act == ACT_SILU) return x * sigmoid(x);
    if (act == ACT_SIGMOID) return sigmoid(x);
    if (act == ACT_TANH) return tanh_safe(x);
    return x;
}

/* Derivative, from y = act(x) for relu, sigmoid and tanh, from x for gelu and silu. */
float act_bwd(int act, float v)
{
    if (act == ACT_RELU) return v > 0.0 ? 1.0 : 0.0;
    if (act == ACT_GELU) {
        float s = sigmoid(2.0 * GELU_K * (v + GELU_C * v * v * v));
        return s + v * s * (1.0 - s) * 2.0 * GELU_K * (1.0 + 3.0 * GELU_C * v * v);
    }
    if (act == ACT_GELU_ERF) return 0.5 * (1.0 + erf_safe(v * 0.7071067812)) + v * 0.3989422804 * exp(max(-0.5 * v * v, -80.0));
    if (act == ACT_SILU) {
        float s = sigmoid(v);
        return s * (1.0 + v * (1.0 - s));
    }
    if (act == ACT_SIGMOID) return v * (1.0 - v);
    if (act == ACT_TANH) return 1.0 - v * v;
    return 1.0;
}
