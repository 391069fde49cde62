#version 460
/* Convolution, its transpose and the gradient of the filter as implicit products for GPUs (conv_implicit.glsl): a workgroup
 * computes a BM x BN tile through shared memory (tile.glsl), the next slice in registers meanwhile. Twins: conv_ref,
 * conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#define FOURS
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv_implicit.glsl"
const bool A_ALONG_K = DW == 0, B_ALONG_K = false;
#include "matmul/tile.glsl"
layout(constant_id = VKT_SPEC_STATS) const uint STATS = 0;

/* The sum over the threads of a column, in order, for all of them. */
vec4 column_sum(vec4 x, uint tx, uint ty)
{
    barrier();
    sb[ty * (BN / TN) + tx] = x;
    barrier();
    vec4 sum = vec4(0.0);
    for (uint i = 0; i < BM / TM; i++) sum += sb[i * (BN / TN) + tx];
    return sum;
}

/* Row i of a thread's sums. */
uint row_at(uint i, uint ty)
{
    return here.m0 + i / 4 * (BM / GM) + ty * 4 + i % 4;
}

/* Writes each channel's mean over the tile's pixels to pre, and the sum of squares around it to bias: [tiles, co]. */
void write_stats(vec4 acc[SUMS], uint tx, uint ty)
{
    [[unroll]] for (uint j = 0; j < GN; j++) {
        vec4 sum = vec4(0.0), squares = vec4(0.0);
        [[unroll]] for (uint i = 0; i < TM; i++)
            if (row_at(i, ty) < here.pixels) sum += acc[i * GN + j];
        vec4 mean = column_sum(sum, tx, ty) / float(min(BM, here.pixels - here.m0));
        [[unroll]] for (uint i = 0; i < TM; i++)
            if (row_at(i, ty) < here.pixels) squares += (acc[i * GN + j] - mean) * (acc[i * GN + j] - mean);
        squares = column_sum(squares, tx, ty);
        uint n = here.n0 + j * (BN / GN) + tx * 4, first = here.m0 / BM * p.co + n;
        if (ty == 0)
            [[unroll]] for (uint c = 0; c < 4; c++)
                if (n + c < width) {
                    p.pre.v[first + c] = mean[c];
                    p.bias.v[first + c] = squares[c];
                }
    }
}

/* The pixel of vector j of A: DW 0 of the tile, DW 1 of the slice that starts at k. */
place pixel_of(uint j, uint k)
{
    place a = place(0, 0, 0, 0);
    if (DW != 0) return place_at(k + j / (BM / 4));
    pixel_here(min(here.m0 + j / (BK / 4), here.pixels - 1), a.image, a.row, a.col);
    return a;
}

/* Vector j of the slice of A that starts at k: of k (DW 0), or of pixels that end at `end`. */
four load_a(uint j, place a, uint k, uint end)
{
    uint first = DW == 0 ? k + j % (BK / 4) * 4 : here.m0 + j % (BM / 4) * 4;
    return inputs(DW == 0 || a.m < end, a.image, a.row, a.col, first);
}

/* Vector j of the slice of w or dy whose rows start at k. */
four load_b(uint j, uint k, uint end)
{
    return weights(k + j / (BN / 4), here.n0 + j % (BN / 4) * 4, end);
}

void main()
{
    uint s, tid = gl_LocalInvocationID.x, tx = tid % (BN / TN), ty = tid / (BN / TN);
    uvec2 steps;
    if (!begin_tile(BM, BN, s, steps)) return;
    uint m0 = here.m0, n0 = here.n0, rows = here.pixels, end = steps.y;

    place at[A_LOADS], step = place_at(DW != 0 ? BK : 0);
    four next_a[A_LOADS], next_b[B_LOADS];
    vec4 acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = vec4(0.0);
    [[unroll]] for (uint i = 0; i < A_LOADS; i++) {
        at[i] = pixel_of(i * THREADS + tid, steps.x);
        next_a[i] = load_a(i * THREADS + tid, at[i], steps.x, end);
    }
    [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i * THREADS + tid, steps.x, end);
    for (uint k = steps.x; k < end; k += BK) {
        barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) publish_a(i * THREADS + tid, zeroed(next_a[i]));
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) publish_b(i * THREADS + tid, zeroed(next_b[i]));
        barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) {
            if (DW != 0) at[i] = VEC_X != 0 ? moved(at[i], step) : pixel_of(i * THREADS + tid, k + BK);
            next_a[i] = load_a(i * THREADS + tid, at[i], k + BK, end);
        }
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i * THREADS + tid, k + BK, end);
        multiply(acc, tx, ty);
    }

    if (STATS != 0) write_stats(acc, tx, ty);
    [[unroll]] for (uint j = 0; j < GN; j++) {
        uint n = n0 + j * (BN / GN) + tx * 4;
        vec4 bias = vec4(-0.0); /* which changes no sum */
        if (C_FOURS != 0 && n < width) bias = bias_four(first_n + n);
        [[unroll]] for (uint i = 0; i < TM; i++) {
            uint m = m0 + i / 4 * (BM / GM) + ty * 4 + i % 4;
            if (m >= rows) continue;
            uint first = (s * rows + row_of(m)) * p.co + first_n + n;
            vec4 sums = acc[i * GN + j];
            if (C_FOURS != 0) {
                if (n < width) finish_four_biased(first, sums + bias, read_four(first));
                continue;
            }
            [[unroll]] for (uint c = 0; c < 4; c++)
                if (n + c < width) finish(first + c, first_n + n + c, sums[c]);
        }
    }
}
