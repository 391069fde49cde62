/* The operands of a convolution, its transpose and the gradient of the filter as those of a product, for kernels that bring
 * tiles of it through shared memory; included where `p` (conv_params) is declared. DW 0: rows are output
 * pixels, columns output channels, k = (kh, kw, c). DW 1: rows are k, columns output channels, and the sum is over the pixels
 * of slice s; w is dy, y is dw. A transpose over strides takes a phase's pixels and only the taps that these meet
 * (conv_tile.glsl). What lies outside the image, the filter or the group is zero. VEC_X, VEC_W: four channels are one aligned
 * vector. */
#include "conv.glsl"
#include "conv_tile.glsl"
layout(constant_id = VKT_SPEC_DW) const uint DW = 0;
layout(constant_id = VKT_SPEC_VEC_X) const uint VEC_X = 0;
layout(constant_id = VKT_SPEC_VEC_W) const uint VEC_W = 0;

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

/* Four neighbours as they were loaded; those that are not there are zero. All loads of a slice leave together: no branch is
 * around one, and what would lie outside is the first element instead. */
struct four {
    vec4 loaded;
    bvec4 there;
};

vec4 zeroed(four x)
{
    return mix(vec4(0.0), x.loaded, x.there);
}

/* Where input k of a pixel lies, if it is there. */
uint input_at(uint image, uint row, uint col, uint k, out bool there)
{
    uint c, kh, kw, y, x;
    step_at(k, c, kh, kw);
    bool in_rows = row_at(row, kh, y), in_cols = col_at(col, kw, x);
    there = k < depth && in_rows && in_cols;
    return there ? ((image * p.h + y) * p.wd + x) * p.c + first_c + c : 0;
}

/* Inputs k to k + 3 of a pixel, if it is there itself. The places of single inputs of a filter's gradient are the same for all
 * slices: compilers keep those, and have no registers left for the `there` flags. */
four inputs(bool pixel, uint image, uint row, uint col, uint k)
{
    bool there;
    four x = four(vec4(0.0), bvec4(true));
    if (VEC_X != 0) {
        uint i = input_at(image, row, col, k, there);
        x.there = bvec4(there && pixel);
        x.loaded = f32x4s(p.x).v[x.there.x ? i / 4 : 0];
        return x;
    }
    [[unroll]] for (uint c = 0; c < 4; c++) {
        uint i = input_at(image, row, col, k + c, there);
        if (DW == 0) x.loaded[c] = p.x.v[i], x.there[c] = there;
        else if (there && pixel) x.loaded[c] = p.x.v[i];
    }
    return x;
}

/* Pixel m of `here`. */
void pixel_here(uint m, out uint image, out uint row, out uint col)
{
    pixel_at(m, here.rows, here.cols, image, row, col);
    if (PHASES) {
        row = here.py + row * step_y();
        col = here.px + col * step_x();
    }
}

/* Columns n to n + 3 of row `row` of w or dy, whose rows end at `end`. */
four weights(uint row, uint n, uint end)
{
    bool there = row < end && n < width;
    if (PHASES) {
        uint c, kh, kw;
        step_at(row, c, kh, kw);
        row = (kh * p.kw + kw) * p.ci + c;
    }
    uint i = there ? row * p.co + first_n + n : 0;
    if (VEC_W != 0) return four(f32x4s(p.w).v[i / 4], bvec4(there));
    four x = four(vec4(0.0), bvec4(true));
    [[unroll]] for (uint c = 0; c < 4; c++)
        if (there && n + c < width) x.loaded[c] = p.w.v[i + c];
    return x;
}

/* DW: pixel m of a slice, and the one that is `by` further on, without a division. */
struct place {
    uint m, image, row, col;
};

place place_at(uint m)
{
    place a = place(m, 0, 0, 0);
    pixel_at(m, p.oh, p.ow, a.image, a.row, a.col);
    return a;
}

place moved(place a, place by)
{
    place b = place(a.m + by.m, a.image + by.image, a.row + by.row, a.col + by.col);
    if (b.col >= p.ow) b.col -= p.ow, b.row++;
    if (b.row >= p.oh) b.row -= p.oh, b.image++;
    return b;
}

/* The workgroup's tile of `tall` rows by `wide` columns of the filter's gradient, and its slice s; false where it is past the
 * last. */
bool filter_tile(uint tall, uint wide, out tile t, out uint s)
{
    uint g = flat_group(), tiles_m = (depth + tall - 1) / tall, tiles_n = (width + wide - 1) / wide;
    t = tile(g / (tiles_m * tiles_n) % p.groups, g / tiles_m % tiles_n * wide, g % tiles_m * tall, 0, 0, depth, 0, 0);
    s = g / (tiles_m * tiles_n) / p.groups;
    return s == 0 || s * p.slice * p.ow < p.pixels;
}

/* Where this workgroup begins: its tile is `here`, its slice s, its steps from .x to before .y; false where there is none. */
bool begin_tile(uint tall, uint wide, out uint s, out uvec2 steps)
{
    s = 0;
    down = taps(0, 1, p.kh);
    across = taps(0, 1, p.kw);
    depth = p.kh * p.kw * p.ci;
    width = p.co / p.groups;
    if (DW != 0 ? !filter_tile(tall, wide, here, s) : !tile_at(tall, wide, here)) return false;
    if (PHASES) {
        down = taps_down(here);
        across = taps_across(here);
        depth = down.n * across.n * p.ci;
    }
    first_c = here.group * p.ci;
    first_n = here.group * width;
    uint begin = s * p.slice * p.ow;
    steps = DW != 0 ? uvec2(begin, min(begin + p.slice * p.ow, p.pixels)) : uvec2(0, depth);
    return true;
}

/* Row m of the result: of the filter, or of all pixels. */
uint row_of(uint m)
{
    if (!PHASES) return m;
    uint image, row, col;
    pixel_here(m, image, row, col);
    return (image * p.oh + row) * p.ow + col;
}

/* Ends the sum of element i, of output channel n. */
void finish(uint i, uint n, float sum)
{
    if ((p.flags & VKT_MM_BIAS) != 0) sum += p.bias.v[n];
    finish(i, sum);
}
