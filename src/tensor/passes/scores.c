/* scores.h: from the softmax backwards. A place that is hidden near the softmax is so whatever was
 * done to it before; of all others only the factor is kept, which must be one for all. */
#include <math.h>

#include "tensor/graph/known.h"
#include "tensor/graph/view.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/pass.h"
#include "tensor/passes/scores.h"

enum { MOST_PLACES = 1 << 26, MOST_NODES = 16 };

typedef struct {
    uint32_t T, S;
    bool *hidden; /* [T, S]; NULL: none so far */
    double scale, cap;
} reading;

/* ---- numbers that are known ---- */

/* An operand that is broadcast to the scores: the same [T, S] for every sequence and head. */
typedef struct {
    double *v;
    int64_t row, col;
} matrix;

/* Whether parts of `each` places of v are all the same. */
static bool repeats(const double *v, uint64_t count, uint64_t each)
{
    for (uint64_t i = each; i < count; i++)
        if (v[i] != v[i - each]) return false;
    return true;
}

/* False: it is not known, or another one for other heads or sequences. */
static bool known_matrix(const vkt_tensor *t, uint32_t T, uint32_t S, matrix *m)
{
    while (t->node && t->node->op == &vkt__op_expand) t = t->node->in[0];
    uint32_t r = t->shape.rank, cols = vkt__last(t->shape), rows = r > 1 ? t->shape.d[r - 2] : 1;
    if ((cols != 1 && cols != S) || (rows != 1 && rows != T)) return false;
    *m = (matrix) { .v = vkt__known(t, VKT__KNOWN_WORK),
                    .row = rows > 1 ? cols : 0,
                    .col = cols > 1 };
    if (m->v && repeats(m->v, t->count, (uint64_t)rows * cols)) return true;
    free(m->v);
    m->v = NULL;
    return false;
}

static double at(const matrix *m, uint64_t t, uint64_t s)
{
    return m->v[(int64_t)t * m->row + (int64_t)s * m->col];
}

/* ---- one node ---- */

/* What a node makes of a score x: a x + c. */
typedef struct {
    double a, c;
} line;

typedef struct {
    const vkt_node *n;
    uint32_t score; /* which input it is */
    matrix m[3];    /* those of the other inputs */
} step;

static line line_at(const step *e, uint64_t t, uint64_t s)
{
    const vkt_node *n = e->n;
    uint32_t other = e->score == 0, fn = n->attr.map.fn;
    double y = n->in[other] && n->op != &vkt__op_where ? at(&e->m[other], t, s) : 0;
    if (n->op == &vkt__op_where) {
        bool first = at(&e->m[0], t, s) != 0;
        if (first == (e->score == 1)) return (line) { 1, 0 };
        return (line) { 0, at(&e->m[first ? 1 : 2], t, s) };
    }
    if (n->op == &vkt__op_mul || (n->op == &vkt__op_binary && fn == VKT_FN2_MUL))
        return (line) { y, 0 };
    if (n->op == &vkt__op_binary && fn == VKT_FN2_DIV) return (line) { 1 / y, 0 };
    if (n->op == &vkt__op_binary && fn == VKT_FN2_SUB) return (line) { 1, -y };
    return (line) { 1, y };
}

/* Takes the node into what was read so far. False: its lines differ where places are seen. What a
 * cap follows is not hidden: the cap brings it back. */
static bool take(reading *r, const step *e)
{
    double factor = NAN;
    if (!r->hidden) r->hidden = vkt__alloc((size_t)r->T * r->S * sizeof *r->hidden);
    for (uint64_t t = 0; t < r->T; t++)
        for (uint64_t s = 0; s < r->S; s++) {
            bool *hidden = &r->hidden[t * r->S + s];
            if (*hidden) continue;
            line l = line_at(e, t, s);
            if (r->cap == 0 && l.c * r->scale <= VKT__HIDDEN && isfinite(l.a)) {
                *hidden = true;
            } else {
                if (isnan(factor)) factor = l.a;
                if (l.c != 0 || l.a != factor) return false;
            }
        }
    if (!isfinite(factor)) return false;
    r->scale *= factor;
    return true;
}

static bool is_line(const vkt_node *n)
{
    uint32_t fn = n->attr.map.fn;
    return n->op == &vkt__op_add || n->op == &vkt__op_mul || n->op == &vkt__op_where ||
           (n->op == &vkt__op_binary &&
            (fn == VKT_FN2_ADD || fn == VKT_FN2_SUB || fn == VKT_FN2_MUL || fn == VKT_FN2_DIV));
}

/* Which input the scores may be: as large as the result, and all others are known. */
static bool as_step(const vkt_node *n, uint32_t i, const reading *r, step *e)
{
    bool differs = n->op == &vkt__op_binary &&
                   (n->attr.map.fn == VKT_FN2_SUB || n->attr.map.fn == VKT_FN2_DIV);
    *e = (step) { .n = n, .score = i };
    if (!n->in[i] || n->in[i]->count != n->out[0]->count) return false;
    if ((i == 0 && n->op == &vkt__op_where) || (i == 1 && differs)) return false;
    for (uint32_t k = 0; k < n->op->n_in && k < 3; k++)
        if (k != i && n->in[k] && !known_matrix(n->in[k], r->T, r->S, &e->m[k])) return false;
    return true;
}

static void finish(step *e)
{
    for (uint32_t k = 0; k < 3; k++) free(e->m[k].v);
}

/* The input through which the scores go, or NULL. */
static const vkt_tensor *through(const vkt_node *n, reading *r)
{
    if (n->op == &vkt__op_scale) {
        r->scale *= (double)n->attr.eltwise.s;
        return n->in[0];
    }
    if (n->op == &vkt__op_act && n->attr.eltwise.act == VKT_ACT_TANH && r->cap == 0) {
        r->cap = r->scale;
        r->scale = 1;
        return r->cap > 0 ? n->in[0] : NULL;
    }
    for (uint32_t i = 0; is_line(n) && i < n->op->n_in; i++) {
        step e;
        bool fits = as_step(n, i, r, &e), taken = fits && take(r, &e);
        finish(&e);
        if (fits) return taken ? n->in[i] : NULL; /* a part of it may be hidden already */
    }
    return NULL;
}

/* ---- the pattern ---- */

/* Whether what is hidden is what attention hides by these. */
static bool hides_so(const reading *r, bool causal, uint64_t window)
{
    for (uint64_t t = 0; t < r->T; t++)
        for (uint64_t s = 0; s < r->S; s++) {
            bool sees = !(causal && s > t) && !(window && (t >= s + window || s >= t + window));
            if (r->hidden[t * r->S + s] == sees) return false;
        }
    return true;
}

static bool pattern(const reading *r, vkt__scores *out)
{
    uint32_t first = 0, last = r->S - 1; /* that the last query sees; that the first does */
    bool any = false;
    out->full = true;
    for (uint64_t i = 0; r->hidden && i < (uint64_t)r->T * r->S; i++) any = any || r->hidden[i];
    if (!any) return true;
    if (r->T != r->S) return false;
    while (first + 1 < r->S && r->hidden[(uint64_t)(r->T - 1) * r->S + first]) first++;
    while (last > 0 && r->hidden[last]) last--;
    out->full = last > 0;
    out->window = first > 0 ? r->S - first : 0;
    return hides_so(r, !out->full, out->window);
}

static const vkt_tensor *same_matrices(const vkt_tensor *x, const reading *r)
{
    const vkt_tensor *t = vkt__root(x);
    uint32_t rank = t->shape.rank;
    return rank > 2 && t->count == x->count && vkt__last(t->shape) == r->S &&
                   t->shape.d[rank - 2] == r->T
               ? t
               : NULL;
}

bool vkt__scores_of(const vkt_tensor *x, vkt__scores *out)
{
    uint32_t rank = x->shape.rank;
    reading r = { .scale = 1, .S = vkt__last(x->shape), .T = rank > 2 ? x->shape.d[rank - 2] : 0 };
    bool found = false;
    *out = (vkt__scores) { 0 };
    if (!x->count || (uint64_t)r.T * r.S > MOST_PLACES) return false;
    for (int i = 0; x && i < MOST_NODES; i++) {
        const vkt_tensor *t = same_matrices(x, &r);
        if (!t || !t->node || t != t->node->out[0] || !vkt__is_private(t) || t->needs) break;
        if (t->node->op == &vkt__op_matmul) {
            out->product = t->node;
            found = true;
            break;
        }
        x = through(t->node, &r);
    }
    if (found && r.cap > 0) r.scale *= r.cap;
    out->scale = r.scale;
    out->cap = r.cap;
    found = found && r.scale != 0 && isfinite(r.scale) && pattern(&r, out);
    free(r.hidden);
    return found;
}
