#version 460
/* out[g] = sum of x[i] (or x[i]^2) over i in [g * chunk, (g + 1) * chunk): one workgroup per chunk, each invocation
 * a strided share (of pairs where x is 16-bit: then n is even), then a reduction over the workgroup; fixed order. Twin: sum_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(constant_id = 4) const uint SQUARE = 0;
layout(constant_id = 5) const uint WIDE = 0; /* vec4 loads: f32, n a multiple of four */
layout(constant_id = 6) const uint X = 0;
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
    float s = 0.0;
    if (PAIRWISE) {
        vec2 pair = vec2(0.0);
        for (uint i = g * p.chunk / 2 + gl_LocalInvocationID.x; i < end / 2; i += gl_WorkGroupSize.x) {
            vec2 x = GET_PAIR(p.x, p.x4, X, i);
            pair += SQUARE != 0 ? x * x : x;
        }
        s = pair[0] + pair[1];
#ifndef PAIRS
    } else if (WIDE != 0) {
        vec4 four = vec4(0.0);
        for (uint i = g * p.chunk / 4 + gl_LocalInvocationID.x; i < end / 4; i += gl_WorkGroupSize.x) {
            vec4 x = p.x4.v[i];
            four += SQUARE != 0 ? x * x : x;
        }
        s = (four[0] + four[1]) + (four[2] + four[3]);
#endif
    } else {
        for (uint i = g * p.chunk + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {
            float x = load(p.x, T_F32, i);
            s += SQUARE != 0 ? x * x : x;
        }
    }
    s = wg_add(s);
    if (gl_LocalInvocationID.x == 0) p.y.v[g] = s;
}
