#version 460
/* ids [n], sorted by expert: the places of expert e begin at first[e] times VKT_EXPERT_ROWS and are as many as it has
 * ids, in their order, and then as many empty ones as fill a multiple of that. source [places]: which of ids a place holds,
 * n: none; place [n]: where it lies. count: of each expert. One invocation an expert, which goes through all ids, four a
 * trip (quirk LOOP_TRIPS). Twin: expert_order_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { expert_order_params p; };

uint to;

void take(uint i, uint e)
{
    if (p.ids.v[i] != e) return;
    if (to < p.places) p.source.v[to] = i;
    p.place.v[i] = to++;
}

uint tiles(uint e)
{
    return (uint(p.count.v[e]) + VKT_EXPERT_ROWS - 1) / VKT_EXPERT_ROWS;
}

void main()
{
    uint e = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, first = 0, i = 0;
    if (e >= p.experts) return;
    for (uint k = 0; k < e; k++) first += tiles(k);
    uint next = first + tiles(e), end = next * VKT_EXPERT_ROWS;
    p.first.v[e] = first;
    to = first * VKT_EXPERT_ROWS;
    for (; i + 4 <= p.n; i += 4) {
        take(i, e);
        take(i + 1, e);
        take(i + 2, e);
        take(i + 3, e);
    }
    for (; i < p.n; i++) take(i, e);
    if (e + 1 == p.experts) {
        p.first.v[e + 1] = next;
        end = p.places;
    }
    for (; to < min(end, p.places); to++) p.source.v[to] = p.n;
}
