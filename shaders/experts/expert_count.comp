#version 460
/* count [experts]: how many of ids [n] name each. One invocation an expert, which goes through all ids, four a trip
 * (quirk LOOP_TRIPS). Twin: expert_count_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { expert_order_params p; };

void main()
{
    uint e = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, count = 0, i = 0;
    if (e >= p.experts) return;
    for (; i + 4 <= p.n; i += 4) {
        count += uint(p.ids.v[i] == e) + uint(p.ids.v[i + 1] == e);
        count += uint(p.ids.v[i + 2] == e) + uint(p.ids.v[i + 3] == e);
    }
    for (; i < p.n; i++) count += uint(p.ids.v[i] == e);
    p.count.v[e] = float(count);
}
