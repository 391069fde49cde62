#version 460
/* attention.comp for GPUs and many queries: scores and their product with the values as tiles through shared memory
 * (attention_tiled.glsl), online over tiles of keys. Twin: attention_ref. Dao 2023 (2307.08691). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_params p; };
#include "attention_tiled.glsl"

void main()
{
    uvec3 who = whose(p.T, p.heads, has(VKT_ATT_CAUSAL));
    if (who.z >= p.batch) return;
    uint first = who.x * BM, start = 0;
    if (has(VKT_ATT_START)) start = p.start.v[0];
    uvec2 keys = keys_seen(who.z, first, start);
    uint q_at = who.z * p.T * p.q_row + who.y * D4, kv_at = who.z * p.S * p.kv_row + who.y / p.group * D4;
    vec4 y[TM][COLS];
    float top[TM], sum[TM], s[TM][TN];
    [[unroll]] for (uint m = 0; m < TM; m++) {
        top[m] = NEVER;
        sum[m] = 0.0;
        [[unroll]] for (uint c = 0; c < COLS; c++) y[m][c] = vec4(0.0);
    }
    for (uint tile = keys.x; tile < keys.y; tile += BN) {
        scores(s, p.q, q_at, p.q_row, first, p.T, p.k, kv_at, p.kv_row, tile, p.S);
        [[unroll]] for (uint m = 0; m < TM; m++)
            [[unroll]] for (uint n = 0; n < TN; n++) s[m][n] = capped(s[m][n] * p.scale);
        if (has_edge(tile, keys.y, start + first)) mask(s, who.z, first, start, tile, keys.y, NEVER);
        [[unroll]] for (uint m = 0; m < TM; m++) {
            float most = s[m][0];
            [[unroll]] for (uint n = 1; n < TN; n++) most = max(most, s[m][n]);
            most = max(top[m], row_max(most));
            float shrink = exp_below(top[m] - most);
            top[m] = most;
            sum[m] *= shrink;
            [[unroll]] for (uint n = 0; n < TN; n++) {
                s[m][n] = s[m][n] == NEVER ? 0.0 : exp_below(s[m][n] - most);
                sum[m] += s[m][n];
            }
            [[unroll]] for (uint c = 0; c < COLS; c++) y[m][c] *= shrink;
        }
        add_weighted(y, s, p.v, kv_at, p.kv_row, tile, keys.y);
    }
    float share[TM];
    [[unroll]] for (uint m = 0; m < TM; m++) {
        sum[m] = row_sum(sum[m]);
        share[m] = 1.0 / sum[m];
        if (x_of() == 0 && first + row(m) < p.T)
            p.lse.v[(who.z * p.heads + who.y) * p.T + first + row(m)] = top[m] + log(sum[m]);
    }
    store_rows(p.y, (who.z * p.T * p.heads + who.y) * D4, p.heads * D4, first, p.T, y, share);
}
