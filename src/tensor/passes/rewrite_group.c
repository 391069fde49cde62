/* On GPUs, where small dispatches cost more than their work: up to VKT_GROUPED nodes that do the
 * same for one tensor each become one node that does it for all. Each result keeps its bits. */
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "shaders/params.h"

typedef struct {
    const vkt_op *one, *all;
    bool first; /* they move to the first one's place; else to the last one's */
    bool (*fits)(const vkt_graph *g, const vkt_node *n);
} grouping;

/* Node `next` joins those that were found, if all of them can be where the group will be. */
static bool can_join(const grouping *of, vkt_node *const *found, uint32_t n, const vkt_node *next)
{
    if (of->first) return vkt__can_move(next, found[0]);
    for (uint32_t i = 0; i < n; i++)
        if (!vkt__can_move(found[i], next)) return false;
    return true;
}

static void make_one(const grouping *of, vkt_node *const *found, uint32_t n)
{
    vkt_node *to = found[of->first ? 0 : n - 1];
    vkt_tensor *in[VKT_GROUPED], *out[VKT_GROUPED];
    for (uint32_t i = 0; i < n; i++) {
        in[i] = found[i]->in[0];
        out[i] = found[i]->out[0];
        if (found[i] != to) vkt__remove_node(found[i]);
    }
    to->op = of->all;
    for (uint32_t i = 0; i < n; i++) {
        to->in[i] = in[i];
        to->out[i] = out[i];
        out[i]->node = to;
        out[i]->out_index = i;
    }
    vkt__uses_changed(to);
}

/* From node k on, which fits: returns how many nodes went into one. */
static uint32_t group_from(vkt_graph *g, const grouping *of, size_t k)
{
    vkt_node *found[VKT_GROUPED] = { g->nodes[k] };
    uint32_t n = 1;
    for (size_t i = k + 1; i < g->n_nodes && n < VKT_GROUPED; i++) {
        vkt_node *next = g->nodes[i];
        if (next->op != of->one || !of->fits(g, next)) continue;
        if (!can_join(of, found, n, next)) break;
        found[n++] = next;
    }
    if (n == 1) return 0;
    make_one(of, found, n);
    return n;
}

static uint32_t run(vkt_graph *g, const grouping *of)
{
    uint32_t n = 0;
    if (!g->gpu || vkt_gpu_caps(g->gpu)->klass == VKT_GPU_CLASS_CPU) return 0;
    for (size_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k]->op == of->one && of->fits(g, g->nodes[k])) n += group_from(g, of, k);
    return n;
}

/* ---- sums over rows: second stages, of gradients of biases and norms ---- */

static bool fits_sum(const vkt_graph *g, const vkt_node *n)
{
    enum { MOST_ROWS = 1024 };
    return vkt__sums_by_lanes(vkt_gpu_caps(g->gpu), n) &&
           vkt__rows_of(n->in[0]->shape) <= MOST_ROWS;
}

static uint32_t run_sums(vkt_graph *g, bool training)
{
    (void)training;
    return run(g, &(grouping) { &vkt__op_sum_rows, &vkt__op_sum_group, false, fits_sum });
}

const vkt__pass vkt__pass_sum_group = { .name = "sums over few rows, several in one",
                                        .whole = true,
                                        .run = run_sums };

/* ---- filters ---- */

static bool fits_flip(const vkt_graph *g, const vkt_node *n)
{
    (void)g;
    const uint32_t *d = n->in[0]->shape.d;
    return n->attr.conv.groups == 1 && d[2] < 65536 && d[3] < 65536;
}

static uint32_t run_flips(vkt_graph *g, bool training)
{
    (void)training;
    return run(g, &(grouping) { &vkt__op_conv2d_flip, &vkt__op_conv2d_flips, true, fits_flip });
}

const vkt__pass vkt__pass_flips = { .name = "filters turned for gradients, several in one",
                                    .whole = true,
                                    .run = run_flips };
