/* Constants of the pooling kernels and where an invocation works: one line of pixels and one element of channels, so that
 * places are computed once a line (integer division is a loop over the lanes on CPU drivers). */
layout(constant_id = VKT_SPEC_MEAN) const uint MEAN = 0;
layout(constant_id = VKT_SPEC_KH) const uint KH = 2;
layout(constant_id = VKT_SPEC_KW) const uint KW = 2;
layout(constant_id = VKT_SPEC_STRIDE) const uint STRIDE = 2;
layout(constant_id = VKT_SPEC_STRIDE_W) const uint STRIDE_W = 2;
layout(constant_id = VKT_SPEC_COUNTED) const uint COUNTED = 0;
layout(push_constant, scalar) uniform Push { pool_params p; };
#include "elems.glsl"

/* Line `row` of image `image` of [N, rows, ., C] and channel element c; false past the end. */
bool my_line(uint rows, out uint image, out uint row, out uint c)
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, wide = p.c / W, line = i / wide;
    c = i - line * wide;
    image = line / rows;
    row = line - image * rows;
    return line < p.lines;
}

/* What the sum of window (oy, ox) is multiplied by to be its mean. */
float mean_scale(uint oy, uint ox)
{
    if (COUNTED == 0) return p.scale;
    uint y = oy * STRIDE, x = ox * STRIDE_W;
    uint rows = min(y + KH, p.high) - max(y, p.low), cols = min(x + KW, p.high_w) - max(x, p.low_w);
    return 1.0 / float(rows * cols);
}
