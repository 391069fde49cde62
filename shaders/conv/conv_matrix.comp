#version 460
/* Convolution, its transpose and the gradient of the filter as implicit products (conv_implicit.glsl) on matrix units: numbers
 * that are f32 in memory are rounded to 16 bits on their way to shared memory, and summed in f32. One group.
 * Twins: conv_ref, conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#define FOURS
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv_implicit.glsl"
layout(constant_id = VKT_SPEC_LAYOUT) const uint LAYOUT = 1; /* of the product: 2 where DW */
#define ROW_OF(row) row_of(row)
#include "matmul/matmul_fragments.glsl"
#include "matmul/matmul_stage.glsl"

/* The pixel of vector i of this thread's (matmul_stage.glsl) of A: DW 0 of the tile, DW 1 of the slice that starts at k. */
place pixel_of(uint i, uint k)
{
    place a = place(0, 0, 0, 0);
    if (DW != 0) return place_at(k + place_a(i).x);
    pixel_here(min(here.m0 + place_a(i).y, here.pixels - 1), a.image, a.row, a.col);
    return a;
}

/* Half i of this thread's vectors of the slice that starts at k and ends before `end`. */
four load_a(uint i, place a, uint k, uint end)
{
    uvec2 j = place_a(i / 2);
    return inputs(DW == 0 || a.m < end, a.image, a.row, a.col, (DW == 0 ? k + j.x : here.m0 + j.y) + i % 2 * 4);
}

four load_b(uint i, uint k, uint end)
{
    uvec2 j = place_b(i / 2);
    return weights(k + j.x, here.n0 + j.y + i % 2 * 4, end);
}

void main()
{
    uint s;
    uvec2 steps, share = share_at();
    if (!begin_tile(BM, BN, s, steps)) return;
    place at[A_LOADS], step = place_at(DW != 0 ? BK : 0);
    [[unroll]] for (uint i = 0; i < A_LOADS; i++) at[i] = pixel_of(i, steps.x);
    [[unroll]] for (uint i = 0; i < FM * FN; i++) acc[i] = fragment_sums(0.0);
    for (uint k = steps.x; k < steps.y; k += BK) {
        four a[2 * A_LOADS], b[2 * B_LOADS]; /* two for each vector of operands */
        [[unroll]] for (uint i = 0; i < 2 * A_LOADS; i++) a[i] = load_a(i, at[i / 2], k, steps.y);
        [[unroll]] for (uint i = 0; i < 2 * B_LOADS; i++) b[i] = load_b(i, k, steps.y);
        barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = operands8(zeroed(a[2 * i]), zeroed(a[2 * i + 1]));
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = operands8(zeroed(b[2 * i]), zeroed(b[2 * i + 1]));
        publish(0);
        barrier();
        multiply_slice(share, 0);
        if (DW != 0)
            [[unroll]] for (uint i = 0; i < A_LOADS; i++) at[i] = VEC_X != 0 ? moved(at[i], step) : pixel_of(i, k + BK);
    }
    finish_fragments(s, here.m0 + share.x, here.n0 + share.y, here.pixels, p.co);
}
