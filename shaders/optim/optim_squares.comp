#version 460
/* Sums of squares of each block of VKT_GROUP_BLOCK elements: of theta, and of a rule's direction u. One workgroup per block, an
 * invocation adds every WORKGROUP-th element, then wg_add. Nothing is written when the step is not ok. Twin: squares_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(push_constant, scalar) uniform Push { optim_squares_params p; };

void main()
{
    uint block = flat_group(), from = block * VKT_GROUP_BLOCK;
    if (from >= p.n || p.scalars.s.ok == 0.0) return;
    float a = 0.0, b = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < VKT_GROUP_BLOCK && from + k < p.n; k += gl_WorkGroupSize.x) {
        float x = p.theta.v[from + k], u = p.u.v[from + k];
        a += x * x, b += u * u;
    }
    a = wg_add(a), b = wg_add(b);
    if (gl_LocalInvocationID.x == 0) p.squares.v[2 * block] = a, p.squares.v[2 * block + 1] = b;
}
