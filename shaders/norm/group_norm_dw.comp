#version 460
/* Of each image: dw = sum of dy (x - mean) rstd (y here), db = sum of dy (w here), [N, C]: one invocation per image and
 * channel, pixels in order. sum_rows adds the images. dy is b here. Twin: group_norm_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "group_norm.glsl"

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, image = i / p.cols, c = i - image * p.cols;
    if (image * p.groups >= p.n) return;
    uint group = image * p.groups + c / p.width, first = image * p.pixels * p.cols + c;
    float mean = p.mean.v[group], rstd = p.rstd.v[group], dw = 0.0, db = 0.0;
    for (uint k = 0; k < p.pixels; k++) {
        float dy = p.b.v[first + k * p.cols];
        dw += dy * (p.x.v[first + k * p.cols] - mean) * rstd;
        db += dy;
    }
    p.y.v[i] = dw;
    p.w.v[i] = db;
}
