/* A plan as text. */
#include <stdio.h>

#include "tensor/graph/cost.h"
#include "tensor/graph/record.h"
#include "tensor/graph/view.h"
#include "tensor/passes/precision.h"
#include "tensor/passes/rewrite.h"
#include "tensor/plan/recompute.h"

char *vkt_graph_explain(const vkt_graph *g)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "%5s  %-16s %-22s %-40s %10s %10s  %s\n", "level", "op", "result", "inputs",
                    "Mflop", "KiB moved", "memory");
    for (uint32_t l = 0; l < (g->by_level ? g->n_levels : 0); l++)
        for (size_t k = g->level_start[l]; k < g->level_start[l + 1]; k++) {
            const vkt_node *n = g->by_level[k];
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
                const vkt_tensor *h = vkt__home(o);
                if (o->bound)
                    snprintf(where, sizeof where, "%s", o->buf[0] ? o->buf[0]->label : "bound");
                else
                    snprintf(where, sizeof where, "slab+%llu%s", (unsigned long long)h->offset,
                             h != o ? " in place" : "");
            }
            vkt__str kernel = { 0 };
            vkt__tell_kernel(n, &kernel);
            vkt__str_printf(&s, "%5u  %-16s %-22s %-40s %10.3f %10.1f  %s%s%s\n", l, n->op->name,
                            result, in.data ? in.data : "", c.flops * 1e-6, c.bytes / 1024, where,
                            kernel.len ? ", kernel " : "", kernel.len ? kernel.data : "");
            vkt__str_finish(&kernel);
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
