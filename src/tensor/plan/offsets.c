/* Where planned tensors lie in the slab: each for the levels at which it lives, beside every other
 * that lives then. Optimal packing is NP-hard; here several orders of placing are tried, then the
 * best one is mended by placing those tensors earlier that stick out, until the slab is as small as
 * the largest sum of tensors alive at one level, or nothing helps. */
#include "tensor/graph/graph.h"
#include "tensor/plan/gaps.h"
#include "tensor/plan/levels.h"
#include "tensor/plan/offsets.h"

/* Places all[] in their order; returns the slab's bytes. Ends early where they are more than
 * `most`. */
static uint64_t place(const vkt_graph *g, vkt_tensor *const *all, size_t n, vkt__gaps *placed,
                      bool tightest, uint64_t most)
{
    uint64_t slab = 0;
    vkt__gaps_clear(placed);
    for (size_t i = 0; i < n && slab <= most; i++) {
        vkt_tensor *t = all[i];
        uint64_t bytes = vkt__footprint(g, t);
        t->offset = vkt__gaps_find(placed, bytes, t->first, t->last, tightest);
        slab = VKT_MAX(slab, t->offset + bytes);
        vkt__gaps_add(placed, &(vkt__placed) { t->offset, t->offset + bytes, t->first, t->last });
    }
    return slab;
}

/* ---- orders ---- */

static int larger_first(const void *pa, const void *pb)
{
    const vkt_tensor *a = *(vkt_tensor *const *)pa, *b = *(vkt_tensor *const *)pb;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static int larger_and_longer_first(const void *pa, const void *pb)
{
    const vkt_tensor *a = *(vkt_tensor *const *)pa, *b = *(vkt_tensor *const *)pb;
    uint64_t x = a->bytes * (a->last - a->first + 1ull), y = b->bytes * (b->last - b->first + 1ull);
    if (x != y) return x > y ? -1 : 1;
    return larger_first(pa, pb);
}

static int longer_first(const void *pa, const void *pb)
{
    const vkt_tensor *a = *(vkt_tensor *const *)pa, *b = *(vkt_tensor *const *)pb;
    uint32_t x = a->last - a->first, y = b->last - b->first;
    if (x != y) return x > y ? -1 : 1;
    return larger_first(pa, pb);
}

static int earlier_first(const void *pa, const void *pb)
{
    const vkt_tensor *a = *(vkt_tensor *const *)pa, *b = *(vkt_tensor *const *)pb;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return longer_first(pa, pb);
}

static int later_first(const void *pa, const void *pb)
{
    const vkt_tensor *a = *(vkt_tensor *const *)pa, *b = *(vkt_tensor *const *)pb;
    if (a->last != b->last) return a->last > b->last ? -1 : 1;
    return longer_first(pa, pb);
}

static int (*const orders[])(const void *, const void *) = {
    larger_first, larger_and_longer_first, longer_first, earlier_first, later_first,
};

/* ---- the search ---- */

typedef struct {
    vkt_graph *g;
    vkt_tensor **order, **rest, **best_order;
    vkt__gaps placed;
    uint64_t *best; /* offsets, by place in best_order */
    size_t n;
    uint64_t bytes, bound;
    bool tightest; /* of the best */
} search;

/* Places in the order as it is, and remembers it if none was better so far. whole: raise_top
 * comes next and looks at where all of them lie, also in an order that is no better. */
static void attempt(search *s, bool tightest, bool whole)
{
    uint64_t most = whole ? UINT64_MAX : s->bytes;
    uint64_t bytes = place(s->g, s->order, s->n, &s->placed, tightest, most);
    if (bytes > s->bytes) return;
    s->bytes = bytes;
    s->tightest = tightest;
    for (size_t i = 0; i < s->n; i++) {
        s->best_order[i] = s->order[i];
        s->best[i] = s->order[i]->offset;
    }
}

/* Moves to the front of the order every tensor that reaches into the slab's top `share`. */
static void raise_top(search *s, uint32_t share)
{
    size_t front = 0, n_rest = 0;
    uint64_t high = s->bytes - s->bytes / share;
    for (size_t i = 0; i < s->n; i++) {
        vkt_tensor *t = s->order[i];
        if (t->offset + vkt__footprint(s->g, t) > high)
            s->order[front++] = t;
        else
            s->rest[n_rest++] = t;
    }
    memcpy(s->order + front, s->rest, n_rest * sizeof *s->rest);
}

/* Moves some one tensor to an earlier place. */
static void raise_one(search *s, uint64_t k)
{
    size_t from = vkt__hash(&k, sizeof k, 1) % s->n, to = vkt__hash(&k, sizeof k, 2) % (from + 1);
    vkt_tensor *t = s->order[from];
    memmove(s->order + to + 1, s->order + to, (from - to) * sizeof *s->order);
    s->order[to] = t;
}

/* From the best order on: in turn what sticks out, repeatedly, and single moves. About a tenth of a
 * second at most; within a hundredth of the bound, sooner. */
static void mend(search *s)
{
    enum { SOON = 64, MOST = 4000 };
    uint64_t tries = VKT_MIN(50000000 / ((uint64_t)s->n * s->n + 1), MOST);
    for (uint64_t k = 0; k < tries && s->bytes > s->bound; k++) {
        if (k > SOON && s->bytes < s->bound + s->bound / 100) break;
        bool top = k % 16 < 6;
        if (k % 16 == 0 || !top) memcpy(s->order, s->best_order, s->n * sizeof *s->order);
        if (top)
            raise_top(s, 8u << (k / 16 % 4));
        else
            raise_one(s, k);
        attempt(s, k % 2 ? s->tightest : !s->tightest, k % 16 < 5 || k % 16 == 15);
    }
}

vkt_status vkt__assign_offsets(vkt_graph *g)
{
    vkt_status st = VKT_OK;
    size_t most = g->n_tensors + 1;
    search s = { .g = g,
                 .order = vkt__alloc(most * sizeof(vkt_tensor *)),
                 .rest = vkt__alloc(most * sizeof(vkt_tensor *)),
                 .best_order = vkt__alloc(most * sizeof(vkt_tensor *)),
                 .best = vkt__alloc(most * sizeof(uint64_t)),
                 .bytes = UINT64_MAX,
                 .bound = g->slab_bound };
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (!vkt__is_planned(t)) continue;
        s.order[s.n++] = t;
        if (vkt__footprint(g, t) <= g->chunk_bytes) continue;
        st = vkt__fail(VKT_E_OOM_DEVICE, "plan",
                       "tensor %s of '%s' needs %.1f MiB; the device allocates at most %.1f "
                       "MiB: use a smaller batch",
                       vkt__text(t), t->node->op->name, (double)t->bytes / 1048576,
                       (double)g->chunk_bytes / 1048576);
        goto fail;
    }
    s.placed = vkt__gaps_new((uint32_t)s.n, g->chunk_bytes, g->peak, g->no_reuse);
    for (size_t i = 0; i < VKT_COUNT(orders) && s.n && s.bytes > s.bound; i++) {
        qsort(s.order, s.n, sizeof *s.order, orders[i]);
        attempt(&s, false, false);
        bool last = i + 1 == VKT_COUNT(orders);
        if (s.bytes > s.bound && !g->no_reuse) attempt(&s, true, last);
        if (g->no_reuse) break;
    }
    if (s.n && !g->no_reuse) mend(&s);
    for (size_t i = 0; i < s.n; i++) s.best_order[i]->offset = s.best[i];
    g->slab_bytes = s.n ? s.bytes : 0;
    g->work += s.placed.work;
fail:
    free(s.order);
    free(s.rest);
    vkt__gaps_finish(&s.placed);
    free(s.best_order);
    free(s.best);
    return st;
}
