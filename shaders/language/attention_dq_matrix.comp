#version 460
/* attention_dq.comp for 16-bit recipes on matrix units: see attention_units.glsl. The scores' gradients are rounded to 16 bits
 * before they meet the keys. Twin: attention_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_bwd_params p; };
layout(constant_id = VKT_SPEC_TYPE_DY) const uint TYPE_DY = 0;
const uint OWN = 2, RESULTS = 1;
#include "attention_units.glsl"

void main()
{
    uvec3 who = whose(p.T, p.heads, has(VKT_ATT_CAUSAL));
    if (who.z >= p.batch) return;
    uint first = who.x * BM, t = min(first + row(), p.T - 1), stat = (who.z * p.heads + who.y) * p.T + t;
    uvec2 keys = keys_seen(who.z, first, 0), span = span_of(who.z, t, 0, keys.y);
    uint q_at = who.z * p.T * p.q_row + who.y * D4, kv_at = who.z * p.S * p.kv_row + who.y / p.group * D4;
    uint dy_at = (who.z * p.T * p.heads + who.y) * D4, doc = document_of(who.z, t);
    float lse = p.lse.v[stat], delta = p.delta.v[stat];
    own_rows(0, p.q, TYPE_ROWS, q_at, p.q_row, first, p.T);
    own_rows(1, p.dy, TYPE_DY, dy_at, p.heads * D4, first, p.T);
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
        bool edge = has_edge(tile, keys.y, first);
        vec4 s[QUADS];
        uvec2 weights[QUADS];
        [[unroll]] for (uint q = 0; q < QUADS; q++) {
            s[q] = score(q) * p.scale;
            [[unroll]] for (uint c = 0; c < 4; c++) {
                float x = capped(s[q][c]);
                s[q][c] = exp_below(x - lse) * cap_slope(x);
            }
            if (edge) s[q] = masked(s[q], q, tile, span, doc, 0.0);
        }
        make_scores(1, TILE_B);
        [[unroll]] for (uint q = 0; q < QUADS; q++) weights[q] = operands4(s[q] * (score(q) - delta));
        put_weights(weights);
        add_weighted(0, 0);
    }
    store_rows(0, p.dx, q_at, p.q_row, first, p.T, p.scale);
}
