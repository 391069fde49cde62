/* A row's result against its twin, before it may be timed. */
#include <math.h>
#include <stdio.h>

#include "tensor/graph/act.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "bench/bench_op_check.h"
#include "tensor/ops/matmul/ops_matmul.h"

static void ref_init(void *user, const vkt_tensor *t, double *data)
{
    for (uint64_t i = 0; i < t->count; i++) data[i] = vkt__op_job_value(user, t, i);
}

static double share_of(double got, double want, double limit)
{
    double err = fabs(got - want);
    return err == 0 ? 0 : limit > 0 ? err / limit : INFINITY;
}

static void judge(vkt__op_job *j, const vkt_tensor *t, const vkt_tensor *whole, uint64_t i,
                  double got, double want, double limit, double share)
{
    if (j->on_checked) j->on_checked(j->user, whole, i, want, limit);
    if (!(share <= 1) && !j->why[0])
        snprintf(j->why, sizeof j->why, "wrong result: %s element %llu is %.7g, the twin's %.7g",
                 vkt__text(t), (unsigned long long)i, got, want);
    j->worst = VKT_MAX(j->worst, isnan(share) ? INFINITY : share);
}

/* Roundings of what t's graph computes, by the device's kernels where it is the device's. */
static double terms_of(const vkt_tensor *t)
{
    double terms = 4;
    for (size_t k = 0; k < t->g->n_nodes; k++) {
        const vkt_node *n = t->g->nodes[k];
        if (n->op->terms) terms = VKT_MAX(terms, n->op->terms(n));
    }
    return terms;
}

/* Outputs of the timed nodes, and inputs that they change. */
static bool is_result(const vkt__op_job *j, const vkt_tensor *t)
{
    if (t->view_of) return false;
    if (t->node) return vkt__op_job_times(j, t->node);
    for (size_t k = 0; k < t->g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            if (vkt__op_job_times(j, t->g->nodes[k]) && t->g->nodes[k]->in[i] == t &&
                (t->g->nodes[k]->op->in[i] & VKT_CHANGED))
                return true;
    return false;
}

/* The tensor of the device's graph that t, of a graph of fewer m, is the first part of. */
static vkt_tensor *whole_of(const vkt__op_job *j, const vkt_tensor *t)
{
    const vkt_graph *g = j->sets[0].g;
    size_t nth = 0, k = 0;
    if (t->g == g) return (vkt_tensor *)(uintptr_t)t;
    VKT_ASSERT(t->node);
    while (t->g->nodes[k] != t->node) nth += t->g->nodes[k++]->op == t->node->op;
    for (k = 0; nth || g->nodes[k]->op != t->node->op; k++) nth -= g->nodes[k]->op == t->node->op;
    for (uint32_t i = 0;; i++)
        if (t->node->out[i] == t) return g->nodes[k]->out[i];
}

static void compare(void *user, const vkt_tensor *t, const double *want)
{
    vkt__op_job *j = user;
    if (!is_result(j, t) || !t->count) return;
    unsigned char *got = malloc(t->bytes + 4);
    vkt_tensor *whole = whole_of(j, t);
    if (!got || vkt_tensor_read(whole, 0, got, t->bytes) != VKT_OK) {
        if (!j->why[0]) snprintf(j->why, sizeof j->why, "the result could not be read");
        free(got);
        return;
    }
    double sum = 0, terms = terms_of(whole);
    for (uint64_t i = 0; i < t->count; i++) sum += want[i] * want[i];
    double rms = sqrt(sum / (double)t->count);
    vkt__code_check codes = vkt__code_check_of(t, vkt__tol(VKT_F32, terms));
    for (uint64_t i = 0; i < t->count; i++) {
        double x = vkt__sample_decode(t, i, got), err = fabs(x - want[i]),
               limit = t->dtype == VKT_U32 ? 0 : vkt__limit(t->dtype, terms, want[i], rms),
               share = err == 0    ? 0
                       : limit > 0 ? err / limit
                                   : INFINITY;
        judge(j, t, whole, i, x, want[i], codes.op ? NAN : limit,
              codes.op ? vkt__code_share(&codes, x, want[i]) : share);
    }
    free(got);
}

static void check(vkt__op_job *j)
{
    vkt_graph *g = j->checked ? vkt__op_job_twin(j) : NULL;
    vkt__graph_ref(g ? g : j->sets[0].g, ref_init, j, compare);
    vkt_graph_destroy(&g);
}

/* A large product: some elements by the definition, in double. */
static vkt_status spot_check(vkt__op_job *j)
{
    enum { N_SPOTS = 200 };
    vkt_status st = VKT_OK;
    vkt_graph *g = j->sets[0].g;
    const vkt_tensor *in[2] = { NULL, NULL }, *bias = NULL, *r = NULL;
    vkt_tensor *c = NULL;
    vkt__bench_shape s = j->s;
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *n = g->nodes[k];
        if (n->out[0]->count != (uint64_t)s.m * s.n) continue;
        c = n->out[0], bias = n->in[VKT__MM_IN_BIAS], r = n->in[VKT__MM_IN_R];
        if (n->op != &vkt__op_matmul) continue; /* the sum of its slices */
        in[0] = n->in[0], in[1] = n->in[1];
    }
    bool sliced = !in[0];
    for (size_t i = 0, n_in = 0; i < g->n_tensors && sliced && n_in < 2; i++)
        if (vkt__op_job_input(g->tensors[i])) in[n_in++] = g->tensors[i];
    VKT_ASSERT(in[0] && in[1] && c);
    unsigned char *got = malloc(c->bytes);
    float *a = malloc(VKT__OP_PATTERN * sizeof *a), *b = malloc(VKT__OP_PATTERN * sizeof *b);
    if (!got || !a || !b)
        VKT_TRY(vkt__fail(VKT_E_OOM_HOST, "bench", "no memory to check a product"));
    VKT_TRY(vkt_tensor_read(c, 0, got, c->bytes));
    for (uint64_t i = 0; i < VKT__OP_PATTERN; i++) {
        a[i] = (float)vkt__sample_value(in[0], VKT__OP_SEED, i);
        b[i] = (float)vkt__sample_value(in[1], VKT__OP_SEED, i);
    }
    double terms = terms_of(c), rms = sqrt((double)s.k);
    for (uint32_t q = 0; q < N_SPOTS; q++) {
        uint64_t m = q == 0   ? 0
                     : q == 1 ? s.m - 1
                              : vkt_rand_below(VKT__OP_SEED, VKT_RNG_TEST, 2 * q, s.m);
        uint64_t n = q == 0   ? 0
                     : q == 1 ? s.n - 1
                              : vkt_rand_below(VKT__OP_SEED, VKT_RNG_TEST, 2 * q + 1, s.n);
        double sum = 0;
        for (uint64_t k = 0; k < s.k; k++) {
            uint64_t ia = s.layout == VKT_LAYOUT_TN ? k * s.m + m : m * s.k + k,
                     ib = s.layout == VKT_LAYOUT_NT ? n * s.k + k : k * s.n + n;
            sum += (double)a[ia % VKT__OP_PATTERN] * (double)b[ib % VKT__OP_PATTERN];
        }
        uint64_t at = m * s.n + n;
        double x = vkt__sample_decode(c, at, got);
        if (bias) sum += vkt__sample_value(bias, VKT__OP_SEED, n % VKT__OP_PATTERN);
        sum = vkt__act(s.act, sum);
        if (r) sum += vkt__sample_value(r, VKT__OP_SEED, at % VKT__OP_PATTERN);
        double limit = vkt__limit(c->dtype, terms, sum, rms);
        judge(j, c, c, at, x, sum, limit, share_of(x, sum, limit));
    }
fail:
    free(got);
    free(a);
    free(b);
    return st;
}

vkt_status vkt__op_job_check(vkt__op_job *j, bool few)
{
    if (few) return spot_check(j);
    check(j);
    return VKT_OK;
}
