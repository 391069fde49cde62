/* ema: the moving average of the parameters, in place. */
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/ops/ops.h"

static bool ema_shape(vkt_node *n)
{
    if (n->in[0]->count != n->in[1]->count)
        return vkt__shape_error(n, "%s is no average of %s", vkt__text(n->in[0]),
                                vkt__text(n->in[1]));
    return true;
}

static void ema_record(vkt__rec *rec, const vkt_node *n)
{
    struct ema_params p = { .average = vkt__addr(rec, n->in[0]),
                            .x = vkt__addr(rec, n->in[1]),
                            .step = vkt__addr(rec, n->in[2]),
                            .n = (uint32_t)n->in[0]->count };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg } };
    vkt__dispatch(rec, VKT_SHADER_EMA, spec, VKT_COUNT(spec), &p, sizeof p,
                  (p.n + 4ull * wg - 1) / (4 * wg));
}

static void ema_ref(const vkt_node *n, double *const *in, double *const *out)
{
    double share = (double)vkt__ref_step(in[2]).ema;
    (void)out;
    for (uint64_t i = 0; i < n->in[0]->count; i++) in[0][i] += share * (in[1][i] - in[0][i]);
}

static const char *ema_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t n;
    } s[] = { { "one", 1 }, { "odd", 129 }, { "many groups", 5001 } };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt__ema(g, vkt__sample1(g, s[i].n), vkt__sample1(g, s[i].n));
    return s[i].name;
}

const vkt_op vkt__op_ema = { .name = "ema",
                             .n_in = 3,
                             .mutates = 1,
                             .shape = ema_shape,
                             .record = ema_record,
                             .ref = ema_ref,
                             .sample = ema_sample };

void vkt__ema(vkt_graph *g, vkt_tensor *average, vkt_tensor *x)
{
    vkt__op(g, &vkt__op_ema, (vkt_tensor *[]) { average, x, vkt_step(g) }, 3, (vkt_attr) { 0 });
}
