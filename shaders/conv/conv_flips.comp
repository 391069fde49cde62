#version 460
/* What conv_flip.comp computes without groups, of several filters in one dispatch. One invocation per element. Twin:
 * conv_flips_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_flips_params p; };

void flip(f32s w, f32s y, uint i, uint n, uint channels)
{
    uint in_c = channels % 65536, out_c = channels / 65536;
    if (i >= n) return;
    uint c = i % in_c, o = i / in_c % out_c, tap = i / in_c / out_c;
    y.v[i] = w.v[(tap * in_c + c) * out_c + o];
}

void main()
{
    uint wg = gl_WorkGroupSize.x, g = flat_group(), which = VKT_GROUPED;
    [[unroll]] for (uint i = 0; i < VKT_GROUPED; i++) {
        uint groups = (p.n[i] + wg - 1) / wg;
        if (which != VKT_GROUPED) continue;
        if (g < groups) which = i;
        else g -= groups;
    }
    [[unroll]] for (uint i = 0; i < VKT_GROUPED; i++)
        if (which == i) flip(p.w[i], p.y[i], g * wg + gl_LocalInvocationID.x, p.n[i], p.channels[i]);
}
