#version 460
/* Moving average of the parameters: average[i] += share * (x[i] - average[i]), with the step's share of the new
 * values. Twin: ema_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { ema_params p; };

void main()
{
    uint base = flat_group() * gl_WorkGroupSize.x * 4;
    float share = p.step.b.ema;
    [[unroll]] for (uint k = 0; k < 4; k++) {
        uint i = base + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (i >= p.n) return;
        float a = p.average.v[i];
        p.average.v[i] = a + share * (p.x.v[i] - a);
    }
}
