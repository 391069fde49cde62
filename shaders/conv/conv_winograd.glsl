/* What conv_winograd and conv_dw_winograd share; included after conv_rows.glsl. R is the number of lanes, C is CW. */
const uint EACH = R * C, SUMS_16 = 16 * EACH;

uint hand_out(uint x, uint lane)
{
    return SHUFFLE != 0 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}

/* The 4 x 4 numbers under a tile of 2 x 2 pixels, transformed. */
void transform(inout elem a[16])
{
    [[unroll]] for (uint j = 0; j < 4; j++) {
        elem d0 = a[j], d1 = a[4 + j], d2 = a[8 + j], d3 = a[12 + j];
        a[j] = d0 - d2, a[4 + j] = d1 + d2, a[8 + j] = d2 - d1, a[12 + j] = d1 - d3;
    }
    [[unroll]] for (uint i = 0; i < 16; i += 4) {
        elem d0 = a[i], d1 = a[i + 1], d2 = a[i + 2], d3 = a[i + 3];
        a[i] = d0 - d2, a[i + 1] = d1 + d2, a[i + 2] = d2 - d1, a[i + 3] = d1 - d3;
    }
}
