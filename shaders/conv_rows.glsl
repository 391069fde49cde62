/* What conv_rows and conv_dw_rows share; included after elems.glsl and conv.glsl. */
layout(constant_id = 6) const uint SHUFFLE = 0; /* hand out by subgroupShuffle: Mesa 22's broadcast is slow */
layout(constant_id = 7) const uint R = 32;      /* rows of the tile */
layout(constant_id = 8) const uint C = 4;       /* columns a lane; a multiple of W */
layout(constant_id = 9) const uint XW = 1;      /* floats of x a load: 1, or W */
layout(constant_id = 10) const uint KB = 4;     /* steps of the sum at a time; a multiple of XW */
layout(constant_id = 11) const uint G = 4;      /* rows that share registers; divides R */

const uint S = gl_WorkGroupSize.x, SUMS = R * C;

float hand_out(float x, uint lane)
{
    return SHUFFLE != 0 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}

/* A lane's columns come W at a time, neighbours. */
uint column(uint n0, uint c)
{
    return n0 + (c / W * S + gl_SubgroupInvocationID) * W + c % W;
}

/* Element i of x, of XW floats; in the first of two where XW is 1. */
elem load_x(uint i)
{
#ifdef PAIRS
    if (XW == 1) return elem(f32s(p.x).v[i], 0.0);
#endif
    return LOAD(p.x, i);
}

/* The pixel `ahead` after row0, col0 of [., rows, cols]; returns in how many images from there. Floats divide exactly: the
 * numbers are not much larger than an image's sides. */
uint next_pixel(uint ahead, uint rows, uint cols, uint row0, uint col0, out uint row, out uint col)
{
    uint line = row0 + div_small(col0 + ahead, cols, 1.0 / float(cols), col);
    return div_small(line, rows, 1.0 / float(rows), row);
}
