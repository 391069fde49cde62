#version 460
/* Memory traffic and nothing else, for `vktrain bench`: copy z = x, read (one sum per invocation), write, triad
 * z = x + s y. A workgroup owns wg * PER adjacent elements (floats, or vec4 where WIDE); an invocation takes PER of
 * them, wg apart, so that loads are contiguous over a subgroup. Checked by bench_ceiling.c. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_OP) const uint OP = 0;
layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0;
layout(constant_id = VKT_SPEC_PER) const uint PER = 4;
layout(push_constant, scalar) uniform Push { bench_stream_params p; };

void main()
{
    uint wg = gl_WorkGroupSize.x, lane = gl_LocalInvocationID.x, base = flat_group() * wg * PER;
    if (base >= p.n) return;
    float s = 0.0;
    vec4 s4 = vec4(0.0);
    [[unroll]] for (uint k = 0; k < PER; k++) {
        uint i = base + k * wg + lane;
        if (WIDE != 0) {
            if (OP == VKT_BENCH_COPY) f32x4s(p.z).v[i] = f32x4s(p.x).v[i];
            else if (OP == VKT_BENCH_TRIAD) f32x4s(p.z).v[i] = f32x4s(p.x).v[i] + p.s * f32x4s(p.y).v[i];
            else if (OP == VKT_BENCH_WRITE) f32x4s(p.z).v[i] = vec4(p.s + float(i & 1023u));
            else s4 += f32x4s(p.x).v[i];
        } else {
            if (OP == VKT_BENCH_COPY) p.z.v[i] = p.x.v[i];
            else if (OP == VKT_BENCH_TRIAD) p.z.v[i] = p.x.v[i] + p.s * p.y.v[i];
            else if (OP == VKT_BENCH_WRITE) p.z.v[i] = p.s + float(i & 1023u);
            else s += p.x.v[i];
        }
    }
    if (OP == VKT_BENCH_READ) p.z.v[flat_group() * wg + lane] = WIDE != 0 ? s4.x + s4.y + s4.z + s4.w : s;
}
