#version 460
/* Convolution, its transpose and the gradient of the filter as implicit products for GPUs: a workgroup computes a BM x BN
 * tile through shared memory (tile.glsl), the next slice in registers meanwhile. DW 0: rows are output pixels, columns
 * output channels, k = (kh, kw, c). DW 1: rows are k, columns output channels, and the sum is over the pixels of slice s;
 * w is dy, y is dw. What lies outside the image, the filter or the group is loaded as zero and not stored. A transpose over
 * strides takes a phase's pixels and only the taps that these meet (conv_tile.glsl). VEC_X, VEC_W: four channels are one
 * aligned vector. Twins: conv_ref, conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "conv_tile.glsl"
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

tile here;                           /* DW 0 */
taps down, across;                   /* those that are met */
uint first_c, depth, width, first_n; /* of the group; of the sum, rows of w; columns; first column */

/* Of step k: channel c, tap (kh, kw). */
void step_at(uint k, out uint c, out uint kh, out uint kw)
{
    uint n = max(across.n, 1);
    kh = div_small(div_small(k, p.ci, 1.0 / float(p.ci), c), n, 1.0 / float(n), kw);
    if (PHASES) {
        kh = down.first + kh * down.step;
        kw = across.first + kw * across.step;
    }
}

float one_input(uint image, uint row, uint col, uint k)
{
    uint c, kh, kw, y, x;
    step_at(k, c, kh, kw);
    if (k >= depth || !tap_at(row, kh, p.h, y) || !tap_at(col, kw, p.wd, x)) return 0.0;
    return p.x.v[((image * p.h + y) * p.wd + x) * p.c + first_c + c];
}

/* Inputs k to k + 3 of a pixel. */
vec4 inputs(uint image, uint row, uint col, uint k)
{
    if (VEC_X == 0) return vec4(one_input(image, row, col, k), one_input(image, row, col, k + 1),
                                one_input(image, row, col, k + 2), one_input(image, row, col, k + 3));
    uint c, kh, kw, y, x;
    step_at(k, c, kh, kw);
    if (k >= depth || !tap_at(row, kh, p.h, y) || !tap_at(col, kw, p.wd, x)) return vec4(0.0);
    return p.x4.v[(((image * p.h + y) * p.wd + x) * p.c + first_c + c) / 4];
}

/* Pixel m of `here`. */
void pixel_here(uint m, out uint image, out uint row, out uint col)
{
    pixel_at(m, here.rows, here.cols, image, row, col);
    if (PHASES) {
        row = here.py + row * here.step;
        col = here.px + col * here.step;
    }
}

place place_of(uint j, uint m0)
{
    place a = place(0, 0, 0, 0);
    if (DW == 0) pixel_here(min(m0 + j / (BK / 4), here.pixels - 1), a.image, a.row, a.col);
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
    uint row = k + j / (BN / 4), n = n0 + j % (BN / 4) * 4;
    if (row >= end || n >= width) return vec4(0.0);
    if (PHASES) {
        uint c, kh, kw;
        step_at(row, c, kh, kw);
        row = (kh * p.kw + kw) * p.ci + c;
    }
    uint i = row * p.co + first_n + n;
    if (VEC_W != 0) return p.w4.v[i / 4];
    vec4 v = vec4(p.w.v[i], 0.0, 0.0, 0.0);
    if (n + 1 < width) v.y = p.w.v[i + 1];
    if (n + 2 < width) v.z = p.w.v[i + 2];
    if (n + 3 < width) v.w = p.w.v[i + 3];
    return v;
}

/* The workgroup's tile of the filter's gradient, and its slice s; false where it is past the last. */
bool filter_tile(out tile t, out uint s)
{
    uint g = flat_group(), tiles_m = (depth + BM - 1) / BM, tiles_n = (width + BN - 1) / BN;
    t = tile(g / (tiles_m * tiles_n) % p.groups, g / tiles_m % tiles_n * BN, g % tiles_m * BM, 0, 0, depth, 0, 0, 1);
    s = g / (tiles_m * tiles_n) / p.groups;
    return s == 0 || s * p.slice * p.ow < p.pixels;
}

void main()
{
    uint s = 0, tid = gl_LocalInvocationID.x;
    down = taps(0, 1, p.kh);
    across = taps(0, 1, p.kw);
    depth = p.kh * p.kw * p.ci;
    width = p.co / p.groups;
    if (DW != 0 ? !filter_tile(here, s) : !tile_at(BM, BN, here)) return;
    if (PHASES) {
        down = taps_of(here.py, p.kh);
        across = taps_of(here.px, p.kw);
        depth = down.n * across.n * p.ci;
    }
    uint group = here.group, m0 = here.m0, n0 = here.n0, rows = here.pixels;
    uint begin = DW != 0 ? s * p.slice * p.ow : 0, end = DW != 0 ? min(begin + p.slice * p.ow, p.pixels) : depth;
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
            uint m = m0 + i / 4 * (BM / GM) + ty * 4 + i % 4;
            if (m >= rows) continue;
            if (PHASES) {
                uint image, row, col;
                pixel_here(m, image, row, col);
                m = (image * p.oh + row) * p.ow + col;
            }
            uint first = (s * rows + m) * p.co + first_n + n;
            vec4 sums = acc[i * GN + j];
            [[unroll]] for (uint c = 0; c < 4; c++) {
                if (n + c >= width) continue;
                if ((p.flags & VKT_MM_BIAS) != 0) sums[c] += p.bias.v[first_n + n + c];
                finish(first + c, sums[c]);
            }
        }
    }
}
