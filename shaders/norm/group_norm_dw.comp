#version 460
/* For each image: dw = sum of dy (x - mean) rstd (y here), db = sum of dy (w here), [N, C]: one invocation per image and
 * channel, pixels in order. sum_rows adds the images. dy is b here. Twin: group_norm_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "together.glsl"
#include "group_norm.glsl"

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, image = i / p.cols, c = i - image * p.cols;
    if (image * p.groups >= p.n) return;
    uint group = image * p.groups + c / p.width, first = image * p.pixels * p.cols + c;
    float mean = p.mean.v[group], rstd = p.rstd.v[group], dw = 0.0, db = 0.0;
    uint k = 0;
    for (; are_together(k, p.pixels); k += TOGETHER) {
        float dy[TOGETHER], x[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            dy[j] = p.b.v[first + (k + j) * p.cols];
            x[j] = p.x.v[first + (k + j) * p.cols];
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            dw += dy[j] * (x[j] - mean) * rstd;
            db += dy[j];
        }
    }
    for (; k < p.pixels; k++) {
        float dy = p.b.v[first + k * p.cols];
        dw += dy * (p.x.v[first + k * p.cols] - mean) * rstd;
        db += dy;
    }
    p.y.v[i] = dw;
    p.w.v[i] = db;
}
