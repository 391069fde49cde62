/* The graph: tensors, nodes, latched errors, bindings. Builders of single ops live with their rows.
 */
#include <stdio.h>

#include "gpu/commands.h"
#include "base/words.h"
#include "tensor/graph/graph.h"
#include "shaders/params.h"

uint64_t vkt_shape_count(vkt_shape s)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < s.rank; i++)
        if (!vkt__mul_ok(n, s.d[i], &n)) return UINT64_MAX;
    return n;
}

uint32_t vkt_dtype_bytes(vkt_dtype t)
{
    return t == VKT_F16 || t == VKT_BF16 ? 2 : 4;
}

const char *vkt_dtype_name(vkt_dtype t)
{
    static const char *const names[] = { "f32", "f16", "bf16", "u32" };
    return names[t];
}

const char *vkt_shape_text(vkt_shape s, vkt_dtype t, char out[96])
{
    int n = snprintf(out, 96, "[");
    for (uint32_t i = 0; i < s.rank; i++)
        n += snprintf(out + n, 96 - (size_t)n, "%s%u", i ? ", " : "", s.d[i]);
    snprintf(out + n, 96 - (size_t)n, "] %s", vkt_dtype_name(t));
    return out;
}

bool vkt__shape_equal(vkt_shape a, vkt_shape b)
{
    if (a.rank != b.rank) return false;
    for (uint32_t i = 0; i < a.rank; i++)
        if (a.d[i] != b.d[i]) return false;
    return true;
}

uint32_t vkt__last(vkt_shape s)
{
    return s.rank ? s.d[s.rank - 1] : 1;
}

uint32_t vkt__rows_of(vkt_shape s)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i + 1 < s.rank; i++) n *= s.d[i];
    return n;
}

const char *vkt__text(const vkt_tensor *t)
{
    static _Thread_local char ring[4][160];
    static _Thread_local unsigned turn;
    char shape[96], *out = ring[turn++ % 4];
    snprintf(out, 160, "%s%s%s", t->name ? t->name : "", t->name ? " " : "",
             vkt_shape_text(t->shape, t->dtype, shape));
    return out;
}

static vkt_tensor *tensor_new(vkt_graph *g, vkt_shape shape, vkt_dtype dtype)
{
    vkt_tensor *t = vkt__arena_alloc(&g->arena, sizeof *t);
    t->g = g;
    t->shape = shape;
    t->dtype = dtype;
    t->count = vkt_shape_count(shape);
    t->bytes = t->count * vkt_dtype_bytes(dtype);
    t->home = t;
    g->tensors = vkt__grow(g->tensors, g->n_tensors, &g->cap_tensors, sizeof *g->tensors);
    t->index = g->n_tensors;
    g->tensors[g->n_tensors++] = t;
    return t;
}

vkt_graph *vkt__graph_new(vkt_gpu *gpu)
{
    vkt_graph *g = vkt__alloc(sizeof *g);
    g->gpu = gpu;
    g->inert = tensor_new(g, (vkt_shape) { 0 }, VKT_F32);
    g->inert->inert = true;
    g->ones = tensor_new(g, (vkt_shape) { 0 }, VKT_F32);
    return g;
}

/* ---- names ---- */

static vkt_tensor **place_of(const vkt_graph *g, const char *name)
{
    return &g->named[vkt__hash(name, strlen(name), 0) & (g->n_places - 1)];
}

static void put_in_place(vkt_graph *g, vkt_tensor *t)
{
    vkt_tensor **p = place_of(g, t->name);
    t->next_named = *p;
    *p = t;
}

static void more_places(vkt_graph *g)
{
    vkt_tensor **old = g->named;
    size_t n = g->n_places;
    g->n_places = n ? 2 * n : 64;
    g->named = vkt__alloc(g->n_places * sizeof(vkt_tensor *));
    for (size_t i = 0; i < n; i++)
        for (vkt_tensor *t = old[i], *next; t; t = next) {
            next = t->next_named;
            put_in_place(g, t);
        }
    free(old);
}

static void set_name(vkt_tensor *t, const char *name)
{
    vkt_graph *g = t->g;
    if (t->name) {
        vkt_tensor **p = place_of(g, t->name);
        while (*p != t) p = &(*p)->next_named;
        *p = t->next_named;
        g->n_named--;
    }
    t->name = vkt__arena_strdup(&g->arena, name);
    if (g->n_named == g->n_places) more_places(g);
    g->n_named++;
    put_in_place(g, t);
}

vkt_tensor *vkt__input_named(const vkt_graph *g, const char *name)
{
    vkt_tensor *first = NULL;
    for (vkt_tensor *t = g->n_places ? *place_of(g, name) : NULL; t; t = t->next_named)
        if (!t->node && !strcmp(t->name, name) && (!first || t->index < first->index)) first = t;
    return first;
}

/* ---- tensors ---- */

vkt_tensor *vkt_input(vkt_graph *g, vkt_shape shape, vkt_dtype dtype, const char *name)
{
    uint64_t n = vkt_shape_count(shape);
    if (n > VKT__MOST_ELEMENTS) {
        vkt_log(VKT_LOG_ERROR, "tensor",
                "input '%s' has %llu elements; a tensor has fewer than 2^31: use a smaller batch",
                name, (unsigned long long)n);
        if (g->status == VKT_OK) g->status = VKT_E_SHAPE;
        return g->inert;
    }
    vkt_tensor *t = tensor_new(g, shape, dtype);
    set_name(t, name);
    return t;
}

vkt_status vkt_graph_create(vkt_gpu *gpu, vkt_graph **out)
{
    *out = vkt__graph_new(gpu);
    return VKT_OK;
}

void vkt_graph_no_rewrite(vkt_graph *g)
{
    g->no_rewrite = true;
}

void vkt_graph_recompute(vkt_graph *g)
{
    g->recompute = true;
}

void vkt_bind(vkt_tensor *t, uint32_t slot, const vkt_buffer *buf, uint64_t offset)
{
    if (t->inert) return;
    uint64_t end;
    vkt__buffer_piece(buf, offset, &end);
    VKT_ASSERT(!t->view_of && offset % 16 == 0 && offset + t->bytes <= end);
    VKT_ASSERT(slot == VKT_ALL_SLOTS || slot < VKT_MAX_SLOTS);
    for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++) {
        if (slot != VKT_ALL_SLOTS && s != slot) continue;
        t->buf[s] = buf;
        t->buf_offset[s] = offset;
    }
    t->bound = true;
    if (t->g->new_place) t->g->new_place(t);
}

void vkt_known(vkt_tensor *t, const float *numbers)
{
    VKT_ASSERT(t->inert || (!t->node && !t->view_of));
    t->numbers = t->inert ? NULL : numbers;
}

void vkt__set_room(vkt_tensor *t, uint32_t rows)
{
    VKT_ASSERT(t->inert || (t->bound && t->shape.rank == 2 && rows >= t->shape.d[0]));
    t->room = rows;
}

void vkt_keep(vkt_tensor *t, const char *name)
{
    if (t->inert) return;
    if (name) set_name(t, name);
    t->kept = true;
    for (vkt_tensor *v = t->view_of; v; v = v->view_of) v->kept = true;
}

vkt_shape vkt_tensor_shape(const vkt_tensor *t)
{
    return t->shape;
}

vkt_dtype vkt_tensor_dtype(const vkt_tensor *t)
{
    return t->dtype;
}

void vkt__where(vkt_graph *g, const char *where)
{
    g->where = where ? vkt__arena_strdup(&g->arena, where) : NULL;
}

bool vkt__shape_error(vkt_node *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vkt__str s = { 0 };
    vkt__str_vprintf(&s, fmt, ap);
    va_end(ap);
    vkt_graph *g = n->g;
    if (g->status == VKT_OK) {
        vkt_log(VKT_LOG_ERROR, "tensor", "%s%s%s: %s", g->where ? g->where : "",
                g->where ? ": " : "", n->op->name, s.data);
        g->status = VKT_E_SHAPE;
    }
    vkt__str_finish(&s);
    return false;
}

vkt_tensor *vkt__out(vkt_node *n, uint32_t i, vkt_shape shape, vkt_dtype dtype)
{
    VKT_ASSERT(i < n->op->n_out);
    vkt_tensor *t = tensor_new(n->g, shape, dtype);
    t->node = n;
    t->out_index = i;
    n->out[i] = t;
    return t;
}

uint32_t vkt__inputs_with(const vkt_op *op, vkt_traits trait)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < op->n_in; i++) bits |= (op->in[i] & trait) != 0 ? 1u << i : 0;
    return bits;
}

uint32_t vkt__outputs_with(const vkt_op *op, vkt_traits trait)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < op->n_out; i++) bits |= (op->out[i] & trait) != 0 ? 1u << i : 0;
    return bits;
}

/* An input's type, before the row's own rule, which need not look at it. */
static bool type_fits(vkt_node *n, uint32_t i)
{
    const vkt_tensor *t = n->in[i];
    bool words = n->op->in[i] & VKT_WORDS, narrow = n->op->in[i] & VKT_NARROW;
    if (t->dtype == VKT_U32 ? !words : words && !narrow)
        return vkt__shape_error(n, "input %u, %s, must be %s", i + 1, vkt__text(t),
                                words ? "u32" : "floats, not whole numbers");
    bool odd = vkt__last(t->shape) % 2;
    if (vkt_dtype_bytes(t->dtype) != 2 || (narrow && (!odd || n->op->in[i] & VKT_NARROW_ODD)))
        return true;
    return vkt__shape_error(n, "%s must be f32%s: cast it first", vkt__text(t),
                            narrow ? ", or its rows of an even length" : "");
}

vkt_node *vkt__node(vkt_graph *g, const vkt_op *op, vkt_tensor *const *in, size_t n_in,
                    vkt_attr attr)
{
    VKT_ASSERT(n_in <= op->n_in && !g->planned);
    vkt_node *n = vkt__arena_alloc(&g->arena, sizeof *n);
    n->op = op;
    n->g = g;
    n->attr = attr;
    n->backward = g->differentiated;
    for (size_t i = 0; i < n_in; i++) {
        n->in[i] = in[i];
        if (in[i] && in[i]->inert) return NULL;
        VKT_ASSERT(!in[i] || in[i]->g == g);
    }
    for (uint32_t i = 0; i < op->n_in; i++) {
        VKT_ASSERT(n->in[i] || op->in[i] & VKT_OPTIONAL);
        if (n->in[i] && !type_fits(n, i)) return NULL;
    }
    if (!op->shape(n)) return NULL;
    for (uint32_t i = 0; i < op->n_out; i++) {
        if (!n->out[i] || n->out[i]->count <= VKT__MOST_ELEMENTS) continue;
        vkt__shape_error(n,
                         "the result %s has %llu elements; a tensor has fewer than 2^31: use a "
                         "smaller batch",
                         vkt__text(n->out[i]), (unsigned long long)n->out[i]->count);
        return NULL;
    }
    n->index = (uint32_t)g->n_nodes;
    g->nodes = vkt__grow(g->nodes, g->n_nodes, &g->cap_nodes, sizeof *g->nodes);
    g->nodes[g->n_nodes++] = n;
    if (g->new_node) g->new_node(n);
    return n;
}

vkt_tensor *vkt__op(vkt_graph *g, const vkt_op *op, vkt_tensor *const *in, size_t n_in,
                    vkt_attr attr)
{
    vkt_node *n = vkt__node(g, op, in, n_in, attr);
    return n ? n->out[0] : g->inert;
}

vkt_tensor *vkt_reshape(vkt_graph *g, vkt_tensor *x, vkt_shape shape)
{
    if (x->inert) return x;
    if (vkt_shape_count(shape) != x->count) {
        char text[96];
        vkt_node fake = { .op = &(vkt_op) { .name = "reshape" }, .g = g };
        vkt__shape_error(&fake, "%s can't become %s", vkt__text(x),
                         vkt_shape_text(shape, x->dtype, text));
        return g->inert;
    }
    if (vkt__shape_equal(shape, x->shape)) return x;
    vkt_tensor *t = tensor_new(g, shape, x->dtype);
    t->view_of = x;
    t->kept = x->kept;
    return t;
}

vkt_tensor *vkt__slice(vkt_tensor *t, uint32_t first, uint32_t n)
{
    uint32_t row = t->shape.rank > 1 ? vkt__last(t->shape) : 1;
    VKT_ASSERT((uint64_t)(first + n) * row <= t->count);
    vkt_tensor *s =
        tensor_new(t->g, t->shape.rank > 1 ? vkt_shape2(n, row) : vkt_shape1(n), t->dtype);
    s->view_of = t;
    s->view_at = (uint64_t)first * row;
    s->kept = t->kept;
    return s;
}

vkt_tensor *vkt_step(vkt_graph *g)
{
    if (!g->step) {
        g->step = vkt_input(g, vkt_shape1(sizeof(struct vkt_step_block) / 4), VKT_U32, "step");
        g->step->hint.kind = VKT_HINT_STEP;
    }
    return g->step;
}

vkt_gpu *vkt__gpu_of(const vkt_graph *g)
{
    return g->gpu;
}

vkt_tensor *vkt__inert(const vkt_graph *g)
{
    return g->inert;
}

uint32_t vkt__new_dropout(vkt_graph *g)
{
    return g->n_dropout++;
}
