/* Shared by the group norm kernels: x [N, pixels, C] in groups of `width` channels, one workgroup per image and group,
 * each invocation a strided share of the group's elements, the same in every pass. */
#include "reduce.glsl"
layout(push_constant, scalar) uniform Push { group_norm_params p; };

/* Walks the share without dividing: CPU drivers divide lane by lane. */
struct walk {
    uint at, c, e; /* element of x; channel in the group; element of the group */
};

walk walk_begin(uint first)
{
    uint e = gl_LocalInvocationID.x, pixel = e / p.width;
    return walk(first + pixel * p.cols + e - pixel * p.width, e % p.width, e);
}

void walk_on(inout walk w)
{
    uint rows = gl_WorkGroupSize.x / p.width, rest = gl_WorkGroupSize.x - rows * p.width;
    w.e += gl_WorkGroupSize.x;
    w.c += rest;
    w.at += rows * p.cols + rest;
    if (w.c >= p.width) {
        w.c -= p.width;
        w.at += p.cols - p.width;
    }
}
