#version 460
/* y[i] = x[i] / (1 - p) where vkt_dropout_bits(key, step, id, i) >= p 2^24, else 0. Each invocation computes 4 elements,
 * one per row of the workgroup. The gradient is the same kernel on dy. Twin: dropout_ref. Srivastava et al. 2014. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "rng.h"

layout(push_constant, scalar) uniform Push { dropout_params p; };

void main()
{
    uint base = flat_group() * gl_WorkGroupSize.x * 4 + gl_LocalInvocationID.x;
    uint key = p.step.b.dropout_key, step = p.step.b.step;
    [[unroll]] for (uint k = 0; k < 4; k++) {
        uint i = base + k * gl_WorkGroupSize.x;
        if (i < p.n) p.y.v[i] = vkt_dropout_bits(key, step, p.id, i) >= p.threshold ? p.x.v[i] * p.scale : 0.0;
    }
}
