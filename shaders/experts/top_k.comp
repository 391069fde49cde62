#version 460
/* The k largest numbers of each row of p [rows, n], the largest first and of equal ones the one that comes first: which
 * they are, and what they are, or with `norm` their shares of their sum. One invocation a row. NaN is chosen where nothing
 * else is left. Twin: top_k_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { top_k_params p; };

void main()
{
    uint row = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    float last = 0.0, sum = 0.0;
    uint last_at = 0, base = row * p.n, to = row * p.k;
    for (uint j = 0; j < p.k; j++) {
        float best = 0.0;
        uint at = p.n;
        for (uint i = 0; i < p.n; i++) {
            float v = p.p.v[base + i];
            bool left = j == 0 || v < last || (v == last && i > last_at);
            if (left && (at == p.n || v > best)) {
                best = v;
                at = i;
            }
        }
        if (at == p.n) {
            at = j;
            best = make_nan();
        }
        p.ids.v[to + j] = at;
        p.w.v[to + j] = best;
        last = best;
        last_at = at;
        sum += best;
    }
    if (p.norm != 0)
        for (uint j = 0; j < p.k; j++) p.w.v[to + j] /= sum;
}
