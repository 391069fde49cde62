#version 460
/* y [N, B, A] = x [N, A, B] with the last two dimensions swapped: one invocation per image and b, over a in order.
 * Twin: swap_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { swap_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, image = i / p.b, b = i - image * p.b;
    if (image >= p.n) return;
    uint from = image * p.a * p.b + b, to = i * p.a;
    for (uint a = 0; a < p.a; a++) p.y.v[to + a] = p.x.v[from + a * p.b];
}
