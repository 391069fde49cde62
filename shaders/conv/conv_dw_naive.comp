#version 460
/* dw[s, kh, kw, c, n] = sum of x[pixel at the tap, c] dy[pixel, n] over slice s of the output's rows: one invocation per
 * element, neighbours on neighbouring n, pixels in order. w is dy here, y is dw. The rung that is always right, and the
 * kernel of depthwise and narrow groups. Twin: conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, k = i / p.co, n = i - k * p.co;
    uint depth = p.kh * p.kw * p.ci, s = k / depth, lines = p.pixels / p.ow;
    if (s > 0 && s * p.slice >= lines) return;
    k -= s * depth;
    uint tap = k / p.ci, kh = tap / p.kw, kw = tap - kh * p.kw, c = k - tap * p.ci + n / (p.co / p.groups) * p.ci;
    float sum = 0.0;
    for (uint line = s * p.slice, end = min(line + p.slice, lines); line < end; line++) {
        uint image = line / p.oh, y, x;
        if (!row_at(line - image * p.oh, kh, y)) continue;
        float part = 0.0;
        for (uint col = 0; col < p.ow; col++)
            if (col_at(col, kw, x))
                part += p.x.v[((image * p.h + y) * p.wd + x) * p.c + c] * p.w.v[(line * p.ow + col) * p.co + n];
        sum += part;
    }
    p.y.v[i] = sum;
}
