#version 460
/* softmax.comp with the row in registers: x is read once, y written once. One workgroup per row. y may lie over x.
 * Twin: softmax_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
#include "row.glsl"

layout(push_constant, scalar) uniform Push { softmax_params p; };

void main()
{
    uint row = flat_group(), base = row * p.cols;
    if (row >= p.rows) return;
    float v[PER], top = uintBitsToFloat(0xff800000u), sum = 0.0;
    ROW_LOAD(v, p.x, base, p.cols)
    [[unroll]] for (uint j = 0; j < PER; j++)
        if (row_column(j) < p.cols && !is_nan(v[j])) top = max(top, v[j]);
    top = wg_max(top);
    [[unroll]] for (uint j = 0; j < PER; j++) {
        if (!is_nan(v[j])) v[j] = exp_below(v[j] - top);
        if (row_column(j) < p.cols) sum += v[j];
    }
    sum = wg_add(sum);
    bool bad = is_bad(top) || is_bad(sum);
    [[unroll]] for (uint j = 0; j < PER; j++) v[j] = bad ? make_nan() : v[j] / sum;
    ROW_STORE(v, p.y, base, p.cols)
}
