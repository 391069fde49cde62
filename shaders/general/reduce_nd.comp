#version 460
/* y = scale * sum of x, or its largest, smallest, ln(sum of exp(x)), sum of |x| or root of the sum of squares, over up to three
 * dimensions; up to three stay. PLACE: where the largest or smallest is, the first of equal ones. APART:
 * an invocation per element of y, for those whose neighbours lie beside each other in x; else a workgroup, each
 * invocation takes a strided share: fixed orders both. A NaN is the largest and the smallest. Twins: reduce_ref, place_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(constant_id = VKT_SPEC_OP) const uint KIND = 0;
layout(constant_id = VKT_SPEC_SPLIT) const uint APART = 0;
layout(constant_id = VKT_SPEC_FORM) const uint PLACE = 0;
layout(constant_id = VKT_SPEC_DIMS) const uint DIMS = 3; /* of those that go */
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(push_constant, scalar) uniform Push { reduce_nd_params p; };

const uint INF = 0x7f800000u;
const bool IS_NORM = KIND == VKT_REDUCE_N_NORM1 || KIND == VKT_REDUCE_N_NORM2;
const bool IS_SUM = KIND == VKT_REDUCE_N_SUM || KIND == VKT_REDUCE_N_MEAN || IS_NORM;

uint place(uint i, uint d[3], uint s[3], uint dims)
{
    if (dims == 1) return i * s[2];
    uint q = i / d[2], r = dims == 2 ? 0 : q / d[1];
    return (i - q * d[2]) * s[2] + (q - r * d[1]) * s[1] + r * s[0];
}

float all_add(float x) { return APART != 0 ? x : wg_add(x); }
float all_max(float x) { return APART != 0 ? x : wg_max(x); }

/* The smallest is the largest of -x. */
float get(uint from, uint j)
{
    float x = load(p.x, X, from + place(j, p.dg, p.sg, DIMS));
    if (IS_NORM) return KIND == VKT_REDUCE_N_NORM1 ? abs(x) : x * x;
    return KIND == VKT_REDUCE_N_MIN ? -x : x;
}

void main()
{
    uint lane = gl_LocalInvocationID.x, wg = gl_WorkGroupSize.x, o = flat_group();
    if (APART != 0) o = o * wg + lane, lane = 0, wg = 1;
    if (o >= p.kept) return;
    uint from = place(o, p.dk, p.sk, 3);
    float sum = 0.0, top = -uintBitsToFloat(INF), nan = 0.0;
    if (!IS_SUM) {
        for (uint j = lane; j < p.gone; j += wg) {
            float x = get(from, j);
            if (is_nan(x)) nan = 1.0;
            top = max(top, x);
        }
        top = all_max(top);
        nan = all_max(nan);
    }
    /* An infinite largest number is the logarithm, too: less it all would be NaN. */
    bool done = KIND != VKT_REDUCE_N_LOGSUMEXP && !IS_SUM || is_bad(top) && !IS_SUM;
    if (!done) {
        for (uint j = lane; j < p.gone; j += wg) sum += IS_SUM ? get(from, j) : exp_below(get(from, j) - top);
        sum = all_add(sum);
    }
    float y = IS_SUM ? p.scale * sum : done ? top : top + log(sum);
    if (KIND == VKT_REDUCE_N_MIN) y = -y;
    if (KIND == VKT_REDUCE_N_NORM2) y = sqrt(y);
    if (nan != 0.0) y = make_nan();
    uint word = floatBitsToUint(y);
    if (PLACE != 0) { /* places are exact as floats: there are at most 2^24 */
        float first = -16777216.0;
        for (uint j = lane; j < p.gone; j += wg) {
            float x = get(from, j);
            if (nan != 0.0 ? is_nan(x) : x == top) first = max(first, -float(j));
        }
        word = uint(-all_max(first));
    }
    if (lane == 0) p.y.v[o] = word;
}
