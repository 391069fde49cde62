/* Beginning and end of every matmul kernel, included where `p` is declared: constants that all have, which steps a
 * slice takes, what becomes of a sum. In a HALF variant A and B are 16-bit. Two neighbours of a row are read and written
 * at once where C_PAIRS: in HALF variants as a word of two 16-bit numbers, which C, aux and r then have; in WIDE ones,
 * for Mesa's CPU driver, as two floats (f32x2s). Kernels for GPUs define FOURS: they end four neighbours at once where C_FOURS. */
#include "act.glsl"
layout(constant_id = VKT_SPEC_LAYOUT) const uint LAYOUT = 0; /* vkt_layout: 0 NT, 1 NN, 2 TN */
layout(constant_id = VKT_SPEC_ACT) const int ACT = 0;     /* vkt_act, with VKT_MM_ACT_BWD times its derivative; VKT_MM_MICRO, _RESIDUAL */
const int ACTIVATION = ACT & (VKT_MM_ACT_BWD - 1);
const bool DERIVATIVE = (ACT & VKT_MM_ACT_BWD) != 0;
#ifdef HALF
#include "half.glsl"
layout(constant_id = VKT_SPEC_BF16) const uint BF16 = 0;   /* the 16-bit format: 0 f16, 1 bf16 */

vec2 widen(uint word)
{
    return BF16 != 0 ? uintBitsToFloat(uvec2(word << 16, word & 0xffff0000u)) : unpackHalf2x16(word);
}

float widen1(u32s from, uint i)
{
    vec2 pair = widen(from.v[i / 2]);
    return i % 2 == 0 ? pair.x : pair.y;
}

uint narrow(vec2 x)
{
    uvec2 u = floatBitsToUint(x);
    return BF16 != 0 ? to_bf16(u.x) | to_bf16(u.y) << 16 : to_f16(u.x) | to_f16(u.y) << 16;
}
#define GET_PAIR_OF(from, i) widen(u32s(from).v[i])
#define PUT_PAIR_OF(to, i, x) u32s(to).v[i] = narrow(x)
#elif defined WIDE
#define GET_PAIR_OF(from, i) uintBitsToFloat(unpackUint2x32(f32x2s(from).v[i]))
#define PUT_PAIR_OF(to, i, x) f32x2s(to).v[i] = packUint2x32(floatBitsToUint(x))
#endif
#ifdef GET_PAIR_OF
layout(constant_id = VKT_SPEC_C_PAIRS) const uint C_PAIRS = 0;
#endif

/* Steps of k of slice or product s: from .x to before .y; .y < .x where s is past the last. */
uvec2 slice_steps(uint s)
{
    if (p.batch > 0) return s < p.batch ? uvec2(0, p.K) : uvec2(1, 0);
    uint begin = s * p.slice;
    return s > 0 && begin >= p.K ? uvec2(1, 0) : uvec2(begin, min(p.K, begin + p.slice));
}

/* Where A and B of product s begin. */
uvec2 product_at(uint s)
{
    return p.batch > 0 ? s * p.K * uvec2(p.M, p.N) : uvec2(0);
}

float act_end(float sum, float v)
{
    return DERIVATIVE ? sum * act_bwd(ACTIVATION, v) : act_fwd(ACTIVATION, sum);
}

/* Whether the sum before the activation may be asked for: a store that is masked off costs a CPU driver as much, and a
 * third of the time that the kernel takes to compile. */
#ifdef WIDE
#define MAY_KEEP (ACTIVATION != VKT_ACT_N_NONE && !DERIVATIVE && !ACT_FROM_OUTPUT(ACTIVATION))
#else
const bool MAY_KEEP = ACTIVATION != VKT_ACT_N_NONE && !DERIVATIVE;
#endif

/* R's address and the step block's are there only with their constants, as CPU drivers read them whatever a flag says. */
bool adds_r()
{
    return (ACT & VKT_MM_RESIDUAL) != 0 && ((ACT & VKT_MM_MICRO) == 0 || p.step.b.micro != 0);
}

float with_bias(uint n, float sum)
{
    if ((p.flags & VKT_MM_BIAS) != 0) sum += p.bias.v[n];
    return sum;
}

/* Ends the sum, bias included, of element i of C, which is f32. */
void finish_biased(uint i, float sum)
{
    float v = 0.0, r = 0.0;
    if (MAY_KEEP && (p.flags & VKT_MM_PRE) != 0) p.aux.v[i] = sum;
    if (DERIVATIVE) v = p.aux.v[i];
    if (adds_r()) r = p.r.v[i];
    p.c.v[i] = act_end(sum, v) + r;
}

/* The same without the bias of column n. */
void finish(uint i, uint n, float sum)
{
    finish_biased(i, with_bias(n, sum));
}

#ifdef GET_PAIR_OF
/* The biases of columns n, which a kernel adds to the sums of many rows; 0 for the second if not `both`. */
vec2 bias_pair(uvec2 n, bool both)
{
    vec2 b = vec2(0.0);
    if ((p.flags & VKT_MM_BIAS) != 0) {
        b.x = p.bias.v[n.x];
        if (both) b.y = p.bias.v[n.y];
    }
    return b;
}

/* Ends elements i and, where `both`, i + 1, biases included; where C_PAIRS i is even and the pair is stored whole. */
void finish_pair_biased(uint i, vec2 sum, bool both)
{
    if (C_PAIRS == 0) {
        finish_biased(i, sum.x);
        if (both) finish_biased(i + 1, sum.y);
        return;
    }
    vec2 v = vec2(0.0), r = vec2(0.0);
    if (!both) sum.y = 0.0;
    if (MAY_KEEP && (p.flags & VKT_MM_PRE) != 0) PUT_PAIR_OF(p.aux, i / 2, sum);
    if (DERIVATIVE) v = GET_PAIR_OF(p.aux, i / 2);
    if (adds_r()) r = GET_PAIR_OF(p.r, i / 2);
    vec2 c = vec2(act_end(sum.x, v.x) + r.x, both ? act_end(sum.y, v.y) + r.y : 0.0);
    PUT_PAIR_OF(p.c, i / 2, c);
}

void finish_pair(uint i, uvec2 n, vec2 sum, bool both)
{
    finish_pair_biased(i, sum + bias_pair(n, both), both);
}
#endif

#ifdef FOURS
layout(constant_id = VKT_SPEC_C_FOURS) const uint C_FOURS = 0; /* rows are of whole fours, at addresses of such vectors */

#ifdef HALF
vec4 get_four(u32x2s from, uint i)
{
    if (C_PAIRS == 0) return uintBitsToFloat(uvec4(from.v[i / 2], from.v[i / 2 + 1]));
    uvec2 words = from.v[i / 4];
    return vec4(widen(words.x), widen(words.y));
}

void put_four(u32x2s to, uint i, vec4 x)
{
    uvec4 u = floatBitsToUint(x);
    if (C_PAIRS != 0) {
        to.v[i / 4] = uvec2(narrow(x.xy), narrow(x.zw));
    } else {
        to.v[i / 2] = u.xy;
        to.v[i / 2 + 1] = u.zw;
    }
}
#define GET_FOUR(from, i) get_four(u32x2s(from), i)
#define PUT_FOUR(to, i, x) put_four(u32x2s(to), i, x)
#else
#define GET_FOUR(from, i) f32x4s(from).v[(i) / 4]
#define PUT_FOUR(to, i, x) f32x4s(to).v[(i) / 4] = (x)
#endif

/* What the ends of four neighbours read, for kernels that ask for it early. */
struct four_reads {
    vec4 v, r;
};

four_reads read_four(uint i)
{
    four_reads reads = four_reads(vec4(0.0), vec4(0.0));
    if (DERIVATIVE) reads.v = GET_FOUR(p.aux, i);
    if (adds_r()) reads.r = GET_FOUR(p.r, i);
    return reads;
}

/* The biases of columns n to n + 3; adding -0 changes no sum. */
vec4 bias_four(uint n)
{
    vec4 b = vec4(-0.0);
    if ((p.flags & VKT_MM_BIAS) != 0)
        [[unroll]] for (uint c = 0; c < 4; c++) b[c] = p.bias.v[n + c];
    return b;
}

/* Ends elements i to i + 3, biases included, where C_FOURS: i is a multiple of four. */
void finish_four_biased(uint i, vec4 sum, four_reads reads)
{
    if (MAY_KEEP && (p.flags & VKT_MM_PRE) != 0) PUT_FOUR(p.aux, i, sum);
    vec4 c;
    [[unroll]] for (uint e = 0; e < 4; e++) c[e] = act_end(sum[e], reads.v[e]);
    PUT_FOUR(p.c, i, c + reads.r);
}
#endif
