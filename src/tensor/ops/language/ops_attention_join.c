/* The row that joins the results of parts of one query's keys. Kernel attention_join.comp. */
#include <math.h>

#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

/* ---- parts [B, parts, heads D], lses [B, heads, parts] -> y [B, 1, heads D], lse [B, heads, 1]
 * ---- */

enum { PARTS, LSES, N_IN };
enum { Y, LSE, N_OUT };

static bool join_shape(vkt_node *n)
{
    vkt_shape y = n->in[PARTS]->shape, lse = n->in[LSES]->shape;
    if (y.rank != 3 || lse.rank != 3 || y.d[0] != lse.d[0] || y.d[1] != lse.d[2] || !y.d[1] ||
        !lse.d[1] || y.d[2] % (4 * lse.d[1]))
        return vkt__shape_error(n, "%s and %s are not results of parts", vkt__text(n->in[PARTS]),
                                vkt__text(n->in[LSES]));
    vkt__out(n, Y, vkt_shape3(y.d[0], 1, y.d[2]), VKT_F32);
    vkt__out(n, LSE, vkt_shape3(lse.d[0], lse.d[1], 1), VKT_F32);
    return true;
}

static void join_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape y = n->in[PARTS]->shape;
    struct attention_join_params p = { .parts = vkt__addr(rec, n->in[PARTS]),
                                       .lses = vkt__addr(rec, n->in[LSES]),
                                       .y = vkt__addr(rec, n->out[Y]),
                                       .lse = vkt__addr(rec, n->out[LSE]),
                                       .n_parts = y.d[1],
                                       .heads = n->in[LSES]->shape.d[1],
                                       .n = (uint32_t)(n->out[Y]->count / 4) };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_D4, y.d[2] / p.heads / 4 } };
    vkt__dispatch(rec, VKT_SHADER_ATTENTION_JOIN, spec, VKT_COUNT(spec), &p, sizeof p,
                  (p.n + wg - 1ull) / wg);
}

static void join_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t parts = n->in[PARTS]->shape.d[1], row = n->in[PARTS]->shape.d[2],
             H = n->in[LSES]->shape.d[1], D = row / H;
    for (uint64_t pair = 0; pair < n->out[LSE]->count; pair++) {
        const double *lse = in[LSES] + pair * parts,
                     *of = in[PARTS] + pair / H * parts * row + pair % H * D;
        double top = -INFINITY, sum = 0, *y = out[Y] + pair * D;
        for (uint64_t k = 0; k < parts; k++) top = fmax(top, lse[k]);
        for (uint64_t k = 0; k < parts; k++) sum += exp(lse[k] - top);
        for (uint64_t i = 0; i < D; i++) y[i] = 0;
        for (uint64_t k = 0; k < parts; k++)
            for (uint64_t i = 0; i < D; i++) y[i] += exp(lse[k] - top) / sum * of[k * row + i];
        out[LSE][pair] = top + log(sum);
    }
}

static double join_terms(const vkt_node *n)
{
    return n->in[PARTS]->shape.d[1] + 32.0;
}

static const char *join_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t b, parts, h, d;
    } sizes[] = { { "two parts", 1, 2, 1, 4 },
                  { "one part", 2, 1, 3, 12 },
                  { "some parts", 3, 7, 4, 64 },
                  { "many parts", 1, 32, 2, 128 },
                  { "no rows", 0, 3, 2, 8 } };
    if (i >= VKT_COUNT(sizes)) return NULL;
    uint32_t B = sizes[i].b, parts = sizes[i].parts, H = sizes[i].h;
    vkt_tensor *y = vkt__sample(g, vkt_shape3(B, parts, H * sizes[i].d), VKT_F32, VKT_HINT_NORMAL,
                                0),
               *lse = vkt__sample(g, vkt_shape3(B, H, parts), VKT_F32, VKT_HINT_NORMAL, 0);
    vkt__op(g, op, (vkt_tensor *[]) { y, lse }, 2, (vkt_attr) { 0 });
    return sizes[i].name;
}

const vkt_op vkt__op_attention_join = { .name = "attention_join",
                                        .n_in = N_IN,
                                        .n_out = N_OUT,
                                        .shape = join_shape,
                                        .record = join_record,
                                        .ref = join_ref,
                                        .terms = join_terms,
                                        .sample = join_sample };
