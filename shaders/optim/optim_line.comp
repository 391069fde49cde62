#version 460
/* Means of squares of the rows of a matrix, or (COLUMNS) of its columns, move on: kept += share (mean (scale g)^2 - kept). A workgroup
 * has a row: an invocation adds every WORKGROUP-th element, then wg_add. Or it has WIDTH neighbouring columns: the invocations of a
 * column each add the rows at a fixed distance, then one of them adds these sums in order. Nothing is written when the step is not ok.
 * Twin: line_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"

layout(constant_id = VKT_SPEC_OF_COLUMNS) const uint COLUMNS = 0;
layout(push_constant, scalar) uniform Push { optim_line_params p; };

shared float part[gl_WorkGroupSize.x];

void move(uint i, float sum, uint n)
{
    float scale = p.scalars.s.scale, kept = p.kept.v[i];
    p.kept.v[i] = kept + p.step.b.adam_v * (scale * scale * sum / float(n) - kept);
}

void main()
{
    if (p.scalars.s.ok == 0.0) return;
    uint lane = gl_LocalInvocationID.x, size = gl_WorkGroupSize.x;
    if (COLUMNS == 0) {
        uint row = flat_group();
        if (row >= p.rows) return;
        float sum = 0.0;
        for (uint c = lane; c < p.cols; c += size) {
            float g = p.grad.v[row * p.cols + c];
            sum += g * g;
        }
        sum = wg_add(sum);
        if (lane == 0) move(row, sum, p.cols);
        return;
    }
    uint width = min(size, 32), col = flat_group() * width + lane % width;
    float sum = 0.0;
    if (col < p.cols)
        for (uint r = lane / width; r < p.rows; r += size / width) {
            float g = p.grad.v[r * p.cols + col];
            sum += g * g;
        }
    part[lane] = sum;
    barrier();
    if (lane >= width || col >= p.cols) return;
    for (uint i = lane + width; i < size; i += width) sum += part[i];
    move(col, sum, p.rows);
}
