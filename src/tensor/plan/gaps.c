/* gaps.h: a treap by place. Each node knows of its subtree from when to when its tensors live and
 * how large the gaps are where all of them do, so that whole subtrees are passed over: of tensors
 * that all live with the one that is placed and leave it no room, and of those that none does.
 * Neighbours by place are made at very different times, so that this is known apart of those that
 * live before the level with most memory, after it, and at it: a step's forward pass, its backward
 * pass, and what is saved between them. */
#include "tensor/plan/gaps.h"
#include "base/memory.h"

enum { BEFORE, AFTER, AT, ALL, SPANS };

/* Of tensors of a subtree. */
typedef struct {
    bool any;
    uint32_t first_min, first_max, last_min, last_max; /* their levels */
    uint64_t begin, end;                               /* the lowest place, the highest end */
    uint64_t gap; /* no gap between them is larger, if all are in use */
} span;

struct vkt__gap_node {
    vkt__placed p;
    uint32_t left, right, weight;
    span of[SPANS];
};

vkt__gaps vkt__gaps_new(uint32_t most, uint64_t chunk_bytes, uint32_t peak, bool no_reuse)
{
    return (vkt__gaps) { .list = vkt__alloc(((size_t)most + 1) * sizeof(struct vkt__gap_node)),
                         .n = 1,
                         .most = most + 1,
                         .chunk_bytes = chunk_bytes,
                         .peak = peak,
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

/* The span of both: b lies above a. */
static span join(const span *a, const span *b)
{
    if (!a->any) return *b;
    if (!b->any) return *a;
    span s = *a;
    s.first_min = VKT_MIN(a->first_min, b->first_min);
    s.first_max = VKT_MAX(a->first_max, b->first_max);
    s.last_min = VKT_MIN(a->last_min, b->last_min);
    s.last_max = VKT_MAX(a->last_max, b->last_max);
    s.gap = VKT_MAX(a->gap, b->gap);
    if (b->begin > a->end) s.gap = VKT_MAX(s.gap, b->begin - a->end);
    s.end = VKT_MAX(a->end, b->end);
    return s;
}

static span span_of(const vkt__placed *p)
{
    return (span) { true, p->first, p->first, p->last, p->last, p->at, p->end, 0 };
}

static uint32_t update(const vkt__gaps *g, uint32_t i)
{
    struct vkt__gap_node *x = &g->list[i];
    const struct vkt__gap_node *a = &g->list[x->left], *b = &g->list[x->right];
    uint32_t kind = x->p.last < g->peak ? BEFORE : x->p.first > g->peak ? AFTER : AT;
    span self = span_of(&x->p);
    for (uint32_t k = 0; k < SPANS; k++) {
        span s = a->of[k];
        if (k == kind || k == ALL) s = join(&s, &self);
        x->of[k] = join(&s, &b->of[k]);
    }
    return i;
}

static uint32_t insert(vkt__gaps *g, uint32_t top, uint32_t i)
{
    struct vkt__gap_node *l = g->list;
    if (!top) return i;
    bool left = l[i].p.at < l[top].p.at;
    uint32_t *child = left ? &l[top].left : &l[top].right, up = insert(g, *child, i);
    *child = up;
    if (l[up].weight <= l[top].weight) return update(g, top);
    if (left) {
        l[top].left = l[up].right;
        l[up].right = top;
    } else {
        l[top].right = l[up].left;
        l[up].left = top;
    }
    update(g, top);
    return update(g, up);
}

void vkt__gaps_add(vkt__gaps *g, const vkt__placed *p)
{
    VKT_ASSERT(g->n < g->most);
    uint32_t i = g->n++;
    g->list[i] = (struct vkt__gap_node) { .p = *p, .weight = i * 2654435769u };
    g->top = insert(g, g->top, update(g, i));
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

static bool some_live(const search *s, const span *x)
{
    return x->any && (s->g->no_reuse || (x->first_min <= s->last && s->first <= x->last_max));
}

/* Whether all of x are in use, and leave no room up to their end. */
static bool fill(const search *s, const span *x)
{
    bool all = s->g->no_reuse || (x->first_max <= s->last && s->first <= x->last_min);
    return x->any && all && s->bytes > x->gap && x->begin < s->end + s->bytes;
}

/* Whether the subtree leaves no room: then its end is the new one. */
static bool passes(search *s, const struct vkt__gap_node *x)
{
    const span *full = fill(s, &x->of[ALL]) ? &x->of[ALL] : NULL;
    for (uint32_t k = 0; k < ALL && !full; k++) {
        bool last = fill(s, &x->of[k]);
        for (uint32_t o = 0; o < ALL && last; o++)
            last = x->of[o].end <= x->of[k].end || !some_live(s, &x->of[o]);
        if (last) full = &x->of[k];
    }
    if (full) s->end = VKT_MAX(s->end, full->end);
    return full;
}

/* Whether the gap is found, with the subtree i. */
static bool find(search *s, uint32_t i)
{
    const struct vkt__gap_node *x = &s->g->list[i];
    if (!i) return false;
    s->g->work++;
    if (!some_live(s, &x->of[BEFORE]) && !some_live(s, &x->of[AFTER]) && !some_live(s, &x->of[AT]))
        return false;
    if (passes(s, x)) return false;
    if (find(s, x->left)) return true;
    span self = span_of(&x->p);
    if (some_live(s, &self)) {
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
