#version 460
/* out[g] = sum of x[i] (or x[i]^2) over i in [g * chunk, (g + 1) * chunk): one workgroup per chunk, each invocation
 * a strided share (of pairs where x is 16-bit: then n is even), then a reduction over the workgroup; fixed order. Twin: sum_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
#include "sum.glsl"

layout(constant_id = VKT_SPEC_SQUARE) const uint SQUARE = 0;
layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0; /* vec4 loads: f32, n a multiple of four */
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(push_constant, scalar) uniform Push { sum_params p; };

#ifdef PAIRS
const bool PAIRWISE = true;
#else
const bool PAIRWISE = X != T_F32;
#endif

void main()
{
    uint g = flat_group();
    if (g >= p.groups) return;
    uint end = min(p.n, (g + 1) * p.chunk);
    float s = wg_add(sum_share(p.x, X, SQUARE != 0, PAIRWISE, WIDE != 0, g * p.chunk, end));
    if (gl_LocalInvocationID.x == 0) p.y.v[g] = s;
}
