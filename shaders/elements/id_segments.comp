#version 460
/* segments [rows + 1]: where each row of the table begins among ids [n] in `order`, as id_order made it; the last: where
 * those begin that name none. One invocation each, by halving. Twin: id_segments_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { id_order_params p; };
#include "id_row.glsl"

void main()
{
    uint row = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, first = 0, end = p.n;
    if (row > p.rows) return;
    while (first < end) {
        uint middle = (first + end) / 2;
        if (row_of(min(p.order.v[middle], p.n - 1)) < row) first = middle + 1;
        else end = middle;
    }
    p.segments.v[row] = first;
}
