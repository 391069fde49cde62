#version 460
/* attention_dq.comp for GPUs and many queries, by tiles: see attention_tiled.glsl. Twin: attention_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_bwd_params p; };
#include "attention_tiled.glsl"

void main()
{
    uvec3 who = whose(p.T, p.heads, has(VKT_ATT_CAUSAL));
    if (who.z >= p.batch) return;
    uint first = who.x * BM;
    uvec2 keys = keys_seen(who.z, first, 0);
    uint q_at = who.z * p.T * p.q_row + who.y * D4, kv_at = who.z * p.S * p.kv_row + who.y / p.group * D4;
    uint dy_at = (who.z * p.T * p.heads + who.y) * D4, stat = (who.z * p.heads + who.y) * p.T;
    vec4 dq[TM][COLS];
    float s[TM][TN], dp[TM][TN], share[TM];
    [[unroll]] for (uint m = 0; m < TM; m++) {
        share[m] = p.scale;
        [[unroll]] for (uint c = 0; c < COLS; c++) dq[m][c] = vec4(0.0);
    }
    for (uint tile = keys.x; tile < keys.y; tile += BN) {
        scores(s, p.q, q_at, p.q_row, first, p.T, p.k, kv_at, p.kv_row, tile, p.S);
        scores(dp, p.dy, dy_at, p.heads * D4, first, p.T, p.v, kv_at, p.kv_row, tile, p.S);
        [[unroll]] for (uint m = 0; m < TM; m++) {
            uint t = min(first + row(m), p.T - 1);
            float lse = p.lse.v[stat + t], delta = p.delta.v[stat + t];
            [[unroll]] for (uint n = 0; n < TN; n++) {
                float score = capped(s[m][n] * p.scale);
                s[m][n] = exp_below(score - lse) * (dp[m][n] - delta) * cap_slope(score);
            }
        }
        if (has_edge(tile, keys.y, first)) mask(s, who.z, first, 0, tile, keys.y, 0.0);
        add_weighted(dq, s, p.k, kv_at, p.kv_row, tile, keys.y);
    }
    store_rows(p.dx, q_at, p.q_row, first, p.T, dq, share);
}
