#version 460
/* order [n]: the places of ids [n] by rising id, equal ids by rising place; those that name no row of the table (below 0,
 * from `rows` on, NaN) come last. One invocation a place, which counts the ids that come before its own, four a trip (quirk
 * LOOP_TRIPS). Twin: id_order_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { id_order_params p; };
#include "id_row.glsl"

uint own, place;

uint before(uint i)
{
    uint row = row_of(i);
    return uint(row < own || (row == own && i < place));
}

void main()
{
    place = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (place >= p.n) return;
    own = row_of(place);
    uint at = 0, i = 0;
    for (; i + 4 <= p.n; i += 4) at += before(i) + before(i + 1) + (before(i + 2) + before(i + 3));
    for (; i < p.n; i++) at += before(i);
    p.order.v[min(at, p.n - 1)] = place;
}
