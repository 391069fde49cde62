#version 460
/* y = softmax(scale q k^T + mask) v, and lse = log(sum of exp(scale q k^T)), online over blocks of keys: the largest
 * score so far, the sum and the output are rescaled when it grows. Mask: causal, sliding window, documents. An
 * invocation owns a query: see attention.glsl. Twin: attention_ref. Dao 2023 (2307.08691), Milakov & Gimelshein 2018. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { attention_params p; };
#define CACHE
#include "attention.glsl"

void main()
{
    uvec3 who = whose(p.T, p.heads, has(VKT_ATT_CAUSAL));
    if (who.z >= p.batch) return;
    uint first_query = who.x * ROWS, query = first_query + gl_LocalInvocationID.x / SPLIT, t = min(query, p.T - 1);
    uint start = 0, end = p.S, begin = 0, doc = 0;
    if (has(VKT_ATT_START)) start = p.start.v[0];
    uint past = start + min(first_query + ROWS, p.T); /* position after the last query's */
    if (has(VKT_ATT_CAUSAL) || has(VKT_ATT_START)) end = min(end, past);
    if (p.window > 0) {
        begin = max(start + first_query + 1, p.window) - p.window;
        end = min(end, past + p.window - 1);
    }
    if (has(VKT_ATT_DOCS)) {
        doc = p.docs.v[who.z * p.T + t];
        if (has(VKT_ATT_CAUSAL)) begin = max(begin, p.docs.v[who.z * p.T + first_query]);
    }
    uint q_at = (who.z * p.T + t) * p.q_row + who.y * D4 + part();
    uint kv_at = who.z * p.S * p.kv_row + who.y / p.group * D4;
    vec4 q[OWN], y[OWN];
    [[unroll]] for (uint d = 0; d < OWN; d++) {
        q[d] = load4(p.q, q_at + d * SPLIT) * p.scale;
        y[d] = vec4(0.0);
    }
    float top = NEVER, sum = 0.0;
    bool masks = has(VKT_ATT_DOCS) || p.window > 0;
    for (uint tile = begin; tile < end; tile += STEP) {
        stage(p.k, kv_at, p.kv_row, p.v, kv_at, p.kv_row, tile, p.S);
        for (uint j = tile; j < min(tile + STEP, end); j += AT_ONCE) {
            elem r[REGS];
            float s[AT_ONCE], most = top;
            load_rows(r, p.k, kv_at, p.kv_row, j, p.S);
            [[unroll]] for (uint n = 0; n < AT_ONCE; n++) s[n] = 0.0;
            [[unroll]] for (uint d = 0; d < OWN; d++)
                [[unroll]] for (uint n = 0; n < AT_ONCE; n++) s[n] += dot(q[d], other_a(r, n, j + n - tile, d));
            load_rows(r, p.v, kv_at, p.kv_row, j, p.S);
            [[unroll]] for (uint n = 0; n < AT_ONCE; n++) s[n] = capped(over_parts(s[n]));
            if (masks || j + AT_ONCE > min(end, has(VKT_ATT_CAUSAL) ? start + first_query + 1 : end)) {
                [[unroll]] for (uint n = 0; n < AT_ONCE; n++) {
                    uint key_doc = doc;
                    if (has(VKT_ATT_DOCS)) key_doc = p.docs.v[who.z * p.T + min(j + n, p.T - 1)];
                    if (j + n >= end || !sees(start + t, j + n, doc, key_doc)) s[n] = NEVER;
                }
            }
            [[unroll]] for (uint n = 0; n < AT_ONCE; n++) most = max(most, s[n]);
            float shrink = exp_below(top - most);
            top = most;
            sum *= shrink;
            [[unroll]] for (uint n = 0; n < AT_ONCE; n++) {
                s[n] = s[n] == NEVER ? 0.0 : exp_below(s[n] - top);
                sum += s[n];
            }
            [[unroll]] for (uint d = 0; d < OWN; d++) {
                vec4 add = y[d] * shrink;
                [[unroll]] for (uint n = 0; n < AT_ONCE; n++) add += s[n] * other_b(r, n, j + n - tile, d);
                y[d] = add;
            }
        }
    }
    float share = on_aligned_stack(1.0 / sum);
    if (query >= p.T) return;
    uint y_at = ((who.z * p.T + t) * p.heads + who.y) * D4 + part();
    [[unroll]] for (uint d = 0; d < OWN; d++) store4(p.y, y_at + d * SPLIT, y[d] * share);
    if (part() == 0) p.lse.v[(who.z * p.heads + who.y) * p.T + t] = top + log(sum);
}
