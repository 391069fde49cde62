#version 460
/* The chunks' sums of g and g h, in order: of each group [groups, C], and of all, which are db and dw [C]. One invocation
 * per channel. Twin: batch_norm_total_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "together.glsl"

layout(push_constant, scalar) uniform Push { batch_total_params p; };

void main()
{
    uint c = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (c >= p.cols) return;
    float db = 0.0, dw = 0.0;
    for (uint g = 0; g < p.groups; g++) {
        float sum_g = 0.0, sum_gh = 0.0;
        uint k = g * p.per_group, end = k + p.per_group;
        for (; are_together(k, end); k += TOGETHER) {
            float x[TOGETHER], y[TOGETHER];
            [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
                x[j] = p.parts_g.v[(k + j) * p.cols + c];
                y[j] = p.parts_gh.v[(k + j) * p.cols + c];
            }
            [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
                sum_g += x[j];
                sum_gh += y[j];
            }
        }
        for (; k < end; k++) {
            uint from = k * p.cols + c;
            sum_g += p.parts_g.v[from];
            sum_gh += p.parts_gh.v[from];
        }
        p.sum_g.v[g * p.cols + c] = sum_g;
        p.sum_gh.v[g * p.cols + c] = sum_gh;
        db += sum_g;
        dw += sum_gh;
    }
    p.db.v[c] = db;
    p.dw.v[c] = dw;
}
