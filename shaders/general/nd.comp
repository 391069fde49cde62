#version 460
/* z = f of x, y, w, each with strides of its own: broadcast, permuted, or a part of a tensor. DIMS dimensions: those that all
 * operands walk as one are one. SPAN lanes lie along the last of them and take it unit by unit, the others of a workgroup
 * take its other lines, so that an invocation finds its place once. A unit is an element, or a pair: with a 16-bit z (whose
 * lines are of an even length), and with PAIRS. Twins: unary_ref, binary_ref, where_ref and those of the ops that move
 * elements, convert_ref, one_hot_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act.glsl"
#include "general/functions.glsl"

layout(constant_id = VKT_SPEC_FORM) const uint FORM = 0; /* VKT_ND_* */
layout(constant_id = VKT_SPEC_OP) const uint FN = 0;
layout(constant_id = VKT_SPEC_DIMS) const uint DIMS = 6;
layout(constant_id = VKT_SPEC_SPAN) const uint SPAN = 32; /* a power of two */
layout(constant_id = VKT_SPEC_LIES_X) const uint LIES_X = VKT_LIES_APART;
layout(constant_id = VKT_SPEC_LIES_Y) const uint LIES_Y = VKT_LIES_APART;
layout(constant_id = VKT_SPEC_LIES_W) const uint LIES_W = VKT_LIES_APART;
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(constant_id = VKT_SPEC_TYPE_S) const uint W = 0;
layout(constant_id = VKT_SPEC_TYPE_Z) const uint Z = 0;
layout(push_constant, scalar) uniform Push { nd_params p; };

const bool COPIES = FORM == VKT_ND_COPY, ALONE = COPIES || FORM == VKT_ND_UNARY;
const bool HAS_W = FORM == VKT_ND_SLOPE_X || FORM == VKT_ND_SLOPE_Y || FORM == VKT_ND_WHERE;
/* Whole numbers are copied as words: a float with their bits is subnormal, and devices may flush it to zero. */
bool moves_words() { return COPIES && (X == T_U32 || X == T_F32 && Z == T_F32); }
bool takes_words() { return moves_words() || FORM == VKT_ND_FLOATS || FORM == VKT_ND_HOT; }
#ifdef PAIRS
const uint UNIT = 2;
#else
const uint UNIT = Z == T_F16 || Z == T_BF16 ? 2 : 1;
#endif

struct places { uint x, y, w; };

/* Places of the first element of a line. */
places find(uint line)
{
    places a = places(0, 0, 0);
    [[unroll]] for (uint k = VKT_ND_RANK - 2; k > 0; k--) {
        if (k + 1 >= DIMS) continue;
        uint q = line / p.d[k - 1], r = line - q * p.d[k - 1];
        a.x += r * p.sx[k], a.y += r * p.sy[k], a.w += r * p.sw[k];
        line = q;
    }
    if (DIMS > 1) a.x += line * p.sx[0], a.y += line * p.sy[0], a.w += line * p.sw[0];
    if (ALONE) a.x += p.sw[VKT_ND_FROM];
    if (COPIES) a.y += p.sw[VKT_ND_TO];
    return a;
}

/* Element i of a line that begins at `at`. */
uint element(uint lies, uint at, uint stride, uint i)
{
    return lies == VKT_LIES_ONCE ? at : lies == VKT_LIES_APART ? at + i * stride : at + i;
}

uvec2 get_words(u32s from, uint lies, uint at, uint stride, uint i)
{
#ifdef PAIRS
    if (lies == VKT_LIES_IN_PAIRS) return unpackUint2x32(f32x4s(from).v[at / 2 + i]);
#endif
    uint first = from.v[element(lies, at, stride, i * UNIT)];
    return UNIT == 1 || lies == VKT_LIES_ONCE ? uvec2(first)
                                              : uvec2(first, from.v[element(lies, at, stride, i * UNIT + 1)]);
}

vec2 get(u32s from, uint type, uint lies, uint at, uint stride, uint i)
{
    if (type == T_F32) return uintBitsToFloat(get_words(from, lies, at, stride, i));
    if (UNIT == 2 && lies == VKT_LIES_IN_PAIRS) return load2(from, type, at / 2 + i);
    float first = load(from, type, element(lies, at, stride, i * UNIT));
    return UNIT == 1 || lies == VKT_LIES_ONCE ? vec2(first)
                                              : vec2(first, load(from, type, element(lies, at, stride, i * UNIT + 1)));
}

float value(float x, float y, float w)
{
    float s = uintBitsToFloat(p.sw[VKT_ND_S]), t = uintBitsToFloat(p.sw[VKT_ND_T]);
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

/* x truncated to a whole number, within the range of a word. */
uint word_of(float x)
{
    return x >= 4294967296.0 ? 0xffffffffu : x > 0.0 ? uint(x) : 0;
}

/* What is repeated along a line is read once. */
struct repeated { uvec2 words; vec2 x, y, w; };

repeated find_repeated(places a)
{
    repeated r = repeated(uvec2(0), vec2(0.0), vec2(0.0), vec2(0.0));
    if (takes_words() && LIES_X == VKT_LIES_ONCE) r.words = get_words(p.x, LIES_X, a.x, 0, 0);
    if (!takes_words() && LIES_X == VKT_LIES_ONCE) r.x = get(p.x, X, LIES_X, a.x, 0, 0);
    if (!ALONE && LIES_Y == VKT_LIES_ONCE) r.y = get(p.y, Y, LIES_Y, a.y, 0, 0);
    if (HAS_W && LIES_W == VKT_LIES_ONCE) r.w = get(p.w, W, LIES_W, a.w, 0, 0);
    return r;
}

/* Unit i of a line, whose result begins at `to`. */
void one(places a, repeated r, uint to, uint i)
{
    const uint last = max(DIMS, 1) - 1;
    uint at = COPIES ? element(LIES_Y, to, p.sy[last], i * UNIT) : to + i * UNIT;
    uvec2 words;
    if (takes_words()) {
        words = r.words;
        if (LIES_X != VKT_LIES_ONCE) words = get_words(p.x, LIES_X, a.x, p.sx[last], i);
    }
    if (!moves_words()) {
        vec2 z;
        if (!takes_words() && LIES_X != VKT_LIES_ONCE) r.x = get(p.x, X, LIES_X, a.x, p.sx[last], i);
        if (!ALONE && LIES_Y != VKT_LIES_ONCE) r.y = get(p.y, Y, LIES_Y, a.y, p.sy[last], i);
        if (HAS_W && LIES_W != VKT_LIES_ONCE) r.w = get(p.w, W, LIES_W, a.w, p.sw[last], i);
        z[0] = value(r.x[0], r.y[0], r.w[0]);
        if (UNIT == 2) z[1] = value(r.x[1], r.y[1], r.w[1]);
        if (FORM == VKT_ND_FLOATS) z = vec2(words);
        uint place = LIES_X == VKT_LIES_ONCE ? i * UNIT : 0; /* a dimension of 1 is left out */
        if (FORM == VKT_ND_HOT) z = vec2(words[0] == place, words[1] == place + UNIT - 1);
        if (Z == T_F16 || Z == T_BF16) {
            store2(p.z, Z, at / 2, z);
            return;
        }
        words = FORM == VKT_ND_WORDS ? uvec2(word_of(z[0]), word_of(z[1])) : floatBitsToUint(z);
    }
#ifdef PAIRS
    f32x4s(p.z).v[at / 2] = packUint2x32(words);
#else
    p.z.v[at] = words[0];
#endif
}

void main()
{
    uint wg = gl_WorkGroupSize.x, lane = gl_LocalInvocationID.x, group = flat_group();
    uint size = p.n, units = size / UNIT, lines = p.lines;
    uint parts = (units - 1) / (SPAN * VKT_ND_UNITS) + 1, line = group / parts, i = (group - line * parts) * SPAN * VKT_ND_UNITS;
    if (SPAN < wg) {
        line = line * (wg / SPAN) + lane / SPAN;
        i += lane % SPAN;
    } else {
        i += lane;
    }
    if (line >= lines) return;
    places a = find(line);
    repeated r = find_repeated(a);
    uint to = COPIES ? a.y : line * size;
    [[unroll]] for (uint k = 0; k < VKT_ND_UNITS; k++)
        if (i + k * SPAN < units) one(a, r, to, i + k * SPAN);
}
