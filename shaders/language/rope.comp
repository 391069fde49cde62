#version 460
/* Rotary position embedding: in each of a row's first n_rot / D heads, (a, b) -> (a cos - b sin, b cos + a sin) by the
 * angle of (position, pair), position = start + row % T, or row % T - docs[row], counted from where the row's
 * document begins; the columns after them are copied, and so is what follows a head's first `turning` numbers. Pairs
 * are neighbours (2i, 2i + 1) as published, or halves (i, i + turning / 2) as in Llama's files. Cosines and sines come from a table made in
 * double: shaders' own are only good near zero. One invocation per pair, so y may lie over x. Twin: rope_ref. Su et
 * al. 2021 (2104.09864). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { rope_params p; };

void main()
{
    uint g = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (g >= p.n) return;
    uint pairs = p.head / 2, row = g / (p.cols / 2), in_row = g % (p.cols / 2), i = in_row % pairs;
    uint first = row * p.cols + in_row / pairs * p.head;
    bool halves = (p.flags & VKT_ROPE_HALVES) != 0;
    uint turning = p.turning / 2;
    bool turns = i < turning && in_row / pairs * p.head < p.n_rot;
    halves = halves && i < turning; /* what does not turn is copied by neighbours */
    uint ia = first + (halves ? i : 2 * i), ib = halves ? ia + turning : ia + 1;
    float a = p.x.v[ia], b = p.x.v[ib];
    if (turns) {
        uint at = row % p.T;
        if ((p.flags & VKT_ROPE_START) != 0) at += p.start.v[0];
        if ((p.flags & VKT_ROPE_DOCS) != 0) at -= p.docs.v[row];
        at = min(at, p.n_pos - 1) * p.turning + i;
        float c = p.table.v[at], s = p.table.v[at + turning], a0 = a;
        if ((p.flags & VKT_ROPE_BACK) != 0) s = -s;
        a = a0 * c - b * s;
        b = b * c + a0 * s;
    }
    p.y.v[ia] = a;
    p.y.v[ib] = b;
}
