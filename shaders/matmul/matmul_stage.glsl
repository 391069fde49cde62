/* A slice of 16-bit operands in shared memory and its products, for kernels on matrix units that bring the slice themselves
 * (matmul_coopmat.comp, conv_matrix.comp); included after matmul_fragments.glsl. A thread brings A_LOADS vectors of eight
 * elements of A and B_LOADS of B: vector i is the (i THREADS + tid)-th of the tile in its own order, rows of A_LEN or B_LEN
 * vectors; where TURN_A or TURN_B, eight columns from tid / (BK / LOADS) * 8, of step tid % (BK / LOADS) * LOADS + i. */
uvec4 next_a[A_LOADS + 1], next_b[B_LOADS + 1]; /* this thread's; one more, for the index of a pair's second */

/* Where vector i of this thread's begins in its tile: along k, across. */
uvec2 place_a(uint i)
{
    uint tid = gl_LocalInvocationID.x, j = i * THREADS + tid, steps = BK / A_LOADS;
    if (TURN_A != 0) return uvec2(tid % steps * A_LOADS + i, tid / steps * 8);
    return A_LIES_ALONG_K ? uvec2(j % A_LEN * 8, j / A_LEN) : uvec2(j / A_LEN, j % A_LEN * 8);
}

uvec2 place_b(uint i)
{
    uint tid = gl_LocalInvocationID.x, j = i * THREADS + tid, steps = BK / B_LOADS;
    if (TURN_B != 0) return uvec2(tid % steps * B_LOADS + i, tid / steps * 8);
    return B_LIES_ALONG_K ? uvec2(j % B_LEN * 8, j / B_LEN) : uvec2(j / B_LEN, j % B_LEN * 8);
}

/* Column c of 8 in two neighbouring steps. */
uint turned(uvec4 x, uvec4 next, uint c)
{
    return c % 2 == 0 ? x[c / 2] & 0xffffu | next[c / 2] << 16 : x[c / 2] >> 16 | next[c / 2] & 0xffff0000u;
}

/* To shared memory, as its slice `stage`. */
void publish(uint stage)
{
    uint tid = gl_LocalInvocationID.x, at_a = stage * A_PIECE, at_b = stage * B_PIECE;
    if (TURN_A != 0) {
        uint column = tid / (BK / A_LOADS) * 8, word = tid % (BK / A_LOADS) * A_LOADS / 2;
        [[unroll]] for (uint c = 0; c < 8; c++)
            [[unroll]] for (uint i = 0; i < A_LOADS; i += 2) {
                uint w = word + i / 2;
                sa[at_a + (column + c) * A_STRIDE + w / 4][w % 4] = turned(next_a[i], next_a[i + 1], c);
            }
    } else [[unroll]] for (uint i = 0; i < A_LOADS; i++) {
        uint j = i * THREADS + tid;
        if (A_VECTORS % THREADS == 0 || j < A_VECTORS) sa[at_a + j / A_LEN * A_STRIDE + j % A_LEN] = next_a[i];
    }
    if (TURN_B != 0) {
        uint column = tid / (BK / B_LOADS) * 8, word = tid % (BK / B_LOADS) * B_LOADS / 2;
        [[unroll]] for (uint c = 0; c < 8; c++)
            [[unroll]] for (uint i = 0; i < B_LOADS; i += 2) {
                uint w = word + i / 2;
                sb[at_b + (column + c) * B_STRIDE + w / 4][w % 4] = turned(next_b[i], next_b[i + 1], c);
            }
    } else [[unroll]] for (uint i = 0; i < B_LOADS; i++) {
        uint j = i * THREADS + tid;
        if (B_VECTORS % THREADS == 0 || j < B_VECTORS) sb[at_b + j / B_LEN * B_STRIDE + j % B_LEN] = next_b[i];
    }
}

void multiply_slice(uvec2 share, uint stage)
{
    [[unroll]] for (uint kk = 0; kk < BK; kk += CK) {
        fragment_a a[FM];
        fragment_b b;
        [[unroll]] for (uint i = 0; i < FM; i++) {
            uint from = stage * A_PIECE + fragment_at(A_LIES_ALONG_K, A_STRIDE, share.x + i * CM, kk);
            if (A_LIES_ALONG_K) coopMatLoad(a[i], sa, from, A_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
            else coopMatLoad(a[i], sa, from, A_STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
        }
        [[unroll]] for (uint j = 0; j < FN; j++) {
            uint from = stage * B_PIECE + fragment_at(B_LIES_ALONG_K, B_STRIDE, share.y + j * CN, kk);
            if (B_LIES_ALONG_K) coopMatLoad(b, sb, from, B_STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
            else coopMatLoad(b, sb, from, B_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint i = 0; i < FM; i++) acc[i * FN + j] = coopMatMulAdd(a[i], b, acc[i * FN + j]);
        }
    }
}
