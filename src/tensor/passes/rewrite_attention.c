/* softmax(scores) v of general ops into attention's row, which stores no scores. Queries, keys and
 * values are read where they were before they were sorted by heads, side by side if they are so
 * there. Where one of them was not read so, all stay sorted, and each head is a sequence. */
#include <math.h>

#include "tensor/graph/view.h"
#include "tensor/kernels/attention.h"
#include "tensor/ops/matmul/ops_matmul.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/scores.h"
#include "tensor/passes/walk.h"

enum { STAGES = 12, Q = 0, K, V, N_PARTS };

/* What attention reads an operand as: sequences of T rows; a row has D numbers of each of H heads
 * side by side; `shared`: neighbouring heads that are one. */
typedef struct {
    vkt_tensor *t;
    uint64_t at;
    uint32_t B, T, H, D, shared, since;
    int64_t sequence, row; /* elements from one to the next */
    float factor;
    bool fits;
} stage;

typedef struct {
    stage s[STAGES]; /* from the operand back to what it was made of */
    uint32_t n;
} operand;

typedef struct {
    vkt_node *softmax, *last; /* the product by v */
    vkt_tensor *probabilities;
    vkt__scores scores;
    operand part[N_PARTS];
    uint32_t L, T, S, D; /* matrices; queries and keys; a head */
} found;

/* ---- where operands lie ---- */

/* heads: they are neighbours in a row; else each is a sequence. */
static stage stage_of(const vkt__walk_back *w, bool heads)
{
    vkt__piece lead[VKT__WALK_PIECES], rows[VKT__WALK_PIECES], cols[VKT__WALK_PIECES];
    uint32_t n = vkt__walk_axis(w, VKT__WALK_LEADING, lead),
             n_rows = vkt__walk_axis(w, VKT__WALK_ROWS, rows),
             n_cols = vkt__walk_axis(w, VKT__WALK_COLS, cols);
    stage s = { .t = w->t,
                .at = w->at,
                .B = 1,
                .T = n_rows ? rows[0].n : 1,
                .H = 1,
                .D = n_cols ? cols[0].n : 1,
                .shared = 1,
                .since = w->since,
                .factor = w->factor };
    if (w->t->dtype != VKT_F32 || n_rows > 1 || n_cols != 1 || cols[0].s != 1) return s;
    if (heads && n && lead[n - 1].s == 0) s.shared = lead[--n].n;
    if (heads && n && lead[n - 1].s == (int64_t)s.D) s.H = lead[--n].n;
    if (n > 1) return s;
    if (n) s.B = lead[0].n;
    s.row = n_rows ? rows[0].s : (int64_t)s.H * s.D;
    s.sequence = n ? lead[0].s : s.row * s.T;
    s.fits = s.sequence == s.row * s.T;
    return s;
}

/* Not past a tensor whose own gradient is asked for. */
static void walk_operand(vkt_tensor *t, bool turned, bool scales, bool heads, const vkt_node *by,
                         operand *out)
{
    vkt__walk_back w = vkt__walk_begin(t, turned, by);
    out->n = 0;
    do out->s[out->n++] = stage_of(&w, heads);
    while (out->n < STAGES && !w.t->needs && vkt__walk_past(&w, scales));
}

/* All of its tensor, and nothing else of it. */
static bool is_alone(const stage *s)
{
    return s->fits && s->at == 0 && s->row == (int64_t)s->H * s->D &&
           s->t->count == (uint64_t)s->B * s->T * s->H * s->D;
}

/* Whether three stages are queries, keys and values behind one another in rows. */
static bool are_side_by_side(const stage *q, const stage *k, const stage *v)
{
    uint64_t D = q->D, row = (q->H + 2ull * k->H) * D;
    return q->fits && k->fits && v->fits && q->t == k->t && q->t == v->t && q->T == k->T &&
           q->row == (int64_t)row && k->row == q->row && v->row == q->row && q->at == 0 &&
           k->at == q->H * D && v->at == k->at + k->H * D &&
           q->t->count == (uint64_t)q->B * q->T * row;
}

static bool heads_match(const stage *q, const stage *k, const stage *v)
{
    return q->B == k->B && k->B == v->B && k->T == v->T && q->D == k->D && k->D == v->D &&
           k->H == v->H && k->shared == v->shared && q->shared == 1 && q->H == k->H * k->shared;
}

static bool is_unchanged(const stage *s, const found *f)
{
    return vkt__unchanged(s->t, s->since, f->last->index);
}

/* The three to read, as far back as there are such, in one tensor if that can be. */
static bool choose(const found *f, const stage **q, const stage **k, const stage **v, bool *packed)
{
    const operand *p = f->part;
    bool any = false;
    for (int side = 1; side >= 0 && !any; side--)
        for (uint32_t a = p[Q].n; a-- > 0 && !any;)
            for (uint32_t b = p[K].n; b-- > 0 && !any;)
                for (uint32_t c = p[V].n; c-- > 0 && !any;) {
                    *q = &p[Q].s[a], *k = &p[K].s[b], *v = &p[V].s[c];
                    *packed = side;
                    any = heads_match(*q, *k, *v) &&
                          (side ? are_side_by_side(*q, *k, *v)
                                : is_alone(*q) && is_alone(*k) && is_alone(*v)) &&
                          is_unchanged(*q, f) && is_unchanged(*k, f) && is_unchanged(*v, f);
                }
    return any;
}

/* ---- what is found ---- */

/* A product of batches that does nothing else. */
static bool is_plain(const vkt_node *n)
{
    const vkt_attr *a = &n->attr;
    return n->op == &vkt__op_matmul && a->matmul.batched && !a->matmul.kernel &&
           !a->matmul.slices && a->matmul.act == VKT_ACT_NONE &&
           a->matmul.layout != VKT_LAYOUT_TN && !n->in[VKT__MM_IN_BIAS] && !n->in[VKT__MM_IN_R] &&
           n->in[0]->dtype == VKT_F32 && n->in[1]->dtype == VKT_F32 && n->out[0]->dtype == VKT_F32;
}

/* Whether this node is such a product by v. */
static bool find(vkt_node *n, found *f)
{
    memset(f, 0, sizeof *f);
    if (!is_plain(n) || !n->out[0]->count || n->out[0]->bound) return false;
    f->last = n;
    f->probabilities = vkt__root(n->in[0]);
    f->softmax = f->probabilities->node;
    vkt_shape p = f->probabilities->shape, s = n->in[0]->shape;
    if (!f->softmax || f->softmax->op != &vkt__op_softmax || p.rank < 2 ||
        vkt__last(p) != vkt__last(s) || p.d[p.rank - 2] != s.d[s.rank - 2] ||
        n->in[0]->count != f->probabilities->count || !vkt__is_private(f->probabilities) ||
        f->probabilities->needs)
        return false;
    f->T = s.d[s.rank - 2];
    f->S = vkt__last(s);
    f->L = (uint32_t)(n->in[0]->count / f->T / f->S);
    f->D = vkt__last(n->out[0]->shape);
    if (f->D % 4 || f->D > VKT__ATT_MOST_HEAD) return false;
    if (!vkt__scores_of(f->softmax->in[0], &f->scores) || !is_plain(f->scores.product))
        return false;
    return vkt__product_of(f->scores.product).K == f->D;
}

/* The permutation that alone reads the result, and puts heads side by side again; or NULL. */
static vkt_node *joins_heads(const found *f, const stage *q)
{
    const vkt_tensor *t = f->last->out[0];
    vkt_node *by = vkt__is_private(t) && !t->needs ? vkt__a_reader(t) : NULL;
    if (!by || by->op != &vkt__op_permute || by->out[0]->bound) return NULL;
    /* Its result in order, as rows of heads of numbers, lies in the product's as heads of rows. */
    vkt__walk_back w = vkt__walk_begin(by->out[0], false, by);
    vkt__piece have[VKT__WALK_PIECES], want[VKT__WALK_PIECES];
    vkt__walk_back as = { .n = 4,
                          .p = { { q->B, 0, (int64_t)q->H * q->T * q->D },
                                 { q->T, 0, q->D },
                                 { q->H, 0, (int64_t)q->T * q->D },
                                 { q->D, 0, 1 } } };
    if (!vkt__walk_past(&w, false) || w.t != t || w.at) return NULL;
    uint32_t n = vkt__walk_axis(&w, VKT__WALK_AXES, have);
    bool same = n == vkt__walk_axis(&as, VKT__WALK_AXES, want);
    for (uint32_t i = 0; i < n && same; i++)
        same = have[i].n == want[i].n && have[i].s == want[i].s;
    return same ? by : NULL;
}

/* ---- rewriting ---- */

static vkt_tensor *rows_of(vkt_graph *g, const stage *s)
{
    return vkt_reshape(g, s->t, vkt_shape3(s->B, s->T, (uint32_t)(s->t->count / s->B / s->T)));
}

static void replace(vkt_graph *g, found *f, const stage *q, const stage *k, const stage *v,
                    bool packed, vkt_node *join)
{
    vkt_node *n = f->last;
    vkt_tensor *result = n->out[0], *from[] = { n->in[0], n->in[1] };
    n->op = &vkt__op_attention;
    memset(n->in, 0, sizeof n->in);
    memset(n->out, 0, sizeof n->out);
    n->in[VKT__ATT_Q] = rows_of(g, q);
    if (!packed) n->in[VKT__ATT_K] = rows_of(g, k);
    if (!packed) n->in[VKT__ATT_V] = rows_of(g, v);
    n->attr = (vkt_attr) { .attention = { .heads = q->H,
                                          .kv_heads = k->H,
                                          .window = f->scores.window,
                                          .full = f->scores.full,
                                          .scale = (float)f->scores.scale,
                                          .cap = (float)f->scores.cap } };
    bool made = n->op->shape(n);
    VKT_ASSERT(made);
    if (join) {
        vkt__make_view(join->out[0], n->out[0]);
        vkt__remove_tensor(result);
        vkt__remove_node(join);
    } else {
        vkt__make_view(result, n->out[0]);
    }
    vkt__uses_changed(n);
    for (int i = 0; i < 2; i++) vkt__drop_maker(from[i]);
}

static bool fuse(vkt_graph *g, vkt_node *n, bool training)
{
    found f;
    const stage *q, *k, *v;
    bool packed;
    vkt_node *join = NULL;
    (void)training;
    if (!find(n, &f)) return false;
    const vkt_node *product = f.scores.product;
    bool nt = product->attr.matmul.layout == VKT_LAYOUT_NT,
         t = n->attr.matmul.layout == VKT_LAYOUT_NT;
    for (int heads = 1; heads >= 0; heads--) {
        walk_operand(product->in[0], false, true, heads, product, &f.part[Q]);
        walk_operand(product->in[1], !nt, true, heads, product, &f.part[K]);
        walk_operand(n->in[1], t, false, heads, n, &f.part[V]);
        if (!choose(&f, &q, &k, &v, &packed)) continue;
        bool sorts = q->H > 1; /* else the result is in attention's order already */
        float scale = (float)f.scores.scale * q->factor * k->factor;
        if ((uint64_t)q->B * q->H != f.L || k->T != f.S || scale == 0 || !isfinite(scale)) continue;
        if (sorts && !(join = joins_heads(&f, q))) continue;
        f.scores.scale = (double)scale;
        replace(g, &f, q, k, v, packed, join);
        return true;
    }
    return false;
}

static uint32_t run(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse);
}

const vkt__pass vkt__pass_attention = {
    .name = "softmax of scores and product by values into attention", .run = run
};
