#version 460
/* loss[r] = weight[r] mean over c of the loss of x against y; x, y [R, C]. One workgroup per row. Twin: element_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
#include "act.glsl"
#include "element_loss.glsl"

layout(push_constant, scalar) uniform Push { element_loss_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols;
    if (row >= p.rows) return;
    float sum = 0.0;
    for (uint c = gl_LocalInvocationID.x; c < p.cols; c += gl_WorkGroupSize.x) {
        float positive = (p.flags & VKT_XENT_CLASS_WEIGHT) != 0 ? p.positive.v[c] : 1.0;
        sum += element_loss(p.x.v[base + c], p.y.v[base + c], p.delta, positive);
    }
    sum = wg_add(sum) / float(p.cols);
    if ((p.flags & VKT_XENT_WEIGHT) != 0) sum *= p.weight.v[row];
    if (gl_LocalInvocationID.x == 0) store(p.z, row, sum);
}
