/* gaps.h: a treap by place. Each node knows of its subtree from when to when its tensors live and
 * how large the gaps are where all of them do, so that whole subtrees are passed over: of tensors
 * that all live with the one that is placed and leave it no room, and of those that none does. */
#include "tensor/plan/gaps.h"
#include "base/memory.h"

struct vkt__gap_node {
    vkt__placed p;
    uint32_t left, right, weight;
    uint32_t first_min, first_max, last_min, last_max; /* of the subtree's levels */
    uint64_t begin, end; /* of the subtree: the lowest place, the highest end */
    uint64_t gap;        /* no gap within is larger, if all of it is in use */
};

vkt__gaps vkt__gaps_new(uint32_t most, uint64_t chunk_bytes, bool no_reuse)
{
    return (vkt__gaps) { .list = vkt__alloc(((size_t)most + 1) * sizeof(struct vkt__gap_node)),
                         .n = 1,
                         .most = most + 1,
                         .chunk_bytes = chunk_bytes,
                         .no_reuse = no_reuse };
}

void vkt__gaps_clear(vkt__gaps *g)
{
    g->n = 1;
    g->top = 0;
}

void vkt__gaps_finish(vkt__gaps *g)
{
    free(g->list);
    *g = (vkt__gaps) { 0 };
}

/* ---- the tree ---- */

/* Appends a subtree, or one tensor, to what x tells of those before. */
static void append(struct vkt__gap_node *x, uint64_t begin, uint64_t end, uint64_t gap)
{
    if (begin > x->end) x->gap = VKT_MAX(x->gap, begin - x->end);
    x->gap = VKT_MAX(x->gap, gap);
    x->end = VKT_MAX(x->end, end);
}

static uint32_t update(struct vkt__gap_node *l, uint32_t i)
{
    struct vkt__gap_node *x = &l[i];
    const struct vkt__gap_node *a = x->left ? &l[x->left] : NULL,
                               *b = x->right ? &l[x->right] : NULL;
    x->first_min = x->first_max = x->p.first;
    x->last_min = x->last_max = x->p.last;
    x->begin = a ? a->begin : x->p.at;
    x->end = a ? a->end : x->p.at;
    x->gap = a ? a->gap : 0;
    append(x, x->p.at, x->p.end, 0);
    if (b) append(x, b->begin, b->end, b->gap);
    for (int side = 0; side < 2; side++) {
        const struct vkt__gap_node *c = side ? b : a;
        if (!c) continue;
        x->first_min = VKT_MIN(x->first_min, c->first_min);
        x->first_max = VKT_MAX(x->first_max, c->first_max);
        x->last_min = VKT_MIN(x->last_min, c->last_min);
        x->last_max = VKT_MAX(x->last_max, c->last_max);
    }
    return i;
}

static uint32_t insert(struct vkt__gap_node *l, uint32_t top, uint32_t i)
{
    if (!top) return i;
    bool left = l[i].p.at < l[top].p.at;
    uint32_t *child = left ? &l[top].left : &l[top].right, up = insert(l, *child, i);
    *child = up;
    if (l[up].weight <= l[top].weight) return update(l, top);
    if (left) {
        l[top].left = l[up].right;
        l[up].right = top;
    } else {
        l[top].right = l[up].left;
        l[up].left = top;
    }
    update(l, top);
    return update(l, up);
}

void vkt__gaps_add(vkt__gaps *g, const vkt__placed *p)
{
    VKT_ASSERT(g->n < g->most);
    uint32_t i = g->n++;
    g->list[i] = (struct vkt__gap_node) { .p = *p, .weight = i * 2654435769u };
    g->top = insert(g->list, g->top, update(g->list, i));
}

/* ---- finding a gap ---- */

typedef struct {
    vkt__gaps *g;
    uint64_t bytes;
    uint32_t first, last;
    bool tightest;
    uint64_t end; /* of what lives with it, so far */
    uint64_t best, best_gap;
} search;

/* A tensor never straddles a chunk, the device's largest allocation. */
static uint64_t past_chunk(const search *s)
{
    uint64_t chunk = s->g->chunk_bytes, at = s->end;
    return at / chunk != (at + s->bytes - 1) / chunk ? vkt__align(at, chunk) : at;
}

/* Whether the gap is found, with the subtree i. */
static bool find(search *s, uint32_t i)
{
    const struct vkt__gap_node *x = &s->g->list[i];
    if (!i) return false;
    s->g->work++;
    bool some = s->g->no_reuse || (x->first_min <= s->last && s->first <= x->last_max),
         all = s->g->no_reuse || (x->first_max <= s->last && s->first <= x->last_min);
    if (!some) return false;
    if (all && s->bytes > x->gap && x->begin < s->end + s->bytes) {
        s->end = VKT_MAX(s->end, x->end);
        return false;
    }
    if (find(s, x->left)) return true;
    if (s->g->no_reuse || (x->p.first <= s->last && s->first <= x->p.last)) {
        uint64_t at = past_chunk(s);
        if (x->p.at >= at + s->bytes && x->p.at - at < s->best_gap) {
            s->best = at;
            s->best_gap = x->p.at - at;
            if (!s->tightest || s->best_gap == s->bytes) return true;
        }
        s->end = VKT_MAX(s->end, x->p.end);
    }
    return find(s, x->right);
}

uint64_t vkt__gaps_find(vkt__gaps *g, uint64_t bytes, uint32_t first, uint32_t last, bool tightest)
{
    search s = { g, bytes, first, last, tightest, 0, UINT64_MAX, UINT64_MAX };
    find(&s, g->top);
    return s.best != UINT64_MAX ? s.best : past_chunk(&s);
}
