#version 460
/* dp [rows, n]: of what was chosen dw, or with `norm`, where w = p / s, (dw - sum of dw w) / s; of the rest 0. One
 * invocation an element, which goes through its row's k. Twin: top_k_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { top_k_bwd_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint row = i / p.n, e = i - row * p.n, from = row * p.k;
    if (row >= p.rows) return;
    float sum = 1.0, mean = 0.0, g = 0.0;
    if (p.norm != 0) {
        sum = 0.0;
        for (uint j = from; j < from + p.k; j++) {
            sum += p.p.v[row * p.n + p.ids.v[j]];
            mean += p.dw.v[j] * p.w.v[j];
        }
    }
    for (uint j = from; j < from + p.k; j++)
        if (p.ids.v[j] == e) g += (p.dw.v[j] - mean) / sum;
    p.dp.v[i] = g;
}
