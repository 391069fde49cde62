/* What conv_rows and conv_dw_rows share; included after elems.glsl, with PAIRS, and conv.glsl. */
layout(constant_id = 6) const uint SHUFFLE = 0; /* hand out by subgroupShuffle: Mesa 22's broadcast is slow */
layout(constant_id = 7) const uint R = 32;      /* rows of the tile; a multiple of G */
layout(constant_id = 8) const uint C = 4;       /* columns a lane; a multiple of CW */
layout(constant_id = 9) const uint XW = 1;      /* floats of x a load: 1 or 2 */
layout(constant_id = 10) const uint CW = 1;     /* neighbouring columns a load and store: 1 or 2 */
layout(constant_id = 11) const uint KB = 4;     /* steps of the sum at a time */
layout(constant_id = 12) const uint G = 4;      /* rows that share registers */

const uint S = gl_WorkGroupSize.x, SUMS = R * C;

float hand_out(float x, uint lane)
{
    return SHUFFLE != 0 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}

/* A lane's columns come CW at a time, neighbours. */
uint column(uint n0, uint c)
{
    return n0 + (c / CW * S + gl_SubgroupInvocationID) * CW + c % CW;
}

/* Element i of a tensor, of `width` floats; in the first of two where that is 1. */
elem load_elem(elems from, uint width, uint i)
{
    return width == 1 ? elem(f32s(from).v[i], 0.0) : LOAD(from, i);
}

void store_columns(f32s to, uint i, elem x)
{
    if (CW == 1) to.v[i] = x.x;
    else STORE(elems(to), i, x);
}
