/* Counter-based random bits, one source for C and GLSL (only uint arithmetic, wrap-around).
 * Three words in, one out: pcg3d of Jarzynski & Olano 2020 (JCGT 9(3)), first component. */
#ifndef VKT_RNG_H
#define VKT_RNG_H
#ifndef VULKAN
#define VKT_RNG_FN static inline
#define uint uint32_t
#else
#define VKT_RNG_FN
#endif

VKT_RNG_FN uint vkt_pcg3(uint x, uint y, uint z)
{
    x = x * 1664525u + 1013904223u;
    y = y * 1664525u + 1013904223u;
    z = z * 1664525u + 1013904223u;
    x += y * z;
    y += z * x;
    z += x * y;
    x ^= x >> 16u;
    y ^= y >> 16u;
    z ^= z >> 16u;
    x += y * z;
    y += z * x;
    z += x * y;
    return x ^ (y >> 11u) ^ (z << 5u);
}

/* Stream key of (seed, purpose): computed on the host, so that a shader needs one word. */
VKT_RNG_FN uint vkt_rng_key(uint seed_lo, uint seed_hi, uint purpose)
{
    return vkt_pcg3(seed_lo, seed_hi ^ 0x9e3779b9u, purpose * 0x85ebca6bu);
}

/* 24 random bits for an element of the dropout op `id` at a step; it is kept iff they are >= p 2^24. */
VKT_RNG_FN uint vkt_dropout_bits(uint key, uint step, uint id, uint element)
{
    return vkt_pcg3(vkt_pcg3(key, step, id), element, id) >> 8u;
}

/* The first element's number in the whole batch, of n in the rows of one device's part of it. */
VKT_RNG_FN uint vkt_dropout_first(uint n, uint rows, uint row)
{
    return rows == 0u ? 0u : n / rows * row;
}

#ifndef VULKAN
#undef uint
#endif
#endif
