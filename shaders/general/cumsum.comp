#version 460
/* y[o, j, i] = sum of x[o, 0 .. j, i], or with BACKWARD of x[o, j .. from - 1, i]. APART: an invocation a line, which adds one
 * element after another; else a workgroup, which adds as many elements as it has invocations at once, by doubled steps. Fixed
 * orders both. Twin: cumsum_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_SPLIT) const uint APART = 0;
layout(constant_id = VKT_SPEC_BACKWARD) const uint BACKWARD = 0;
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(push_constant, scalar) uniform Push { along_params p; };

shared float sums[gl_WorkGroupSize.x];

uint place(uint line, uint j)
{
    uint o = line / p.inner;
    return (o * p.from + (BACKWARD != 0 ? p.from - 1 - j : j)) * p.inner + line - o * p.inner;
}

void main()
{
    uint wg = gl_WorkGroupSize.x, lane = gl_LocalInvocationID.x, line = flat_group();
    float sum = 0.0;
    if (APART != 0) {
        line = line * wg + lane;
        if (line >= p.outer * p.inner) return;
        for (uint j = 0; j < p.from; j++) {
            uint at = place(line, j);
            sum += load(p.x, X, at);
            store(p.y, at, sum);
        }
        return;
    }
    if (line >= p.outer * p.inner) return;
    for (uint first = 0; first < p.from; first += wg) {
        uint j = first + lane;
        float v = 0.0;
        if (j < p.from) v = load(p.x, X, place(line, j));
        for (uint step = 1; step < wg; step *= 2) {
            sums[lane] = v;
            barrier();
            if (lane >= step) v += sums[lane - step];
            barrier();
        }
        sums[lane] = v;
        barrier();
        if (j < p.from) store(p.y, place(line, j), sum + v);
        sum += sums[wg - 1];
        barrier();
    }
}
