/* A classifier's head and its cross-entropy in chunks of rows: a language model's logits [B T, V]
 * are its largest activation by far, and what they are needed for is two numbers a row and the
 * gradients of the head. Chunk by chunk, the logits, their loss, their gradient in the same memory
 * and what that gives to dx and dw; one chunk's memory serves all. As in llm.c's fused classifier
 * and Liger's fused linear cross-entropy (arXiv 2410.10989). Each chunk reads the head again and
 * adds to all of dw, in fewer rows than cores may want: a card whose memory has room to spare takes
 * one chunk, or two. Where w's memory goes on with zeros (vkt__set_room), products take them for
 * rows of w and the logits have as many columns more, which the loss leaves out and whose gradients
 * are zeros: vectors can be loaded and stored then. */
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "shaders/params.h"

enum { LOGITS, TARGET, WEIGHT, TOP = 5, LSE, DLOSS }; /* of softmax_xent, softmax_xent_bwd */
enum { MOST_EARLY = 8 };
enum { MOST_CHUNKS = 8, STEP = 64 };       /* rows are cut at multiples of STEP: whole vectors */
static const uint64_t LARGE = 32ull << 20; /* bytes of logits, below which nothing is gained */

/* What is to be cut. Backward nodes are NULL where there are none. */
typedef struct {
    vkt_graph *g;
    vkt_node *head, *loss, *bwd;
    vkt_node *dx, *dw; /* products of the logits' gradient */
    uint32_t rows, each;
    uint32_t columns; /* of a chunk's logits */
    vkt_node *made[MOST_CHUNKS * 6];
    size_t n_made;
    vkt_node
        *early[MOST_EARLY]; /* what makes the loss's gradient, in order: done before the loss */
    size_t n_early;
} head;

/* ---- finding ---- */

/* The one node that reads t's memory beside `but`; NULL: none; *more: several do. */
static vkt_node *reader(const vkt_graph *g, const vkt_tensor *t, const vkt_node *but, bool *more)
{
    vkt_node *found = NULL;
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            vkt_node *n = g->nodes[k];
            if (n == but || n == found || vkt__root(n->in[i]) != t) continue;
            *more |= found != NULL;
            found = n;
        }
    return found;
}

static bool is_plain_matmul(const vkt_node *n, vkt_layout layout)
{
    return n && n->op == &vkt__op_matmul && n->attr.matmul.layout == layout && !n->in[2] &&
           !n->in[4] && n->attr.matmul.act == VKT_ACT_NONE && !n->attr.matmul.batched &&
           !n->out[0]->view_of;
}

static bool is_inner(const vkt_tensor *t)
{
    return !t->bound && !t->kept;
}

/* dx = dlogits w and dw = dlogits^T x, or one of them, and nothing else. */
static bool find_products(head *h)
{
    const vkt_tensor *d = h->bwd->out[0];
    bool more = false, none = false;
    vkt_node *a = reader(h->g, d, NULL, &none), *b = a ? reader(h->g, d, a, &more) : NULL;
    vkt_node *found[] = { a, b };
    for (size_t i = 0; i < 2 && found[i]; i++) {
        if (vkt__root(found[i]->in[0]) != d) return false;
        if (is_plain_matmul(found[i], VKT_LAYOUT_NN))
            h->dx = found[i];
        else if (is_plain_matmul(found[i], VKT_LAYOUT_TN))
            h->dw = found[i];
    }
    return a && !more && (h->dx != NULL) + (h->dw != NULL) == (b ? 2 : 1) &&
           (!h->dx || is_inner(h->dx->out[0]));
}

/* dw of a chunk is as large as the head: with few rows it would cost more than is gained. */
static bool is_worth_it(const head *h)
{
    const vkt_tensor *x = h->head->in[0], *logits = h->head->out[0];
    return logits->bytes >= LARGE && h->rows >= 4 * STEP &&
           (!h->dw || h->rows >= 2 * vkt__last(x->shape));
}

/* Columns that logits may have: rows of w's memory, if that of all its forms has them. */
static uint32_t columns_of(const head *h)
{
    const vkt_tensor *w = h->head->in[1], *dw = h->dw ? h->dw->out[0] : NULL;
    bool has = w->room && (!w->shadow || w->shadow->room == w->room) &&
               (!dw || !dw->bound || dw->room == w->room);
    return has ? w->room : w->shape.d[0];
}

/* Whether t, of the loss's gradient, can be known before the loss: a loss scale can, what follows
 * from the loss can't. */
static bool is_early(head *h, const vkt_tensor *t)
{
    vkt_node *n = vkt__root(t)->node;
    if (!n || n->index < h->loss->index) return vkt__unchanged(t, h->loss->index, h->bwd->index);
    for (size_t i = 0; i < h->n_early; i++)
        if (h->early[i] == n) return true;
    if (n == h->loss || vkt__inputs_with(n->op, VKT_CHANGED) || n->out[0]->bound) return false;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i] && !is_early(h, n->in[i])) return false;
    if (h->n_early == MOST_EARLY) return false;
    h->early[h->n_early++] = n;
    return true;
}

/* ---- into how many chunks ---- */

/* Bytes of the buffers that the graph's tensors are bound to: parameters, gradients, moments. */
static uint64_t bytes_bound(const vkt_graph *g)
{
    uint64_t bytes = 0;
    const vkt_buffer **seen = vkt__alloc(g->n_tensors * sizeof *seen);
    size_t n = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const vkt_buffer *b = g->tensors[i]->bound ? g->tensors[i]->buf[0] : NULL;
        size_t k = 0;
        while (k < n && seen[k] != b) k++;
        if (!b || k < n) continue;
        seen[n++] = b;
        bytes += b->bytes;
    }
    free(seen);
    return bytes;
}

/* Bytes of what was computed before the head and is read after its gradient. */
static uint64_t bytes_held(const head *h, size_t last)
{
    uint64_t bytes = 0;
    bool(*seen)[VKT_MAX_OUT] = calloc(h->g->n_nodes, sizeof *seen);
    VKT_ASSERT(seen);
    for (size_t k = last + 1; k < h->g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            const vkt_tensor *t = vkt__root(h->g->nodes[k]->in[i]);
            const vkt_node *n = t && !t->bound ? t->node : NULL;
            for (uint32_t o = 0; n && n->index < h->head->index && o < VKT_MAX_OUT; o++) {
                if (n->out[o] != t || seen[n->index][o]) continue;
                seen[n->index][o] = true;
                bytes += t->bytes;
            }
        }
    free(seen);
    return bytes;
}

/* As few as leave three quarters of the card's memory that nothing else takes: by its size, not by
 * what is free today, so that a recipe gives the same bits each time. Where the memory is the
 * host's, too, as few bytes as can be. */
static uint32_t n_chunks(const head *h, size_t last)
{
    enum { SHARE = 4 };
    static const uint32_t fewer[] = { 1, 2 };
    const vkt_caps *caps = h->g->gpu ? vkt_gpu_caps(h->g->gpu) : NULL;
    if (h->g->head.chunks) return h->g->head.chunks;
    if (!caps || caps->type != VKT_GPU_DISCRETE || caps->unified) return MOST_CHUNKS;
    uint64_t taken = bytes_bound(h->g) + bytes_held(h, last), all = caps->heap_bytes / 10 * 8;
    for (size_t i = 0; i < VKT_COUNT(fewer); i++) {
        uint64_t rows = vkt__align((h->rows + fewer[i] - 1) / fewer[i], STEP),
                 logits = rows * h->columns * vkt_dtype_bytes(VKT_F32);
        if (logits <= caps->max_alloc_bytes && taken < all && 2 * logits <= (all - taken) / SHARE)
            return fewer[i];
    }
    return MOST_CHUNKS;
}

static bool find(vkt_graph *g, vkt_node *loss, bool training, head *h)
{
    bool more = false;
    *h = (head) { .g = g, .loss = loss };
    if (loss->op != &vkt__op_softmax_xent || loss->out[0]->view_of) return false; /* a chunk's */
    vkt_tensor *logits = vkt__root(loss->in[LOGITS]);
    h->head = logits->node;
    if (!is_plain_matmul(h->head, VKT_LAYOUT_NT) || !is_inner(logits)) return false;
    h->rows = vkt__rows_of(logits->shape);
    h->bwd = reader(g, logits, loss, &more);
    size_t last = loss->index;
    if (more || (h->bwd != NULL) != training) return false;
    if (h->bwd) {
        if (h->bwd->op != &vkt__op_softmax_xent_bwd || h->bwd->in[TOP] != loss->out[2] ||
            !is_inner(h->bwd->out[0]) || !find_products(h) ||
            (h->bwd->in[DLOSS] && !is_early(h, h->bwd->in[DLOSS])))
            return false;
        last = VKT_MAX(h->dx ? h->dx->index : 0, h->dw ? h->dw->index : 0);
    }
    for (uint32_t i = 0; i < 2; i++)
        if (!vkt__unchanged(h->head->in[i], h->head->index, last)) return false;
    h->columns = columns_of(h);
    if (!is_worth_it(h)) return false;
    uint32_t chunks = n_chunks(h, last);
    h->each = (uint32_t)vkt__align((h->rows + chunks - 1) / chunks, STEP);
    return true;
}

/* ---- rebuilding ---- */

/* t [n, cols] with all rows that it has room for; one that is not bound gets room. */
static vkt_tensor *with_room(const head *h, vkt_tensor *t)
{
    if (!t || t->shape.d[0] == h->columns) return t;
    vkt_tensor *all = vkt_input(h->g, vkt_shape2(h->columns, vkt__last(t->shape)), t->dtype,
                                t->name ? t->name : "head's gradient");
    for (uint32_t s = 0; s < VKT_MAX_SLOTS && t->bound; s++)
        if (t->buf[s]) vkt_bind(all, s, t->buf[s], t->buf_offset[s]);
    all->shadow = with_room(h, t->shadow);
    all->kept = t->kept;
    return all;
}

/* The tensor that dw's sum is written to: dw is a part of it. */
static vkt_tensor *dw_with_room(const head *h)
{
    vkt_tensor *dw = h->dw->out[0], *all = with_room(h, dw);
    if (all == dw) return dw;
    dw->view_of = all;
    dw->view_at = 0;
    dw->node = NULL;
    dw->bound = false;
    return all;
}

/* A node like n on other inputs, whose outputs are made by the caller. */
static vkt_node *like(head *h, const vkt_node *n)
{
    vkt_node *c = vkt__arena_alloc(&h->g->arena, sizeof *c);
    *c = (vkt_node) { .op = n->op, .g = h->g, .attr = n->attr, .backward = true };
    memcpy(c->in, n->in, sizeof c->in);
    h->made[h->n_made++] = c;
    return c;
}

/* Output i of a chunk's node: rows of the whole one's, which stays. */
static void into_rows(vkt_node *c, uint32_t i, vkt_tensor *whole, uint32_t first, uint32_t n)
{
    c->out[i] = vkt__slice(whole, first, n);
    if (first == 0) whole->node = c;
}

/* dw of the rows so far: the sum before, if there is one, and this chunk's product. */
static vkt_tensor *add_dw(head *h, vkt_tensor *x, vkt_tensor *dlogits, vkt_tensor *before,
                          vkt_tensor *whole, bool last)
{
    vkt_node *mm = like(h, h->dw);
    mm->in[0] = dlogits;
    mm->in[1] = x;
    if (!before && last) {
        mm->out[0] = whole;
        whole->node = mm;
        return whole;
    }
    vkt_tensor *dw = vkt__out(mm, 0, whole->shape, whole->dtype);
    if (!before) return dw;
    vkt_node *add = like(h, h->dw);
    *add = (vkt_node) { .op = &vkt__op_add,
                        .g = h->g,
                        .in = { before, dw },
                        .attr = { .eltwise = { .op = VKT_EL_ADD } },
                        .backward = true };
    if (!last) return vkt__out(add, 0, whole->shape, whole->dtype);
    add->out[0] = whole;
    whole->node = add;
    return whole;
}

static void cut(head *h)
{
    vkt_tensor *dw = NULL, *logits = h->head->out[0], *w = with_room(h, h->head->in[1]),
               *sum = h->dw ? dw_with_room(h) : NULL;
    uint32_t classes = vkt__last(logits->shape);
    for (uint32_t first = 0; first < h->rows; first += h->each) {
        uint32_t n = VKT_MIN(h->each, h->rows - first);
        vkt_tensor *x = vkt__slice(h->head->in[0], first, n);
        vkt_node *mm = like(h, h->head), *loss = like(h, h->loss);
        mm->in[0] = x;
        mm->in[1] = w;
        mm->late = first > 0; /* not before the chunk before it is done with its memory */
        loss->in[LOGITS] = vkt__out(mm, 0, vkt_shape2(n, h->columns), logits->dtype);
        if (h->columns > classes) loss->attr.xent.classes = classes;
        for (uint32_t i = TARGET; i <= WEIGHT; i++)
            if (h->loss->in[i])
                loss->in[i] =
                    vkt__slice(vkt_reshape(h->g, h->loss->in[i], vkt_shape1(h->rows)), first, n);
        for (uint32_t i = 0; i < 2; i++) into_rows(loss, i, h->loss->out[i], first, n);
        for (uint32_t i = 2; i < 4; i++) vkt__out(loss, i, vkt_shape1(n), VKT_F32);
        if (!h->bwd) continue;
        vkt_node *bwd = like(h, h->bwd);
        bwd->attr = loss->attr;
        memcpy(bwd->in, loss->in, TOP * sizeof *bwd->in);
        bwd->in[TOP] = loss->out[2];
        bwd->in[LSE] = loss->out[3];
        if (bwd->in[DLOSS])
            bwd->in[DLOSS] =
                vkt__slice(vkt_reshape(h->g, bwd->in[DLOSS], vkt_shape1(h->rows)), first, n);
        vkt_tensor *d = vkt__out(bwd, 0, loss->in[LOGITS]->shape, h->bwd->out[0]->dtype);
        if (h->dx) {
            vkt_node *dx = like(h, h->dx);
            dx->in[0] = d;
            dx->in[1] = w;
            into_rows(dx, 0, h->dx->out[0], first, n);
        }
        if (h->dw) dw = add_dw(h, x, d, dw, sum, first + n == h->rows);
    }
}

static bool is_in(const vkt_node *n, vkt_node *const *list, size_t n_list)
{
    for (size_t i = 0; i < n_list; i++)
        if (list[i] == n) return true;
    return false;
}

/* The chunks in the head's place; what follows counts as the backward pass. */
static void put(head *h)
{
    vkt_graph *g = h->g;
    size_t n = 0, n_old = g->n_nodes, at = h->loss->index;
    vkt_node **nodes = vkt__alloc((n_old + h->n_made + 1) * sizeof *nodes);
    for (size_t k = 0; k < n_old; k++) {
        for (size_t i = 0; i < h->n_early && k == at; i++) nodes[n++] = h->early[i];
        for (size_t i = 0; i < h->n_made && k == at; i++) nodes[n++] = h->made[i];
        g->nodes[k]->backward |= k > at;
        if (!is_in(g->nodes[k], h->early, h->n_early)) nodes[n++] = g->nodes[k];
    }
    free(g->nodes);
    g->nodes = nodes;
    g->n_nodes = n;
    g->cap_nodes = n_old + h->n_made + 1;
    vkt_node *old[] = { h->head, h->loss, h->bwd, h->dx, h->dw };
    for (size_t i = 0; i < VKT_COUNT(old); i++) {
        if (!old[i]) continue;
        for (uint32_t o = 0; o < VKT_MAX_OUT; o++)
            if (old[i]->out[o] && old[i]->out[o]->node == old[i])
                vkt__remove_tensor(old[i]->out[o]);
        vkt__remove_node(old[i]);
    }
    for (size_t k = 0; k < n; k++) nodes[k]->index = (uint32_t)k;
    vkt__uses_forget(g);
}

static bool at(vkt_graph *g, vkt_node *n, bool training)
{
    head h;
    if (!find(g, n, training, &h)) return false;
    g->head.made = (h.rows + h.each - 1) / h.each;
    g->head.bytes = (uint64_t)VKT_MIN(h.each, h.rows) * h.columns * vkt_dtype_bytes(VKT_F32);
    cut(&h);
    put(&h);
    return true;
}

static uint32_t run(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, at);
}

const vkt__pass vkt__pass_head = { .name = "head and its cross-entropy in chunks, for memory",
                                   .whole = true,
                                   .run = run };
