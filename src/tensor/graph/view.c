/* Views, in-place results and bound memory: whose memory a tensor is. */
#include <stdio.h>

#include "tensor/graph/graph.h"
#include "tensor/graph/view.h"

/* For tests of growth: whoever goes through nodes looks at their tensors here. */
static void count(const vkt_tensor *t)
{
    if (!t->g->planned) t->g->work++;
}

bool vkt__overlap(const vkt_tensor *a, const vkt_tensor *b)
{
    count(a);
    if (a == b) return true;
    if (!a->bound || !b->bound) return false;
    for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++)
        if (a->buf[s] && a->buf[s] == b->buf[s] && a->buf_offset[s] < b->buf_offset[s] + b->bytes &&
            b->buf_offset[s] < a->buf_offset[s] + a->bytes)
            return true;
    return false;
}

vkt_tensor *vkt__root(const vkt_tensor *t)
{
    if (t) count(t);
    while (t && t->view_of) t = t->view_of;
    return (vkt_tensor *)(uintptr_t)t;
}

vkt_tensor *vkt__home(const vkt_tensor *t)
{
    t = vkt__root(t);
    while (t->home != t) t = vkt__root(t->home);
    return (vkt_tensor *)(uintptr_t)t;
}

uint64_t vkt__view_at(const vkt_tensor *t)
{
    uint64_t at = 0;
    for (; t->view_of; t = t->view_of) at += t->view_at;
    return at;
}
