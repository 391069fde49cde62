#version 460
/* One query's results of parts of its keys, each with the log of its sum of exponentials, as attention_query.comp leaves them, to the
 * result of all keys: lse = log sum exp(lse_i), y = sum y_i exp(lse_i - lse). One invocation per vec4, parts in order. A part without
 * keys counts nothing. Twin: attention_join_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_D4) const uint D4 = 8;
layout(push_constant, scalar) uniform Push { attention_join_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n) return;
    uint pair = i / D4, row = p.heads * D4, at = pair / p.heads * p.n_parts * row + i % row;
    float top = p.lses.v[pair * p.n_parts], sum = 0.0;
    for (uint n = 1; n < p.n_parts; n++) top = max(top, p.lses.v[pair * p.n_parts + n]);
    vec4 y = vec4(0.0);
    for (uint n = 0; n < p.n_parts; n++) {
        float weight = exp_below(p.lses.v[pair * p.n_parts + n] - top);
        sum += weight;
        y += weight * p.parts.v[at + n * row];
    }
    p.y.v[i] = y / sum;
    if (i % D4 == 0) p.lse.v[pair] = top + log(sum);
}
