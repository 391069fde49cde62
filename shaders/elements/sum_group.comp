#version 460
/* y[i][c] = sum over rows of x[i][r, c], of several matrices i in one dispatch, for GPUs: a workgroup takes BESIDE columns of one,
 * its lanes the rows in turn, and their sums are added in a tree. Twins: sum_group_ref, sum_rows_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "together.glsl"

layout(constant_id = VKT_SPEC_BESIDE) const uint BESIDE = 1;
layout(push_constant, scalar) uniform Push { sum_group_params p; };

shared float sums[gl_WorkGroupSize.x];

/* Sums columns BESIDE g to BESIDE (g + 1) - 1; every invocation calls. */
void sum_columns(f32s x, f32s y, uint rows, uint cols, uint g)
{
    uint me = gl_LocalInvocationID.x, c = g * BESIDE + me % BESIDE, lanes = gl_WorkGroupSize.x / BESIDE, lane = me / BESIDE,
         r = lane, end = c < cols ? rows : 0;
    float sum = 0.0;
    for (; r + (TOGETHER - 1) * lanes < end; r += TOGETHER * lanes) {
        float v[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) v[j] = x.v[(r + j * lanes) * cols + c];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) sum += v[j];
    }
    for (; r < end; r += lanes) sum += x.v[r * cols + c];
    sums[me] = sum;
    barrier();
    for (uint s = lanes / 2; s > 0; s >>= 1) {
        if (lane < s) sums[me] += sums[me + s * BESIDE];
        barrier();
    }
    if (lane == 0 && c < cols) y.v[c] = sums[me];
}

void main()
{
    uint g = flat_group(), which = VKT_GROUPED;
    [[unroll]] for (uint i = 0; i < VKT_GROUPED; i++) {
        uint blocks = (p.cols[i] + BESIDE - 1) / BESIDE;
        if (which != VKT_GROUPED) continue;
        if (g < blocks) which = i;
        else g -= blocks;
    }
    [[unroll]] for (uint i = 0; i < VKT_GROUPED; i++)
        if (which == i) sum_columns(p.x[i], p.y[i], p.rows[i], p.cols[i], g);
}
