#version 460
/* y = (x - mean) rstd w + b over each image's groups of channels. Centred two-pass variance. Twin: group_norm_ref. Wu & He
 * 2018 (1803.08494). */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "group_norm.glsl"

void main()
{
    uint g = flat_group(), image = g / p.groups, channel = (g - image * p.groups) * p.width;
    uint first = image * p.pixels * p.cols + channel, n = p.pixels * p.width;
    if (g >= p.n) return;
    float sum = 0.0, squares = 0.0;
    for (walk k = walk_begin(first); k.e < n; walk_on(k)) sum += p.x.v[k.at];
    float mean = wg_add(sum) / float(n);
    for (walk k = walk_begin(first); k.e < n; walk_on(k)) {
        float d = p.x.v[k.at] - mean;
        squares += d * d;
    }
    float rstd = 1.0 / sqrt(wg_add(squares) / float(n) + p.eps);
    for (walk k = walk_begin(first); k.e < n; walk_on(k))
        p.y.v[k.at] = (p.x.v[k.at] - mean) * rstd * p.w.v[channel + k.c] + p.b.v[channel + k.c];
    if (gl_LocalInvocationID.x != 0) return;
    p.mean.v[g] = mean;
    p.rstd.v[g] = rstd;
}
