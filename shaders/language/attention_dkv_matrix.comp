#version 460
/* attention_dkv.comp for 16-bit recipes on matrix units: see attention_units.glsl. A workgroup owns keys and adds the queries of its
 * group's heads, head by head and in order. Weights and the scores' gradients are rounded to 16 bits before they meet dy and the
 * queries. Twin: attention_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_bwd_params p; };
layout(constant_id = VKT_SPEC_TYPE_DY) const uint TYPE_DY = 0;
layout(constant_id = VKT_SPEC_GRADIENTS) const uint GRADIENTS = 3; /* which: 1 of keys, 2 of values, 3 both, if registers suffice */
const bool OF_KEYS = (GRADIENTS & 1) != 0, OF_VALUES = (GRADIENTS & 2) != 0;
const uint OWN = OF_KEYS ? 2 : 1, RESULTS = OF_KEYS && OF_VALUES ? 2 : 1, VALUES = RESULTS - 1; /* VALUES: their result */
#include "attention_units.glsl"

void main()
{
    uvec3 who = whose(p.S, p.heads / p.group, false);
    if (who.z >= p.batch) return;
    uint first = who.x * BM, past = min(first + BM, p.S), j = min(first + row(), p.S - 1), doc = document_of(who.z, j);
    uvec2 queries = queries_seen(first, past), span = span_back(j, queries.y);
    uint kv_at = who.z * p.S * p.kv_row + who.y * D4, dy_row = p.heads * D4;
    own_rows(0, p.k, TYPE_ROWS, kv_at, p.kv_row, first, p.S);
    if (OF_KEYS) own_rows(1, p.v, TYPE_ROWS, kv_at, p.kv_row, first, p.S);
    no_sums();
    for (uint head = who.y * p.group; head < (who.y + 1) * p.group; head++) {
        uint q_at = who.z * p.T * p.q_row + head * D4, dy_at = who.z * p.T * dy_row + head * D4, stat = (who.z * p.heads + head) * p.T;
        for (uint tile = queries.x; tile < queries.y; tile += BN) {
            barrier();
            put_tile(0, p.q, TYPE_ROWS, q_at, p.q_row, tile, p.T);
            put_tile(TILE_B, p.dy, TYPE_DY, dy_at, dy_row, tile, p.T);
            [[dont_unroll]] for (uint n = gl_LocalInvocationID.x; n < BN; n += THREADS) {
                uint at = min(tile + n, p.T - 1);
                put_facts(n, uvec3(document_of(who.z, at), floatBitsToUint(p.lse.v[stat + at]), floatBitsToUint(p.delta.v[stat + at])));
            }
            barrier();
            make_scores(0, 0);
            bool edge = has_edge_back(tile, queries.y, past);
            vec4 s[QUADS], slope[QUADS];
            uvec2 weights[QUADS];
            [[unroll]] for (uint q = 0; q < QUADS; q++) {
                s[q] = score(q) * p.scale;
                [[unroll]] for (uint c = 0; c < 4; c++) {
                    float x = capped(s[q][c]);
                    s[q][c] = exp_below(x - uintBitsToFloat(facts(column(q) + c).y));
                    slope[q][c] = cap_slope(x);
                }
                if (edge) s[q] = masked(s[q], q, tile, span, doc, 0.0);
                weights[q] = operands4(s[q]);
            }
            if (OF_VALUES) {
                put_weights(weights);
                add_weighted(VALUES, TILE_B);
            }
            if (!OF_KEYS) continue;
            make_scores(1, TILE_B);
            [[unroll]] for (uint q = 0; q < QUADS; q++) {
                [[unroll]] for (uint c = 0; c < 4; c++) slope[q][c] *= score(q)[c] - uintBitsToFloat(facts(column(q) + c).z);
                weights[q] = operands4(s[q] * slope[q]);
            }
            put_weights(weights);
            add_weighted(0, 0);
        }
    }
    if (OF_KEYS) store_rows(0, p.dx, kv_at, p.kv_row, first, p.S, p.scale);
    if (OF_VALUES) store_rows(VALUES, p.dv, kv_at, p.kv_row, first, p.S, 1.0);
}
