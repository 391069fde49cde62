#version 460
/* y [N, OH, OW, CO] = act(conv(x [N, H, W, C], w [KH, KW, C / groups, CO]) + bias), or its transpose in gather form:
 * one invocation per element, neighbours on neighbouring channels, sums over taps and channels in order. The rung that
 * is always right, and the kernel of depthwise and narrow groups, where nothing is shared between channels.
 * Twin: conv_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, m = i / p.co, n = i - m * p.co;
    if (m >= p.pixels) return;
    uint image, row, col, y, x;
    pixel_at(m, p.oh, p.ow, image, row, col);
    uint first = n / (p.co / p.groups) * p.ci;
    float sum = 0.0;
    for (uint kh = 0; kh < p.kh; kh++) {
        if (!row_at(row, kh, y)) continue;
        for (uint kw = 0; kw < p.kw; kw++) {
            if (!col_at(col, kw, x)) continue;
            uint from = ((image * p.h + y) * p.wd + x) * p.c + first, w = (kh * p.kw + kw) * p.ci * p.co + n;
            float part = 0.0;
            for (uint c = 0; c < p.ci; c++) part += p.x.v[from + c] * p.w.v[w + c * p.co];
            sum += part;
        }
    }
    if ((p.flags & VKT_MM_BIAS) != 0) sum += p.bias.v[n];
    finish(i, sum);
}
