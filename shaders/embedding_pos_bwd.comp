#version 460
/* dpos[t, c] = sum over sequences of dy[b, t, c], 0 for positions that no sequence reaches. One invocation per
 * element, neighbours on neighbouring columns. Twin: embedding_pos_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { embedding_bwd_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint t = i / p.cols, c = i % p.cols;
    if (t >= p.n) return;
    float sum = 0.0;
    if (t < p.T)
        for (uint r = t; r < p.rows; r += p.T) sum += p.dy.v[r * p.cols + c];
    p.dx.v[i] = sum;
}
