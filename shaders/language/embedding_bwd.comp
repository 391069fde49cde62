#version 460
/* dtable[v, c] = r[v, c], where it is added, and the sum of dy[r, c] over the rows r with id v: order[segments[v]] to before order[segments[v + 1]], which
 * the loader sorted, so the sum has one order and nothing is atomic. One invocation per element of the table,
 * neighbours on neighbouring columns; four sums at a time, so that a driver that counts loop trips (quirk LOOP_TRIPS)
 * gets a quarter of them. Twin: embedding_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_R) const uint R = 0;
layout(push_constant, scalar) uniform Push { embedding_bwd_params p; };

float row(uint k, uint c)
{
    return p.dy.v[min(p.order.v[k], p.rows - 1) * p.cols + c];
}

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint v = i / p.cols, c = i % p.cols;
    if (v >= p.n) return;
    uint k = p.segments.v[v], end = min(p.segments.v[v + 1], p.rows);
    vec4 sum = vec4(0.0);
    for (; k + 4 <= end; k += 4) sum += vec4(row(k, c), row(k + 1, c), row(k + 2, c), row(k + 3, c));
    for (; k < end; k++) sum.x += row(k, c);
    float all = sum.x + sum.y + (sum.z + sum.w);
    if ((p.flags & VKT_EMBED_ADD) != 0) all += load(p.r, R, i);
    p.dx.v[i] = all;
}
