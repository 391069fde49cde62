/* Which keys a query sees, for all attention kernels, included where `p` is declared. */
#include "cap.glsl"

const float NEVER = -1e30; /* score of what is masked: no inf - inf */

bool has(uint flag)
{
    return (p.flags & flag) != 0;
}

/* Whether the query at position i sees the key at j. */
bool sees(uint i, uint j, uint doc_i, uint doc_j)
{
    if (has(VKT_ATT_CAUSAL) && j > i) return false;
    if (p.window > 0 && (i >= j + p.window || j >= i + p.window)) return false;
    return doc_i == doc_j;
}
