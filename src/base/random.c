/* Counter-based random numbers: a pure function of seed, purpose and index. */
#include <math.h>

#include "base/log.h"
#include "shaders/rng.h"

uint32_t vkt_rand_u32(uint64_t seed, vkt_purpose purpose, uint64_t index)
{
    uint32_t key = vkt_rng_key((uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)purpose);
    return vkt_pcg3((uint32_t)index, (uint32_t)(index >> 32), key);
}

double vkt_rand_uniform(uint64_t seed, vkt_purpose purpose, uint64_t index)
{
    return (vkt_rand_u32(seed, purpose, index) >> 8) * (1.0 / 16777216.0);
}

double vkt_rand_normal(uint64_t seed, vkt_purpose purpose, uint64_t index)
{
    double u = (vkt_rand_u32(seed, purpose, 2 * index) + 0.5) * (1.0 / 4294967296.0);
    double v = vkt_rand_u32(seed, purpose, 2 * index + 1) * (1.0 / 4294967296.0);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

uint32_t vkt_rand_below(uint64_t seed, vkt_purpose purpose, uint64_t index, uint32_t n)
{
    VKT_ASSERT(n > 0);
    return (uint32_t)(((uint64_t)vkt_rand_u32(seed, purpose, index) * n) >> 32);
}
