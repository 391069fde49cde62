#version 460
/* y = act(conv(x, w) + bias) or its transpose for CPU drivers that neither unroll loops nor have cheap subgroup operations
 * (SwiftShader), as matmul_block does products: one invocation computes 8 output pixels of 4 channels, written out so that
 * nothing is indexed; a workgroup's channels lie side by side. k = (kh, kw, c) in order; where a tap meets x is found once
 * for all its channels. Pixels and channels past the end are the last ones and aren't stored. Twin: conv_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "conv_tile.glsl"

/* Four pixels of a phase. */
struct four {
    uvec4 image, row, col;
};

four pixels_from(uint m, tile t)
{
    uvec4 at = min(uvec4(m) + uvec4(0, 1, 2, 3), uvec4(t.pixels - 1)), line = at / t.cols, image = line / t.rows;
    return four(image, (line - image * t.rows) * step_y() + t.py, (at - line * t.cols) * step_x() + t.px);
}

/* As tap_at. */
uvec4 taps_at(uvec4 o, uint moved, uint pad, uint stride)
{
    return TRANSPOSED == 0 ? o * stride + moved - pad : (o + pad - moved) / stride;
}

/* Where each pixel's tap lies in x; outside the image false, and somewhere that can be read. */
uvec4 meet(four o, uint kh, uint kw, out bvec4 ok)
{
    uvec4 y = taps_at(o.row, kh * dilation_h(), p.pad, STRIDE), x = taps_at(o.col, kw * dilation_w(), p.pad_w, STRIDE_W);
    ok = equal(uvec4(greaterThanEqual(y, uvec4(p.h))) | uvec4(greaterThanEqual(x, uvec4(p.wd))), uvec4(0));
    return mix(uvec4(0), ((o.image * p.h + y) * p.wd + x) * p.c, ok);
}

vec4 load4(uvec4 i, bvec4 ok)
{
    return mix(vec4(0.0), vec4(p.x.v[i.x], p.x.v[i.y], p.x.v[i.z], p.x.v[i.w]), ok);
}

void store1(uint pixel, uint first, uint n, float sum)
{
    if (n >= p.co / p.groups) return;
    if ((p.flags & VKT_MM_BIAS) != 0) sum += p.bias.v[first + n];
    finish(pixel * p.co + first + n, sum);
}

void store4(tile t, uint m, uvec4 n, uint image, uint row, uint col, vec4 sum)
{
    uint pixel = (image * p.oh + row) * p.ow + col, first = t.group * (p.co / p.groups);
    if (m >= t.pixels) return;
    store1(pixel, first, n.x, sum.x);
    store1(pixel, first, n.y, sum.y);
    store1(pixel, first, n.z, sum.z);
    store1(pixel, first, n.w, sum.w);
}

void main()
{
    uint wg = gl_WorkGroupSize.x, width = p.co / p.groups;
    tile t;
    if (!tile_at(8, 4 * wg, t)) return;
    four a = pixels_from(t.m0, t), b = pixels_from(t.m0 + 4, t);
    uvec4 n = uvec4(t.n0 + gl_LocalInvocationID.x) + wg * uvec4(0, 1, 2, 3);
    uvec4 columns = min(n, uvec4(width - 1)) + t.group * width;
    vec4 c0 = vec4(0.0), c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0, c7 = c0;
    taps th = taps_down(t), tw = taps_across(t);
    for (uint h = 0; h < th.n; h++)
        for (uint v = 0; v < tw.n; v++) {
            uint kh = th.first + h * th.step, kw = tw.first + v * tw.step;
            bvec4 in_a, in_b;
            uvec4 ia = meet(a, kh, kw, in_a) + t.group * p.ci, ib = meet(b, kh, kw, in_b) + t.group * p.ci;
            uvec4 iw = (kh * p.kw + kw) * p.ci * p.co + columns;
            if (!any(in_a) && !any(in_b)) continue;
            for (uint c = 0; c < p.ci; c++) {
                vec4 w = vec4(p.w.v[iw.x], p.w.v[iw.y], p.w.v[iw.z], p.w.v[iw.w]);
                vec4 xa = load4(ia, in_a), xb = load4(ib, in_b);
                c0 += xa.x * w;
                c1 += xa.y * w;
                c2 += xa.z * w;
                c3 += xa.w * w;
                c4 += xb.x * w;
                c5 += xb.y * w;
                c6 += xb.z * w;
                c7 += xb.w * w;
                ia++;
                ib++;
                iw += p.co;
            }
        }
    store4(t, t.m0, n, a.image.x, a.row.x, a.col.x, c0);
    store4(t, t.m0 + 1, n, a.image.y, a.row.y, a.col.y, c1);
    store4(t, t.m0 + 2, n, a.image.z, a.row.z, a.col.z, c2);
    store4(t, t.m0 + 3, n, a.image.w, a.row.w, a.col.w, c3);
    store4(t, t.m0 + 4, n, b.image.x, b.row.x, b.col.x, c4);
    store4(t, t.m0 + 5, n, b.image.y, b.row.y, b.col.y, c5);
    store4(t, t.m0 + 6, n, b.image.z, b.row.z, b.col.z, c6);
    store4(t, t.m0 + 7, n, b.image.w, b.row.w, b.col.w, c7);
}
