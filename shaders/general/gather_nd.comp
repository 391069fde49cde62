#version 460
/* y[o, j, i] = x[o, ids[o, j, i], i], 0 for an id past the end: one invocation per element. Words keep their bits. Twin:
 * gather_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(push_constant, scalar) uniform Push { along_params p; };

void main()
{
    uint n = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, line = n / p.inner, i = n - line * p.inner;
    if (n >= p.outer * p.to * p.inner) return;
    uint id = p.ids.v[n], at = (line / p.to * p.from + id) * p.inner + i, v = 0;
    if (id < p.from) v = X == T_U32 ? p.x.v[at] : floatBitsToUint(load(p.x, X, at));
    p.y.v[n] = v;
}
