/* known.h: fills, and inputs that never change, and what is made of them alone. */
#include "tensor/graph/known.h"
#include "tensor/graph/cost.h"
#include "tensor/graph/twin.h"
#include "tensor/graph/view.h"

enum { DEEPEST = 32 }; /* nodes one behind another */

typedef struct {
    double work, most;
} budget;

static double *of(const vkt_tensor *t, uint32_t depth, budget *b);

/* The numbers of a root. */
static double *of_root(const vkt_tensor *t, uint32_t depth, budget *b)
{
    const vkt_node *n = t->node;
    double *in[VKT_MAX_IN] = { 0 }, *out[VKT_MAX_OUT] = { 0 }, *result = NULL;
    double flops = n ? vkt__node_cost(n).flops : 0;
    b->work += 1 + VKT_MAX((double)t->count, flops);
    if (b->work > b->most || depth > DEEPEST || t->needs || (!n && !t->numbers)) return NULL;
    if (!n) {
        result = vkt__alloc((t->count + 1) * sizeof *result);
        for (uint64_t i = 0; i < t->count; i++) result[i] = (double)t->numbers[i];
        return result;
    }
    bool all = !vkt__inputs_with(n->op, VKT_CHANGED);
    for (uint32_t i = 0; i < VKT_MAX_IN && all; i++)
        all = !n->in[i] || (in[i] = of(n->in[i], depth + 1, b)) != NULL;
    for (uint32_t i = 0; i < VKT_MAX_OUT && all; i++)
        if (n->out[i]) out[i] = vkt__alloc((n->out[i]->count + 1) * sizeof *out[i]);
    if (all) {
        vkt__node_ref(n, in, out);
        result = out[t->out_index];
    }
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) free(in[i]);
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (out[i] != result) free(out[i]);
    return result;
}

static double *of(const vkt_tensor *t, uint32_t depth, budget *b)
{
    double *whole = of_root(vkt__root(t), depth, b);
    uint64_t at = vkt__view_at(t);
    if (whole && at) memmove(whole, whole + at, (size_t)t->count * sizeof *whole);
    return whole;
}

double *vkt__known(const vkt_tensor *t, uint64_t most)
{
    budget b = { .most = (double)most };
    return t->inert ? NULL : of(t, 0, &b);
}
