/* ranges.h: a treap by where ranges begin, in which each node knows how far its subtree reaches. */
#include "tensor/graph/graph.h"
#include "tensor/graph/ranges.h"
#include "tensor/graph/view.h"

/* A byte of the caller's memory; buffers lie one behind the other, in no order that matters. */
typedef struct {
    uintptr_t buf;
    uint64_t at;
} place;

struct vkt__range {
    const vkt_tensor *t;
    place begin, end, reach; /* reach: the last end of the subtree */
    uint32_t left, right, weight;
};

static bool before(place a, place b)
{
    return a.buf != b.buf ? a.buf < b.buf : a.at < b.at;
}

static place later(place a, place b)
{
    return before(a, b) ? b : a;
}

static uint32_t update(struct vkt__range *l, uint32_t i)
{
    l[i].reach = l[i].end;
    if (l[i].left) l[i].reach = later(l[i].reach, l[l[i].left].reach);
    if (l[i].right) l[i].reach = later(l[i].reach, l[l[i].right].reach);
    return i;
}

static uint32_t insert(struct vkt__range *l, uint32_t top, uint32_t i)
{
    if (!top) return i;
    bool left = before(l[i].begin, l[top].begin);
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

/* Whether an earlier slot has the same memory. */
static bool is_again(const vkt_tensor *t, uint32_t slot)
{
    for (uint32_t s = 0; s < slot; s++)
        if (t->buf[s] == t->buf[slot] && t->buf_offset[s] == t->buf_offset[slot]) return true;
    return false;
}

void vkt__ranges_add(vkt__ranges *r, const vkt_tensor *t)
{
    for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++) {
        if (!t->buf[s] || is_again(t, s)) continue;
        if (!r->n) {
            r->list = vkt__grow(r->list, 0, &r->cap, sizeof *r->list);
            r->n = 1;
        }
        r->list = vkt__grow(r->list, r->n, &r->cap, sizeof *r->list);
        uint32_t i = (uint32_t)r->n++;
        place begin = { (uintptr_t)t->buf[s], t->buf_offset[s] };
        r->list[i] = (struct vkt__range) { .t = t,
                                           .begin = begin,
                                           .end = { begin.buf, begin.at + t->bytes },
                                           .weight = i * 2654435769u };
        r->list[i].reach = r->list[i].end;
        r->top = insert(r->list, r->top, i);
    }
}

typedef struct {
    const struct vkt__range *list;
    const vkt_tensor *t;
    place begin, end;
    bool (*fn)(const vkt_tensor *other, void *arg);
    void *arg;
} looking;

static bool look(const looking *q, uint32_t i)
{
    if (!i || !before(q->begin, q->list[i].reach)) return false;
    const struct vkt__range *x = &q->list[i];
    q->t->g->work++;
    if (look(q, x->left)) return true;
    if (!before(x->begin, q->end)) return false;
    if (before(q->begin, x->end) && vkt__overlap(x->t, q->t) && q->fn(x->t, q->arg)) return true;
    return look(q, x->right);
}

bool vkt__ranges_find(const vkt__ranges *r, const vkt_tensor *t,
                      bool (*fn)(const vkt_tensor *other, void *arg), void *arg)
{
    if (fn(t, arg)) return true;
    for (uint32_t s = 0; s < VKT_MAX_SLOTS && r->n; s++) {
        if (!t->buf[s] || is_again(t, s)) continue;
        place begin = { (uintptr_t)t->buf[s], t->buf_offset[s] };
        looking q = { r->list, t, begin, { begin.buf, begin.at + t->bytes }, fn, arg };
        if (look(&q, r->top)) return true;
    }
    return false;
}

void vkt__ranges_finish(vkt__ranges *r)
{
    free(r->list);
    *r = (vkt__ranges) { 0 };
}
