#version 460
/* C [M, N] = end(op(A) op(B) + bias) of f32 operands on matrix units, for math: fast. Each operand is the sum of three
 * 16-bit pieces, x = x0 + x1 + x2, each what the one before left, rounded to nearest; a product is the sum of six, smallest
 * first: a2 b0 + a0 b2 + a1 b1 + a1 b0 + a0 b1 + a0 b0.
 *
 * bf16 pieces have 8 bits and f32's exponents: |x1| <= 2^-8 |x|, |x2| <= 2^-16 |x| and x2 is exact, so the omitted part,
 * a1 b2 + a2 b1 + a2 b2, is at most (2^-23 + 2^-32) |a b|: every product keeps at least 22 bits. Exceptions: pieces below
 * 2^-126 may be taken for 0, so an operand below 2^-103 may lose bits; Inf in an operand gives NaN; where a0 b0 is beyond
 * f32's range the result is Inf, though a b may be just within.
 * fp16 pieces have 11 bits, but exponents from 2^-24 to 2^15 only: 22 bits for numbers between 2^-2 and 2^15, fewer for
 * others, whatever they are scaled by, as a tile's numbers may differ by more. This instance is for tests, on devices
 * without bf16 matrix units.
 *
 * The six products of CK steps are summed by the matrix unit and then added to the result in f32, outside: some units
 * round toward zero, which a long sum would show. Source: Ootomo and Yokota 2022 (arXiv 2203.03341); the structure is
 * matmul_coopmat's. VEC_A, VEC_B: row length and address are multiples of 4 elements. Twin: matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#define FOURS
#define PIECES 3
#include "common.glsl"
#include "half.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"
#include "matmul_fragments.glsl"
layout(constant_id = VKT_SPEC_VEC_A) const uint VEC_A = 0;
layout(constant_id = VKT_SPEC_VEC_B) const uint VEC_B = 0;

/* The bits of x's first piece; x keeps what that leaves. bf16: the largest numbers are not rounded up to Inf. */
uint take_piece(inout float x)
{
    uint u = floatBitsToUint(x);
#ifdef BFLOAT16
    uint piece = to_bf16(u);
    if ((piece & 0x7fffu) == 0x7f80u && !is_bad(x)) piece--;
    float rounded = uintBitsToFloat(piece << 16);
#else
    uint piece = to_f16(u);
    float rounded = uintBitsToFloat(from_f16(piece));
#endif
    precise float rest = x - rounded;
    x = is_bad(x) ? 0.0 : rest;
    return piece;
}

/* The first piece of each of eight numbers, two to a word. */
uvec4 take_pieces(inout vec4 x[2])
{
    uvec4 words;
    [[unroll]] for (uint h = 0; h < 2; h++)
        [[unroll]] for (uint c = 0; c < 2; c++) {
            uint low = take_piece(x[h][2 * c]), high = take_piece(x[h][2 * c + 1]);
            words[2 * h + c] = low | high << 16;
        }
    return words;
}

/* Four elements from column `col` of row `row` of a matrix [rows, cols] that begins at element `at`. */
vec4 load4(f32s x, bool vec, uint at, uint row, uint col, uint rows, uint cols)
{
    uint i = at + row * cols + col;
    vec4 v = vec4(0.0);
    if (row >= rows || col >= cols) return v;
    if (vec) return f32x4s(x).v[i / 4];
    for (uint c = 0; c < 4; c++)
        if (col + c < cols) v[c] = x.v[i + c];
    return v;
}

#define A_AT(i) p.a.v[i]
#define B_AT(i) p.b.v[i]
#define A_ELEM float
#define A_WIDTH 1
#include "matmul_sums.glsl"

void main()
{
    uint group;
    if (column_sums(group)) return;
    uint tid = gl_LocalInvocationID.x, threads = gl_WorkGroupSize.x, tiles_m = (p.M + BM - 1) / BM, tiles_n = (p.N + BN - 1) / BN;
    uint s = group / (tiles_m * tiles_n);
    uvec2 steps = slice_steps(s), at = product_at(s), tile = tile_at(group % (tiles_m * tiles_n), tiles_m, tiles_n), share = share_at();
    if (steps.y < steps.x) return;

    [[unroll]] for (uint i = 0; i < FM * FN; i++) acc[i] = fragment_sums(0.0);
    for (uint k = steps.x; k < steps.y; k += BK) {
        barrier();
        for (uint j = tid; j < A_ROWS * A_LEN; j += threads) {
            uint r = j / A_LEN, c = j % A_LEN * 8;
            vec4 x[2];
            [[unroll]] for (uint h = 0; h < 2; h++)
                x[h] = A_ALONG_K ? load4(p.a, VEC_A != 0, at.x, tile.x + r, k + c + 4 * h, p.M, p.K)
                                 : load4(p.a, VEC_A != 0, at.x, k + r, tile.x + c + 4 * h, p.K, p.M);
            [[unroll]] for (uint i = 0; i < PIECES; i++) sa[i * A_PIECE + r * A_STRIDE + j % A_LEN] = take_pieces(x);
        }
        for (uint j = tid; j < B_ROWS * B_LEN; j += threads) {
            uint r = j / B_LEN, c = j % B_LEN * 8;
            vec4 x[2];
            [[unroll]] for (uint h = 0; h < 2; h++)
                x[h] = B_ALONG_K ? load4(p.b, VEC_B != 0, at.y, tile.y + r, k + c + 4 * h, p.N, p.K)
                                 : load4(p.b, VEC_B != 0, at.y, k + r, tile.y + c + 4 * h, p.K, p.N);
            [[unroll]] for (uint i = 0; i < PIECES; i++) sb[i * B_PIECE + r * B_STRIDE + j % B_LEN] = take_pieces(x);
        }
        barrier();
        for (uint kk = 0; kk < BK; kk += CK) { /* once, except for fragments of 8, which take compilers minutes unrolled */
            fragment_a a[PIECES * FM];
            fragment_b b[PIECES];
            [[unroll]] for (uint i = 0; i < PIECES * FM; i++) {
                uint from = i / FM * A_PIECE + fragment_at(A_ALONG_K, A_STRIDE, share.x + i % FM * CM, kk);
                if (A_ALONG_K) coopMatLoad(a[i], sa, from, A_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
                else coopMatLoad(a[i], sa, from, A_STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
            }
            [[unroll]] for (uint j = 0; j < FN; j++) {
                [[unroll]] for (uint i = 0; i < PIECES; i++) {
                    uint from = i * B_PIECE + fragment_at(B_ALONG_K, B_STRIDE, share.y + j * CN, kk);
                    if (B_ALONG_K) coopMatLoad(b[i], sb, from, B_STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
                    else coopMatLoad(b[i], sb, from, B_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
                }
                [[unroll]] for (uint i = 0; i < FM; i++) {
                    fragment_sums t = coopMatMulAdd(a[2 * FM + i], b[0], fragment_sums(0.0));
                    t = coopMatMulAdd(a[i], b[2], t);
                    t = coopMatMulAdd(a[FM + i], b[1], t);
                    t = coopMatMulAdd(a[FM + i], b[0], t);
                    t = coopMatMulAdd(a[i], b[1], t);
                    acc[i * FN + j] += coopMatMulAdd(a[i], b[0], t);
                }
            }
        }
    }
    finish_fragments(s, tile.x + share.x, tile.y + share.y, p.M, p.N);
}
