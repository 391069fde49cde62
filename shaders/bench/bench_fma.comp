#version 460
/* Multiply-adds and nothing else, for `vktrain bench`: independent chains x = a x + b, |a| a little below 1 so that
 * values stay near 1 (no denormals, no overflow) and every step matters; z[i] is the sum of the chains. FORM: 8 or 16
 * scalar chains, 2 or 4 vec4 chains, 4 scalar ones; 5: 8 chains x = x x + b, whose operands are one register, b near -3/4
 * where they forget a little a step, too. 16 multiply-adds per chain and loop trip. Twin: fma_twin in bench_ceiling.c. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_FORM) const uint FORM = 0;
layout(push_constant, scalar) uniform Push { bench_fma_params p; };

#define START(k) (x + float(k) * 0.125)
#define START4(k) vec4(START(4 * k), START(4 * k + 1), START(4 * k + 2), START(4 * k + 3))
#define HALF(k) (START(k) * 0.5)
#define F(v) v = fma(v, a, b);
#define S(v) v = fma(v, v, b);

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    float x = 0.5 + float(i & 1023u) / 1024.0, s;
    if (FORM == 4) {
        float a = p.a, b = p.b, x0 = START(0), x1 = START(1), x2 = START(2), x3 = START(3);
        for (uint t = 0; t < p.trips; t++) {
            [[unroll]] for (int k = 0; k < 16; k++) { F(x0) F(x1) F(x2) F(x3) }
        }
        s = (x0 + x1) + (x2 + x3);
    } else if (FORM == 5) {
        float b = p.b, x0 = HALF(0), x1 = HALF(1), x2 = HALF(2), x3 = HALF(3), x4 = HALF(4), x5 = HALF(5), x6 = HALF(6), x7 = HALF(7);
        for (uint t = 0; t < p.trips; t++) {
            [[unroll]] for (int k = 0; k < 16; k++) { S(x0) S(x1) S(x2) S(x3) S(x4) S(x5) S(x6) S(x7) }
        }
        s = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
    } else if (FORM < 2) {
        float a = p.a, b = p.b;
        float x0 = START(0), x1 = START(1), x2 = START(2), x3 = START(3), x4 = START(4), x5 = START(5), x6 = START(6), x7 = START(7);
        float y0 = START(8), y1 = START(9), y2 = START(10), y3 = START(11), y4 = START(12), y5 = START(13), y6 = START(14), y7 = START(15);
        for (uint t = 0; t < p.trips; t++) {
            [[unroll]] for (int k = 0; k < 16; k++) {
                F(x0) F(x1) F(x2) F(x3) F(x4) F(x5) F(x6) F(x7)
                if (FORM == 1) { F(y0) F(y1) F(y2) F(y3) F(y4) F(y5) F(y6) F(y7) }
            }
        }
        s = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
        if (FORM == 1) s += ((y0 + y1) + (y2 + y3)) + ((y4 + y5) + (y6 + y7));
    } else {
        vec4 a = vec4(p.a), b = vec4(p.b);
        vec4 x0 = START4(0), x1 = START4(1), y0 = START4(2), y1 = START4(3);
        for (uint t = 0; t < p.trips; t++) {
            [[unroll]] for (int k = 0; k < 16; k++) {
                F(x0) F(x1)
                if (FORM == 3) { F(y0) F(y1) }
            }
        }
        vec4 v = x0 + x1;
        if (FORM == 3) v += y0 + y1;
        s = (v.x + v.y) + (v.z + v.w);
    }
    p.z.v[i] = s;
}
