#version 460
/* y = the numbers that x holds in few bits, or rows ids[r] of them; an id past the last row gives 0. One invocation per
 * eight numbers in a row. Twin: unpack_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "quant.glsl"

layout(constant_id = VKT_SPEC_PACK) const uint KIND = VKT_QUANT_N_NF4;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(constant_id = VKT_SPEC_ROWS_OF) const uint ROWS_OF = 0;
layout(push_constant, scalar) uniform Push { unpack_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, at = i;
    if (i >= p.n) return;
    bool there = true;
    if (ROWS_OF != 0) {
        uint id = p.ids.v[i / p.cols];
        there = id < p.rows;
        at = min(id, p.rows - 1) * p.cols + i % p.cols;
    }
    vec4 a, b;
    unpack8(p.x, KIND, at, a, b);
    if (!there) a = b = vec4(0.0);
    store2(p.y, Y, 4 * i, a.xy);
    store2(p.y, Y, 4 * i + 1, a.zw);
    store2(p.y, Y, 4 * i + 2, b.xy);
    store2(p.y, Y, 4 * i + 3, b.zw);
}
