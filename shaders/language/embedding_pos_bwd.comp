#version 460
/* dpos[t, c] = sum of dy over the rows at position t, sequence by sequence, 0 where there are none. Position t of a sequence
 * is its row t; where documents are separate, row t of each of them, which are found from the last to the first: docs[r] is
 * where r's document begins, the row before it the last of another. One invocation per element, neighbours on neighbouring
 * columns. Twin: embedding_pos_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { embedding_pos_bwd_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint t = i / p.cols, c = i % p.cols;
    if (t >= p.n) return;
    float sum = 0.0;
    if (t < p.T && (p.flags & VKT_EMBED_DOCS) == 0)
        for (uint r = t; r < p.rows; r += p.T) sum += p.dy.v[r * p.cols + c];
    else if (t < p.T)
        for (uint end = p.rows; end > 0;) { /* the rows before `end` are left, `end` begins a document */
            uint first = (end - 1) / p.T * p.T, begin = first + min(p.docs.v[end - 1], end - 1 - first);
            if (t < end - begin) sum += p.dy.v[(begin + t) * p.cols + c];
            end = begin;
        }
    p.dx.v[i] = sum;
}
