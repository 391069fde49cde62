#version 460
/* C [M, N] = end(op(A) op(B) + bias) for GPUs: a workgroup computes a BM x BN tile, BK steps of k at a time through
 * shared memory (k-major, rows padded by one vec4), the next slice in registers meanwhile. A thread keeps TM x TN
 * sums as groups of 4 x 4 spread over the tile, fed by vec4 reads. Sums over k in order. The layout matters to the
 * loaders only. What lies past the last k is zeroed when it is published, and sums outside are not stored.
 * Twin: matmul_ref. Source: siboehm's SGEMM ladder, ggml's mul_mm. */
#extension GL_GOOGLE_include_directive : require
#define FOURS
#ifdef HALF
#define VKT_MM_MATRIX u32s
#endif
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"
#include "matmul_fours.glsl"

const uint BAND = 8;                           /* rows of tiles walked together, for the L2 cache */
const bool A_ALONG_K = LAYOUT != 2, B_ALONG_K = LAYOUT == 0; /* contiguous along k */

#include "tile.glsl"

uvec2 at = uvec2(0); /* where A and B begin */

/* Vector j of the slice that starts at k, of an operand whose tile starts at row or column r0 of `extent`. */
FOUR load_a(uint j, uint r0, uint k)
{
    if (A_ALONG_K) return load4(p.a, VEC_A != 0, at.x, r0 + j / (BK / 4), k + j % (BK / 4) * 4, p.M, p.K);
    return load4(p.a, VEC_A != 0, at.x, k + j / (BM / 4), r0 + j % (BM / 4) * 4, p.K, p.M);
}

FOUR load_b(uint j, uint r0, uint k)
{
    if (B_ALONG_K) return load4(p.b, VEC_B != 0, at.y, r0 + j / (BK / 4), k + j % (BK / 4) * 4, p.N, p.K);
    return load4(p.b, VEC_B != 0, at.y, k + j / (BN / 4), r0 + j % (BN / 4) * 4, p.K, p.N);
}

/* Vector j of a slice of tile's `span` rows or columns that starts at k, without what is past the last k. */
vec4 inside(FOUR x, bool along_k, uint span, uint j, uint k)
{
    vec4 v = WIDENED(x);
    if (REST == 0) return v;
    uint first = k + (along_k ? j % (BK / 4) * 4 : j / (span / 4));
    uvec4 at = along_k ? first + uvec4(0, 1, 2, 3) : uvec4(first);
    return mix(vec4(0.0), v, lessThan(at, uvec4(p.K)));
}

void main()
{
    uint group;
    if (column_sums(group)) return;
    uint tid = gl_LocalInvocationID.x, tiles_m = (p.M + BM - 1) / BM, tiles_n = (p.N + BN - 1) / BN;
    uint g = group % (tiles_m * tiles_n), s = group / (tiles_m * tiles_n);
    uvec2 steps = slice_steps(s); /* slices are whole multiples of BK */
    if (steps.y < steps.x) return;
    at = product_at(s);
    uint band = g / (BAND * tiles_n) * BAND, in_band = g % (BAND * tiles_n), height = min(tiles_m - band, BAND);
    uint m0 = (band + in_band % height) * BM, n0 = in_band / height * BN;
    uint tx = tid % (BN / TN), ty = tid / (BN / TN);

    FOUR next_a[A_LOADS], next_b[B_LOADS];
    vec4 acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = vec4(0.0);
    if (steps.x < steps.y) { /* there is a k */
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = load_a(i * THREADS + tid, m0, steps.x);
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i * THREADS + tid, n0, steps.x);
    }
    for (uint k = steps.x; k < steps.y; k += BK) {
        barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) publish_a(i * THREADS + tid, inside(next_a[i], A_ALONG_K, BM, i * THREADS + tid, k));
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) publish_b(i * THREADS + tid, inside(next_b[i], B_ALONG_K, BN, i * THREADS + tid, k));
        barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = load_a(i * THREADS + tid, m0, k + BK);
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i * THREADS + tid, n0, k + BK);
        multiply(acc, tx, ty);
    }

    [[unroll]] for (uint j = 0; j < GN; j++) {
        uint n = n0 + j * (BN / GN) + tx * 4;
        if (C_FOURS != 0) {
            if (n >= p.N) continue;
            vec4 bias = bias_four(n);
            [[unroll]] for (uint i = 0; i < TM; i += 4) {
                uint m = m0 + i / 4 * (BM / GM) + ty * 4;
                four_reads reads[4];
                [[unroll]] for (uint r = 0; r < 4; r++) reads[r] = read_four((s * p.M + min(m + r, p.M - 1)) * p.N + n);
                [[unroll]] for (uint r = 0; r < 4; r++)
                    if (m + r < p.M) finish_four_biased((s * p.M + m + r) * p.N + n, acc[(i + r) * GN + j] + bias, reads[r]);
            }
            continue;
        }
        vec4 bias = vec4(-0.0); /* which changes no sum */
        if ((p.flags & VKT_MM_BIAS) != 0)
            [[unroll]] for (uint c = 0; c < 4; c++) bias[c] = p.bias.v[min(n + c, p.N - 1)];
        [[unroll]] for (uint i = 0; i < TM; i++) {
            uint m = m0 + i / 4 * (BM / GM) + ty * 4 + i % 4, row = (s * p.M + m) * p.N;
            if (m >= p.M) continue;
            vec4 sums = acc[i * GN + j] + bias;
#ifdef HALF
            [[unroll]] for (uint c = 0; c < 4; c += 2)
                if (n + c < p.N) finish_pair_biased(row + n + c, vec2(sums[c], sums[c + 1]), n + c + 1 < p.N);
#else
            [[unroll]] for (uint c = 0; c < 4; c++)
                if (n + c < p.N) finish_biased(row + n + c, sums[c]);
#endif
        }
    }
}
