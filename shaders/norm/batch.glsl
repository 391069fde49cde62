/* Shared by the batch norm kernels: x [rows, cols] in groups of group_rows (ghost batches; the last may be shorter), each
 * cut in chunks of rows; an invocation works on one chunk and one element of channels. Included where FIXED is declared: by
 * the running mean and variance [C], one group. */
layout(push_constant, scalar) uniform Push { batch_norm_params p; };
#include "elems.glsl"

/* The group of a chunk, and its rows from .x to before .y. */
uvec2 rows_of_chunk(uint chunk, out uint group)
{
    group = chunk / p.per_group;
    uint end = min((group + 1) * p.group_rows, p.rows), begin = group * p.group_rows + (chunk - group * p.per_group) * p.chunk;
    return uvec2(min(begin, end), min(begin + p.chunk, end));
}

/* My chunk, group, channel element, and the rows from .x to before .y; false past the end. */
bool my_chunk(out uint chunk, out uint group, out uint c, out uvec2 rows)
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, wide = p.cols / W;
    chunk = i / wide;
    c = i - chunk * wide;
    rows = rows_of_chunk(chunk, group);
    return group < p.groups;
}

/* 1 / standard deviation; FIXED: out of a variance. */
elem rstd_at(uint i)
{
    elem rstd = LOAD(p.rstd, i);
    return FIXED != 0 ? elem(1.0) / sqrt(rstd + p.eps) : rstd;
}
