/* Which blocks of queries and keys meet, for the attention kernels that own BM rows a workgroup and walk BN of the other side at a
 * time (attention_tiled.glsl, attention_units.glsl), included where those and `p` are declared. */
#include "attention_mask.glsl"

/* Which owned rows this workgroup has: x block of rows, y head, z sequence (batch: none). Causal work grows along the
 * blocks: the longest first. */
uvec3 whose(uint rows, uint heads, bool longest_last)
{
    uint blocks = (rows + BM - 1) / BM, g = flat_group(), pairs = heads * p.batch;
    if (g >= blocks * pairs) return uvec3(0, 0, p.batch);
    uint block = g / pairs, pair = g % pairs;
    return uvec3(longest_last ? blocks - 1 - block : block, pair % heads, pair / heads);
}

/* What stands between keys and the queries first ... first + BM - 1 of sequence b, the first at position `start`. */
uvec2 keys_seen(uint b, uint first, uint start)
{
    uint begin = 0, end = p.S, past = start + min(first + BM, p.T);
    if (has(VKT_ATT_CAUSAL) || has(VKT_ATT_START)) end = min(end, past);
    if (p.window > 0) {
        begin = max(start + first + 1, p.window) - p.window;
        end = min(end, past + p.window - 1);
    }
    if (has(VKT_ATT_DOCS) && has(VKT_ATT_CAUSAL)) begin = max(begin, p.docs.v[b * p.T + first]);
    return uvec2(begin, end);
}

/* Whether some query of those, the first at `position`, may not see some key of the tile, or the tile goes past the last. */
bool has_edge(uint tile, uint end, uint position)
{
    return has(VKT_ATT_DOCS) || p.window > 0 || tile + BN > (has(VKT_ATT_CAUSAL) ? min(end, position + 1) : end);
}

/* Those keys below `end` that query t of sequence b, at position `start + t`, sees: the first and how many. A causal
 * query's document ends with it; full attention's documents are compared. */
uvec2 span_of(uint b, uint t, uint start, uint end)
{
    uint i = start + t, first = 0;
    if (has(VKT_ATT_CAUSAL)) end = min(end, i + 1);
    if (p.window > 0) {
        first = max(i + 1, p.window) - p.window;
        end = min(end, i + p.window);
    }
    if (has(VKT_ATT_DOCS) && has(VKT_ATT_CAUSAL)) first = max(first, p.docs.v[b * p.T + t]);
    return uvec2(first, max(end, first) - first);
}

/* Those queries below `end` that see key j, their documents aside: the first and how many. */
uvec2 span_back(uint j, uint end)
{
    uint first = 0;
    if (p.window > 0) {
        first = max(j + 1, p.window) - p.window;
        end = min(end, j + p.window);
    }
    if (has(VKT_ATT_CAUSAL)) first = max(first, j);
    return uvec2(first, max(end, first) - first);
}

/* What stands between queries and the keys first ... past - 1. */
uvec2 queries_seen(uint first, uint past)
{
    uint begin = has(VKT_ATT_CAUSAL) ? first : 0, end = p.T;
    if (p.window > 0) {
        begin = max(begin, max(first + 1, p.window) - p.window);
        end = min(end, past + p.window - 1);
    }
    return uvec2(begin, end);
}

/* Whether some key of those below `past` may not be seen by some query of the tile, or the tile goes past the last. */
bool has_edge_back(uint tile, uint end, uint past)
{
    return has(VKT_ATT_DOCS) || p.window > 0 || tile + BN > end || (has(VKT_ATT_CAUSAL) && tile < past);
}
