#version 460
/* y [N, OH, OW, C] = x [N, H, W, C] moved by (top, left), zero where there is none of it; negative moves cut. One
 * invocation per line and channel. Twin: pad_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { pad_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, line = i / p.c, c = i - line * p.c;
    if (line >= p.lines) return;
    uint image = line / p.oh, y = line - image * p.oh - p.top; /* outside before the first too: it wraps round */
    for (uint ox = 0; ox < p.ow; ox++) {
        uint x = ox - p.left;
        float v = 0.0;
        if (y < p.h && x < p.wd) v = p.x.v[((image * p.h + y) * p.wd + x) * p.c + c];
        p.y.v[(line * p.ow + ox) * p.c + c] = v;
    }
}
