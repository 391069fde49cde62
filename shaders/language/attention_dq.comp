#version 460
/* dq = scale sum over keys of ds k, ds = p (dy v - delta), p = exp(scale q k - lse). An invocation owns a query and
 * adds keys in order: see attention.glsl. dq has q's row length. Twin: attention_bwd_ref. Dao 2023 (2307.08691). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_bwd_params p; };
#include "attention.glsl"

void main()
{
    uvec3 who = whose(p.T, p.heads, has(VKT_ATT_CAUSAL));
    if (who.z >= p.batch) return;
    uint first_query = who.x * ROWS, query = first_query + gl_LocalInvocationID.x / SPLIT, t = min(query, p.T - 1);
    uint end = p.S, begin = 0, doc = 0, past = min(first_query + ROWS, p.T);
    if (has(VKT_ATT_CAUSAL)) end = min(end, past);
    if (p.window > 0) {
        begin = max(first_query + 1, p.window) - p.window;
        end = min(end, past + p.window - 1);
    }
    if (has(VKT_ATT_DOCS)) {
        doc = p.docs.v[who.z * p.T + t];
        if (has(VKT_ATT_CAUSAL)) begin = max(begin, p.docs.v[who.z * p.T + first_query]);
    }
    uint q_at = (who.z * p.T + t) * p.q_row + who.y * D4 + part();
    uint dy_at = ((who.z * p.T + t) * p.heads + who.y) * D4 + part();
    uint kv_at = who.z * p.S * p.kv_row + who.y / p.group * D4, stat = (who.z * p.heads + who.y) * p.T + t;
    float lse = p.lse.v[stat], delta = p.delta.v[stat];
    vec4 q[OWN], dy[OWN], dq[OWN];
    [[unroll]] for (uint d = 0; d < OWN; d++) {
        q[d] = load4(p.q, q_at + d * SPLIT) * p.scale;
        dy[d] = load4(p.dy, dy_at + d * SPLIT);
        dq[d] = vec4(0.0);
    }
    for (uint tile = begin; tile < end; tile += STEP) {
        stage(p.k, kv_at, p.kv_row, p.v, kv_at, p.kv_row, tile, p.S);
        for (uint j = tile; j < min(tile + STEP, end); j += AT_ONCE) {
            elem k[REGS], v[REGS];
            float s[AT_ONCE], dp[AT_ONCE];
            load_rows(k, p.k, kv_at, p.kv_row, j, p.S);
            load_rows(v, p.v, kv_at, p.kv_row, j, p.S);
            [[unroll]] for (uint n = 0; n < AT_ONCE; n++) s[n] = dp[n] = 0.0;
            [[unroll]] for (uint d = 0; d < OWN; d++) {
                if (HELD == 0) q[d] = load4(p.q, q_at + d * SPLIT) * p.scale;
                if (HELD == 0) dy[d] = load4(p.dy, dy_at + d * SPLIT);
                [[unroll]] for (uint n = 0; n < AT_ONCE; n++) {
                    s[n] += dot(q[d], other_a(k, n, j + n - tile, d));
                    dp[n] += dot(dy[d], other_b(v, n, j + n - tile, d));
                }
            }
            [[unroll]] for (uint n = 0; n < AT_ONCE; n++) {
                uint key_doc = doc;
                if (has(VKT_ATT_DOCS)) key_doc = p.docs.v[who.z * p.T + min(j + n, p.T - 1)];
                float score = capped(over_parts(s[n]));
                s[n] = exp_below(score - lse) * (over_parts(dp[n]) - delta) * cap_slope(score);
                if (j + n >= end || !sees(t, j + n, doc, key_doc)) s[n] = 0.0;
            }
            [[unroll]] for (uint d = 0; d < OWN; d++)
                [[unroll]] for (uint n = 0; n < AT_ONCE; n++) dq[d] += s[n] * other_a(k, n, j + n - tile, d);
        }
    }
    float scale = on_aligned_stack(p.scale);
    if (query >= p.T) return;
    [[unroll]] for (uint d = 0; d < OWN; d++) store4(p.dx, q_at + d * SPLIT, dq[d] * scale);
}
