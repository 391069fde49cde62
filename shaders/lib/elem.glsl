/* Elements of a tensor in memory by type: f32 fills a word; f16 and bf16 lie two to a word, the lower half first,
 * and are packed by hand, so that no device needs the types. All arithmetic is in float; an element is rounded once,
 * when it is stored: to nearest even, too large becomes Inf, NaN stays NaN, subnormals are kept. A word is never
 * shared by two invocations: what is stored in 16 bits is stored in pairs. The type is a specialization constant of
 * the kernel, so that the branches cost nothing. Twin: vkt__round_to. */

const uint T_F32 = 0, T_F16 = 1, T_BF16 = 2, T_U32 = 3; /* numbers of vkt_dtype */
#include "half.glsl"

uint narrow(uint type, float x)
{
    uint u = floatBitsToUint(x);
    return type == T_BF16 ? to_bf16(u) : to_f16(u);
}

/* The 16 bits h, others of no consequence. */
float widen(uint type, uint h)
{
    return uintBitsToFloat(type == T_BF16 ? h << 16 : from_f16(h));
}

uint narrow2(uint type, vec2 x)
{
    return narrow(type, x[0]) | narrow(type, x[1]) << 16;
}

vec2 widen2(uint type, uint w)
{
    return type == T_BF16 ? vec2(uintBitsToFloat(w << 16), uintBitsToFloat(w & 0xffff0000u))
                          : vec2(widen(type, w), widen(type, w >> 16));
}

/* Element i. */
float load(u32s from, uint type, uint i)
{
    return type == T_F32 ? uintBitsToFloat(from.v[i]) : widen(type, from.v[i / 2] >> (i & 1u) * 16u);
}

/* Elements 2i and 2i + 1. */
vec2 load2(u32s from, uint type, uint i)
{
    if (type != T_F32) return widen2(type, from.v[i]);
    return vec2(uintBitsToFloat(from.v[2 * i]), uintBitsToFloat(from.v[2 * i + 1]));
}

void store2(u32s to, uint type, uint i, vec2 x)
{
    if (type != T_F32) {
        to.v[i] = narrow2(type, x);
        return;
    }
    to.v[2 * i] = floatBitsToUint(x[0]);
    to.v[2 * i + 1] = floatBitsToUint(x[1]);
}

/* Elements 4i to 4i + 3 of a 16-bit tensor. */
vec4 load4(u32s from, uint type, uint i)
{
    return vec4(load2(from, type, 2 * i), load2(from, type, 2 * i + 1));
}

void store4(u32s to, uint type, uint i, vec4 x)
{
    store2(to, type, 2 * i, x.xy);
    store2(to, type, 2 * i + 1, x.zw);
}

/* x as a tensor of that type will hold it. */
float rounded(uint type, float x)
{
    return type == T_F32 ? x : widen(type, narrow(type, x));
}

/* Pairs; of f32 as 64-bit words where common.glsl has them. */
#ifdef PAIRS
#define GET_PAIR(from, type, i) (type == T_F32 ? LOAD_PAIR(f32x4s(from), i) : load2(from, type, i))
#define PUT_PAIR(to, type, i, x) if (type == T_F32) STORE_PAIR(f32x4s(to), i, x); else store2(to, type, i, x)
#else
#define GET_PAIR(from, type, i) load2(from, type, i)
#define PUT_PAIR(to, type, i, x) store2(to, type, i, x)
#endif

/* Element i of a tensor that is f32 in this kernel. */
void store(u32s to, uint i, float x)
{
    to.v[i] = floatBitsToUint(x);
}

/* What an invocation of a row kernel takes at a time, so that 16-bit rows (whose length is even) are never torn: a
 * pair where `pairs`, else one element. i: which unit, counted from the tensor's beginning. */
vec2 load_unit(u32s from, uint type, bool pairs, uint i)
{
    return pairs ? load2(from, type, i) : vec2(uintBitsToFloat(from.v[i]), 0.0);
}

void store_unit(u32s to, uint type, bool pairs, uint i, vec2 x)
{
    if (pairs) store2(to, type, i, x);
    else store(to, i, x[0]);
}
