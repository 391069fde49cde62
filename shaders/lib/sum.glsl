/* Sums over a workgroup, included after reduce.glsl: sum.comp's, and those that another kernel takes on its way. */
#ifdef PAIRS
#include "ahead.glsl"
#endif

/* This invocation's share of the sum of x[i], or of x[i]^2 where `square`, over [begin, end): strided, by pairs where
 * x is 16-bit or `pairwise` (begin and end are even), by fours where `wide` (multiples of four). */
float sum_share(u32s x, uint type, bool square, bool pairwise, bool wide, uint begin, uint end)
{
    uint first = gl_LocalInvocationID.x, wg = gl_WorkGroupSize.x;
    if (pairwise) {
        vec2 pair = vec2(0.0);
        uint i = begin / 2 + first;
#ifdef PAIRS
        const uint ROWS = LINE / 8; /* as many lines as invocations */
        uint never = 0;
        for (; type == T_F32 && i - first + ROWS * wg <= end / 2; i += ROWS * wg) {
            never += touch(u8s(x), min((i - first + ROWS * wg) * 8 + first * LINE, end * 4 - 1), end);
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                vec2 v = LOAD_PAIR(f32x4s(x), i + r * wg);
                pair += square ? v * v : v;
            }
        }
        i += never;
#endif
        for (; i < end / 2; i += wg) {
            vec2 v = GET_PAIR(x, type, i);
            pair += square ? v * v : v;
        }
        return pair[0] + pair[1];
    }
#ifndef PAIRS
    if (wide) {
        vec4 four = vec4(0.0);
        for (uint i = begin / 4 + first; i < end / 4; i += wg) {
            vec4 v = f32x4s(x).v[i];
            four += square ? v * v : v;
        }
        return (four[0] + four[1]) + (four[2] + four[3]);
    }
#endif
    float s = 0.0;
    for (uint i = begin + first; i < end; i += wg) {
        float v = load(x, T_F32, i);
        s += square ? v * v : v;
    }
    return s;
}
