#version 460
/* attention_dq.comp for 16-bit recipes on matrices of a whole workgroup: see attention_matrix2.glsl. The scores' gradients are rounded
 * to 16 bits before they meet the keys. Twin: attention_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_bwd_params p; };
layout(constant_id = VKT_SPEC_TYPE_DY) const uint TYPE_DY = 0;
#include "attention_matrix2.glsl"

/* Each query's statistic, in every column. */
float of_row(const in uint row, const in uint col, const in float x, const in f32s from, const in uint at, const in uint last)
{
    return from.v[at + min(row, last)];
}

/* A score to its weight times the slope of its cap, 0 where the query does not see the key. what: first query, first key, the end of keys,
 * whether all see all. */
float weight(const in uint row, const in uint col, const in float s, const in float lse, const in uvec4 what, const in uint b)
{
    float x = capped(s * p.scale);
    bool seen = what.w == 0 || is_seen(b, 0, min(what.x + row, p.T - 1), what.y + col, what.z);
    return seen ? exp_below(x - lse) * cap_slope(x) : 0.0;
}
float gradient(const in uint row, const in uint col, const in float s, const in float d, const in float delta) { return s * (d - delta); }

void main()
{
    uvec3 who = whose(p.T, p.heads, has(VKT_ATT_CAUSAL));
    if (who.z >= p.batch) return;
    uint first = who.x * BM, stat = (who.z * p.heads + who.y) * p.T + first, last = min(p.T - first, BM) - 1;
    uvec2 keys = keys_seen(who.z, first, 0);
    uint q_at = who.z * p.T * p.q_row + who.y * D4, kv_at = who.z * p.S * p.kv_row + who.y / p.group * D4;
    uint dy_at = (who.z * p.T * p.heads + who.y) * D4;
    f32s k_rows = f32s(p.k), v_rows = f32s(p.v);
    scores lse, delta;
    results acc = results(0.0);
    own_matrix q, dy;
    load_own(q, f32s(p.q), TYPE_ROWS, rows_of(q_at, p.q_row, first, p.T));
    load_own(dy, f32s(p.dy), TYPE_DY, rows_of(dy_at, p.heads * D4, first, p.T));
    coopMatPerElementNV(lse, lse, of_row, p.lse, stat, last);
    coopMatPerElementNV(delta, delta, of_row, p.delta, stat, last);
    for (uint tile = keys.x; tile < keys.y; tile += BN) {
        part at = rows_of(kv_at, p.kv_row, tile, p.S);
        turned_matrix turned;
        other_matrix k;
        scores s = scores(0.0), d = scores(0.0);
        load_turned(turned, k_rows, TYPE_ROWS, at);
        s = coopMatMulAdd(q, turned, s);
        load_turned(turned, v_rows, TYPE_ROWS, at);
        d = coopMatMulAdd(dy, turned, d);
        coopMatPerElementNV(s, s, weight, lse, uvec4(first, tile, keys.y, has_edge(tile, keys.y, first)), who.z);
        coopMatPerElementNV(s, s, gradient, d, delta);
        load_other(k, k_rows, TYPE_ROWS, at);
        acc = coopMatMulAdd(weights(s), k, acc);
    }
    coopMatPerElementNV(acc, acc, scaled, p.scale);
    store(acc, f32s(p.dx), rows_of(q_at, p.q_row, first, p.T));
}
