/* What conv_rows, conv_dw_rows and Winograd's kernels share; included after elems.glsl, with PAIRS, and conv.glsl. */
layout(constant_id = VKT_SPEC_SHUFFLE) const uint SHUFFLE = 0;
layout(constant_id = VKT_SPEC_ROWS) const uint R = 32;      /* rows of the tile; a multiple of G */
layout(constant_id = VKT_SPEC_COLUMNS) const uint C = 4;       /* columns a lane; a multiple of CW */
layout(constant_id = VKT_SPEC_X_WIDTH) const uint XW = 1;      /* floats of x a load: 1 or 2 */
layout(constant_id = VKT_SPEC_WIDTH) const uint CW = 1;     /* neighbouring columns a load and store: 1 or 2 */
layout(constant_id = VKT_SPEC_STEPS) const uint KB = 4;     /* steps of the sum at a time */
layout(constant_id = VKT_SPEC_SHARING) const uint G = 4;      /* rows that share registers */

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
