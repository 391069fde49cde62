/* Shared by the kernels of a batch norm with max pooling in it: windows of KH x KW, STRIDE >= both, no padding. `place` is
 * the window's pixel that won, kh KW + kw; KH KW: relu cut it off, so that no gradient goes through. */
layout(constant_id = VKT_SPEC_KH) const uint KH = 2;
layout(constant_id = VKT_SPEC_KW) const uint KW = 2;
layout(constant_id = VKT_SPEC_STRIDE) const uint STRIDE = 2;
#include "batch.glsl"

const uint CUT = KH * KW;

uint windows(uint extent, uint k)
{
    return (extent - k) / STRIDE + 1;
}

/* My block of p.chunk of the lines (`per_image` to an image), and channel element: the first line's image and row in it,
 * its place among all; how many lines. */
uint my_lines(uint per_image, out uint image, out uint row, out uint line, out uint c)
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, wide = p.cols / W, block = i / wide;
    uint lines = p.rows / (p.h * p.wd) * per_image;
    c = i - block * wide;
    line = block * p.chunk;
    image = line / per_image;
    row = line - image * per_image;
    return line < lines ? min(p.chunk, lines - line) : 0;
}

/* The part of a window's gradient dy that goes to its pixel `at`. */
elem through(elem dy, words place, uint at)
{
    [[unroll]] for (uint k = 0; k < W; k++) AT(dy, k) = AT(place, k) == at ? AT(dy, k) : 0.0;
    return dy;
}
