#version 460
/* C [M, N] = end(op(A) op(B) + bias) on matrix units (VK_KHR_cooperative_matrix): 16-bit operands, f32 sums. A tile's
 * operands lie in shared memory in the order in which they lie in theirs, STAGES slices of them; where AHEAD the next is in registers meanwhile. VEC_A,
 * VEC_B: row length and address are multiples of EIGHTS, else of PAIRS, of elements; ODD: the length is of one, as that of
 * 50257 tokens. Outside the matrices their last elements are loaded again, without a branch, so that all loads of a slice
 * leave together; past the last k they are zeroed when they are published, and sums outside are not stored. Twin:
 * matmul_ref. Source: the structure of J. Bolz's vk_cooperative_matrix_perf. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#define HALF
#define FOURS
#define VKT_MM_MATRIX u32s
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"
#define STAGED
#include "matmul_fragments.glsl"
layout(constant_id = VKT_SPEC_VEC_A) const uint VEC_A = 0;
layout(constant_id = VKT_SPEC_VEC_B) const uint VEC_B = 0;
layout(constant_id = VKT_SPEC_AHEAD) const uint AHEAD = 0;
layout(constant_id = VKT_SPEC_REST) const uint REST = 0; /* K is no multiple of BK */
#include "matmul_stage.glsl"

const uint PAIRS = 0, EIGHTS = 1, ODD = 2;

/* Eight elements from column `col` of row `row` of a matrix [rows, cols] that begins at element `at`; the nearest ones outside. */
uvec4 load8(u32s x, uint vec, uint at, uint row, uint col, uint rows, uint cols)
{
    uint first = at + min(row, rows - 1) * cols;
    if (vec == EIGHTS) return u32x4s(x).v[(first + min(col, cols - 8)) / 8];
    uint i = first + min(col, cols - 1), last = (first + cols - 1) / 2, w[5]; /* a row may begin in the middle of a word */
    [[unroll]] for (uint c = 0; c < 5; c++) w[c] = x.v[min(i / 2 + c, last)];
    uvec4 v = uvec4(w[0], w[1], w[2], w[3]);
    return vec == ODD && i % 2 != 0 ? v >> 16 | uvec4(w[1], w[2], w[3], w[4]) << 16 : v;
}

/* A vector without what is past the last k; k is that of its first element, or of all. */
uvec4 inside(uvec4 x, bool along_k, uint k)
{
    if (REST == 0) return x;
    uint n = p.K - min(k, p.K);
    if (!along_k) return n > 0 ? x : uvec4(0);
    uvec4 low = 2 * uvec4(0, 1, 2, 3);
    return mix(mix(uvec4(0), x & 0xffffu, lessThan(low, uvec4(n))), x, lessThan(low + 1, uvec4(n)));
}

/* Vector i of this thread's, of the slice that starts at k, of an operand that begins at element `at` and whose tile starts at
 * row or column r0. */
uvec4 load_a(uint i, uint at, uint r0, uint k)
{
    uvec2 j = place_a(i); /* along k, across */
    return A_ALONG_K ? load8(p.a, VEC_A, at, r0 + j.y, k + j.x, p.M, p.K) : load8(p.a, VEC_A, at, k + j.x, r0 + j.y, p.K, p.M);
}

uvec4 load_b(uint i, uint at, uint r0, uint k)
{
    uvec2 j = place_b(i);
    return B_ALONG_K ? load8(p.b, VEC_B, at, r0 + j.y, k + j.x, p.N, p.K) : load8(p.b, VEC_B, at, k + j.x, r0 + j.y, p.K, p.N);
}

#define A_AT(i) widen1(p.a, i)
#define B_AT(i) widen1(p.b, i)
#define A_ELEM float
#define A_WIDTH 1
#include "matmul_sums.glsl"

void load_slice(uvec2 at, uvec2 tile, uint k)
{
    [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = load_a(i, at.x, tile.x, k);
    [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i, at.y, tile.y, k);
}

void main()
{
    uint group;
    if (column_sums(group)) return;
    uint tiles_m = (p.M + BM - 1) / BM, tiles_n = (p.N + BN - 1) / BN;
    uint s = group / (tiles_m * tiles_n);
    uvec2 steps = slice_steps(s), at = product_at(s), tile = tile_at(group % (tiles_m * tiles_n), tiles_m, tiles_n), share = share_at();
    if (steps.y < steps.x) return;

    [[unroll]] for (uint i = 0; i < FM * FN; i++) acc[i] = fragment_sums(0.0);
    if (AHEAD != 0 && steps.x < steps.y) load_slice(at, tile, steps.x); /* there is a k */
    uint stage = 0; /* in turns: one is filled while others still multiply the one before, and one barrier a slice will do */
    for (uint k = steps.x; k < steps.y; k += BK) {
        if (AHEAD == 0) load_slice(at, tile, k);
        if (STAGES == 1) barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = inside(next_a[i], A_ALONG_K, k + place_a(i).x);
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = inside(next_b[i], B_ALONG_K, k + place_b(i).x);
        publish(stage);
        barrier();
        if (AHEAD != 0) load_slice(at, tile, k + BK);
        multiply_slice(share, stage);
        stage = (stage + 1) % STAGES;
    }
    finish_fragments(s, tile.x + share.x, tile.y + share.y, p.M, p.N);
}
