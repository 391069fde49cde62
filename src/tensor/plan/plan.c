/* The plan: dependency levels from declared accesses, in-place memory, liveness. Offsets are
 * offsets.c's. */
#include <stdio.h>

#include "tensor/plan/plan.h"

static vkt_tensor *root(vkt_tensor *t)
{
    while (t->view_of) t = t->view_of;
    return t;
}

static vkt_tensor *home(vkt_tensor *t)
{
    t = root(t);
    while (t->home != t) t = root(t->home);
    return t;
}

/* ---- levels ---- */

/* The last write and read of a piece of memory: a planned tensor, or a range of the caller's
 * buffer. */
typedef struct {
    const vkt_tensor *t;  /* root */
    uint32_t write, read; /* 1 + level; 0: never */
} access;

bool vkt__overlap(const vkt_tensor *a, const vkt_tensor *b)
{
    if (a == b) return true;
    if (!a->bound || !b->bound) return false;
    for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++)
        if (a->buf[s] && a->buf[s] == b->buf[s] && a->buf_offset[s] < b->buf_offset[s] + b->bytes &&
            b->buf_offset[s] < a->buf_offset[s] + a->bytes)
            return true;
    return false;
}

typedef struct {
    access *list;  /* by tensor index */
    size_t *bound; /* indices of bound roots: the only ones that can overlap others */
    size_t n_bound;
} accesses;

static uint32_t conflict(const accesses *a, const vkt_tensor *t, bool write)
{
    uint32_t level = 0;
    if (!t->bound) {
        const access *x = &a->list[t->index];
        return write ? VKT_MAX(x->write, x->read) : x->write;
    }
    for (size_t k = 0; k < a->n_bound; k++) {
        const access *x = &a->list[a->bound[k]];
        if (!vkt__overlap(x->t, t)) continue;
        level = VKT_MAX(level, x->write);
        if (write) level = VKT_MAX(level, x->read);
    }
    return level;
}

static bool writes_input(const vkt_node *n, uint32_t i)
{
    return (n->op->mutates >> i & 1) != 0;
}

static void assign_levels(vkt_graph *g)
{
    accesses a = { vkt__alloc(g->n_tensors * sizeof(access)),
                   vkt__alloc(g->n_tensors * sizeof(size_t)), 0 };
    for (size_t i = 0; i < g->n_tensors; i++) {
        a.list[i].t = g->tensors[i];
        if (g->tensors[i]->bound) a.bound[a.n_bound++] = i;
    }
    g->n_levels = 0;
    uint32_t after_backward = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *n = g->nodes[k];
        uint32_t level = n->late ? after_backward : 0;
        for (uint32_t i = 0; i < n->op->n_in; i++)
            if (n->in[i]) level = VKT_MAX(level, conflict(&a, root(n->in[i]), writes_input(n, i)));
        for (uint32_t i = 0; i < n->op->n_out; i++)
            if (n->out[i]) level = VKT_MAX(level, conflict(&a, root(n->out[i]), true));
        n->level = level;
        if (n->backward && !n->late) after_backward = VKT_MAX(after_backward, level + 1);
        for (uint32_t i = 0; i < n->op->n_in; i++) {
            if (!n->in[i]) continue;
            access *x = &a.list[root(n->in[i])->index];
            x->read = VKT_MAX(x->read, level + 1);
            if (writes_input(n, i)) x->write = VKT_MAX(x->write, level + 1);
        }
        for (uint32_t i = 0; i < n->op->n_out; i++)
            if (n->out[i]) a.list[root(n->out[i])->index].write = level + 1;
        g->n_levels = VKT_MAX(g->n_levels, level + 1);
    }
    free(a.list);
    free(a.bound);
}

/* ---- liveness ---- */

static void assign_lifetimes(vkt_graph *g)
{
    for (size_t i = 0; i < g->n_tensors; i++) {
        g->tensors[i]->first = UINT32_MAX;
        g->tensors[i]->last = 0;
        g->tensors[i]->home = g->tensors[i];
    }
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *n = g->nodes[k];
        for (uint32_t i = 0; i < VKT_MAX_IN + VKT_MAX_OUT; i++) {
            vkt_tensor *t = i < VKT_MAX_IN ? n->in[i] : n->out[i - VKT_MAX_IN];
            if (!t) continue;
            t = root(t);
            t->first = VKT_MIN(t->first, n->level);
            t->last = VKT_MAX(t->last, n->level);
        }
    }
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->kept) root(g->tensors[i])->last = g->n_levels;
}

/* An output takes the memory of an input that dies at this node and that no other node of the level
 * reads. */
static void assign_inplace(vkt_graph *g)
{
    uint32_t *readers =
        vkt__alloc(g->n_tensors * sizeof *readers); /* of a root at its last level */
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            vkt_tensor *t = g->nodes[k]->in[i] ? root(g->nodes[k]->in[i]) : NULL;
            if (t && t->last == g->nodes[k]->level) readers[t->index]++;
        }
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *n = g->nodes[k];
        vkt_tensor *out = n->out[n->op->inplace_out];
        if (!n->op->inplace || !out || out->bound || out->view_of) continue;
        for (uint32_t i = 0; i < n->op->n_in; i++) {
            if (!(n->op->inplace >> i & 1) || !n->in[i]) continue;
            vkt_tensor *in = root(n->in[i]), *h = home(in);
            if (in->bound || !in->node || in->kept || in->bytes != out->bytes) continue;
            if (in->last != n->level || readers[in->index] != 1 || h->last != n->level) continue;
            out->home = h;
            h->last = VKT_MAX(h->last, out->last);
            break;
        }
    }
    free(readers);
}

/* ---- the lower bound ---- */

bool vkt__is_planned(const vkt_tensor *t)
{
    return !t->bound && !t->view_of && t->home == t && t->node && t->bytes > 0;
}

uint64_t vkt__footprint(const vkt_graph *g, const vkt_tensor *t)
{
    return vkt__align(t->bytes, 256) + (g->no_reuse ? 256 : 0);
}

/* The largest sum of tensors alive at one level. */
static void bound_bytes(vkt_graph *g)
{
    int64_t *change = vkt__alloc((g->n_levels + 2) * sizeof *change), sum = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const vkt_tensor *t = g->tensors[i];
        if (!vkt__is_planned(t)) continue;
        change[t->first] += (int64_t)vkt__align(t->bytes, 256);
        change[t->last + 1] -= (int64_t)vkt__align(t->bytes, 256);
    }
    g->slab_bound = 0;
    for (uint32_t l = 0; l <= g->n_levels; l++) {
        sum += change[l];
        g->slab_bound = VKT_MAX(g->slab_bound, (uint64_t)sum);
    }
    free(change);
}

void vkt__plan_lifetimes(vkt_graph *g)
{
    assign_levels(g);
    assign_lifetimes(g);
    if (!g->no_reuse) assign_inplace(g);
    bound_bytes(g);
}

vkt_status vkt_graph_plan(vkt_graph *g, const vkt_plan_desc *desc)
{
    if (g->status != VKT_OK) return g->status;
    if (g->planned) return VKT_OK;
    vkt__rewrite(g, false);
    vkt__rewrite_whole(g);
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            const vkt_tensor *t = g->nodes[k]->in[i] ? root(g->nodes[k]->in[i]) : NULL;
            if (t && !t->node && !t->bound)
                return g->status =
                           vkt__fail(VKT_ARG, "plan", "input %s of '%s' is not bound to memory",
                                     vkt__text(t), g->nodes[k]->op->name);
        }
    g->n_slots = desc->n_slots ? desc->n_slots : 1;
    VKT_ASSERT(g->n_slots <= VKT_MAX_SLOTS);
    g->no_reuse = desc->no_reuse;
    const vkt_caps *c = g->gpu ? vkt_gpu_caps(g->gpu) : NULL;
    uint64_t chunk = c ? VKT_MIN(c->max_alloc_bytes, c->max_buffer_bytes) : 1ull << 40;
    g->chunk_bytes = chunk / 256 * 256;
    if (g->recompute) vkt__recompute(g);
    vkt__plan_lifetimes(g);
    vkt_status st = vkt__assign_offsets(g);
    if (st != VKT_OK) return g->status = st;
    g->planned = true;
    return VKT_OK;
}

uint64_t vkt_graph_bytes(const vkt_graph *g)
{
    return g->slab_bytes;
}

uint64_t vkt_graph_bytes_bound(const vkt_graph *g)
{
    return g->slab_bound;
}

double vkt__node_bytes(const vkt_node *n)
{
    double bytes = 0;
    for (uint32_t i = 0; i < n->op->n_in; i++)
        if (n->in[i]) bytes += (double)n->in[i]->bytes * (n->op->mutates >> i & 1 ? 2 : 1);
    for (uint32_t i = 0; i < n->op->n_out; i++)
        if (n->out[i]) bytes += (double)n->out[i]->bytes;
    return bytes;
}

vkt_cost vkt__node_cost(const vkt_node *n)
{
    if (n->op->cost) return n->op->cost(n);
    return (vkt_cost) { n->out[0] ? (double)n->out[0]->count : 0, vkt__node_bytes(n) };
}

void vkt_graph_cost(const vkt_graph *g, double *flops, double *bytes)
{
    *flops = *bytes = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_cost c = vkt__node_cost(g->nodes[k]);
        *flops += c.flops;
        *bytes += c.bytes;
    }
}

char *vkt_graph_explain(const vkt_graph *g)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "%5s  %-16s %-22s %-40s %10s %10s  %s\n", "level", "op", "result", "inputs",
                    "Mflop", "KiB moved", "memory");
    for (uint32_t l = 0; l < g->n_levels; l++)
        for (size_t k = 0; k < g->n_nodes; k++) {
            const vkt_node *n = g->nodes[k];
            if (n->level != l) continue;
            vkt__str in = { 0 };
            char text[96];
            for (uint32_t i = 0; i < n->op->n_in; i++) {
                const vkt_tensor *t = n->in[i];
                if (!t) continue;
                if (t->name)
                    vkt__str_printf(&in, "%s%s", in.len ? ", " : "", t->name);
                else
                    vkt__str_printf(&in, "%s%%%u", in.len ? ", " : "", (unsigned)t->index);
            }
            vkt_cost c = vkt__node_cost(n);
            const vkt_tensor *o = n->out[0];
            char result[160] = "(in place)", where[64] = "";
            if (o) {
                if (o->name)
                    snprintf(result, sizeof result, "%s %s", o->name,
                             vkt_shape_text(o->shape, o->dtype, text));
                else
                    snprintf(result, sizeof result, "%%%u %s", (unsigned)o->index,
                             vkt_shape_text(o->shape, o->dtype, text));
                const vkt_tensor *h = o;
                while (h->home != h) h = h->home;
                if (o->bound)
                    snprintf(where, sizeof where, "%s", o->buf[0] ? o->buf[0]->label : "bound");
                else
                    snprintf(where, sizeof where, "slab+%llu%s", (unsigned long long)h->offset,
                             h != o ? " in place" : "");
            }
            const char *kernel = g->gpu && n->op->kernel ? n->op->kernel(g->gpu, n) : NULL;
            vkt__str_printf(&s, "%5u  %-16s %-22s %-40s %10.3f %10.1f  %s%s%s\n", l, n->op->name,
                            result, in.data ? in.data : "", c.flops * 1e-6, c.bytes / 1024, where,
                            kernel ? ", kernel " : "", kernel ? kernel : "");
            vkt__str_finish(&in);
        }
    vkt__rewrite_explain(g, &s);
    vkt__precision_explain(g, &s);
    vkt__recompute_explain(g, &s);
    if (g->recompute) vkt__str_add(&s, "\n", 1);
    double flops, bytes;
    vkt_graph_cost(g, &flops, &bytes);
    vkt__str_printf(&s,
                    "%zu ops in %u levels; %.1f Mflop, %.1f MiB moved; activations %.2f MiB (lower "
                    "bound %.2f MiB)\n",
                    g->n_nodes, g->n_levels, flops * 1e-6, bytes / 1048576,
                    (double)g->slab_bytes / 1048576, (double)g->slab_bound / 1048576);
    return s.data;
}
