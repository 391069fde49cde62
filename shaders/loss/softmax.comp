#version 460
/* y = exp(x - max(x)) / sum of it, row by row; a row with NaN, +Inf or nothing but -Inf becomes NaN. One workgroup per
 * row, each invocation the same strided share in all passes, so that y may lie over x. Twin: softmax_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(push_constant, scalar) uniform Push { softmax_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols, first = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    float top = uintBitsToFloat(0xff800000u), sum = 0.0;
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) {
        float x = p.x.v[base + c];
        if (!is_nan(x)) top = max(top, x);
    }
    top = wg_max(top);
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x) {
        float x = p.x.v[base + c];
        sum += is_nan(x) ? x : exp_below(x - top);
    }
    sum = wg_add(sum);
    bool bad = is_bad(top) || is_bad(sum);
    for (uint c = first; c < p.cols; c += gl_WorkGroupSize.x)
        p.y.v[base + c] = bad ? make_nan() : exp_below(p.x.v[base + c] - top) / sum;
}
