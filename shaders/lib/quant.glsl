/* Numbers in few bits: the layouts are those of src/base/quant.h, which is the twin, too. Eight numbers in a row are
 * unpacked at a time; in no layout do they have more than one scale. Tables are trees of selections: an array with
 * an index of its own in each lane would be memory. */

vec4 halves4(uint a, uint b)
{
    return vec4(widen2(T_F16, a), widen2(T_F16, b));
}

/* Whole numbers of eight bits, two's complement. */
vec4 signed4(uint w)
{
    return vec4(ivec4(int(w << 24), int(w << 16), int(w << 8), int(w)) >> 24);
}

uvec4 nibbles4(uint w)
{
    return (uvec4(w) >> uvec4(0, 4, 8, 12)) & 15u;
}

uvec4 bytes4(uint w)
{
    return (uvec4(w) >> uvec4(0, 8, 16, 24)) & 255u;
}

vec4 choose(vec4 no, vec4 yes, uvec4 bit)
{
    return mix(no, yes, notEqual(bit, uvec4(0)));
}

vec4 two(float no, float yes, uvec4 bit)
{
    return choose(vec4(no), vec4(yes), bit);
}

/* vkt__nf4[k] */
vec4 nf4(uvec4 k)
{
    uvec4 b0 = k & 1u, b1 = k & 2u, b2 = k & 4u, b3 = k & 8u;
    vec4 a = choose(two(-1.0, -0.6961928009986877, b0), two(-0.5250730514526367, -0.39491748809814453, b0), b1);
    vec4 b = choose(two(-0.28444138169288635, -0.18477343022823334, b0), two(-0.09105003625154495, 0.0, b0), b1);
    vec4 c = choose(two(0.07958029955625534, 0.16093020141124725, b0), two(0.24611230194568634, 0.33791524171829224, b0), b1);
    vec4 d = choose(two(0.44070982933044434, 0.5626170039176941, b0), two(0.7229568362236023, 1.0, b0), b1);
    return choose(choose(a, b, b2), choose(c, d, b2), b3);
}

/* The f16 at place i of the words from `at` on. */
float half_of(u32s from, uint at, uint i)
{
    return widen(T_F16, from.v[at + i / 2] >> (i & 1u) * 16u);
}

uint byte_of(u32s from, uint at, uint i)
{
    return from.v[at + i / 4] >> (i & 3u) * 8u & 255u;
}

void unpack_q4_k(u32s from, uint block, uint i, out vec4 a, out vec4 b)
{
    uint j = i / 32, s = block + 1, scale, least, shift = i % 64 / 32 * 4, q = block + 4 + (i / 64 * 32 + i % 32) / 4;
    if (j < 4) {
        scale = byte_of(from, s, j) & 63u;
        least = byte_of(from, s, j + 4) & 63u;
    } else {
        uint both = byte_of(from, s, j + 4);
        scale = (both & 15u) | byte_of(from, s, j - 4) >> 6 << 4;
        least = both >> 4 | byte_of(from, s, j) >> 6 << 4;
    }
    float d = half_of(from, block, 0) * float(scale), m = half_of(from, block, 1) * float(least);
    a = d * vec4(bytes4(from.v[q]) >> shift & 15u) - m;
    b = d * vec4(bytes4(from.v[q + 1]) >> shift & 15u) - m;
}

vec4 q6(uint low, uint high, uint low_shift, uint high_shift)
{
    return vec4((bytes4(low) >> low_shift & 15u) | (bytes4(high) >> high_shift & 3u) << 4) - 32.0;
}

void unpack_q6_k(u32s from, uint block, uint i, out vec4 a, out vec4 b)
{
    uint h = i / 128, run = i % 128 / 32, l = i % 32, low = block + (64 * h + l + run % 2 * 32) / 4,
         high = block + 32 + (32 * h + l) / 4;
    int scale = int(byte_of(from, block + 48, 8 * h + l / 16 + 2 * run) << 24) >> 24;
    float d = half_of(from, block + 52, 0) * float(scale);
    a = d * q6(from.v[low], from.v[high], run / 2 * 4, 2 * run);
    b = d * q6(from.v[low + 1], from.v[high + 1], run / 2 * 4, 2 * run);
}

/* Numbers 8 at to 8 at + 7. */
void unpack8(u32s from, uint kind, uint at, out vec4 a, out vec4 b)
{
    uint i = at % 32 * 8, superblock = at / 32;
    if (kind == VKT_QUANT_N_F16) {
        a = halves4(from.v[4 * at], from.v[4 * at + 1]);
        b = halves4(from.v[4 * at + 2], from.v[4 * at + 3]);
    } else if (kind == VKT_QUANT_N_BF16) {
        a = vec4(widen2(T_BF16, from.v[4 * at]), widen2(T_BF16, from.v[4 * at + 1]));
        b = vec4(widen2(T_BF16, from.v[4 * at + 2]), widen2(T_BF16, from.v[4 * at + 3]));
    } else if (kind == VKT_QUANT_N_Q8_0) {
        uint block = superblock * 68;
        float d = half_of(from, block + 64, i / 32);
        a = d * signed4(from.v[block + i / 4]);
        b = d * signed4(from.v[block + i / 4 + 1]);
    } else if (kind == VKT_QUANT_N_Q4_0) {
        uint block = superblock * 36, w = from.v[block + i / 8];
        float d = half_of(from, block + 32, i / 32);
        a = d * (vec4(nibbles4(w)) - 8.0);
        b = d * (vec4(nibbles4(w >> 16)) - 8.0);
    } else if (kind == VKT_QUANT_N_NF4) {
        uint block = superblock * 34, w = from.v[block + i / 8];
        float d = float(byte_of(from, block + 32, i / 64)) * uintBitsToFloat(from.v[block + 33]);
        a = d * nf4(nibbles4(w));
        b = d * nf4(nibbles4(w >> 16));
    } else if (kind == VKT_QUANT_N_Q4_K) {
        unpack_q4_k(from, superblock * 36, i, a, b);
    } else {
        unpack_q6_k(from, superblock * 53, i, a, b);
    }
}
