#version 460
/* dlogits[c] = (a + b S) q - b cw[c] - a [c = t], q = exp(x[c] - top - lse), a = k (1 - e) cw[t], b = k e / V,
 * S = sum of cw, k = weight[r] dloss[r]; 0 in rows that don't count, NaN where lse is. One workgroup per row, one
 * element at a time, so that dlogits may lie over the logits. Twin: xent_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { xent_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols;
    if (row >= p.rows) return;
    uint t = p.target.v[row];
    bool weighted = (p.flags & VKT_XENT_CLASS_WEIGHT) != 0, smoothed = p.smoothing > 0.0;
    bool counts = t < p.cols && t + 1 != p.ignore;
    if (!counts) t = 0; /* a driver may load before it looks at the branch */
    float top = p.top.v[row], lse = p.lse.v[row], k = counts ? 1.0 : 0.0;
    if ((p.flags & VKT_XENT_WEIGHT) != 0) k *= p.weight.v[row];
    if ((p.flags & VKT_XENT_DLOSS) != 0) k *= p.dloss.v[row];
    float a = k * (1.0 - p.smoothing), b = k * p.smoothing / float(p.cols), both = a + b * float(p.cols);
    if (weighted && counts) {
        a *= p.class_weight.v[t];
        both = a;
        if (smoothed) both += b * p.class_sum.v[0];
    }
    for (uint c = gl_LocalInvocationID.x; c < p.cols; c += gl_WorkGroupSize.x) {
        float d = 0.0;
        if (counts && is_nan(lse)) d = lse;
        if (counts && !is_nan(lse)) {
            d = both * exp_below(p.logits.v[base + c] - top - lse);
            if (smoothed) d -= b * (weighted ? p.class_weight.v[c] : 1.0);
            if (c == t) d -= a;
        }
        p.dlogits.v[base + c] = d;
    }
}
