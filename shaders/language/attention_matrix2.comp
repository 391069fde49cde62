#version 460
/* attention.comp for 16-bit recipes on matrices of a whole workgroup: see attention_matrix2.glsl; online over tiles of keys. Weights
 * are rounded to 16 bits before they meet the values, their sum is not. Twin: attention_ref. Dao 2023 (2307.08691); the use of
 * reductions as in ggml's flash_attn_cm2. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_params p; };
#include "attention_matrix2.glsl"

/* A score, NEVER where the query does not see the key. what: first query, first key, the first query's position, the end of keys. */
float scored(const in uint row, const in uint col, const in float s, const in uvec4 what, const in uint b)
{
    return is_seen(b, what.z, min(what.x + row, p.T - 1), what.y + col, what.w) ? capped(s * p.scale) : NEVER;
}
float inside(const in uint row, const in uint col, const in float s) { return capped(s * p.scale); }
float larger_of(const in uint row, const in uint col, const in float x, const in float y) { return max(x, y); }
float shrunk(const in uint row, const in uint col, const in float before, const in float now) { return exp_below(before - now); }
float weight(const in uint row, const in uint col, const in float s, const in float top) { return s == NEVER ? 0.0 : exp_below(s - top); }
float inverse(const in uint row, const in uint col, const in float x) { return 1.0 / x; }
float put_lse(const in uint row, const in uint col, const in float sum, const in float top, const in uint at, const in uint rows)
{
    if (col == 0 && row < rows) p.lse.v[at + row] = top + log(sum);
    return sum;
}

void main()
{
    uvec3 who = whose(p.T, p.heads, has(VKT_ATT_CAUSAL));
    if (who.z >= p.batch) return;
    uint first = who.x * BM, start = 0;
    if (has(VKT_ATT_START)) start = p.start.v[0];
    uvec2 keys = keys_seen(who.z, first, start);
    uint q_at = who.z * p.T * p.q_row + who.y * D4, kv_at = who.z * p.S * p.kv_row + who.y / p.group * D4;
    f32s q_rows = f32s(p.q), k_rows = f32s(p.k), v_rows = f32s(p.v);
    scores top = scores(NEVER), sum = scores(0.0), shrink;
    results acc = results(0.0), wide;
    own_matrix own;
    load_own(own, q_rows, TYPE_ROWS, rows_of(q_at, p.q_row, first, p.T));
    for (uint tile = keys.x; tile < keys.y; tile += BN) {
        part at = rows_of(kv_at, p.kv_row, tile, p.S);
        turned_matrix k;
        other_matrix v;
        scores s = scores(0.0), most, more;
        load_turned(k, k_rows, TYPE_ROWS, at);
        s = coopMatMulAdd(own, k, s);
        if (has_edge(tile, keys.y, start + first)) coopMatPerElementNV(s, s, scored, uvec4(first, tile, start, keys.y), who.z);
        else coopMatPerElementNV(s, s, inside);
        coopMatReduceNV(most, s, gl_CooperativeMatrixReduceRowNV, larger);
        coopMatPerElementNV(most, most, larger_of, top);
        coopMatPerElementNV(shrink, top, shrunk, most);
        top = most;
        coopMatPerElementNV(s, s, weight, top);
        coopMatReduceNV(more, s, gl_CooperativeMatrixReduceRowNV, added);
        sum = sum * shrink + more;
        coopMatReduceNV(wide, shrink, gl_CooperativeMatrixReduceRowNV, any_of);
        acc = acc * wide;
        load_other(v, v_rows, TYPE_ROWS, at);
        acc = coopMatMulAdd(weights(s), v, acc);
    }
    uint rows = min(p.T - first, BM);
    coopMatPerElementNV(sum, sum, put_lse, top, (who.z * p.heads + who.y) * p.T + first, rows);
    coopMatPerElementNV(sum, sum, inverse);
    coopMatReduceNV(wide, sum, gl_CooperativeMatrixReduceRowNV, any_of);
    acc = acc * wide;
    store(acc, f32s(p.y), rows_of((who.z * p.T * p.heads + who.y) * D4, p.heads * D4, first, p.T));
}
