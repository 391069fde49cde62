#version 460
/* y [KH, KW, CO / groups, C] = w [KH, KW, C / groups, CO], each tap's matrix transposed within its groups: the filter of
 * the gradient of a convolution. One invocation per element of y. Twin: conv_flip_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_flip_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    uint out_c = p.co / p.groups, in_c = p.c / p.groups;
    uint c = i % p.c, o = i / p.c % out_c, tap = i / p.c / out_c, group = c / in_c;
    p.y.v[i] = p.w.v[(tap * in_c + c - group * in_c) * p.co + group * out_c + o];
}
