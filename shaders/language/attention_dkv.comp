#version 460
/* dv = sum over queries of p dy, dk = scale sum of ds q; p and ds as in attention_dq.comp. An invocation owns a key and
 * adds the queries of its group's heads, head by head and in order: see attention.glsl. dk and dv have k's row length.
 * Twin: attention_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_bwd_params p; };
#include "attention.glsl"
layout(constant_id = VKT_SPEC_GRADIENTS) const uint GRADIENTS = 3; /* which: 1 of keys, 2 of values, 3 both, if registers suffice */
const bool OF_KEYS = (GRADIENTS & 1) != 0, OF_VALUES = (GRADIENTS & 2) != 0;

void main()
{
    uvec3 who = whose(p.S, p.heads / p.group, false);
    if (who.z >= p.batch) return;
    uint first_key = who.x * ROWS, key = first_key + gl_LocalInvocationID.x / SPLIT, j = min(key, p.S - 1);
    uint past_key = min(first_key + ROWS, p.S), begin = 0, end = p.T, doc = 0;
    if (has(VKT_ATT_CAUSAL)) begin = first_key;
    if (p.window > 0) {
        begin = max(begin, max(first_key + 1, p.window) - p.window);
        end = min(end, past_key + p.window - 1);
    }
    if (has(VKT_ATT_DOCS)) doc = p.docs.v[who.z * p.T + j];
    uint kv_at = (who.z * p.S + j) * p.kv_row + who.y * D4 + part();
    vec4 k[OWN], v[OWN], dk[OWN], dv[OWN];
    [[unroll]] for (uint d = 0; d < OWN; d++) {
        k[d] = load4(p.k, kv_at + d * SPLIT) * p.scale;
        v[d] = load4(p.v, kv_at + d * SPLIT);
        dk[d] = dv[d] = vec4(0.0);
    }
    for (uint head = who.y * p.group; head < (who.y + 1) * p.group; head++) {
        uint q_at = who.z * p.T * p.q_row + head * D4, dy_row = p.heads * D4;
        uint dy_at = who.z * p.T * dy_row + head * D4, stat = (who.z * p.heads + head) * p.T;
        for (uint tile = begin; tile < end; tile += STEP) {
            stage(p.q, q_at, p.q_row, p.dy, dy_at, dy_row, tile, p.T);
            for (uint i = tile; i < min(tile + STEP, end); i += AT_ONCE) {
                elem q[REGS], dy[REGS];
                float s[AT_ONCE], dp[AT_ONCE];
                load_rows(q, p.q, q_at, p.q_row, i, p.T);
                load_rows(dy, p.dy, dy_at, dy_row, i, p.T);
                uint at = stat + min(i + (TILE > 0 ? 0 : gl_LocalInvocationID.x), p.T - 1);
                float lse = p.lse.v[at], delta = p.delta.v[at];
                [[unroll]] for (uint n = 0; n < AT_ONCE; n++) s[n] = dp[n] = 0.0;
                [[unroll]] for (uint d = 0; d < OWN; d++) {
                    if (HELD == 0) k[d] = load4(p.k, kv_at + d * SPLIT) * p.scale;
                    if (HELD == 0 && OF_KEYS) v[d] = load4(p.v, kv_at + d * SPLIT);
                    [[unroll]] for (uint n = 0; n < AT_ONCE; n++) {
                        s[n] += dot(k[d], other_a(q, n, i + n - tile, d));
                        if (OF_KEYS) dp[n] += dot(v[d], other_b(dy, n, i + n - tile, d));
                    }
                }
                [[unroll]] for (uint n = 0; n < AT_ONCE; n++) {
                    uint row = min(i + n, p.T - 1), query_doc = doc;
                    if (has(VKT_ATT_DOCS)) query_doc = p.docs.v[who.z * p.T + row];
                    float score = capped(over_parts(s[n]));
                    s[n] = exp_below(score - (TILE > 0 ? p.lse.v[stat + row] : hand_out(lse, n)));
                    if (i + n >= end || !sees(i + n, j, query_doc, doc)) s[n] = 0.0;
                    if (OF_KEYS) dp[n] = s[n] * (over_parts(dp[n]) - (TILE > 0 ? p.delta.v[stat + row] : hand_out(delta, n))) * cap_slope(score);
                }
                [[unroll]] for (uint d = 0; d < OWN; d++)
                    [[unroll]] for (uint n = 0; n < AT_ONCE; n++) {
                        if (OF_VALUES) dv[d] += s[n] * other_b(dy, n, i + n - tile, d);
                        if (OF_KEYS) dk[d] += dp[n] * other_a(q, n, i + n - tile, d);
                    }
            }
        }
    }
    float scale = on_aligned_stack(p.scale);
    if (key >= p.S) return;
    [[unroll]] for (uint d = 0; d < OWN; d++) {
        if (OF_KEYS) store4(p.dx, kv_at + d * SPLIT, dk[d] * scale);
        if (OF_VALUES) store4(p.dv, kv_at + d * SPLIT, dv[d]);
    }
}
