#version 460
/* C [M, N] = end(op(A) op(B) + bias) for GPUs, of few rows (the tokens of several texts, a small batch): bound by reading B, which
 * is read once. A workgroup computes all rows of BN columns; an invocation takes blocks of B, four k of four columns, whose loads
 * leave together, and adds to four sums of every row what they give. Those with the same columns take every so-manyth block;
 * neighbours lie where B is contiguous. What they have of a row is added up in shared memory, in order, TOLD rows at a time.
 * Twin: matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#define FOURS
#ifdef HALF
#define VKT_MM_MATRIX u32s
#endif
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"
#include "matmul_fours.glsl"

layout(constant_id = VKT_SPEC_ROWS) const uint ROWS = 4; /* M */
layout(constant_id = VKT_SPEC_SHARING) const uint SHARING = 1; /* rows whose numbers are loaded together */
layout(constant_id = VKT_SPEC_BN) const uint BN = 32;
layout(constant_id = VKT_SPEC_ALONG) const uint ALONG = 8; /* NT: neighbours along k */

const uint WG = gl_WorkGroupSize.x, GROUPS = BN / 4, SHARES = WG / GROUPS; /* of four columns; of k */
const uint TOLD = 4, STRIDE = GROUPS + 1; /* one of padding: neighbours' shares lie in other banks */
const bool NT = LAYOUT == 0, TN = LAYOUT == 2;

shared vec4 parts[TOLD * SHARES * STRIDE], sums[(ROWS + TOLD - 1) * GROUPS];

/* A's row m, four k. */
vec4 load_a(uint at, uint m, uint k)
{
    if (!TN) {
        FOUR v = load4(p.a, VEC_A != 0, at, m, k, ROWS, p.K);
        return WIDENED(v);
    }
    uvec4 i = at + min(k + uvec4(0, 1, 2, 3), uvec4(p.K - 1)) * ROWS + m;
    return vec4(A_AT(i.x), A_AT(i.y), A_AT(i.z), A_AT(i.w));
}

/* B's part i of a block: NT column n + i, four k; else four columns of k + i. */
vec4 load_b(uint at, uint n, uint k, uint i)
{
    uvec2 place = NT ? uvec2(n + i, k) : uvec2(k + i, n), size = NT ? uvec2(p.N, p.K) : uvec2(p.K, p.N);
    FOUR v = load4(p.b, VEC_B != 0, at, place.x, place.y, size.x, size.y);
    return WIDENED(v);
}

/* Ends row m of product or slice s, the sums of columns n to n + 3 that there are. */
void end(uint s, uint m, uint n, vec4 sum)
{
    uint i = (s * ROWS + m) * p.N + n;
    if (C_FOURS != 0) {
        finish_four_biased(i, sum + bias_four(n), read_four(i));
        return;
    }
#ifdef HALF
    [[unroll]] for (uint c = 0; c < 4; c += 2)
        if (n + c < p.N) finish_pair(i + c, n + c + uvec2(0, 1), vec2(sum[c], sum[c + 1]), n + c + 1 < p.N);
#else
    [[unroll]] for (uint c = 0; c < 4; c++)
        if (n + c < p.N) finish(i + c, n + c, sum[c]);
#endif
}

void main()
{
    uint group;
    if (column_sums(group)) return;
    uint lane = gl_LocalInvocationID.x, tiles = (p.N + BN - 1) / BN, s = group / tiles, n0 = group % tiles * BN;
    uvec2 steps = slice_steps(s), at = product_at(s);
    if (steps.y < steps.x) return;
    uint columns = NT ? lane / ALONG % GROUPS : lane % GROUPS;
    uint share = NT ? lane / (ALONG * GROUPS) * ALONG + lane % ALONG : lane / GROUPS;
    uint n = n0 + columns * 4;

    vec4 acc[ROWS];
    [[unroll]] for (uint m = 0; m < ROWS; m++) acc[m] = vec4(0.0);
    for (uint k = steps.x + share * 4; k < steps.y; k += SHARES * 4) {
        /* A and B count as 0 past the last k: the memory there may hold Inf. */
        bvec4 inside = lessThan(k + uvec4(0, 1, 2, 3), uvec4(p.K));
        vec4 b[4];
        [[unroll]] for (uint i = 0; i < 4; i++) b[i] = load_b(at.y, n, k, i);
        if (REST != 0) [[unroll]] for (uint i = 0; i < 4; i++) b[i] = mix(vec4(0.0), b[i], NT ? inside : bvec4(inside[i]));
        [[unroll]] for (uint m0 = 0; m0 < ROWS; m0 += SHARING) {
            vec4 a[SHARING];
            [[unroll]] for (uint r = 0; r < SHARING; r++)
                if (m0 + r < ROWS) a[r] = load_a(at.x, m0 + r, k);
            if (REST != 0) [[unroll]] for (uint r = 0; r < SHARING; r++) a[r] = mix(vec4(0.0), a[r], inside);
            [[unroll]] for (uint r = 0; r < SHARING; r++)
                [[unroll]] for (uint i = 0; i < 4; i++)
                    if (m0 + r < ROWS) acc[m0 + r] += a[r][i] * (NT ? vec4(b[0][i], b[1][i], b[2][i], b[3][i]) : b[i]);
        }
    }

    [[unroll]] for (uint m0 = 0; m0 < ROWS; m0 += TOLD) {
        [[unroll]] for (uint r = 0; r < TOLD; r++)
            if (m0 + r < ROWS) parts[(r * SHARES + share) * STRIDE + columns] = acc[m0 + r];
        barrier();
        if (lane < TOLD * GROUPS) {
            vec4 sum = vec4(0.0);
            for (uint j = 0; j < SHARES; j++) sum += parts[(lane / GROUPS * SHARES + j) * STRIDE + lane % GROUPS];
            sums[m0 * GROUPS + lane] = sum;
        }
        barrier();
    }
    for (uint e = lane; e < ROWS * GROUPS; e += WG) {
        n = n0 + e % GROUPS * 4;
        if (n < p.N) end(s, e / GROUPS, n, sums[e]);
    }
}
