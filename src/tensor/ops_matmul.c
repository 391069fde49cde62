/* Matrix product rows: C = act(op(A) op(B) + bias) in the layouts that a linear layer's forward and backward
 * need. Which kernel runs is chosen here, by device class. */
#include "tensor/ops.h"

static void dims(const vkt_node *n, uint32_t *M, uint32_t *N, uint32_t *K)
{
    vkt_layout l = n->attr.matmul.layout;
    vkt_shape a = n->in[0]->shape, b = n->in[1]->shape;
    *M = l == VKT_TN ? vkt__last(a) : vkt__rows_of(a);
    *K = l == VKT_TN ? vkt__rows_of(a) : vkt__last(a);
    *N = l == VKT_NT ? b.d[0] : vkt__last(b);
}

static bool matmul_shape(vkt_node *n)
{
    const vkt_tensor *a = n->in[0], *b = n->in[1], *bias = n->in[2];
    vkt_layout l = n->attr.matmul.layout;
    static const char *const forms[] = { "[M, K] and [N, K]", "[M, K] and [K, N]", "[K, M] and [K, N]" };
    if (a->shape.rank < 2 || b->shape.rank < 2)
        return vkt__shape_error(n, "%s and %s must be matrices", vkt__text(a), vkt__text(b));
    uint32_t ka = l == VKT_TN ? vkt__rows_of(a->shape) : vkt__last(a->shape);
    uint32_t kb = l == VKT_NT ? vkt__last(b->shape) : vkt__rows_of(b->shape);
    if (ka != kb || (l == VKT_NT && b->shape.rank != 2) || (l == VKT_NN && b->shape.rank != 2))
        return vkt__shape_error(n, "%s and %s do not fit as %s", vkt__text(a), vkt__text(b), forms[l]);
    uint32_t M, N, K;
    dims(n, &M, &N, &K);
    if (bias && (bias->shape.rank != 1 || bias->shape.d[0] != N))
        return vkt__shape_error(n, "bias %s must be [%u]", vkt__text(bias), N);
    vkt_shape out = vkt_shape2(M, N);
    if (l != VKT_TN) {
        out = a->shape;
        out.d[out.rank - 1] = N;
    }
    vkt__out(n, 0, out, VKT_F32);
    vkt_act act = n->attr.matmul.act;
    if (act != VKT_ACT_NONE && !vkt__act_from_output(act)) vkt__out(n, 1, out, VKT_F32);
    return true;
}

static void matmul_record(vkt__rec *rec, const vkt_node *n)
{
    struct matmul_params p = { .a = vkt__addr(rec, n->in[0]), .b = vkt__addr(rec, n->in[1]), .bias = vkt__addr(rec, n->in[2]),
                               .c = vkt__addr(rec, n->out[0]), .pre = vkt__addr(rec, n->out[1]) };
    dims(n, &p.M, &p.N, &p.K);
    p.flags = (n->in[2] ? VKT_MM_BIAS : 0) | (n->out[1] ? VKT_MM_PRE : 0);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    uint32_t spec[] = { wg, 1, 1, (uint32_t)n->attr.matmul.layout, (uint32_t)n->attr.matmul.act };
    vkt__dispatch(rec, "matmul_naive", spec, VKT_COUNT(spec), &p, sizeof p, ((uint64_t)p.M * p.N + wg - 1) / wg);
}

static void matmul_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint32_t M, N, K;
    dims(n, &M, &N, &K);
    vkt_layout l = n->attr.matmul.layout;
    for (uint64_t m = 0; m < M; m++)
        for (uint64_t j = 0; j < N; j++) {
            double sum = in[2] ? in[2][j] : 0;
            for (uint64_t k = 0; k < K; k++)
                sum += in[0][l == VKT_TN ? k * M + m : m * K + k] * in[1][l == VKT_NT ? j * K + k : k * N + j];
            if (out[1]) out[1][m * N + j] = sum;
            out[0][m * N + j] = vkt__act(n->attr.matmul.act, sum);
        }
}

static void matmul_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_act act = n->attr.matmul.act;
    vkt_tensor *a = n->in[0], *b = n->in[1], *d;
    if (!dy[0]) return;
    d = vkt__real(g, dy[0], n->out[0]);
    if (act != VKT_ACT_NONE) d = vkt__act_bwd(g, d, n->out[1] ? n->out[1] : n->out[0], act);
    switch (n->attr.matmul.layout) {
    case VKT_NT:
        if (vkt__needs(a)) dx[0] = vkt_matmul(g, VKT_NN, d, b);
        if (vkt__needs(b)) dx[1] = vkt_matmul(g, VKT_TN, d, a);
        break;
    case VKT_NN:
        if (vkt__needs(a)) dx[0] = vkt_matmul(g, VKT_NT, d, b);
        if (vkt__needs(b)) dx[1] = vkt_matmul(g, VKT_TN, a, d);
        break;
    case VKT_TN:
        if (vkt__needs(a)) dx[0] = vkt_matmul(g, VKT_NT, b, d);
        if (vkt__needs(b)) dx[1] = vkt_matmul(g, VKT_NN, a, d);
        break;
    }
    if (n->in[2] && vkt__needs(n->in[2])) dx[2] = vkt_sum_rows(g, d);
}

static vkt_cost matmul_cost(const vkt_node *n)
{
    uint32_t M, N, K;
    dims(n, &M, &N, &K);
    vkt_cost c = { 2.0 * M * N * K, 4.0 * ((double)M * K + (double)N * K + (double)M * N * (n->out[1] ? 2 : 1)) };
    return c;
}

static double matmul_terms(const vkt_node *n)
{
    uint32_t M, N, K;
    dims(n, &M, &N, &K);
    return K + (n->attr.matmul.act > VKT_ACT_RELU ? 64.0 : 0);
}

/* Edges of every tile size in use, tiny and odd sizes, deep and shallow products; each in three layouts. */
static const char *matmul_sample(vkt_graph *g, uint32_t i)
{
    static const struct { const char *name[3]; uint32_t m, n, k; } s[] = {
        { { "one NT", "one NN", "one TN" }, 1, 1, 1 },
        { { "row NT", "row NN", "row TN" }, 1, 129, 3 },
        { { "column NT", "column NN", "column TN" }, 127, 1, 17 },
        { { "odd NT", "odd NN", "odd TN" }, 33, 65, 31 },
        { { "tiles NT", "tiles NN", "tiles TN" }, 128, 128, 64 },
        { { "tiles + 1 NT", "tiles + 1 NN", "tiles + 1 TN" }, 129, 257, 129 },
        { { "tiles - 1 NT", "tiles - 1 NN", "tiles - 1 TN" }, 63, 127, 127 },
        { { "thin NT", "thin NN", "thin TN" }, 200, 10, 60 },
        { { "deep NT", "deep NN", "deep TN" }, 5, 9, 3001 },
        { { "no inner NT", "no inner NN", "no inner TN" }, 5, 9, 0 },
        { { "no rows NT", "no rows NN", "no rows TN" }, 0, 9, 4 },
    };
    uint32_t l = i % 3, j = i / 3;
    if (j < VKT_COUNT(s)) {
        vkt_tensor *a = l == VKT_TN ? vkt__sample2(g, s[j].k, s[j].m) : vkt__sample2(g, s[j].m, s[j].k);
        vkt_tensor *b = l == VKT_NT ? vkt__sample2(g, s[j].n, s[j].k) : vkt__sample2(g, s[j].k, s[j].n);
        vkt_matmul(g, (vkt_layout)l, a, b);
        return s[j].name[l];
    }
    static const char *const acts[] = { "bias", "bias relu", "bias gelu", "bias gelu_erf", "bias silu", "bias sigmoid", "bias tanh" };
    i -= 3 * VKT_COUNT(s);
    if (i >= VKT_COUNT(acts)) return NULL;
    vkt_linear(g, vkt__sample2(g, 37, 20), vkt__sample2(g, 41, 20), vkt__sample1(g, 41), (vkt_act)i);
    return acts[i];
}

const vkt_op vkt__op_matmul = { .name = "matmul", .n_in = 3, .n_out = 2, .shape = matmul_shape, .record = matmul_record,
    .grad = matmul_grad, .ref = matmul_ref, .cost = matmul_cost, .terms = matmul_terms, .sample = matmul_sample };

vkt_tensor *vkt_matmul(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b)
{
    return vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { a, b }, 2, (vkt_attr) { .matmul = { .layout = layout } });
}

vkt_tensor *vkt_linear(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b, vkt_act act)
{
    return vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { x, w, b }, 3, (vkt_attr) { .matmul = { .layout = VKT_NT, .act = act } });
}
