/* Mixed precision: a rewrite of the whole graph, gradients included, after which activations and
 * their gradients lie in memory in 16 bits. It changes what memory holds and nothing else: kernels
 * compute in fp32 and round an element once, when they store it. The rule:
 *
 *   a tensor has 16 bits if the row that writes it can (VKT_NARROW, VKT_MAY_NARROW), every row that
 * reads it can (the same), it has no shadow, its memory is the graph's own, and its last
 * dimension is even, so that no two rows share a word; factors of products always have 16 bits:
 * parameters by their shadows, others by a cast, which every later reader that can then reads too;
 * all else is fp32: parameters and their gradients, logits, losses, softmax, statistics of norms,
 * sums, the gradient's norm, the optimizer. Convolutions, whose tensors stay fp32, and attention
 * round factors as they multiply them where the device has matrix units for that (a row's
 * `narrow`). */
#include "tensor/graph/view.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/precision.h"

static bool is_even(const vkt_tensor *t)
{
    return vkt__last(t->shape) % 2 == 0;
}

static bool can_narrow(const vkt_node *n, vkt_dtype to)
{
    return n->op->can_narrow && n->op->can_narrow(n, to);
}

/* Of inputs and outputs of n by bits: if one of them can't, none may. Returns whether that took
 * anything away. */
static bool keep_alike(const vkt_node *n, uint32_t in, uint32_t out, bool *may)
{
    bool *list[VKT_MAX_IN + VKT_MAX_OUT], all = true, any = false;
    size_t count = 0;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i] && in >> i & 1) list[count++] = &may[vkt__root(n->in[i])->index];
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i] && out >> i & 1) list[count++] = &may[n->out[i]->index];
    for (size_t i = 0; i < count; i++) {
        all = all && *list[i];
        any = any || *list[i];
    }
    for (size_t i = 0; i < count && !all; i++) *list[i] = false;
    return any && !all;
}

/* The same of a row whose tensors are alike. */
static bool keep_row_alike(const vkt_node *n, vkt_dtype to, bool *may)
{
    if (n->op->alike)
        return keep_alike(
            n, vkt__inputs_with(n->op, VKT_NARROW) & ~vkt__inputs_with(n->op, VKT_FACTOR),
            UINT32_MAX, may);
    if (!can_narrow(n, to)) return false;
    bool in = keep_alike(n, vkt__inputs_with(n->op, VKT_MAY_ALIKE), 0, may);
    return keep_alike(n, 0, vkt__outputs_with(n->op, VKT_MAY_NARROW), may) || in;
}

/* By the index of roots: whether all nodes can have it in 16 bits. inputs: of the graph's too. */
static bool *find_narrow(const vkt_graph *g, vkt_dtype to, bool inputs)
{
    bool *may = vkt__alloc((g->n_tensors + 1) * sizeof *may);
    for (size_t i = 0; i < g->n_tensors; i++) {
        const vkt_tensor *t = g->tensors[i];
        bool written = inputs && t->name != NULL;
        if (t->node) {
            vkt_traits traits = t->node->op->out[t->out_index];
            written = traits & VKT_NARROW || (traits & VKT_MAY_NARROW && can_narrow(t->node, to));
        }
        may[i] = !t->view_of && written && !t->shadow && !t->bound && !t->kept && !t->inert &&
                 t->dtype == VKT_F32 && (!t->node || is_even(t));
    }
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->view_of && !is_even(g->tensors[i]))
            may[vkt__root(g->tensors[i])->index] = false;
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            const vkt_node *n = g->nodes[k];
            if (!n->in[i]) continue;
            vkt_traits traits = n->op->in[i];
            bool can = is_even(n->in[i])
                           ? traits & VKT_NARROW || (traits & VKT_MAY_NARROW && can_narrow(n, to))
                           : traits & VKT_NARROW_ODD;
            if (!can || traits & VKT_CHANGED) may[vkt__root(n->in[i])->index] = false;
        }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < g->n_nodes; k++) changed |= keep_row_alike(g->nodes[k], to, may);
    }
    return may;
}

/* Gives the tensors of the list, and views of them, their 16 bits. */
static size_t make_narrow(vkt_graph *g, const bool *may, vkt_dtype to)
{
    size_t made = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (!may[vkt__root(t)->index]) continue;
        t->dtype = to;
        t->bytes = t->count * vkt_dtype_bytes(to);
        if (t->view_of) continue;
        made++;
        g->narrow.saved_bytes += t->bytes;
    }
    return made;
}

size_t vkt__narrow_all(vkt_graph *g, vkt_dtype to)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (vkt_dtype_bytes(g->tensors[i]->dtype) == 2) return 0;
    bool *may = find_narrow(g, to, true);
    size_t made = make_narrow(g, may, to);
    free(may);
    return made;
}

/* ---- factors ---- */

typedef struct {
    vkt_node **list; /* the nodes in their new order */
    size_t n, cap;
    vkt_tensor **copies; /* by tensor index: its copy in 16 bits, or NULL */
    size_t n_copies;
} narrowing;

static void append(narrowing *w, vkt_node *n)
{
    w->list = vkt__grow(w->list, w->n, &w->cap, sizeof *w->list);
    n->index = (uint32_t)w->n;
    w->list[w->n++] = n;
}

/* t in 16 bits, for a product; its cast is appended the first time. */
static vkt_tensor *copy_of(vkt_graph *g, narrowing *w, vkt_tensor *t)
{
    vkt_dtype to = g->precision;
    if (w->copies[t->index]) return w->copies[t->index];
    vkt_tensor *copy = t->shadow;
    if (copy && copy->dtype == to) {
        g->narrow.n_shadows++;
    } else {
        copy = vkt_cast(g, t, to);
        if (copy->inert) return t;
        append(w, copy->node);
        g->narrow.n_casts++;
    }
    return w->copies[t->index] = copy;
}

static void narrow_factors(vkt_graph *g)
{
    size_t n = g->n_nodes;
    narrowing w = { .copies = vkt__alloc((g->n_tensors + 1) * sizeof *w.copies),
                    .n_copies = g->n_tensors };
    for (size_t k = 0; k < n; k++) {
        vkt_node *node = g->nodes[k];
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            vkt_tensor *t = node->in[i];
            if (!t || t->dtype != VKT_F32 || !(node->op->in[i] & VKT_NARROW)) continue;
            if (node->op->in[i] & VKT_FACTOR)
                node->in[i] = copy_of(g, &w, t);
            else if (vkt__root(t)->node && is_even(t) && w.copies[t->index])
                node->in[i] = w.copies[t->index];
        }
        append(&w, node);
    }
    free(g->nodes);
    free(w.copies);
    g->nodes = w.list;
    g->n_nodes = w.n;
    g->cap_nodes = w.cap;
}

static uint32_t run(vkt_graph *g, bool training)
{
    (void)training;
    if (g->precision == VKT_F32 || g->status != VKT_OK) return 0;
    for (size_t k = 0; k < g->n_nodes && g->gpu; k++)
        if (g->nodes[k]->op->narrow)
            g->narrow.n_units += g->nodes[k]->op->narrow(g->gpu, g->nodes[k], g->precision);
    bool *may = find_narrow(g, g->precision, false);
    g->narrow.n_tensors = (uint32_t)make_narrow(g, may, g->precision);
    free(may);
    narrow_factors(g);
    vkt__uses_forget(g);
    return g->narrow.n_tensors + g->narrow.n_shadows + g->narrow.n_casts + g->narrow.n_units;
}

const vkt__pass vkt__pass_precision = { .name = "activations, gradients, weights in 16 bits",
                                        .whole = true,
                                        .run = run };

void vkt__precision_explain(const vkt_graph *g, vkt__str *s)
{
    if (g->precision == VKT_F32) return;
    if (g->no_rewrite)
        vkt__str_printf(s, "precision: %s needs rewrites, which are off: everything is fp32\n",
                        vkt_dtype_name(g->precision));
    else
        vkt__str_printf(s,
                        "precision: %u activations and gradients in %s, %.1f KiB less memory; "
                        "products read %u weights in 16 bits, %u tensors by casts\n",
                        g->narrow.n_tensors, vkt_dtype_name(g->precision),
                        (double)g->narrow.saved_bytes / 1024, g->narrow.n_shadows,
                        g->narrow.n_casts);
    if (g->narrow.n_units)
        vkt__str_printf(s,
                        "%u convolutions and attentions round what they multiply to %s, on "
                        "matrix units\n",
                        g->narrow.n_units, vkt_dtype_name(g->precision));
}

/* ---- what callers ask for ---- */

void vkt_graph_precision(vkt_graph *g, vkt_dtype dtype)
{
    VKT_ASSERT(dtype != VKT_U32 && !g->differentiated && !g->planned);
    g->precision = dtype;
}

void vkt_shadow(vkt_tensor *t, vkt_tensor *shadow)
{
    VKT_ASSERT(t->inert || shadow->inert || vkt__shape_equal(t->shape, shadow->shape));
    t->shadow = shadow;
}

void vkt_scale_loss(vkt_graph *g, vkt_tensor *scale)
{
    VKT_ASSERT(!g->differentiated && scale->count == 1);
    g->loss_scale = scale;
}
