#version 460
/* attention.comp for one query a head, as a token is generated from the cache, on Mesa's CPU driver: one subgroup a head,
 * whose lanes own keys instead of queries. Each has a largest score, a sum and an output of its own keys, every S-th,
 * which are added together at the end. Masks: causal, sliding window. Twin: attention_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_params p; };
#include "ahead.glsl"
#include "cap.glsl"

layout(constant_id = VKT_SPEC_D4) const uint D4 = 8; /* vec4 to a head */
layout(constant_id = VKT_SPEC_TYPE_X) const uint TYPE_KV = T_F32;

const uint S = gl_WorkGroupSize.x, D2 = 2 * D4;
const uint BYTES4 = TYPE_KV == T_F32 ? 16 : 8; /* of four numbers */
const uint LINES = (BYTES4 * D4 + LINE - 1) / LINE; /* of a head's row; one more, not loaded ahead, if it begins within one */
const float NEVER = -1e30;                      /* score of what is masked: no inf - inf */

/* Pair i of keys or values. */
vec2 load_kv(f32x4s x, uint i)
{
    return TYPE_KV == T_F32 ? LOAD_PAIR(x, i) : load2(u32s(x), TYPE_KV, i);
}

/* Reads the S rows of x from `row` on, below `end`, into the cache. */
uint touch_rows(f32x4s x, uint at, uint row, uint end)
{
    uint never = 0;
    [[unroll]] for (uint l = 0; l < LINES; l++)
        never += touch(u8s(x), (at + min(row + gl_LocalInvocationID.x, end - 1) * p.kv_row) * BYTES4 + l * LINE, p.flags >> 31);
    return never;
}

void main()
{
    uint group = flat_group(), lane = gl_LocalInvocationID.x, never = 0;
    if (group >= p.heads * p.batch) return;
    uint head = group % p.heads, batch = group / p.heads;
    uint t = (p.flags & VKT_ATT_START) != 0 ? p.start.v[0] : 0; /* the query's position */
    uint begin = 0, end = p.S;
    if ((p.flags & (VKT_ATT_START | VKT_ATT_CAUSAL)) != 0) end = min(end, t + 1);
    if (p.window > 0) {
        begin = max(t + 1, p.window) - p.window;
        end = min(end, t + p.window);
    }
    uint q_at = batch * p.q_row + head * D4, kv_at = batch * p.S * p.kv_row + head / p.group * D4;
    vec2 q[D2], y[D2];
    [[unroll]] for (uint d = 0; d < D2; d++) {
        q[d] = LOAD_PAIR(p.q, q_at * 2 + d) * p.scale;
        y[d] = vec2(0.0);
    }
    float top = NEVER, sum = 0.0;
    for (uint tile = begin; tile < end; tile += S) {
        uint j = min(tile + lane, end - 1), row = (kv_at + j * p.kv_row) * 2;
        never += touch_rows(p.k, kv_at, tile + S, end) + touch_rows(p.v, kv_at, tile + S, end);
        float s = 0.0;
        [[unroll]] for (uint d = 0; d < D2; d++) s += dot(q[d], load_kv(p.k, row + d));
        s = capped(s);
        if (tile + lane >= end) s = NEVER;
        float most = max(top, s), shrink = exp_below(top - most), weight = s == NEVER ? 0.0 : exp_below(s - most);
        top = most;
        sum = sum * shrink + weight;
        [[unroll]] for (uint d = 0; d < D2; d++) y[d] = y[d] * shrink + weight * load_kv(p.v, row + d);
    }
    float most = subgroupMax(top), share = exp_below(top - most), whole = subgroupAdd(sum * share);
    share /= whole;
    vec2 mine[(D2 + S - 1) / S]; /* the sums of the pairs that this lane stores */
    [[unroll]] for (uint d = 0; d < D2; d++) {
        vec2 x = subgroupAdd(y[d] * share);
        if (d % S == lane) mine[d / S] = x;
    }
    uint y_at = (batch * p.heads + head) * D2 + never;
    [[unroll]] for (uint i = 0; i < (D2 + S - 1) / S; i++)
        if (i * S + lane < D2) STORE_PAIR(p.y, y_at + i * S + lane, mine[i]);
    if (lane == 0) p.lse.v[batch * p.heads + head] = most + log(whole);
}
