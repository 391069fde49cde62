#version 460
/* z is `value` except where x's elements lie: element i at first + i * step of each dimension. One invocation per element of z.
 * Twin: pad_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { pad_nd_params p; };

void main()
{
    uint n = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, i = n, from = 0, stride = 1;
    if (n >= p.n) return;
    bool inside = true;
    [[unroll]] for (int k = VKT_ND_RANK - 1; k >= 0; k--) {
        uint q = i / p.dz[k], at = i - q * p.dz[k] - p.first[k], place = at / p.step[k]; /* before the first: it wraps round */
        inside = inside && place < p.dx[k] && place * p.step[k] == at;
        from += place * stride;
        stride *= p.dx[k];
        i = q;
    }
    float v = p.value;
    if (inside) v = p.x.v[from];
    p.z.v[n] = v;
}
