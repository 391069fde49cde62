/* The table of graph rewrites, how they run, and what they did. */
#include <assert.h>
#include <math.h>

#include "tensor/passes/passes.h"
#include "tensor/passes/rewrite.h"

/* In this order. Passes before differentiation first. */
static const vkt__pass *const passes[] = {
    &vkt__pass_transpose,     /* a transposed factor into the product's layout */
    &vkt__pass_expand,        /* an expanded operand into what broadcasts */
    &vkt__pass_slice,         /* a slice of what was joined from its part */
    &vkt__pass_attention,     /* softmax of scores, times values, into attention */
    &vkt__pass_scale,         /* a factor of queries or keys into attention's */
    &vkt__pass_compose,       /* GELU and norms, written out */
    &vkt__pass_bias,          /* a vector that is added into what makes the rows */
    &vkt__pass_conv_norm,     /* a norm by running averages into its convolution */
    &vkt__pass_residual_norm, /* x + r and its norm */
    &vkt__pass_batch_norm,    /* residual and activation after a batch norm */
    &vkt__pass_batch_pool,    /* max pooling after it */
    &vkt__pass_act,           /* an activation into what makes its input */
    &vkt__pass_act_bwd,       /* its gradient into the product that takes it */
    &vkt__pass_head,          /* large logits and their loss, in chunks of rows */
    &vkt__pass_residual,      /* a sum into what makes a term */
    &vkt__pass_accumulate,    /* micro-batches' sums into the products that make large gradients */
    &vkt__pass_relu_dropout,  /* relu and dropout in one */
    &vkt__pass_chain,         /* elementwise ops in a row */
    &vkt__pass_precision,     /* 16-bit activations and weights */
    &vkt__pass_split,         /* deep products in slices of k */
    &vkt__pass_sum_rows,      /* a bias's gradient beside its matrix's */
    &vkt__pass_batch_join,    /* what merges a batch norm's chunks into what reads it */
    &vkt__pass_conv_stats,    /* statistics beside the convolution that they are of */
    &vkt__pass_sum_group,     /* sums over rows, several in one */
    &vkt__pass_flips,         /* filters turned for gradients, several in one */
    &vkt__pass_xent,          /* loss and its gradient in one */
    &vkt__pass_state,         /* last sums into the step's scalars */
};
static_assert(VKT_COUNT(passes) <= VKT_MAX_PASSES, "vkt_graph.rewrites has a place for each");

/* ---- running ---- */

static void leave_out_removed(vkt_graph *g)
{
    size_t n = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        if (!g->nodes[k]->op) continue;
        g->nodes[k]->index = (uint32_t)n;
        g->nodes[n++] = g->nodes[k];
    }
    g->n_nodes = n;
}

/* From pass `from` to the one before `end`; returns `end`. */
static size_t run(vkt_graph *g, bool whole, bool training, size_t from, size_t end)
{
    double flops, before, after;
    vkt_graph_cost(g, &flops, &before);
    for (size_t i = from; i < end; i++) {
        if (passes[i]->whole != whole || g->no_rewrite) continue;
        uint32_t n = passes[i]->run(g, training);
        if (!n) continue;
        VKT_ASSERT(vkt__uses_are_right(g));
        vkt__uses_forget(g);
        leave_out_removed(g);
        vkt_graph_cost(g, &flops, &after);
        g->rewrites[i].n += n;
        g->rewrites[i].bytes += before - after;
        before = after;
    }
    vkt__uses_forget(g);
    return end;
}

static size_t place_of(const vkt__pass *pass)
{
    size_t i = 0;
    while (passes[i] != pass) i++;
    return i;
}

void vkt__rewrite(vkt_graph *g, bool training)
{
    if (g->rewritten) return;
    g->rewritten = true;
    run(g, false, training, 0, VKT_COUNT(passes));
}

void vkt__rewrite_types(vkt_graph *g)
{
    vkt__rewrite(g, false);
    if (g->passes_done) return;
    g->passes_done = run(g, true, g->differentiated, 0, place_of(&vkt__pass_precision) + 1);
}

void vkt__rewrite_whole(vkt_graph *g)
{
    run(g, true, g->differentiated, g->passes_done, VKT_COUNT(passes));
    g->passes_done = 0;
}

/* ---- telling ---- */

uint32_t vkt__rewrite_count(const vkt_graph *g, const vkt__pass *pass)
{
    return g->rewrites[place_of(pass)].n;
}

void vkt__rewrite_explain(const vkt_graph *g, vkt__str *s)
{
    double saved = 0, flops, bytes;
    uint32_t n = 0;
    for (size_t i = 0; i < VKT_COUNT(passes); i++) {
        if (!g->rewrites[i].n) continue;
        double kib = g->rewrites[i].bytes / 1024;
        vkt__str_printf(s, "rewrite: %3u x %-56s %10.1f KiB %s\n", g->rewrites[i].n,
                        passes[i]->name, fabs(kib), kib < 0 ? "more" : "saved");
        if (passes[i] == &vkt__pass_head)
            vkt__str_printf(s, "         in %u chunk%s of %.1f MiB of logits each\n", g->head.made,
                            g->head.made == 1 ? "" : "s", (double)g->head.bytes / 1048576);
        saved += g->rewrites[i].bytes;
        n++;
    }
    vkt_graph_cost(g, &flops, &bytes);
    if (n)
        vkt__str_printf(s,
                        "rewrites %s %.1f KiB of %.1f KiB moved (%.0f%%); --no-rewrite leaves "
                        "them out\n",
                        saved < 0 ? "add" : "save", fabs(saved) / 1024, (bytes + saved) / 1024,
                        bytes + saved > 0 ? 100 * fabs(saved) / (bytes + saved) : 0);
}
