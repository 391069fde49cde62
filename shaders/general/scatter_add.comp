#version 460
/* y[o, a, i] = sum of x[o, j, i] over j with ids[o, j, i] = a, in order: one invocation per element of y, which looks at all j,
 * so that no two add to one. Twin: scatter_add_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { along_params p; };

void main()
{
    uint n = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, line = n / p.inner, i = n - line * p.inner;
    if (n >= p.outer * p.to * p.inner) return;
    uint o = line / p.to, a = line - o * p.to, at = o * p.from * p.inner + i;
    float sum = 0.0;
    for (uint j = 0; j < p.from; j++, at += p.inner)
        if (p.ids.v[at] == a) sum += load(p.x, T_F32, at);
    store(p.y, n, sum);
}
