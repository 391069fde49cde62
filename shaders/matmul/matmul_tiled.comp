#version 460
/* C [M, N] = end(op(A) op(B) + bias) for GPUs: a workgroup computes a BM x BN tile, BK steps of k at a time through
 * shared memory (k-major, rows padded by one vec4), the next slice in registers meanwhile. A thread keeps TM x TN
 * sums as groups of 4 x 4 spread over the tile, fed by vec4 reads. Sums over k in order. The layout matters to the
 * loaders only. VEC_A, VEC_B: row length and address are multiples of 4 elements. Outside the matrices zeros are
 * loaded and nothing is stored. Twin: matmul_ref. Source: siboehm's SGEMM ladder, ggml's mul_mm. */
#extension GL_GOOGLE_include_directive : require
#ifdef HALF
#define VKT_MM_MATRIX u32s
#define VKT_MM_VECTOR u32x2s
#endif
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"

layout(constant_id = VKT_SPEC_VEC_A) const uint VEC_A = 0;
layout(constant_id = VKT_SPEC_VEC_B) const uint VEC_B = 0;
#ifdef HALF
#define AT(from, i) widen1(from, i)
#define AT4(from, i) vec4(widen((from).v[i].x), widen((from).v[i].y))
#else
#define AT(from, i) (from).v[i]
#define AT4(from, i) (from).v[i]
#endif
#define A_AT(i) AT(p.a, i)
#define B_AT(i) AT(p.b, i)
#define A_ELEM float
#define A_WIDTH 1
#include "matmul_sums.glsl"

const uint BAND = 8;                           /* rows of tiles walked together, for the L2 cache */
const bool A_ALONG_K = LAYOUT != 2, B_ALONG_K = LAYOUT == 0; /* contiguous along k */

#include "tile.glsl"

/* Four contiguous elements of a matrix [rows, cols] that begins at element `at`; zeros outside. */
vec4 load4(VKT_MM_MATRIX x, VKT_MM_VECTOR x4, bool vec, uint at, uint row, uint col, uint rows, uint cols)
{
    uint i = at + row * cols + col;
    if (row >= rows || col >= cols) return vec4(0.0);
    if (vec) return AT4(x4, i / 4);
    vec4 v = vec4(0.0);
    v.x = AT(x, i);
    if (col + 1 < cols) v.y = AT(x, i + 1);
    if (col + 2 < cols) v.z = AT(x, i + 2);
    if (col + 3 < cols) v.w = AT(x, i + 3);
    return v;
}

uvec2 at = uvec2(0); /* where A and B begin */

/* Vector j of the slice that starts at k, of an operand whose tile starts at row or column r0 of `extent`. */
vec4 load_a(uint j, uint r0, uint k)
{
    if (A_ALONG_K) return load4(p.a, p.a4, VEC_A != 0, at.x, r0 + j / (BK / 4), k + j % (BK / 4) * 4, p.M, p.K);
    return load4(p.a, p.a4, VEC_A != 0, at.x, k + j / (BM / 4), r0 + j % (BM / 4) * 4, p.K, p.M);
}

vec4 load_b(uint j, uint r0, uint k)
{
    if (B_ALONG_K) return load4(p.b, p.b4, VEC_B != 0, at.y, r0 + j / (BK / 4), k + j % (BK / 4) * 4, p.N, p.K);
    return load4(p.b, p.b4, VEC_B != 0, at.y, k + j / (BN / 4), r0 + j % (BN / 4) * 4, p.K, p.N);
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

    vec4 acc[SUMS], next_a[A_LOADS], next_b[B_LOADS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = vec4(0.0);
    [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = load_a(i * THREADS + tid, m0, steps.x);
    [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i * THREADS + tid, n0, steps.x);
    for (uint k = steps.x; k < steps.y; k += BK) {
        barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) publish_a(i * THREADS + tid, next_a[i]);
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) publish_b(i * THREADS + tid, next_b[i]);
        barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = load_a(i * THREADS + tid, m0, k + BK);
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i * THREADS + tid, n0, k + BK);
        multiply(acc, tx, ty);
    }

    [[unroll]] for (uint i = 0; i < TM; i++) {
        uint m = m0 + i / 4 * (BM / GM) + ty * 4 + i % 4;
        if (m >= p.M) continue;
        [[unroll]] for (uint j = 0; j < GN; j++) {
            uint n = n0 + j * (BN / GN) + tx * 4, row = (s * p.M + m) * p.N;
#ifdef HALF
            [[unroll]] for (uint c = 0; c < 4; c += 2)
                if (n + c < p.N) finish_pair(row + n + c, n + uvec2(c, c + 1), vec2(acc[i * GN + j][c], acc[i * GN + j][c + 1]), n + c + 1 < p.N);
#else
            [[unroll]] for (uint c = 0; c < 4; c++)
                if (n + c < p.N) finish(row + n + c, n + c, acc[i * GN + j][c]);
#endif
        }
    }
}
