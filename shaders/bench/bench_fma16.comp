#version 460
/* bench_fma.comp in 16-bit floats: 8 chains of f16vec2. Needs shaderFloat16; z is float. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_FORM) const uint FORM = 0;
layout(push_constant, scalar) uniform Push { bench_fma_params p; };

#define START(k) f16vec2(x + float(2 * k) * 0.125, x + float(2 * k + 1) * 0.125)
#define F(v) v = fma(v, a, b);

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    float x = 0.5 + float(i & 1023u) / 1024.0;
    f16vec2 a = f16vec2(p.a), b = f16vec2(p.b);
    f16vec2 x0 = START(0), x1 = START(1), x2 = START(2), x3 = START(3), x4 = START(4), x5 = START(5), x6 = START(6), x7 = START(7);
    for (uint t = 0; t < p.trips; t++) {
        [[unroll]] for (int k = 0; k < 16; k++) { F(x0) F(x1) F(x2) F(x3) F(x4) F(x5) F(x6) F(x7) }
    }
    vec2 s = (vec2(x0) + vec2(x1)) + (vec2(x2) + vec2(x3)) + (vec2(x4) + vec2(x5)) + (vec2(x6) + vec2(x7));
    p.z.v[i] = s.x + s.y;
}
