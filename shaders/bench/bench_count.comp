#version 460
/* The least a dispatch can do that can still be checked: one invocation adds 1 to z[index]. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { bench_count_params p; };

void main()
{
    if (flat_group() == 0 && gl_LocalInvocationID.x == 0) p.z.v[p.index]++;
}
