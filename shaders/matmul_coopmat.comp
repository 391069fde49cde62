#version 460
/* C [M, N] = end(op(A) op(B) + bias) on matrix units (VK_KHR_cooperative_matrix): 16-bit operands, f32 sums. A workgroup
 * computes a BM x BN tile, BK steps of k at a time through shared memory, in the order in which the operands lie; each
 * subgroup a WM x WN share as fragments of the device's CM x CN x CK. Sums leave through shared memory, as only the
 * device knows where a fragment's elements are. VEC_A, VEC_B: row length and address are multiples of 8 elements; even
 * they are always. Outside the matrices zeros are loaded and nothing is stored. Twin: matmul_ref. Source: the structure
 * of J. Bolz's vk_cooperative_matrix_perf. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#ifdef BFLOAT16
#extension GL_EXT_bfloat16 : require
#define operand bfloat16_t
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define operand float16_t
#endif
#define HALF
#define VKT_MM_MATRIX u32s
#define VKT_MM_VECTOR u32x4s
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"

layout(constant_id = 7) const uint BM = 64;
layout(constant_id = 8) const uint BN = 64;
layout(constant_id = 9) const uint BK = 32;
layout(constant_id = 10) const uint WM = 32;
layout(constant_id = 11) const uint WN = 32;
layout(constant_id = 12) const uint CM = 16;
layout(constant_id = 13) const uint CN = 16;
layout(constant_id = 14) const uint CK = 16;
layout(constant_id = 15) const uint VEC_A = 0;
layout(constant_id = 16) const uint VEC_B = 0;

const uint SUBGROUPS = (BM / WM) * (BN / WN), FM = WM / CM, FN = WN / CN;
const bool A_ALONG_K = LAYOUT != 2, B_ALONG_K = LAYOUT == 0; /* contiguous along k */
/* Rows as they lie, in vectors of 8 elements, padded by one. */
const uint A_ROWS = A_ALONG_K ? BM : BK, A_LEN = (A_ALONG_K ? BK : BM) / 8, A_STRIDE = A_LEN + 1;
const uint B_ROWS = B_ALONG_K ? BN : BK, B_LEN = (B_ALONG_K ? BK : BN) / 8, B_STRIDE = B_LEN + 1;
const uint BAND = 8; /* rows of tiles walked together, for the L2 cache */

shared uvec4 sa[A_ROWS * A_STRIDE], sb[B_ROWS * B_STRIDE];
shared float sc[SUBGROUPS * CM * CN];

/* Eight elements from column `col` of row `row` of a matrix [rows, cols] that begins at element `at`. */
uvec4 load8(u32s x, u32x4s x4, bool vec, uint at, uint row, uint col, uint rows, uint cols)
{
    uint i = at + row * cols + col;
    uvec4 v = uvec4(0);
    if (row >= rows || col >= cols) return v;
    if (vec) return x4.v[i / 8];
    for (uint c = 0; c < 4; c++)
        if (col + 2 * c < cols) v[c] = x.v[i / 2 + c];
    return v;
}

#define A_AT(i) widen1(p.a, i)
#define B_AT(i) widen1(p.b, i)
#define A_ELEM float
#define A_WIDTH 1
#include "matmul_sums.glsl"

void main()
{
    if (column_sums()) return;
    uint tid = gl_LocalInvocationID.x, threads = gl_WorkGroupSize.x, tiles_m = (p.M + BM - 1) / BM, tiles_n = (p.N + BN - 1) / BN;
    uint g = flat_group() % (tiles_m * tiles_n), s = flat_group() / (tiles_m * tiles_n);
    uvec2 steps = slice_steps(s), at = product_at(s);
    if (steps.y < steps.x) return;
    uint band = g / (BAND * tiles_n) * BAND, in_band = g % (BAND * tiles_n), height = min(tiles_m - band, BAND);
    uint m0 = (band + in_band % height) * BM, n0 = in_band / height * BN;
    uint sub_m = gl_SubgroupID / (BN / WN) * WM, sub_n = gl_SubgroupID % (BN / WN) * WN;

    coopmat<float, gl_ScopeSubgroup, CM, CN, gl_MatrixUseAccumulator> acc[FM * FN];
    [[unroll]] for (uint i = 0; i < FM * FN; i++) acc[i] = coopmat<float, gl_ScopeSubgroup, CM, CN, gl_MatrixUseAccumulator>(0.0);
    for (uint k = steps.x; k < steps.y; k += BK) {
        barrier();
        for (uint j = tid; j < A_ROWS * A_LEN; j += threads) {
            uint r = j / A_LEN, c = j % A_LEN * 8;
            sa[r * A_STRIDE + j % A_LEN] = A_ALONG_K ? load8(p.a, p.a4, VEC_A != 0, at.x, m0 + r, k + c, p.M, p.K)
                                                     : load8(p.a, p.a4, VEC_A != 0, at.x, k + r, m0 + c, p.K, p.M);
        }
        for (uint j = tid; j < B_ROWS * B_LEN; j += threads) {
            uint r = j / B_LEN, c = j % B_LEN * 8;
            sb[r * B_STRIDE + j % B_LEN] = B_ALONG_K ? load8(p.b, p.b4, VEC_B != 0, at.y, n0 + r, k + c, p.N, p.K)
                                                     : load8(p.b, p.b4, VEC_B != 0, at.y, k + r, n0 + c, p.K, p.N);
        }
        barrier();
        [[unroll]] for (uint kk = 0; kk < BK; kk += CK) {
            coopmat<operand, gl_ScopeSubgroup, CM, CK, gl_MatrixUseA> a[FM];
            coopmat<operand, gl_ScopeSubgroup, CK, CN, gl_MatrixUseB> b;
            [[unroll]] for (uint i = 0; i < FM; i++) {
                uint m = sub_m + i * CM;
                if (A_ALONG_K) coopMatLoad(a[i], sa, m * A_STRIDE + kk / 8, A_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
                else coopMatLoad(a[i], sa, kk * A_STRIDE + m / 8, A_STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
            }
            [[unroll]] for (uint j = 0; j < FN; j++) {
                uint n = sub_n + j * CN;
                if (B_ALONG_K) coopMatLoad(b, sb, n * B_STRIDE + kk / 8, B_STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
                else coopMatLoad(b, sb, kk * B_STRIDE + n / 8, B_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
                [[unroll]] for (uint i = 0; i < FM; i++) acc[i * FN + j] = coopMatMulAdd(a[i], b, acc[i * FN + j]);
            }
        }
    }

    uint mine = gl_SubgroupID * CM * CN;
    [[unroll]] for (uint i = 0; i < FM; i++)
        [[unroll]] for (uint j = 0; j < FN; j++) {
            barrier();
            coopMatStore(acc[i * FN + j], sc, mine, CN, gl_CooperativeMatrixLayoutRowMajor);
            barrier();
            for (uint e = gl_SubgroupInvocationID * 2; e < CM * CN; e += gl_SubgroupSize * 2) {
                uint m = m0 + sub_m + i * CM + e / CN, n = n0 + sub_n + j * CN + e % CN;
                if (m < p.M && n < p.N) finish_pair((s * p.M + m) * p.N + n, uvec2(n, n + 1), vec2(sc[mine + e], sc[mine + e + 1]), n + 1 < p.N);
            }
        }
}
