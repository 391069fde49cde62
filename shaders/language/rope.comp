#version 460
/* Rotary position embedding: in each of a row's first n_rot / D heads, (a, b) -> (a cos - b sin, b cos + a sin) by the
 * angle of (position, pair), position = start + row % T, or row % T - docs[row], counted from where the row's
 * document begins; the columns after them are copied, and so is what follows a head's first `turning` numbers. Pairs
 * are neighbours (2i, 2i + 1) as published, or halves (i, i + turning / 2) as in Llama's files. Cosines and sines come from a table made in
 * double: shaders' own are only good near zero. One invocation per pair, where x or y has 16 bits per two pairs of one head (D
 * and `turning` are multiples of 4), so y may lie over x. Twin: rope_ref. Su et al. 2021 (2104.09864). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(constant_id = VKT_SPEC_TYPE_Y) const uint Y = 0;
layout(push_constant, scalar) uniform Push { rope_params p; };

const uint PAIRS_EACH = X != T_F32 || Y != T_F32 ? 2 : 1;

/* Pair i of a head's, turned, in a row. */
vec2 turned(vec2 pair, uint row, uint i)
{
    uint at = row % p.T;
    if ((p.flags & VKT_ROPE_START) != 0) at += p.start.v[0];
    if ((p.flags & VKT_ROPE_DOCS) != 0) at -= p.docs.v[row];
    at = min(at, p.n_pos - 1) * p.turning + i;
    float c = p.table.v[at], s = p.table.v[at + p.turning / 2];
    if ((p.flags & VKT_ROPE_BACK) != 0) s = -s;
    return vec2(pair.x * c - pair.y * s, pair.y * c + pair.x * s);
}

void main()
{
    uint g = (flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * PAIRS_EACH;
    if (g >= p.n) return;
    uint pairs = p.head / 2, row = g / (p.cols / 2), in_row = g % (p.cols / 2), i = in_row % pairs;
    uint first = row * p.cols + in_row / pairs * p.head;
    bool turns = i < p.turning / 2 && in_row / pairs * p.head < p.n_rot;
    bool halves = (p.flags & VKT_ROPE_HALVES) != 0 && i < p.turning / 2; /* what does not turn is copied by neighbours */
    if (PAIRS_EACH == 1) {
        uint ia = first + (halves ? i : 2 * i), ib = halves ? ia + p.turning / 2 : ia + 1;
        vec2 pair = vec2(load(p.x, T_F32, ia), load(p.x, T_F32, ib));
        if (turns) pair = turned(pair, row, i);
        store(p.y, ia, pair.x);
        store(p.y, ib, pair.y);
        return;
    }
    /* In words of two numbers: both a and both b, or a pair each. */
    uint wa = (first + (halves ? i : 2 * i)) / 2, wb = halves ? wa + p.turning / 4 : wa + 1;
    vec2 a = load2(p.x, X, wa), b = load2(p.x, X, wb), one = halves ? vec2(a.x, b.x) : a, two = halves ? vec2(a.y, b.y) : b;
    if (turns) {
        one = turned(one, row, i);
        two = turned(two, row, i + 1);
    }
    store2(p.y, Y, wa, halves ? vec2(one.x, two.x) : one);
    store2(p.y, Y, wb, halves ? vec2(one.y, two.y) : two);
}
