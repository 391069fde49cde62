#version 460
/* y[i] = x[i] / (1 - p) where vkt_dropout_bits(key, step, id, i) >= p 2^24, else 0. Each invocation computes 4 elements,
 * one per row of the workgroup, or with a 16-bit x or y (then n is even) two rows of pairs. The gradient is the same kernel on dy. Twin: dropout_ref. Srivastava et al. 2014. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "rng.h"

layout(constant_id = 3) const uint X = 0;
layout(constant_id = 4) const uint Y = 0;
layout(push_constant, scalar) uniform Push { dropout_params p; };

const bool PAIRWISE = X != T_F32 || Y != T_F32;
const uint UNIT = PAIRWISE ? 2 : 1;

void main()
{
    uint base = flat_group() * gl_WorkGroupSize.x * (4 / UNIT) + gl_LocalInvocationID.x;
    uint key = p.step.b.dropout_key, step = p.step.b.step;
    [[unroll]] for (uint k = 0; k < 4 / UNIT; k++) {
        uint i = base + k * gl_WorkGroupSize.x;
        if (UNIT * i >= p.n) return;
        vec2 x = load_unit(p.x, X, PAIRWISE, i) * p.scale;
        [[unroll]] for (uint u = 0; u < UNIT; u++)
            if (vkt_dropout_bits(key, step, p.id, UNIT * i + u) < p.threshold) x[u] = 0.0;
        store_unit(p.y, Y, PAIRWISE, i, x);
    }
}
