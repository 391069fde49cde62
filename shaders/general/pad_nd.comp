#version 460
/* z is `value` except where x's elements lie: element i at first + i * step of each dimension; or x mirrored, its edges or itself
 * repeated. One invocation per element of z. Twin: pad_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_OP) const uint KIND = 0;
layout(push_constant, scalar) uniform Push { pad_nd_params p; };

void main()
{
    uint n = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, i = n, from = 0, stride = 1;
    if (n >= p.n) return;
    bool inside = true;
    [[unroll]] for (int k = VKT_ND_RANK - 1; k >= 0; k--) {
        uint q = i / p.dz[k], at = i - q * p.dz[k] - p.first[k], place = at; /* before the first: it wraps round */
        int from_first = int(at), last = int(p.dx[k]) - 1;
        if (KIND == VKT_PAD_N_CONSTANT) {
            place = at / p.step[k];
            inside = inside && place < p.dx[k] && place * p.step[k] == at;
        }
        if (KIND == VKT_PAD_N_REFLECT) place = abs(from_first) <= last ? abs(from_first) : 2 * last - from_first;
        if (KIND == VKT_PAD_N_EDGE) place = clamp(from_first, 0, last);
        if (KIND == VKT_PAD_N_WRAP) place = from_first < 0 ? from_first + last + 1 : from_first > last ? from_first - last - 1 : from_first;
        from += place * stride;
        stride *= p.dx[k];
        i = q;
    }
    float v = p.value;
    if (inside) v = p.x.v[from];
    p.z.v[n] = v;
}
