#version 460
/* y [n, oh, ow, c] from x [n, h, w, c], nearest, bilinear or means of areas: one invocation per element of y. Twin: resize_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "general/resize.glsl"

float at(uint image, uint y, uint x, uint c)
{
    return p.x.v[((image * p.h + y) * p.w + x) * p.c + c];
}

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.n * p.oh * p.ow * p.c) return;
    uint pixel = i / p.c, c = i - pixel * p.c, row = pixel / p.ow, ox = pixel - row * p.ow, image = row / p.oh;
    if (KIND == VKT_RESIZE_N_AREA) {
        area rows = area_of(row - image * p.oh, p.oh, p.h), cols = area_of(ox, p.ow, p.w);
        float all = 0.0;
        for (uint y = rows.first; y < rows.end; y++)
            for (uint x = cols.first; x < cols.end; x++) all += at(image, y, x, c);
        p.y.v[i] = all / float((rows.end - rows.first) * (cols.end - cols.first));
        return;
    }
    tap v = tap_of(row - image * p.oh, p.oh, p.h, p.scale_h), u = tap_of(ox, p.ow, p.w, p.scale_w);
    float sum = (1.0 - v.next) * (1.0 - u.next) * at(image, v.first, u.first, c);
    if (u.next > 0.0) sum += (1.0 - v.next) * u.next * at(image, v.first, u.first + 1, c);
    if (v.next > 0.0) sum += v.next * (1.0 - u.next) * at(image, v.first + 1, u.first, c);
    if (u.next > 0.0 && v.next > 0.0) sum += v.next * u.next * at(image, v.first + 1, u.first + 1, c);
    p.y.v[i] = sum;
}
