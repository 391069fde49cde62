#version 460
/* dw[k, c] = sum of dy (s - mean) rstd, db[k, c] = sum of dy, over rows [k * chunk, (k + 1) * chunk): one invocation
 * per (k, c), rows in order, neighbours on neighbouring columns. sum_rows adds the chunks. Twin: norm_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint RMS = 0;
layout(constant_id = 4) const uint DY = 0;
layout(constant_id = 5) const uint S = 0;
layout(push_constant, scalar) uniform Push { norm_dw_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint k = i / p.cols, c = i % p.cols;
    if (k >= p.splits) return;
    uint end = min(p.rows, (k + 1) * p.chunk);
    float dw = 0.0, db = 0.0;
    for (uint r = k * p.chunk; r < end; r++) {
        float dy = load(p.dy, DY, r * p.cols + c), s = load(p.s, S, r * p.cols + c);
        if (RMS == 0) s -= p.mean.v[r];
        dw += dy * s * p.rstd.v[r];
        db += dy;
    }
    p.dw.v[i] = dw;
    if ((p.flags & VKT_NORM_BIAS) != 0) p.db.v[i] = db;
}
