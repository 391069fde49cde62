#version 460
/* dlogits[c] = (a + b S) q - b cw[c] - a [c = t], q = exp(x[c] - top - lse), a = k (1 - e) cw[t], b = k e / V,
 * S = sum of cw, k = weight[r] dloss[r]; 0 in rows that don't count, NaN where lse is. One workgroup per row, one
 * element at a time, so that dlogits may lie over the logits; a pair at a time where dlogits is 16-bit (V even). Twin: xent_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint DX = 0;
layout(push_constant, scalar) uniform Push { xent_params p; };

const uint UNIT = DX != T_F32 ? 2 : 1;

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
    for (uint first = gl_LocalInvocationID.x * UNIT; first < p.cols; first += gl_WorkGroupSize.x * UNIT) {
        vec2 dx = vec2(0.0);
        [[unroll]] for (uint u = 0; u < UNIT; u++) {
            uint c = first + u;
            float d = 0.0;
            if (counts && is_nan(lse)) d = lse;
            if (counts && !is_nan(lse)) {
                d = both * exp_below(p.logits.v[base + c] - top - lse);
                if (smoothed) d -= b * (weighted ? p.class_weight.v[c] : 1.0);
                if (c == t) d -= a;
            }
            dx[u] = d;
        }
        store_unit(p.dlogits, DX, DX != T_F32, (base + first) / UNIT, dx);
    }
}
