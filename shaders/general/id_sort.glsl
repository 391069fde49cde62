/* What places are sorted by, of the element that they name: ids [outer, from, inner] of an axis of `to` elements. An id past the end
 * names none and comes last. */
#ifndef VKT_ID_SORT_GLSL
#define VKT_ID_SORT_GLSL

layout(push_constant, scalar) uniform Push { id_sort_params p; };

uint key(uint j)
{
    uint line = j / p.inner, i = j - line * p.inner, o = line / p.from, id = p.ids.v[j];
    return id < p.to ? (o * p.to + id) * p.inner + i : 0xffffffff;
}

/* How many of the sorted places x[from .. end) have keys below `than`, or up to it. */
uint below(uint from, uint end, uint than, bool equal)
{
    uint low = from;
    while (low < end) {
        uint mid = low + (end - low) / 2, k = key(p.x.v[mid]);
        if (k < than || (equal && k == than))
            low = mid + 1;
        else
            end = mid;
    }
    return low - from;
}

#endif
