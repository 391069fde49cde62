#version 460
/* z = f of x, y, w, each with strides of its own: broadcast, permuted, or a part of a tensor. DIMS dimensions: those that all
 * operands walk as one are one. Each invocation computes 4 elements, one per row of the workgroup, so that a subgroup's
 * accesses lie beside each other; with a 16-bit z (whose rows are of an even length) two pairs. Twins: unary_ref,
 * binary_ref, where_ref and those of the ops that move elements. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"
#include "general/functions.glsl"

layout(constant_id = VKT_SPEC_FORM) const uint FORM = 0; /* VKT_ND_* */
layout(constant_id = VKT_SPEC_OP) const uint FN = 0;
layout(constant_id = VKT_SPEC_DIMS) const uint DIMS = 6;
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(constant_id = VKT_SPEC_TYPE_S) const uint W = 0;
layout(constant_id = VKT_SPEC_TYPE_Z) const uint Z = 0;
layout(push_constant, scalar) uniform Push { nd_params p; };

const bool ALONE = FORM == VKT_ND_COPY || FORM == VKT_ND_UNARY;
const bool HAS_W = FORM == VKT_ND_SLOPE_X || FORM == VKT_ND_SLOPE_Y || FORM == VKT_ND_WHERE;

struct places { uint x, y, w; };

places find(uint i)
{
    places a = places(0, 0, 0);
    [[unroll]] for (uint k = VKT_ND_RANK - 1; k > 0; k--) {
        if (k >= DIMS) continue;
        uint q = i / p.d[k - 1], r = i - q * p.d[k - 1];
        a.x += r * p.sx[k], a.y += r * p.sy[k], a.w += r * p.sw[k];
        i = q;
    }
    a.x += i * p.sx[0], a.y += i * p.sy[0], a.w += i * p.sw[0];
    if (ALONE) a.x += p.sw[VKT_ND_FROM];
    return a;
}

float value(places a)
{
    float x = load(p.x, X, a.x), y = 0.0, w = 0.0;
    float s = uintBitsToFloat(p.sw[VKT_ND_S]), t = uintBitsToFloat(p.sw[VKT_ND_T]);
    if (!ALONE) y = load(p.y, Y, a.y);
    if (HAS_W) w = load(p.w, W, a.w);
    if (FORM == VKT_ND_UNARY) return unary(FN, x, s, t);
    if (FORM == VKT_ND_SLOPE) return x * unary_slope(FN, y, s, t);
    if (FORM == VKT_ND_BINARY) return binary(FN, x, y);
    if (FORM == VKT_ND_SLOPE_X) return x * slope_x(FN, y, w);
    if (FORM == VKT_ND_SLOPE_Y) return x * slope_y(FN, y, w);
    if (FORM == VKT_ND_WHERE) return x != 0.0 ? y : w;
    if (FORM == VKT_ND_WHERE_X) return x != 0.0 ? y : 0.0;
    if (FORM == VKT_ND_WHERE_Y) return x != 0.0 ? 0.0 : y;
    return x;
}

/* Where element i of the result lies, from its places a. */
uint target(uint i, places a)
{
    return FORM == VKT_ND_COPY ? a.y + p.sw[VKT_ND_TO] : i;
}

const bool WORDS = X == T_U32, PAIRS_OUT = Z == T_F16 || Z == T_BF16;

/* One after another: written out four times, what is here takes drivers long to compile. */
void main()
{
    uint lane = gl_LocalInvocationID.x, wg = gl_WorkGroupSize.x, first = flat_group() * wg * 4;
    float even = 0.0;
    for (uint k = 0; k < 4; k++) {
        uint i = PAIRS_OUT ? first + k / 2 * wg * 2 + lane * 2 + k % 2 : first + k * wg + lane;
        if (i >= p.n) return;
        places a = find(i);
        uint to = target(i, a);
        /* Whole numbers move as words: as floats they would be subnormal, which a device may take for zero. */
        if (WORDS) {
            p.z.v[to] = p.x.v[a.x];
            continue;
        }
        float z = value(a);
        if (!PAIRS_OUT) store(p.z, to, z);
        else if (k % 2 == 1) store2(p.z, Z, to / 2, vec2(even, z));
        even = z;
    }
}
