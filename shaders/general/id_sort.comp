#version 460
/* y: the places 0..n-1 in runs that are sorted by key, places of one key in order. run 0: runs of VKT_SORT_RUN places, in which each
 * counts those before it; else two neighbouring runs of x, `run` places each, become one of y: an element goes as far as it was in its
 * own run plus the number of elements before it in the other. One invocation per place. Twin: id_sort_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "id_sort.glsl"

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    if (p.run == 0) {
        uint begin = i - i % VKT_SORT_RUN, end = min(begin + VKT_SORT_RUN, p.n), mine = key(i), to = begin;
        for (uint j = begin; j < end; j++) {
            uint k = key(j);
            if (k < mine || (k == mine && j < i)) to++;
        }
        p.y.v[to] = i;
        return;
    }
    uint j = p.x.v[i], begin = i - i % (2 * p.run), mid = min(begin + p.run, p.n), end = min(mid + p.run, p.n);
    bool left = i < mid;
    uint others = left ? below(mid, end, key(j), false) : below(begin, mid, key(j), true);
    p.y.v[(left ? i : i - p.run) + others] = j;
}
