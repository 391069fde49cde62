#version 460
/* attention.comp for 16-bit recipes on matrix units (attention_units.glsl), online over tiles of keys. Weights are rounded to 16 bits
 * before they meet the values, their sum is not. Twin: attention_ref. Dao 2023 (2307.08691). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_params p; };
const uint OWN = 1, RESULTS = 1;
#include "attention_units.glsl"

void main()
{
    uvec3 who = whose(p.T, p.heads, has(VKT_ATT_CAUSAL));
    if (who.z >= p.batch) return;
    uint first = who.x * BM, start = 0, t = min(first + row(), p.T - 1);
    if (has(VKT_ATT_START)) start = p.start.v[0];
    uvec2 keys = keys_seen(who.z, first, start), span = span_of(who.z, t, start, keys.y);
    uint q_at = who.z * p.T * p.q_row + who.y * D4, kv_at = who.z * p.S * p.kv_row + who.y / p.group * D4;
    uint doc = document_of(who.z, t);
    float top = NEVER, sum = 0.0;
    own_rows(0, p.q, TYPE_ROWS, q_at, p.q_row, first, p.T);
    no_sums();
    for (uint tile = keys.x; tile < keys.y; tile += BN) {
        barrier();
        if (has(VKT_ATT_DOCS))
            [[dont_unroll]] for (uint n = gl_LocalInvocationID.x; n < BN; n += THREADS)
                put_facts(n, uvec3(document_of(who.z, min(tile + n, p.T - 1)), 0, 0));
        put_tile(0, p.k, TYPE_ROWS, kv_at, p.kv_row, tile, p.S);
        put_tile(TILE_B, p.v, TYPE_ROWS, kv_at, p.kv_row, tile, p.S);
        barrier();
        make_scores(0, 0);
        bool edge = has_edge(tile, keys.y, start + first);
        vec4 s[QUADS], most = vec4(NEVER);
        uvec2 weights[QUADS];
        [[unroll]] for (uint q = 0; q < QUADS; q++) {
            s[q] = score(q) * p.scale;
            [[unroll]] for (uint c = 0; c < 4; c++) s[q][c] = capped(s[q][c]);
            if (edge) s[q] = masked(s[q], q, tile, span, doc, NEVER);
            most = max(most, s[q]);
        }
        float now = max(top, row_max(max(max(most.x, most.y), max(most.z, most.w)))), shrink = exp_below(top - now);
        top = now;
        sum *= shrink;
        [[unroll]] for (uint q = 0; q < QUADS; q++) {
            [[unroll]] for (uint c = 0; c < 4; c++) {
                s[q][c] = s[q][c] == NEVER ? 0.0 : exp_below(s[q][c] - now);
                sum += s[q][c];
            }
            weights[q] = operands4(s[q]);
        }
        if (tile > keys.x) shrink_rows(shrink);
        put_weights(weights);
        add_weighted(0, TILE_B);
    }
    sum = row_sum(sum);
    if (part() == 0 && first + row() < p.T) p.lse.v[(who.z * p.heads + who.y) * p.T + first + row()] = top + log(sum);
    store_rows(0, p.y, (who.z * p.T * p.heads + who.y) * D4, p.heads * D4, first, p.T, 1.0 / sum);
}
