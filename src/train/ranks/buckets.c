/* buckets.h */
#include "train/ranks/buckets.h"

/* A parameter larger than a bucket is several pieces, so that adding up one overlaps with the way
 * of the next. */
static void cut(vkt__buckets *b, vkt__range r, uint64_t least)
{
    uint64_t n = VKT_MAX(r.count / least, (uint64_t)1), end = r.count;
    for (uint64_t i = n; i-- > 0;) {
        uint64_t begin = vkt__align(r.count / n * i, 16);
        b->pieces[b->n_pieces++] = (vkt__range) { r.offset + begin, end - begin };
        end = begin;
    }
}

vkt__buckets *vkt__buckets_create(const vkt_model *model, uint64_t least, uint32_t most)
{
    vkt__buckets *b = vkt__alloc(sizeof *b);
    uint64_t first = vkt_model_frozen_flat(model), count = vkt_model_flat_count(model) - first,
             end = count;
    size_t n = 0;
    while (vkt_model_param(model, n)) n++;
    /* Buckets are at most count / least + 1, and so are their pieces together with them. */
    least = VKT_MAX(least, count / (most / 2 - 1) + 1);
    b->whole = vkt__alloc((n + 1) * sizeof *b->whole);
    b->pieces = vkt__alloc((most + 1) * sizeof *b->pieces);
    for (size_t i = n; i-- > 0 && end;) {
        const vkt_param *p = vkt_model_param(model, i);
        if (p->offset < first) continue;
        uint64_t begin = p->offset - first;
        if (end - begin < least && begin) continue;
        b->whole[b->n_whole++] = (vkt__range) { begin, end - begin };
        end = begin;
    }
    if (end) b->whole[b->n_whole++] = (vkt__range) { 0, end };
    for (uint32_t i = 0; i < b->n_whole; i++) cut(b, b->whole[i], least);
    VKT_ASSERT(b->n_pieces <= most);
    return b;
}

void vkt__buckets_destroy(vkt__buckets **pb)
{
    vkt__buckets *b = *pb;
    if (!b) return;
    free(b->whole);
    free(b->pieces);
    free(b);
    *pb = NULL;
}
