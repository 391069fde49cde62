#version 460
/* y[r, c] = table[ids[r], c] (+ pos[start + r % T, c], or counted from where r's document begins: pos[r % T - docs[r],
 * c]); an id or position past its table gives 0. One invocation per element, neighbours on neighbouring columns. Twin: embedding_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { embedding_params p; };

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint r = i / p.cols, c = i % p.cols;
    if (r >= p.rows) return;
    uint id = p.ids.v[r];
    float y = id < p.vocab ? p.table.v[min(id, p.vocab - 1) * p.cols + c] : 0.0;
    if ((p.flags & VKT_EMBED_POS) != 0) {
        uint at = r % p.T;
        if ((p.flags & VKT_EMBED_START) != 0) at += p.start.v[0];
        if ((p.flags & VKT_EMBED_DOCS) != 0) at -= p.docs.v[r];
        if (at < p.n_pos) y += p.pos.v[min(at, p.n_pos - 1) * p.cols + c];
    }
    p.y.v[i] = y;
}
