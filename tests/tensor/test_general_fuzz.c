/* Random graphs of 2 to 30 general ops, shapes odd and of up to six dimensions, gradients in every
 * other one: on the device each node against its twin, as doctor does it; in the twins the whole
 * graph with its rewrites against the graph without.
 * VKT_FUZZ_GRAPHS=N: N of each, VKT_FUZZ_ON_DEVICE=N: on the device (seconds each, for their
 * kernels); VKT_FUZZ_SEED=S: from that seed on, as a failure names it.
 */
#include <math.h>
#include <stdlib.h>

#include "one_device.h"
#include "tensor/check/check.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/ops/general/functions.h"

enum { IN_TWINS = 200, ON_DEVICE = 3, MOST_ELEMENTS = 3000, MOST_INPUTS = 64 };

typedef struct {
    vkt_graph *g;
    uint64_t state;
    vkt_tensor *input[MOST_INPUTS]; /* f32 */
    size_t n_inputs;
} maker;

static uint32_t below(maker *m, uint32_t n)
{
    m->state = m->state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((m->state >> 33) % n);
}

static vkt_tensor *input(maker *m, vkt_shape s)
{
    vkt_tensor *t = vkt__sample(m->g, s, VKT_F32, VKT_HINT_NORMAL, 0);
    if (m->n_inputs < MOST_INPUTS) m->input[m->n_inputs++] = t;
    return t;
}

static vkt_shape any_shape(maker *m)
{
    static const uint32_t sizes[] = { 1, 2, 3, 5, 7, 8, 13, 17, 33, 64 };
    vkt_shape s = { .rank = 1 + below(m, VKT_MAX_RANK) };
    uint64_t count = 1;
    for (uint32_t k = 0; k < s.rank; k++) {
        s.d[k] = sizes[below(m, VKT_COUNT(sizes))];
        if (count * s.d[k] > MOST_ELEMENTS) s.d[k] = 1 + below(m, 2);
        count *= s.d[k];
    }
    return count > MOST_ELEMENTS ? vkt_shape2(3, 5) : s;
}

/* One that broadcasts to s, or to which s does. */
static vkt_tensor *beside(maker *m, vkt_shape s)
{
    vkt_shape y = s;
    uint32_t drop = below(m, 3) ? 0 : below(m, s.rank);
    for (uint32_t k = drop; k < s.rank; k++) y.d[k - drop] = below(m, 4) ? s.d[k] : 1;
    y.rank -= drop;
    return input(m, y);
}

/* ---- ops: each takes x and gives another tensor of numbers that are not far from 1 ---- */

static vkt_tensor *function(maker *m, vkt_tensor *x)
{
    static const vkt_fn fns[] = { VKT_FN_ABS,   VKT_FN_NEG,      VKT_FN_SIN, VKT_FN_COS,
                                  VKT_FN_ERF,   VKT_FN_SOFTPLUS, VKT_FN_ELU, VKT_FN_LEAKY_RELU,
                                  VKT_FN_CLAMP, VKT_FN_FLOOR };
    static const vkt_act acts[] = { VKT_ACT_TANH, VKT_ACT_SIGMOID, VKT_ACT_SILU, VKT_ACT_RELU };
    if (!below(m, 4)) return vkt_activate(m->g, x, acts[below(m, VKT_COUNT(acts))]);
    vkt_fn fn = fns[below(m, VKT_COUNT(fns))];
    return vkt_unary(m->g, fn, x, fn == VKT_FN_CLAMP ? -0.7f : 0.3f, 1.1f);
}

static vkt_tensor *of_two(maker *m, vkt_tensor *x)
{
    static const vkt_fn2 fns[] = { VKT_FN2_ADD, VKT_FN2_SUB, VKT_FN2_MUL, VKT_FN2_MIN,
                                   VKT_FN2_MAX, VKT_FN2_LT,  VKT_FN2_LE };
    vkt_tensor *y = beside(m, vkt_tensor_shape(x));
    if (!below(m, 4)) y = vkt_expand(m->g, y, vkt_tensor_shape(x));
    return below(m, 2) ? vkt_binary(m->g, fns[below(m, VKT_COUNT(fns))], x, y)
                       : vkt_binary(m->g, fns[below(m, VKT_COUNT(fns))], y, x);
}

static vkt_tensor *choose(maker *m, vkt_tensor *x)
{
    vkt_tensor *y = beside(m, vkt_tensor_shape(x));
    return vkt_where(m->g, vkt_binary(m->g, VKT_FN2_LT, x, y), y, x);
}

static vkt_tensor *turn(maker *m, vkt_tensor *x)
{
    uint32_t order[VKT_MAX_RANK], rank = vkt_tensor_shape(x).rank;
    if (!below(m, 3)) return vkt_flip(m->g, x, below(m, 1u << rank));
    for (uint32_t k = 0; k < rank; k++) order[k] = k;
    for (uint32_t k = rank; k > 1; k--) {
        uint32_t j = below(m, k), o = order[j];
        order[j] = order[k - 1];
        order[k - 1] = o;
    }
    return vkt_permute(m->g, x, order);
}

static vkt_tensor *cut(maker *m, vkt_tensor *x)
{
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t first[VKT_MAX_RANK], count[VKT_MAX_RANK], step[VKT_MAX_RANK];
    for (uint32_t k = 0; k < s.rank; k++) {
        step[k] = 1 + below(m, 3);
        first[k] = below(m, s.d[k]);
        count[k] = 1 + below(m, (s.d[k] - first[k] - 1) / step[k] + 1);
    }
    return vkt_slice(m->g, x, first, count, step);
}

static vkt_tensor *join(maker *m, vkt_tensor *x)
{
    vkt_shape s = vkt_tensor_shape(x), other = s;
    uint32_t axis = below(m, s.rank);
    other.d[axis] = 1 + below(m, 4);
    vkt_tensor *parts[] = { x, input(m, other), x };
    vkt_tensor *y = vkt_concat(m->g, parts, 2 + below(m, 2), axis);
    return below(m, 2) ? y : cut(m, y);
}

static vkt_tensor *pad(maker *m, vkt_tensor *x)
{
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t before[VKT_MAX_RANK] = { 0 }, after[VKT_MAX_RANK] = { 0 };
    for (uint32_t k = 0; k < s.rank; k++) {
        before[k] = below(m, 2);
        after[k] = below(m, 2);
    }
    if (below(m, 2)) return vkt_pad(m->g, x, before, after, 0.5f);
    for (uint32_t k = 0; k < s.rank; k++)
        if (s.d[k] < 2) before[k] = after[k] = 0;
    return vkt_pad_by(m->g, x, below(m, 2) ? VKT_PAD_EDGE : VKT_PAD_WRAP, before, after);
}

static vkt_tensor *repeat(maker *m, vkt_tensor *x)
{
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t counts[VKT_MAX_RANK] = { 1, 1, 1, 1, 1, 1 };
    counts[below(m, s.rank)] = 2;
    if (s.rank == VKT_MAX_RANK) return vkt_expand(m->g, input(m, vkt_shape2(1, s.d[5])), s);
    return vkt_repeat(m->g, x, counts);
}

static vkt_tensor *fold(maker *m, vkt_tensor *x)
{
    static const vkt_reduction kinds[] = { VKT_REDUCE_MEAN,  VKT_REDUCE_MAX,       VKT_REDUCE_MIN,
                                           VKT_REDUCE_NORM2, VKT_REDUCE_LOGSUMEXP, VKT_REDUCE_SUM };
    uint32_t rank = vkt_tensor_shape(x).rank;
    return vkt_reduce(m->g, kinds[below(m, VKT_COUNT(kinds))], x, 1 + below(m, (1u << rank) - 1),
                      below(m, 2));
}

static vkt_tensor *along(maker *m, vkt_tensor *x)
{
    uint32_t axis = below(m, vkt_tensor_shape(x).rank);
    switch (below(m, 3)) {
    case 0:
        return vkt_softmax_axis(m->g, x, axis);
    case 1:
        return vkt_log_softmax(m->g, x, axis);
    default:
        return vkt_cumsum(m->g, vkt_scale(m->g, x, 0.1f), axis, below(m, 2));
    }
}

static vkt_tensor *places(maker *m, vkt_tensor *x)
{
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t axis = below(m, s.rank);
    vkt_shape ids = s;
    ids.d[axis] = 1 + below(m, 5);
    switch (below(m, 3)) {
    case 0:
        return vkt_top_k(m->g, x, 1 + below(m, VKT_MIN(s.d[s.rank - 1], 9)), NULL);
    case 1:
        if (s.rank > 1 && vkt_shape_count(s) / s.d[axis] * 5 <= MOST_ELEMENTS)
            return vkt_one_hot(m->g, vkt_arg(m->g, VKT_REDUCE_MAX, x, axis, false), 5);
        return function(m, x);
    default:
        return vkt_gather(m->g, x, vkt__sample(m->g, ids, VKT_U32, VKT_HINT_INDEX, s.d[axis]),
                          axis);
    }
}

static vkt_tensor *product(maker *m, vkt_tensor *x)
{
    vkt_shape s = vkt_tensor_shape(x);
    if (s.rank < 2) return of_two(m, x);
    uint32_t k = s.d[s.rank - 1], n = 1 + below(m, 9);
    float small = 1 / sqrtf((float)k);
    if (below(m, 2)) {
        vkt_tensor *w = input(m, vkt_shape2(n, k));
        return vkt_scale(
            m->g, vkt_matmul(m->g, VKT_LAYOUT_NN, x, vkt_permute(m->g, w, (uint32_t[]) { 1, 0 })),
            small);
    }
    vkt_shape b = s;
    b.d[s.rank - 2] = k;
    b.d[s.rank - 1] = n;
    return vkt_scale(m->g, vkt_matmul_broadcast(m->g, VKT_LAYOUT_NN, x, input(m, b)), small);
}

static vkt_tensor *reshape(maker *m, vkt_tensor *x)
{
    vkt_shape s = vkt_tensor_shape(x), to = s;
    uint32_t k = below(m, s.rank);
    if (s.rank > 1 && k + 1 < s.rank) { /* two dimensions as one */
        to.d[k] = s.d[k] * s.d[k + 1];
        for (uint32_t i = k + 1; i + 1 < s.rank; i++) to.d[i] = s.d[i + 1];
        to.rank--;
    } else if (s.rank < VKT_MAX_RANK) {
        to.d[to.rank++] = 1;
    }
    return vkt_reshape(m->g, x, to);
}

static vkt_tensor *(*const steps[])(maker *, vkt_tensor *) = {
    function, of_two, of_two, choose, turn,   turn,    cut,     join,
    pad,      repeat, fold,   along,  places, product, reshape,
};

/* The result, and gradients of it in every other graph. */
static vkt_tensor *build(maker *m, uint64_t seed)
{
    m->state = seed * 0x9E3779B97F4A7C15ull + 1;
    m->n_inputs = 0;
    below(m, 2);
    vkt_tensor *x = input(m, any_shape(m)), *old = x;
    for (uint32_t n = 2 + below(m, 29); n-- > 0;) {
        vkt_tensor *y = steps[below(m, VKT_COUNT(steps))](m, x);
        vkt_shape s = vkt_tensor_shape(y);
        if (vkt_shape_count(s) > MOST_ELEMENTS || !vkt_shape_count(s)) continue;
        if (!below(m, 5)) y = vkt_activate(m->g, y, VKT_ACT_TANH);
        if (vkt__shape_equal(s, vkt_tensor_shape(old)) && !below(m, 3)) y = vkt_add(m->g, y, old);
        old = x;
        x = y;
    }
    vkt_tensor *loss = vkt_sum(m->g, vkt_activate(m->g, x, VKT_ACT_TANH)), *d[MOST_INPUTS];
    vkt_keep(loss, "loss");
    if (seed % 2) {
        vkt_backward(m->g, loss, m->input, m->n_inputs, d);
        for (size_t i = 0; i < m->n_inputs; i++) vkt_keep(d[i], "gradient");
    }
    return loss;
}

/* ---- the comparisons ---- */

typedef struct {
    const vkt_tensor *loss;
    double value;
} wanted;

static void fill(void *user, const vkt_tensor *t, double *data)
{
    (void)user;
    for (uint64_t i = 0; i < t->count; i++) data[i] = vkt__sample_value(t, 77, i);
}

static void take(void *user, const vkt_tensor *t, const double *data)
{
    wanted *w = user;
    if (t == w->loss) w->value = data[0];
}

static double in_twins(uint64_t seed, bool rewrite)
{
    static vkt_buffer buf = { .bytes = 1 << 26, .label = "inputs" };
    maker m = { .g = vkt__graph_new(NULL) };
    if (!rewrite) vkt_graph_no_rewrite(m.g);
    wanted w = { .loss = build(&m, seed), .value = NAN };
    uint64_t at = 0;
    for (size_t i = 0; i < m.g->n_tensors; i++) {
        vkt_tensor *t = m.g->tensors[i];
        if (t->node || t->view_of || !t->name) continue;
        vkt_bind(t, VKT_ALL_SLOTS, &buf, at);
        at += vkt__align(t->bytes, 256);
    }
    REQUIRE_OK(vkt_graph_plan(m.g, &(vkt_plan_desc) { 0 }));
    vkt__graph_ref(m.g, fill, &w, take);
    vkt_graph_destroy(&m.g);
    return w.value;
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* Its number of nodes. */
static uint64_t nodes_are_as_twins(uint64_t seed)
{
    char why[400];
    maker m = { .g = vkt__graph_new(gpu) };
    build(&m, seed);
    REQUIRE_OK(m.g->status);
    uint64_t n_nodes = m.g->n_nodes;
    REQUIRE_OK(vkt__check_graph(gpu, m.g, true, why, sizeof why));
    if (*why) print_error("VKT_FUZZ_SEED=%llu: %s\n", (unsigned long long)seed, why);
    assert_int_equal(*why, 0);
    vkt_graph_destroy(&m.g);
    return n_nodes;
}

/* Of seed 42 the logarithm of a sum is near 0, beside the largest term, of seed 149 a norm is 0 and
 * has a gradient. Few, as each has kernels of its own, which a CPU driver takes seconds to compile.
 */
static void nodes_are_their_twins(void **state)
{
    (void)state;
    uint64_t n = number_of("VKT_FUZZ_ON_DEVICE", number_of("VKT_FUZZ_GRAPHS", ON_DEVICE)),
             first = number_of("VKT_FUZZ_SEED", 1), n_nodes = 0;
    if (!getenv("VKT_FUZZ_GRAPHS")) nodes_are_as_twins(42), nodes_are_as_twins(149);
    for (uint64_t seed = first; seed < first + n; seed++) n_nodes += nodes_are_as_twins(seed);
    assert_true(n_nodes > 4 * n);
}

static void rewrites_keep_what_is_computed(void **state)
{
    (void)state;
    uint64_t n = number_of("VKT_FUZZ_GRAPHS", IN_TWINS), first = number_of("VKT_FUZZ_SEED", 1);
    for (uint64_t seed = first; seed < first + n; seed++) {
        double with = in_twins(seed, true), without = in_twins(seed, false);
        if (!(fabs(with - without) <= 1e-9 * (1 + fabs(without))))
            print_error("VKT_FUZZ_SEED=%llu: %.17g with rewrites, %.17g without\n",
                        (unsigned long long)seed, with, without);
        REQUIRE_NEAR(with, without, 1e-9 * (1 + fabs(without)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewrites_keep_what_is_computed),
        cmocka_unit_test(nodes_are_their_twins),
        cmocka_unit_test(validation_is_silent),
    };
    if (!open_gpu("")) return 77;
    int rc = cmocka_run_group_tests_name("random graphs", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return rc;
}
