#version 460
/* Gradient accumulation: sum[i] = x[i] in a step's first micro-batch, sum[i] + x[i] in later ones. The order of the
 * micro-batches is the order of submission, so the sum is the same every time. Twin: accumulate_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { accumulate_params p; };

void main()
{
    uint base = flat_group() * gl_WorkGroupSize.x * 4;
    bool first = p.step.b.micro == 0;
    [[unroll]] for (uint k = 0; k < 4; k++) {
        uint i = base + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (i >= p.n) return;
        p.sum.v[i] = first ? p.x.v[i] : p.sum.v[i] + p.x.v[i];
    }
}
