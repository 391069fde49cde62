#version 460
/* attention.comp for one query a head, as a token is generated from the cache, on GPUs: a workgroup a head, or a part of the keys that
 * it sees, whose results attention_join.comp joins. An invocation makes the score of a key, as many keys at a time as there are
 * invocations; then D4 of them have a vec4 of the result each, SHARES times over, and add every SHARES-th key's value; the shares are
 * added at the end, in order. Masks: causal, sliding window. Twin: attention_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
layout(push_constant, scalar) uniform Push { attention_params p; };
#include "attention_mask.glsl"

layout(constant_id = VKT_SPEC_D4) const uint D4 = 8; /* vec4 to a head */
layout(constant_id = VKT_SPEC_TYPE_X) const uint TYPE_KV = T_F32;

const uint KEYS = gl_WorkGroupSize.x, SHARES = KEYS / D4;

shared vec4 query[D4], share_of[KEYS];
shared float weights[KEYS];

/* vec4 i of keys or values. */
vec4 load_kv(f32x4s x, uint i)
{
    return TYPE_KV == T_F32 ? x.v[i] : load4(u32s(x), TYPE_KV, i);
}

/* The score of the key at `row`. */
float score(uint row)
{
    float s = 0.0;
    [[unroll]] for (uint d = 0; d < D4; d++) s += dot(query[d], load_kv(p.k, row + d));
    return capped(s);
}

void main()
{
    uint group = flat_group(), tid = gl_LocalInvocationID.x, d = tid % D4, share = tid / D4;
    if (group >= p.heads * p.batch * p.parts) return;
    uint part = group % p.parts, pair = group / p.parts, head = pair % p.heads, batch = pair / p.heads, t = has(VKT_ATT_START) ? p.start.v[0] : 0, begin = 0, end = p.S;
    if (has(VKT_ATT_START) || has(VKT_ATT_CAUSAL)) end = min(end, t + 1);
    if (p.window > 0) {
        begin = max(t + 1, p.window) - p.window;
        end = min(end, t + p.window);
    }
    uint keys_each = (end - begin + p.parts - 1) / p.parts;
    begin = min(end, begin + part * keys_each);
    end = min(end, begin + keys_each);
    uint kv_at = batch * p.S * p.kv_row + head / p.group * D4;
    if (tid < D4) query[tid] = p.q.v[batch * p.q_row + head * D4 + tid] * p.scale;
    float top = NEVER, sum = 0.0;
    vec4 y = vec4(0.0);
    for (uint tile = begin; tile < end; tile += KEYS) {
        barrier();
        float s = tile + tid < end ? score(kv_at + (tile + tid) * p.kv_row) : NEVER;
        float most = max(top, wg_max(s)), shrink = exp_below(top - most), weight = s == NEVER ? 0.0 : exp_below(s - most);
        top = most;
        sum = sum * shrink + weight;
        weights[tid] = weight;
        barrier();
        y *= shrink;
        uint keys = min(KEYS, end - tile);
        if (share < SHARES)
            for (uint n = share; n < keys; n += SHARES) y += weights[n] * load_kv(p.v, kv_at + (tile + n) * p.kv_row + d);
    }
    share_of[tid] = y;
    sum = wg_add(sum);
    barrier();
    if (tid < D4) {
        for (uint n = 1; n < SHARES; n++) y += share_of[n * D4 + tid];
        p.y.v[((batch * p.parts + part) * p.heads + head) * D4 + tid] = begin == end ? vec4(0.0) : y / sum;
    }
    if (tid == 0) p.lse.v[group] = begin == end ? NEVER : top + log(sum);
}
