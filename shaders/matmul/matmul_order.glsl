/* The size of a workgroup's tile of C and the order of tiles, for kernels on matrix units: BK steps of k at a time. */
layout(constant_id = VKT_SPEC_BM) const uint BM = 64;
layout(constant_id = VKT_SPEC_BN) const uint BN = 64;
layout(constant_id = VKT_SPEC_BK) const uint BK = 32;
const uint BAND = 8; /* rows of tiles walked together, for the L2 cache */

/* Where tile g of tiles_m x tiles_n begins. */
uvec2 tile_at(uint g, uint tiles_m, uint tiles_n)
{
    uint band = g / (BAND * tiles_n) * BAND, in_band = g % (BAND * tiles_n), height = min(tiles_m - band, BAND);
    return uvec2((band + in_band % height) * BM, in_band / height * BN);
}
