#version 460
/* dx (y here) = rstd (g - mean(g) - h mean(g h)), g = dy w, h = (x - mean) rstd, means over the group; dx may lie over dy
 * (b here). Twin: group_norm_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "group_norm.glsl"

void main()
{
    uint i = flat_group(), image = i / p.groups, channel = (i - image * p.groups) * p.width;
    uint first = image * p.pixels * p.cols + channel, n = p.pixels * p.width;
    if (i >= p.n) return;
    float mean = p.mean.v[i], rstd = p.rstd.v[i], sum_g = 0.0, sum_gh = 0.0;
    for (walk k = walk_begin(first); k.e < n; walk_on(k)) {
        float g = p.b.v[k.at] * p.w.v[channel + k.c];
        sum_g += g;
        sum_gh += g * (p.x.v[k.at] - mean) * rstd;
    }
    float mean_g = wg_add(sum_g) / float(n), mean_gh = wg_add(sum_gh) / float(n);
    for (walk k = walk_begin(first); k.e < n; walk_on(k))
        p.y.v[k.at] = rstd * (p.b.v[k.at] * p.w.v[channel + k.c] - mean_g - (p.x.v[k.at] - mean) * rstd * mean_gh);
}
