#version 460
/* Convolution, its transpose and the gradient of the filter as implicit products for GPUs: a workgroup computes a BM x BN
 * tile through shared memory (tile.glsl), the next slice in registers meanwhile. DW 0: rows are output pixels, columns
 * output channels, k = (kh, kw, c). DW 1: rows are k, columns output channels, and the sum is over the pixels of slice s;
 * w is dy, y is dw. What lies outside the image, the filter or the group is loaded as zero and not stored. VEC_X, VEC_W:
 * four channels are one aligned vector. Twins: conv_ref, conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
layout(constant_id = VKT_SPEC_DW) const uint DW = 0;
layout(constant_id = VKT_SPEC_VEC_X) const uint VEC_X = 0;
layout(constant_id = VKT_SPEC_VEC_W) const uint VEC_W = 0;
const bool A_ALONG_K = DW == 0, B_ALONG_K = false;
#include "matmul/tile.glsl"

/* Where a thread's vectors of A lie, as far as that does not change from slice to slice. */
struct place {
    uint image, row, col; /* DW 0: of the pixel */
    uint k;               /* DW 1: first of four */
};

uint first_c, depth, width, first_n; /* of the group; rows of w; columns; first column */

float one_input(uint image, uint row, uint col, uint k)
{
    uint c, kw, y, x, kh = div_small(div_small(k, p.ci, 1.0 / float(p.ci), c), p.kw, 1.0 / float(p.kw), kw);
    if (k >= depth || !tap_at(row, kh, p.h, y) || !tap_at(col, kw, p.wd, x)) return 0.0;
    return p.x.v[((image * p.h + y) * p.wd + x) * p.c + first_c + c];
}

/* Inputs k to k + 3 of a pixel. */
vec4 inputs(uint image, uint row, uint col, uint k)
{
    if (VEC_X == 0) return vec4(one_input(image, row, col, k), one_input(image, row, col, k + 1),
                                one_input(image, row, col, k + 2), one_input(image, row, col, k + 3));
    uint c, kw, y, x, kh = div_small(div_small(k, p.ci, 1.0 / float(p.ci), c), p.kw, 1.0 / float(p.kw), kw);
    if (k >= depth || !tap_at(row, kh, p.h, y) || !tap_at(col, kw, p.wd, x)) return vec4(0.0);
    return p.x4.v[(((image * p.h + y) * p.wd + x) * p.c + first_c + c) / 4];
}

place place_of(uint j, uint m0)
{
    place a = place(0, 0, 0, 0);
    if (DW == 0) pixel_at(min(m0 + j / (BK / 4), p.pixels - 1), p.oh, p.ow, a.image, a.row, a.col);
    else a.k = m0 + j % (BM / 4) * 4;
    return a;
}

/* Vector j of the slice of A that starts at k: of k (DW 0), or of pixels that end at `end`. */
vec4 load_a(uint j, place a, uint k, uint end)
{
    if (DW == 0) return inputs(a.image, a.row, a.col, k + j % (BK / 4) * 4);
    uint m = k + j / (BM / 4);
    if (m >= end) return vec4(0.0);
    pixel_at(m, p.oh, p.ow, a.image, a.row, a.col);
    return inputs(a.image, a.row, a.col, a.k);
}

/* Vector j of the slice of w or dy whose rows start at k. */
vec4 load_b(uint j, uint n0, uint k, uint end)
{
    uint row = k + j / (BN / 4), n = n0 + j % (BN / 4) * 4, i = row * p.co + first_n + n;
    if (row >= end || n >= width) return vec4(0.0);
    if (VEC_W != 0) return p.w4.v[i / 4];
    vec4 v = vec4(p.w.v[i], 0.0, 0.0, 0.0);
    if (n + 1 < width) v.y = p.w.v[i + 1];
    if (n + 2 < width) v.z = p.w.v[i + 2];
    if (n + 3 < width) v.w = p.w.v[i + 3];
    return v;
}

void main()
{
    depth = p.kh * p.kw * p.ci;
    width = p.co / p.groups;
    uint rows = DW != 0 ? depth : p.pixels, tid = gl_LocalInvocationID.x, g = flat_group();
    uint tiles_m = (rows + BM - 1) / BM, tiles_n = (width + BN - 1) / BN;
    uint m0 = g % tiles_m * BM, n0 = g / tiles_m % tiles_n * BN;
    uint group = g / (tiles_m * tiles_n) % p.groups, s = g / (tiles_m * tiles_n) / p.groups;
    uint begin = DW != 0 ? s * p.slice * p.ow : 0, end = DW != 0 ? min(begin + p.slice * p.ow, p.pixels) : depth;
    if (s > 0 && (DW == 0 || begin >= end)) return; /* a workgroup past the last */
    first_c = group * p.ci;
    first_n = group * width;
    uint tx = tid % (BN / TN), ty = tid / (BN / TN);

    place at[A_LOADS];
    vec4 acc[SUMS], next_a[A_LOADS], next_b[B_LOADS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = vec4(0.0);
    [[unroll]] for (uint i = 0; i < A_LOADS; i++) {
        at[i] = place_of(i * THREADS + tid, m0);
        next_a[i] = load_a(i * THREADS + tid, at[i], begin, end);
    }
    [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i * THREADS + tid, n0, begin, end);
    for (uint k = begin; k < end; k += BK) {
        barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) publish_a(i * THREADS + tid, next_a[i]);
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) publish_b(i * THREADS + tid, next_b[i]);
        barrier();
        [[unroll]] for (uint i = 0; i < A_LOADS; i++) next_a[i] = load_a(i * THREADS + tid, at[i], k + BK, end);
        [[unroll]] for (uint i = 0; i < B_LOADS; i++) next_b[i] = load_b(i * THREADS + tid, n0, k + BK, end);
        multiply(acc, tx, ty);
    }

    [[unroll]] for (uint j = 0; j < GN; j++) {
        uint n = n0 + j * (BN / GN) + tx * 4;
        [[unroll]] for (uint i = 0; i < TM; i++) {
            uint m = m0 + i / 4 * (BM / GM) + ty * 4 + i % 4, first = (s * rows + m) * p.co + first_n + n;
            if (m >= rows) continue;
            vec4 sums = acc[i * GN + j];
            [[unroll]] for (uint c = 0; c < 4; c++) {
                if (n + c >= width) continue;
                if ((p.flags & VKT_MM_BIAS) != 0) sums[c] += p.bias.v[first_n + n + c];
                finish(first + c, sums[c]);
            }
        }
    }
}
