#version 460
/* keys[b, start + t, c] = new_keys[b, t, key_column + c], and values likewise; positions past the caches are left out. One
 * invocation per element of what is new in one of them, of caches in 16 bits per two. Twin: cache_write_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_Y) const uint TYPE = T_F32; /* of the caches */
layout(push_constant, scalar) uniform Push { cache_write_params p; };

const uint AT_ONCE = TYPE == T_F32 ? 1 : 2;

/* Into unit i of the cache what x has from element `from` on. */
void copy(u32s cache, uint i, f32s x, uint from)
{
    if (TYPE == T_F32) store(cache, i, x.v[from]);
    else store2(cache, TYPE, i, vec2(x.v[from], x.v[from + 1]));
}

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    uint units = p.C / AT_ONCE, unit = i % units, c = unit * AT_ONCE, row = i / units, b = row / p.T, at = p.start.v[0] + row % p.T;
    if (at >= p.P) return;
    copy(p.keys, (b * p.P + at) * units + unit, p.new_keys, row * p.W + p.key_column + c);
    copy(p.values, (b * p.P + at) * units + unit, p.new_values, row * p.W + p.value_column + c);
}
