#version 460
/* softmax_bwd.comp with the row in registers: dy and y are read once, dx written once. One workgroup per row. dx may lie
 * over dy. Twin: softmax_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
#include "row.glsl"

layout(push_constant, scalar) uniform Push { softmax_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols;
    if (row >= p.rows) return;
    float d[PER], y[PER], sum = 0.0;
    ROW_LOAD(d, p.dy, base, p.cols)
    ROW_LOAD(y, p.x, base, p.cols)
    [[unroll]] for (uint j = 0; j < PER; j++) sum += d[j] * y[j];
    sum = wg_add(sum);
    [[unroll]] for (uint j = 0; j < PER; j++) d[j] = y[j] * (d[j] - sum);
    ROW_STORE(d, p.y, base, p.cols)
}
