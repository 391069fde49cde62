#version 460
/* C [M, N] = end(op(A) op(B) + bias) on matrix units (VK_KHR_cooperative_matrix): 16-bit operands, f32 sums. A tile's
 * operands lie in shared memory in the order in which they lie in theirs. VEC_A, VEC_B: row length and address are
 * multiples of EIGHTS, else of PAIRS, of elements; ODD: the length is of one, as that of 50257 tokens. Outside the matrices zeros are loaded and nothing is stored. Twin:
 * matmul_ref. Source: the structure of J. Bolz's vk_cooperative_matrix_perf. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#define HALF
#define FOURS
#define VKT_MM_MATRIX u32s
#define VKT_MM_C u32x2s
#define VKT_MM_VECTOR u32x4s
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"
#include "matmul_fragments.glsl"
layout(constant_id = VKT_SPEC_VEC_A) const uint VEC_A = 0;
layout(constant_id = VKT_SPEC_VEC_B) const uint VEC_B = 0;
#include "matmul_stage.glsl"

const uint PAIRS = 0, EIGHTS = 1, ODD = 2;

/* Of a row that may begin in the middle of a word, 1 to 8 elements from element i. All loads leave, whatever is beyond. */
uvec4 load8_odd(u32s x, uint i, uint n)
{
    uint w[5];
    [[unroll]] for (uint c = 0; c < 5; c++) w[c] = x.v[min(i / 2 + c, (i + n - 1) / 2)];
    uvec4 v;
    [[unroll]] for (uint c = 0; c < 4; c++) {
        v[c] = i % 2 == 0 ? w[c] : w[c] >> 16 | w[c + 1] << 16;
        v[c] = 2 * c + 1 < n ? v[c] : 2 * c < n ? v[c] & 0xffff : 0;
    }
    return v;
}

/* Eight elements from column `col` of row `row` of a matrix [rows, cols] that begins at element `at`. */
uvec4 load8(u32s x, u32x4s x4, uint vec, uint at, uint row, uint col, uint rows, uint cols)
{
    uint i = at + row * cols + col;
    uvec4 v = uvec4(0);
    if (row >= rows || col >= cols) return v;
    if (vec == EIGHTS) return x4.v[i / 8];
    if (vec == ODD) return load8_odd(x, i, min(cols - col, 8));
    [[unroll]] for (uint c = 0; c < 4; c++)
        if (col + 2 * c < cols) v[c] = x.v[i / 2 + c];
    return v;
}

/* Vector i of this thread's, of the slice that starts at k, of an operand that begins at element `at` and whose tile starts at
 * row or column r0. */
uvec4 load_a(uint i, uint at, uint r0, uint k)
{
    uint tid = gl_LocalInvocationID.x, j = i * THREADS + tid, r = j / A_LEN, c = j % A_LEN * 8, steps = BK / A_LOADS;
    if (TURN_A != 0) return load8(p.a, p.a4, VEC_A, at, k + tid % steps * A_LOADS + i, r0 + tid / steps * 8, p.K, p.M);
    return A_ALONG_K ? load8(p.a, p.a4, VEC_A, at, r0 + r, k + c, p.M, p.K) : load8(p.a, p.a4, VEC_A, at, k + r, r0 + c, p.K, p.M);
}

uvec4 load_b(uint i, uint at, uint r0, uint k)
{
    uint tid = gl_LocalInvocationID.x, j = i * THREADS + tid, r = j / B_LEN, c = j % B_LEN * 8, steps = BK / B_LOADS;
    if (TURN_B != 0) return load8(p.b, p.b4, VEC_B, at, k + tid % steps * B_LOADS + i, r0 + tid / steps * 8, p.K, p.N);
    return B_ALONG_K ? load8(p.b, p.b4, VEC_B, at, r0 + r, k + c, p.N, p.K) : load8(p.b, p.b4, VEC_B, at, k + r, r0 + c, p.K, p.N);
}

#define A_AT(i) widen1(p.a, i)
#define B_AT(i) widen1(p.b, i)
#define A_ELEM float
#define A_WIDTH 1
#include "matmul_sums.glsl"

void main()
{
    uint group;
    if (column_sums(group)) return;
    uint tiles_m = (p.M + BM - 1) / BM, tiles_n = (p.N + BN - 1) / BN;
    uint s = group / (tiles_m * tiles_n);
    uvec2 steps = slice_steps(s), at = product_at(s), tile = tile_at(group % (tiles_m * tiles_n), tiles_m, tiles_n), share = share_at();
    if (steps.y < steps.x) return;

    [[unroll]] for (uint i = 0; i < FM * FN; i++) acc[i] = fragment_sums(0.0);
    for (uint k = steps.x; k < steps.y; k += BK) {
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = load_a(i, at.x, tile.x, k);
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i, at.y, tile.y, k);
        barrier();
        publish();
        barrier();
        multiply_slice(share);
    }
    finish_fragments(s, tile.x + share.x, tile.y + share.y, p.M, p.N);
}
