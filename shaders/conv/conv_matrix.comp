#version 460
/* Convolution, its transpose and the gradient of the filter as implicit products (conv_implicit.glsl) on matrix units: numbers
 * that are f32 in memory are rounded to 16 bits on their way to shared memory, and summed in f32. One group. Twins: conv_ref,
 * conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#define FOURS
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv_implicit.glsl"
layout(constant_id = VKT_SPEC_LAYOUT) const uint LAYOUT = 1; /* of the product: 2 where DW */
#define ROW_OF(row) row_of(row)
#include "matmul/matmul_fragments.glsl"
#include "matmul/matmul_stage.glsl"

/* Where a thread's vectors of A lie, as far as that does not change from slice to slice. */
struct place {
    uint image, row, col; /* DW 0: of the pixel */
};

place place_of(uint i)
{
    place a = place(0, 0, 0);
    uint j = i * THREADS + gl_LocalInvocationID.x;
    if (DW == 0) pixel_here(min(here.m0 + j / A_LEN, here.pixels - 1), a.image, a.row, a.col);
    return a;
}

/* Vector i of this thread's (matmul_stage.glsl) of the slice that starts at k and ends before `end`. */
uvec4 load_a(uint i, place a, uint k, uint end)
{
    uint tid = gl_LocalInvocationID.x, j = i * THREADS + tid, r = j / A_LEN, c = j % A_LEN * 8, steps = BK / A_LOADS, first = k + c;
    if (DW != 0) {
        uint m = k + (TURN_A != 0 ? tid % steps * A_LOADS + i : r);
        if (m >= end) return uvec4(0);
        pixel_at(m, p.oh, p.ow, a.image, a.row, a.col);
        first = here.m0 + (TURN_A != 0 ? tid / steps * 8 : c);
    }
    return operands8(inputs(a.image, a.row, a.col, first), inputs(a.image, a.row, a.col, first + 4));
}

uvec4 load_b(uint i, uint k, uint end)
{
    uint tid = gl_LocalInvocationID.x, j = i * THREADS + tid, r = j / B_LEN, c = j % B_LEN * 8, steps = BK / B_LOADS;
    uint row = k + (TURN_B != 0 ? tid % steps * B_LOADS + i : r), n = here.n0 + (TURN_B != 0 ? tid / steps * 8 : c);
    return operands8(weights(row, n, end), weights(row, n + 4, end));
}

void main()
{
    uint s;
    uvec2 steps, share = share_at();
    if (!begin_tile(BM, BN, s, steps)) return;
    place at[A_LOADS];
    [[unroll]] for (uint i = 0; i < A_LOADS; i++) at[i] = place_of(i);
    [[unroll]] for (uint i = 0; i < FM * FN; i++) acc[i] = fragment_sums(0.0);
    for (uint k = steps.x; k < steps.y; k += BK) {
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = load_a(i, at[i], k, steps.y);
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i, k, steps.y);
        barrier();
        publish();
        barrier();
        multiply_slice(share);
    }
    finish_fragments(s, here.m0 + share.x, here.n0 + share.y, here.pixels, p.co);
}
