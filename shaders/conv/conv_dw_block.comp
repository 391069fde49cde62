#version 460
/* dw[s, kh, kw, c, n] = sum of x[pixel at the tap, c] dy[pixel, n] over slice s of the output's rows, for CPU drivers as
 * conv_block: one invocation computes 8 channels c of one tap by 4 channels n, written out, pixels in order; those of a line
 * that the tap meets are known beforehand. Channels past the end are the last ones and aren't stored. w is dy here, y is
 * dw. Twin: conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"

/* Of channel c, whose row of the group's dw begins at element `at`. */
void store4(uint at, uint c, uvec4 n, vec4 sum)
{
    uint width = p.co / p.groups;
    if (c >= p.ci) return;
    if (n.x < width) p.y.v[at + n.x] = sum.x;
    if (n.y < width) p.y.v[at + n.y] = sum.y;
    if (n.z < width) p.y.v[at + n.z] = sum.z;
    if (n.w < width) p.y.v[at + n.w] = sum.w;
}

void main()
{
    uint wg = gl_WorkGroupSize.x, width = p.co / p.groups, taps = p.kh * p.kw, lines = p.pixels / p.ow, g = flat_group();
    uint c_tiles = (p.ci + 7) / 8, n_tiles = (width + 4 * wg - 1) / (4 * wg);
    uint c0 = g % c_tiles * 8, tap = g / c_tiles % taps, rest = g / c_tiles / taps;
    uint n0 = rest % n_tiles * 4 * wg, group = rest / n_tiles % p.groups, s = rest / n_tiles / p.groups;
    if (s > 0 && s * p.slice >= lines) return;
    uint kh = tap / p.kw, kw = tap - kh * p.kw;
    uvec4 n = uvec4(n0 + gl_LocalInvocationID.x) + wg * uvec4(0, 1, 2, 3), columns = min(n, uvec4(width - 1)) + group * width;
    uvec4 ca = min(uvec4(c0) + uvec4(0, 1, 2, 3), uvec4(p.ci - 1)) + group * p.ci;
    uvec4 cb = min(uvec4(c0) + uvec4(4, 5, 6, 7), uvec4(p.ci - 1)) + group * p.ci;

    /* Columns that meet x: 0 <= col STRIDE_W + shift - pad < wd. */
    uint shift = kw * dilation_w(), first = p.pad_w > shift ? (p.pad_w - shift + STRIDE_W - 1) / STRIDE_W : 0;
    uint past = p.wd + p.pad_w > shift ? min((p.wd + p.pad_w - shift + STRIDE_W - 1) / STRIDE_W, p.ow) : 0;
    vec4 s0 = vec4(0.0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (uint line = s * p.slice, end = min(line + p.slice, lines); line < end; line++) {
        uint image = line / p.oh, y;
        if (!row_at(line - image * p.oh, kh, y)) continue;
        uint at = ((image * p.h + y) * p.wd + first * STRIDE_W + shift - p.pad_w) * p.c;
        uvec4 ia = ca + at, ib = cb + at, id = (line * p.ow + first) * p.co + columns;
        for (uint col = first; col < past; col++) {
            vec4 dy = vec4(p.w.v[id.x], p.w.v[id.y], p.w.v[id.z], p.w.v[id.w]);
            s0 += p.x.v[ia.x] * dy;
            s1 += p.x.v[ia.y] * dy;
            s2 += p.x.v[ia.z] * dy;
            s3 += p.x.v[ia.w] * dy;
            s4 += p.x.v[ib.x] * dy;
            s5 += p.x.v[ib.y] * dy;
            s6 += p.x.v[ib.z] * dy;
            s7 += p.x.v[ib.w] * dy;
            ia += STRIDE_W * p.c;
            ib += STRIDE_W * p.c;
            id += p.co;
        }
    }
    uint to = ((s * taps + tap) * p.ci + c0) * p.co + group * width;
    store4(to, c0, n, s0);
    store4(to + p.co, c0 + 1, n, s1);
    store4(to + 2 * p.co, c0 + 2, n, s2);
    store4(to + 3 * p.co, c0 + 3, n, s3);
    store4(to + 4 * p.co, c0 + 4, n, s4);
    store4(to + 5 * p.co, c0 + 5, n, s5);
    store4(to + 6 * p.co, c0 + 6, n, s6);
    store4(to + 7 * p.co, c0 + 7, n, s7);
}
