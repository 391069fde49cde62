/* walk.h: elements by their numbers in memory. A view keeps them; a node that moves elements gives
 * each axis of its result a stride in its input. */
#include "tensor/passes/walk.h"
#include "tensor/graph/view.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

/* w->t may be a view: from now on its root. */
static void to_root(vkt__walk_back *w)
{
    w->at += vkt__view_at(w->t);
    w->t = vkt__root(w->t);
}

vkt__walk_back vkt__walk_begin(vkt_tensor *t, bool turned, const vkt_node *reader)
{
    vkt__walk_back w = { .t = t, .since = reader->index, .factor = 1 };
    vkt__strides s = vkt__strides_of(t->shape);
    uint32_t r = t->shape.rank;
    for (uint32_t k = 0; k < r; k++) {
        uint32_t axis = k + 2 < r                ? VKT__WALK_LEADING
                        : (k + 2 == r) == turned ? VKT__WALK_COLS
                                                 : VKT__WALK_ROWS;
        w.p[w.n++] = (vkt__piece) { t->shape.d[k], axis, s.s[k] };
    }
    to_root(&w);
    return w;
}

/* A result's axes: how many elements each has, how far apart those are in the result and in the
 * input, and which is the furthest that the pieces so far come to. */
typedef struct {
    vkt_shape y;
    vkt__strides own, to;
    uint64_t used[VKT_MAX_RANK];
} axes;

/* A piece of the result as pieces of the input, inner ones first. How many; 0: it can't be. */
static uint32_t in_input(axes *a, vkt__piece p, vkt__piece *out)
{
    uint32_t n = 0, rank = a->y.rank;
    if (p.n <= 1 || p.s == 0) {
        *out = (vkt__piece) { p.n, p.axis, 0 };
        return 1;
    }
    while (p.n > 1 && n < VKT_MAX_RANK) {
        uint32_t k = 0;
        while (k < rank && (a->own.s[k] > p.s || a->y.d[k] <= 1)) k++;
        if (k == rank || p.s % a->own.s[k]) return 0;
        uint64_t step = (uint64_t)(p.s / a->own.s[k]), size = a->y.d[k],
                 most = a->used[k] + (p.n - 1) * step;
        vkt__piece here = { p.n, p.axis, (int64_t)step * a->to.s[k] };
        if (most >= size) { /* on along the axis before */
            if (a->used[k] || size % step || p.n % (size / step)) return 0;
            here.n = (uint32_t)(size / step);
            most = (here.n - 1) * step;
        }
        a->used[k] = most;
        out[n++] = here;
        p.n /= here.n;
        p.s = a->own.s[k] * (int64_t)size;
    }
    return p.n > 1 ? 0 : n;
}

/* The walk of n's result as one of its input: `to` the strides, `first` the first element. */
static bool rebase(vkt__walk_back *w, const vkt_node *n, const vkt__strides *to, uint64_t first)
{
    axes a = { .y = n->out[0]->shape, .own = vkt__strides_of(n->out[0]->shape), .to = *to };
    vkt__walk_back out = *w;
    out.n = 0;
    out.at = first;
    for (uint32_t k = 0; k < a.y.rank; k++) {
        a.used[k] = a.y.d[k] > 1 ? w->at / (uint64_t)a.own.s[k] % a.y.d[k] : 0;
        out.at += a.used[k] * (uint64_t)to->s[k];
    }
    for (uint32_t i = 0; i < w->n; i++) {
        vkt__piece made[VKT_MAX_RANK];
        uint32_t n_made = in_input(&a, w->p[i], made);
        if (!n_made || out.n + n_made > VKT__WALK_PIECES) return false;
        while (n_made) out.p[out.n++] = made[--n_made];
    }
    out.t = n->in[0];
    out.since = n->index;
    *w = out;
    to_root(w);
    return true;
}

bool vkt__walk_past(vkt__walk_back *w, bool scales)
{
    const vkt_node *n = w->t->node;
    if (!n || w->t != n->out[0]) return false;
    vkt_shape x = n->in[0] ? n->in[0]->shape : (vkt_shape) { 0 }, y = n->out[0]->shape;
    vkt__strides s = vkt__strides_of(x), to = { { 0 } };
    uint64_t first = 0;
    if (n->op == &vkt__op_permute && !n->attr.permute.flips) {
        for (uint32_t k = 0; k < x.rank; k++) to.s[k] = s.s[n->attr.permute.order[k]];
    } else if (n->op == &vkt__op_slice) {
        for (uint32_t k = 0; k < x.rank; k++) {
            first += n->attr.window.first[k] * (uint64_t)s.s[k];
            to.s[k] = s.s[k] * n->attr.window.step[k];
        }
    } else if (n->op == &vkt__op_expand) {
        to = vkt__strides_as(x, y);
    } else if (scales && n->op == &vkt__op_scale && n->attr.eltwise.s != 0) {
        w->factor *= n->attr.eltwise.s;
        w->since = n->index;
        w->t = n->in[0];
        to_root(w);
        return true;
    } else {
        return false;
    }
    return rebase(w, n, &to, first);
}

uint32_t vkt__walk_axis(const vkt__walk_back *w, uint32_t axis, vkt__piece *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        vkt__piece p = w->p[i];
        if ((p.axis != axis && axis != VKT__WALK_AXES) || p.n == 1) continue;
        if (n && out[n - 1].s == p.n * p.s) {
            out[n - 1].n *= p.n;
            out[n - 1].s = p.s;
        } else {
            out[n++] = p;
        }
    }
    return n;
}
