#version 460
/* y[v]: how many of the sorted places x have a key below v: where those of v begin. One invocation per element of y. Twin:
 * id_segments_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "id_sort.glsl"

void main()
{
    uint v = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (v < p.run) p.y.v[v] = below(0, p.n, v, false);
}
