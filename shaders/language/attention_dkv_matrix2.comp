#version 460
/* attention_dkv.comp for 16-bit recipes on matrices of a whole workgroup: see attention_matrix2.glsl. A workgroup owns keys and adds the
 * queries of its group's heads, head by head and in order. Weights and the scores' gradients are rounded to 16 bits before they meet dy
 * and the queries. Twin: attention_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_bwd_params p; };
layout(constant_id = VKT_SPEC_TYPE_DY) const uint TYPE_DY = 0;
layout(constant_id = VKT_SPEC_GRADIENTS) const uint GRADIENTS = 3; /* which: 1 of keys, 2 of values, 3 both */
const bool OF_KEYS = (GRADIENTS & 1) != 0, OF_VALUES = (GRADIENTS & 2) != 0;
#include "attention_matrix2.glsl"

/* A score to its weight, 0 where the query does not see the key. what: first key, first query, the end of queries, whether all see all;
 * of: sequence, where its queries' statistics begin. */
float weight(const in uint row, const in uint col, const in float s, const in uvec4 what, const in uvec2 of)
{
    uint j = what.x + row, t = what.y + col;
    bool seen = what.w == 0 || t < what.z && is_seen(of.x, 0, t, j, p.S);
    return seen ? exp_below(capped(s * p.scale) - p.lse.v[of.y + t]) : 0.0;
}

/* The gradient of a score before its cap, by its weight w. */
float gradient(const in uint row, const in uint col, const in float d, const in float w, const in float s, const in uvec4 what, const in uvec2 of)
{
    uint t = min(what.y + col, p.T - 1);
    return w * cap_slope(capped(s * p.scale)) * (d - p.delta.v[of.y + t]);
}

void main()
{
    uvec3 who = whose(p.S, p.heads / p.group, false);
    if (who.z >= p.batch) return;
    uint first = who.x * BM, past = min(first + BM, p.S);
    uvec2 queries = queries_seen(first, past);
    uint kv_at = who.z * p.S * p.kv_row + who.y * D4, dy_row = p.heads * D4;
    f32s q_rows = f32s(p.q), dy_rows = f32s(p.dy);
    results dk = results(0.0), dv = results(0.0);
    own_matrix k, v;
    load_own(k, f32s(p.k), TYPE_ROWS, rows_of(kv_at, p.kv_row, first, p.S));
    if (OF_KEYS) load_own(v, f32s(p.v), TYPE_ROWS, rows_of(kv_at, p.kv_row, first, p.S));
    for (uint head = who.y * p.group; head < (who.y + 1) * p.group; head++) {
        uint q_at = who.z * p.T * p.q_row + head * D4, dy_at = who.z * p.T * dy_row + head * D4, stat = (who.z * p.heads + head) * p.T;
        for (uint tile = queries.x; tile < queries.y; tile += BN) {
            part at_q = rows_of(q_at, p.q_row, tile, p.T), at_dy = rows_of(dy_at, dy_row, tile, p.T);
            uvec4 what = uvec4(first, tile, queries.y, has_edge_back(tile, queries.y, past));
            turned_matrix turned;
            other_matrix other;
            scores s = scores(0.0), w, d = scores(0.0);
            load_turned(turned, q_rows, TYPE_ROWS, at_q);
            s = coopMatMulAdd(k, turned, s);
            coopMatPerElementNV(w, s, weight, what, uvec2(who.z, stat));
            if (OF_VALUES) {
                load_other(other, dy_rows, TYPE_DY, at_dy);
                dv = coopMatMulAdd(weights(w), other, dv);
            }
            if (!OF_KEYS) continue;
            load_turned(turned, dy_rows, TYPE_DY, at_dy);
            d = coopMatMulAdd(v, turned, d);
            coopMatPerElementNV(d, d, gradient, w, s, what, uvec2(who.z, stat));
            load_other(other, q_rows, TYPE_ROWS, at_q);
            dk = coopMatMulAdd(weights(d), other, dk);
        }
    }
    part at = rows_of(kv_at, p.kv_row, first, p.S);
    if (OF_KEYS) {
        coopMatPerElementNV(dk, dk, scaled, p.scale);
        store(dk, f32s(p.dx), at);
    }
    if (OF_VALUES) store(dv, f32s(p.dv), at);
}
