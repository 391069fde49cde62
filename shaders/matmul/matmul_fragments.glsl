/* What matmul kernels on matrix units share, included after matmul_end.glsl: tiles, their order, how sums leave. A
 * workgroup computes a BM x BN tile, BK steps of k at a time; each subgroup a WM x WN share as fragments of the device's
 * CM x CN x CK. */
#include "units.glsl"
#include "matmul_order.glsl"

layout(constant_id = VKT_SPEC_WM) const uint WM = 32;
layout(constant_id = VKT_SPEC_WN) const uint WN = 32;
layout(constant_id = VKT_SPEC_TURN_A) const uint TURN_A = 0;
layout(constant_id = VKT_SPEC_TURN_B) const uint TURN_B = 0;
#ifdef STAGED
layout(constant_id = VKT_SPEC_STAGES) const uint STAGES = 1; /* slices that shared memory holds */
#else
const uint STAGES = 1;
#endif

const uint SUBGROUPS = (BM / WM) * (BN / WN), THREADS = SUBGROUPS * LANES, FM = WM / CM, FN = WN / CN;
const bool A_ALONG_K = LAYOUT != 2, B_ALONG_K = LAYOUT == 0; /* contiguous along k */
const uint A_VECTORS = BM * BK / 8, A_LOADS = (A_VECTORS + THREADS - 1) / THREADS; /* of a tile, of a thread */
const uint B_VECTORS = BN * BK / 8, B_LOADS = (B_VECTORS + THREADS - 1) / THREADS;
/* Where the units' loads read what lies across k number by number, elements are turned on their way to shared memory: a thread
 * loads 8 columns of its A_LOADS steps, which are an even number and leave nothing over. */
const bool A_LIES_ALONG_K = TURN_A != 0 || LAYOUT != 2, B_LIES_ALONG_K = TURN_B != 0 || LAYOUT == 0;
/* Of 16-bit elements in shared memory, as rows lie there: vectors of 8, padded by one. */
const uint A_ROWS = A_LIES_ALONG_K ? BM : BK, A_LEN = (A_LIES_ALONG_K ? BK : BM) / 8, A_STRIDE = A_LEN + 1;
const uint B_ROWS = B_LIES_ALONG_K ? BN : BK, B_LEN = (B_LIES_ALONG_K ? BK : BN) / 8, B_STRIDE = B_LEN + 1;

#ifndef PIECES
#define PIECES 1 /* that an operand is the sum of, each with a tile of its own */
#endif
const uint A_PIECE = A_ROWS * A_STRIDE, B_PIECE = B_ROWS * B_STRIDE; /* vectors of a piece's tile */
const uint FRAGMENT = CM * CN / 4, SUMS = SUBGROUPS * FRAGMENT;      /* of a fragment's sums; a subgroup hands on one at a time */
/* The tile of A and, when the last slice is done, fragments of sums in its place: what the tiles leave of shared memory decides how
 * many workgroups a core has. */
shared uvec4 sa[STAGES * PIECES * A_PIECE > SUMS ? STAGES * PIECES * A_PIECE : SUMS], sb[STAGES * PIECES * B_PIECE];
fragment_sums acc[FM * FN];

/* Row or column of the tile's own with which this subgroup's share begins. */
uvec2 share_at()
{
    return uvec2(gl_SubgroupID / (BN / WN) * WM, gl_SubgroupID % (BN / WN) * WN);
}

/* Where the fragment begins, in vectors, that has row `r` of A, or column `r` of B, and step k. */
uint fragment_at(bool along_k, uint stride, uint r, uint k)
{
    return along_k ? r * stride + k / 8 : k * stride + r / 8;
}

const uint ENDS = CM * CN / 2, ENDS_EACH = (ENDS + LANES - 1) / LANES; /* pairs of a fragment, of a lane */
const uint FOURS_EACH = (ENDS / 2 + LANES - 1) / LANES;

#ifndef ROW_OF
#define ROW_OF(row) (row)
#endif

/* Ends the sums of product or slice s from row m, column n of C [rows, cols], fragment by fragment through the subgroup's own part of
 * shared memory, as only the device knows where a fragment's elements are. acc has constant indices, so that it stays in registers,
 * and the code that ends an element is there once. ROW_OF: the row in memory, if the kernel has another order of them. */
void finish_fragments(uint s, uint m, uint n, uint rows, uint cols)
{
    uint mine = gl_SubgroupID * FRAGMENT;
    barrier();
    [[dont_unroll]] for (uint f = 0; f < FM * FN; f++) {
        uint m_f = m + f / FN * CM, n_f = n + f % FN * CN;
        four_reads reads[FOURS_EACH];
        if (C_FOURS != 0) /* what the ends read arrives meanwhile */
            [[unroll]] for (uint j = 0; j < FOURS_EACH; j++) {
                uint e = (j * LANES + gl_SubgroupInvocationID) * 4, row = min(m_f + e / CN, rows - 1), col = min(n_f + e % CN, cols - 4);
                reads[j] = read_four((s * rows + ROW_OF(row)) * cols + col);
            }
        subgroupBarrier();
        [[unroll]] for (uint i = 0; i < FM * FN; i++)
            if (i == f) coopMatStore(acc[i], sa, mine, CN / 4, gl_CooperativeMatrixLayoutRowMajor);
        subgroupBarrier();
        if (C_FOURS != 0) {
            [[unroll]] for (uint j = 0; j < FOURS_EACH; j++) {
                uint e = (j * LANES + gl_SubgroupInvocationID) * 4, row = m_f + e / CN, col = n_f + e % CN;
                if (e >= CM * CN || row >= rows || col >= cols) continue;
                vec4 sums = uintBitsToFloat(sa[mine + e / 4]);
                finish_four_biased((s * rows + ROW_OF(row)) * cols + col, sums + bias_four(col), reads[j]);
            }
            continue;
        }
        [[unroll]] for (uint j = 0; j < ENDS_EACH; j++) {
            uint e = (j * LANES + gl_SubgroupInvocationID) * 2, row = m_f + e / CN, col = n_f + e % CN;
            if (e >= CM * CN || row >= rows || col >= cols) continue;
            uint i = (s * rows + ROW_OF(row)) * cols + col;
            vec4 four = uintBitsToFloat(sa[mine + e / 4]);
            vec2 sums = e % 4 == 0 ? four.xy : four.zw;
#ifdef HALF
            finish_pair(i, uvec2(col, col + 1), sums, col + 1 < cols);
#else
            finish(i, col, sums[0]);
            if (col + 1 < cols) finish(i + 1, col + 1, sums[1]);
#endif
        }
    }
}
