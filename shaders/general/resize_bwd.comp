#version 460
/* dx [n, h, w, c], here y, from dy [n, oh, ow, c], here x: one invocation per element, over those of dy that it may have gone
 * into, in order. Twin: resize_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "general/resize.glsl"

/* What element y of n weighs in a result's element. */
float weight(tap t, uint y)
{
    return t.first == y ? 1.0 - t.next : t.first + 1 == y ? t.next : 0.0;
}

/* The same of element o's mean. */
float share_of(uint o, uint of, uint n, uint y)
{
    area a = area_of(o, of, n);
    return y >= a.first && y < a.end ? 1.0 / float(a.end - a.first) : 0.0;
}

float weight_of(uint o, uint of, uint n, float scale, uint y)
{
    return KIND == VKT_RESIZE_N_AREA ? share_of(o, of, n, y) : weight(tap_of(o, of, n, scale), y);
}

/* The first result that element y may be in, and what follows the last: those between (y - 1) and (y + 2) scales, and one more
 * at either end. */
uint begin_of(uint y, uint of, uint n) { return max((max(y, 1) - 1) * of / n, 1) - 1; }
uint end_of(uint y, uint of, uint n) { return min(of, (y + 2) * of / n + 2); }

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n * p.h * p.w * p.c) return;
    uint pixel = i / p.c, c = i - pixel * p.c, row = pixel / p.w, x = pixel - row * p.w, image = row / p.h,
         y = row - image * p.h;
    float sum = 0.0;
    for (uint oy = begin_of(y, p.oh, p.h); oy < end_of(y, p.oh, p.h); oy++) {
        float v = weight_of(oy, p.oh, p.h, p.scale_h, y);
        if (v == 0.0) continue;
        for (uint ox = begin_of(x, p.ow, p.w); ox < end_of(x, p.ow, p.w); ox++) {
            float u = weight_of(ox, p.ow, p.w, p.scale_w, x);
            if (u != 0.0) sum += v * u * p.x.v[((image * p.oh + oy) * p.ow + ox) * p.c + c];
        }
    }
    p.y.v[i] = sum;
}
