#version 460
/* loss[r] = weight[r] mean over c of (x - y)^2; x, y [R, C]. One workgroup per row. Twin: mse_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(push_constant, scalar) uniform Push { mse_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols;
    if (row >= p.rows) return;
    float sum = 0.0;
    for (uint c = gl_LocalInvocationID.x; c < p.cols; c += gl_WorkGroupSize.x) {
        float d = p.x.v[base + c] - p.y.v[base + c];
        sum += d * d;
    }
    sum = wg_add(sum) / float(p.cols);
    if ((p.flags & VKT_XENT_WEIGHT) != 0) sum *= p.weight.v[row];
    if (gl_LocalInvocationID.x == 0) store(p.z, row, sum);
}
