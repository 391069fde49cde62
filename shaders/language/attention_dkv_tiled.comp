#version 460
/* attention_dkv.comp for GPUs and many keys, by tiles: see attention_tiled.glsl. A workgroup owns keys and adds the
 * queries of its group's heads, head by head and in order. Twin: attention_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_bwd_params p; };
#include "attention_tiled.glsl"
layout(constant_id = VKT_SPEC_GRADIENTS) const uint GRADIENTS = 3; /* which: 1 of keys, 2 of values, 3 both, if registers suffice */
const bool OF_KEYS = (GRADIENTS & 1) != 0, OF_VALUES = (GRADIENTS & 2) != 0;

/* Weights of queries tile ... that do not see keys first ... become 0. */
void hide(inout float s[TM][TN], uint b, uint first, uint tile, uint end)
{
    [[unroll]] for (uint m = 0; m < TM; m++) {
        uint j = min(first + row(m), p.S - 1);
        uvec2 span = span_back(j, end);
        [[unroll]] for (uint n = 0; n < TN; n++) s[m][n] = tile + column(n) - span.x < span.y ? s[m][n] : 0.0;
        if (has(VKT_ATT_DOCS)) {
            uint doc = p.docs.v[b * p.T + j];
            [[unroll]] for (uint n = 0; n < TN; n++)
                s[m][n] = p.docs.v[b * p.T + min(tile + column(n), p.T - 1)] == doc ? s[m][n] : 0.0;
        }
    }
}

void main()
{
    uvec3 who = whose(p.S, p.heads / p.group, false);
    if (who.z >= p.batch) return;
    uint first = who.x * BM, past = min(first + BM, p.S);
    uvec2 queries = queries_seen(first, past);
    uint kv_at = who.z * p.S * p.kv_row + who.y * D4;
    vec4 dk[TM][COLS], dv[TM][COLS];
    float s[TM][TN], dp[TM][TN], scale[TM], one[TM];
    [[unroll]] for (uint m = 0; m < TM; m++) {
        scale[m] = p.scale;
        one[m] = 1.0;
        [[unroll]] for (uint c = 0; c < COLS; c++) dk[m][c] = dv[m][c] = vec4(0.0);
    }
    for (uint head = who.y * p.group; head < (who.y + 1) * p.group; head++) {
        uint q_at = who.z * p.T * p.q_row + head * D4, dy_row = p.heads * D4;
        uint dy_at = who.z * p.T * dy_row + head * D4, stat = (who.z * p.heads + head) * p.T;
        for (uint tile = queries.x; tile < queries.y; tile += BN) {
            scores(s, p.k, kv_at, p.kv_row, first, p.S, p.q, q_at, p.q_row, tile, p.T);
            if (OF_KEYS) scores(dp, p.v, kv_at, p.kv_row, first, p.S, p.dy, dy_at, dy_row, tile, p.T);
            [[unroll]] for (uint n = 0; n < TN; n++) {
                uint at = stat + min(tile + column(n), p.T - 1);
                float lse = p.lse.v[at], delta = p.delta.v[at];
                [[unroll]] for (uint m = 0; m < TM; m++) {
                    float score = capped(s[m][n] * p.scale);
                    s[m][n] = exp_below(score - lse);
                    dp[m][n] = OF_KEYS ? (dp[m][n] - delta) * cap_slope(score) : 0.0;
                }
            }
            if (has_edge_back(tile, queries.y, past)) hide(s, who.z, first, tile, queries.y);
            [[unroll]] for (uint m = 0; m < TM; m++) [[unroll]] for (uint n = 0; n < TN; n++) dp[m][n] *= s[m][n];
            if (OF_VALUES) add_weighted(dv, s, p.dy, dy_at, dy_row, tile, queries.y);
            if (OF_KEYS) add_weighted(dk, dp, p.q, q_at, p.q_row, tile, queries.y);
        }
    }
    if (OF_KEYS) store_rows(p.dx, kv_at, p.kv_row, first, p.S, dk, scale);
    if (OF_VALUES) store_rows(p.dv, kv_at, p.kv_row, first, p.S, dv, one);
}
