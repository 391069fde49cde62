/* Beginning and end of every matmul kernel, included where `p` is declared: constants that all have, which steps a
 * slice takes, what becomes of a sum. In a HALF variant A and B are 16-bit, and so are C and aux where C16. */
layout(constant_id = 3) const uint LAYOUT = 0; /* vkt_layout: 0 NT, 1 NN, 2 TN */
layout(constant_id = 4) const int ACT = 0;     /* vkt_act, with VKT_MM_ACT_BWD times its derivative; VKT_MM_MICRO, _RESIDUAL */
const int ACTIVATION = ACT & (VKT_MM_ACT_BWD - 1);
const bool DERIVATIVE = (ACT & VKT_MM_ACT_BWD) != 0;
#ifdef HALF
#include "half.glsl"
layout(constant_id = 5) const uint BF16 = 0;   /* the 16-bit format: 0 f16, 1 bf16 */
layout(constant_id = 6) const uint C16 = 0;

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

/* R's address and the step block's are there only with their constants, as CPU drivers read them whatever a flag says. */
bool adds_r()
{
    return (ACT & VKT_MM_RESIDUAL) != 0 && ((ACT & VKT_MM_MICRO) == 0 || p.step.b.micro != 0);
}

/* Ends the sum of element i of C, which is f32, in column n. */
void finish(uint i, uint n, float sum)
{
    float v = 0.0, r = 0.0;
    if ((p.flags & VKT_MM_BIAS) != 0) sum += p.bias.v[n];
    if ((p.flags & VKT_MM_PRE) != 0) p.aux.v[i] = sum;
    if (DERIVATIVE) v = p.aux.v[i];
    if (adds_r()) r = p.r.v[i];
    p.c.v[i] = act_end(sum, v) + r;
}

#ifdef HALF
/* Ends elements i and, where `both`, i + 1, in columns n; where C16 i is even and the word is stored whole. */
void finish_pair(uint i, uvec2 n, vec2 sum, bool both)
{
    if (C16 == 0) {
        finish(i, n.x, sum.x);
        if (both) finish(i + 1, n.y, sum.y);
        return;
    }
    vec2 v = vec2(0.0), r = vec2(0.0);
    if ((p.flags & VKT_MM_BIAS) != 0) {
        sum.x += p.bias.v[n.x];
        if (both) sum.y += p.bias.v[n.y];
    }
    if (!both) sum.y = 0.0;
    if ((p.flags & VKT_MM_PRE) != 0) p.aux16.v[i / 2] = narrow(sum);
    if (DERIVATIVE) v = widen(p.aux16.v[i / 2]);
    if (adds_r()) r = widen(p.r16.v[i / 2]);
    vec2 c = vec2(act_end(sum.x, v.x) + r.x, both ? act_end(sum.y, v.y) + r.y : 0.0);
    p.c16.v[i / 2] = narrow(c);
}
#endif
