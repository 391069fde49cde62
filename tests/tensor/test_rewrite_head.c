/* A head and its cross-entropy in chunks against the whole: in the twins, on the device, and where
 * it must not be cut. */
#include "testing.h"

#include <float.h>

#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/rewrite.h"

static vkt_gpu *gpu;

/* Rows that 8 chunks of whole steps of 64 do not divide; logits just over 32 MiB. */
enum { R = 300, C = 4, V = 28000, N_DX = R * C, N_DW = V * C, N_CHUNKS = 5 };
/* Classes of a head whose memory has room for more rows. */
enum { ODD = V - 3, ROOM = V + 32 };

typedef struct {
    vkt_graph *g;
    vkt_tensor *loss, *hit, *d[2]; /* of x, of w */
} built;

/* how: what a graph has beside a plain head. */
enum { TRAINED, EVALUATED, READ_TWICE, SCALED, PADDED, SQUARED };
static built build(vkt_gpu *of, int how, bool plain)
{
    built b = { .g = vkt__graph_new(of) };
    if (plain) vkt_graph_no_rewrite(b.g);
    vkt_tensor *x = vkt_input(b.g, vkt_shape3(3, R / 3, C), VKT_F32, "x"),
               *w = vkt_input(b.g, vkt_shape2(how == PADDED ? ODD : V, C), VKT_F32, "w"),
               *y = vkt_input(b.g, vkt_shape1(R), VKT_U32, "target"),
               *weight = vkt_input(b.g, vkt_shape1(R), VKT_F32, "weight");
    vkt_tensor *h = vkt_scale(b.g, x, 2), *logits = vkt_matmul(b.g, VKT_LAYOUT_NT, h, w);
    vkt_loss l =
        vkt_softmax_xent(b.g, logits, y, weight, NULL, &(vkt_xent_desc) { .smoothing = 0.1f });
    if (how == READ_TWICE) vkt_softmax(b.g, logits);
    b.loss = l.loss;
    b.hit = l.hit;
    vkt_keep(b.loss, "loss");
    vkt_keep(b.hit, "hit");
    if (how == EVALUATED || how == READ_TWICE) return b;
    vkt_tensor *loss = how == SCALED    ? vkt_mul(b.g, l.loss, weight)
                       : how == SQUARED ? vkt_mul(b.g, l.loss, l.loss)
                                        : l.loss;
    vkt_tensor *total = vkt_sum(b.g, loss);
    vkt_backward(b.g, total, (vkt_tensor *[]) { x, w }, 2, b.d);
    for (int i = 0; i < 2; i++) vkt_keep(b.d[i], "gradient");
    return b;
}

static double value(const vkt_tensor *t, uint64_t i)
{
    if (t->dtype == VKT_U32) return (double)(i * 7919 % ODD);
    if (t->name[0] == 'w' && t->count == R) return 1 + 0.5 * sin((double)i);
    double v = (double)(float)vkt_rand_normal(t->name[0], VKT_RNG_TEST, i);
    return t->name[0] == 'x' ? fabs(v) : v; /* terms of one sign: their sum bounds the roundings */
}

static void bind_inputs(vkt_graph *g, vkt_buffer *buf)
{
    uint64_t at = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (t->node || t->view_of || !t->name || t->bound) continue;
        vkt_bind(t, VKT_ALL_SLOTS, buf, at);
        bool pads = t->shape.rank == 2 && t->shape.d[0] == ODD;
        if (pads) vkt__set_room(t, ROOM);
        at += vkt__align(pads ? (uint64_t)ROOM * C * 4 : t->bytes, 256);
        if (!g->gpu) continue;
        uint32_t *words = vkt__alloc(t->bytes);
        for (uint64_t k = 0; k < t->count; k++) vkt__sample_encode(t, k, value(t, k), words);
        REQUIRE_OK(vkt_tensor_write(t, 0, words, t->bytes));
        free(words);
    }
}

typedef struct {
    const built *b;
    double loss[R], hit[R], dx[N_DX], dw[N_DW];
} values;

static void fill(void *user, const vkt_tensor *t, double *data)
{
    (void)user;
    for (uint64_t i = 0; i < t->count; i++) data[i] = value(t, i);
}

static void take(void *user, const vkt_tensor *t, const double *data)
{
    values *v = user;
    const struct {
        const vkt_tensor *t;
        double *to;
    } rows[] = {
        { v->b->loss, v->loss }, { v->b->hit, v->hit }, { v->b->d[0], v->dx }, { v->b->d[1], v->dw }
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        if (t == rows[i].t) memcpy(rows[i].to, data, t->count * sizeof *data);
}

/* Columns of the widest logits whose loss is taken. */
static uint32_t widest(const vkt_graph *g)
{
    uint32_t most = 0;
    for (size_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k]->op == &vkt__op_softmax_xent)
            most = VKT_MAX(most, vkt__last(g->nodes[k]->in[0]->shape));
    return most;
}

static uint32_t n_losses(const vkt_graph *g)
{
    uint32_t n = 0;
    for (size_t k = 0; k < g->n_nodes; k++) n += g->nodes[k]->op == &vkt__op_softmax_xent;
    return n;
}

static vkt_buffer host = { .bytes = 1 << 20, .label = "inputs" };

static void twins_compute_the_same_in(int how, uint32_t chunks)
{
    static values v[2];
    for (int plain = 0; plain < 2; plain++) {
        built b = build(NULL, how, plain);
        b.g->head.chunks = chunks;
        bind_inputs(b.g, &host);
        REQUIRE_OK(vkt_graph_plan(b.g, &(vkt_plan_desc) { 0 }));
        assert_int_equal(vkt__rewrite_count(b.g, &vkt__pass_head), plain ? 0 : 1);
        assert_int_equal(n_losses(b.g), plain ? 1 : VKT_MIN(chunks, N_CHUNKS));
        assert_int_equal(widest(b.g), how == PADDED ? plain ? ODD : ROOM : V);
        v[plain].b = &b;
        vkt__graph_ref(b.g, fill, &v[plain], take);
        vkt_graph_destroy(&b.g);
    }
    assert_true(v[0].loss[R - 1] > 0);
    assert_memory_equal(v[0].loss, v[1].loss, sizeof v[0].loss);
    assert_memory_equal(v[0].hit, v[1].hit, sizeof v[0].hit);
    assert_memory_equal(v[0].dx, v[1].dx, sizeof v[0].dx);
    /* The same R products, each at most 1.5 (a weight) times |x| < 10, in another order. */
    for (size_t i = 0; i < N_DW; i++)
        REQUIRE_NEAR(v[0].dw[i], v[1].dw[i], 2 * R * DBL_EPSILON * R * 15);
}

static void twins_compute_the_same(int how)
{
    for (uint32_t chunks = 1; chunks <= 8; chunks += chunks < 2 ? 1 : 6)
        twins_compute_the_same_in(how, chunks);
}

static void the_twins_compute_the_same(void **state)
{
    (void)state;
    twins_compute_the_same(TRAINED);
}

/* The twins do not know that rows past w's are zeros: what stands there must not matter. */
static void the_twins_compute_the_same_in_padded_rows(void **state)
{
    (void)state;
    twins_compute_the_same(PADDED);
}

/* The loss's gradient is other than 1, but known before the loss. */
static void the_twins_compute_the_same_of_a_scaled_loss(void **state)
{
    (void)state;
    twins_compute_the_same(SCALED);
}

static void read_all(const built *b, float *loss, float *dx, float *dw)
{
    REQUIRE_OK(vkt_tensor_read(b->loss, 0, loss, b->loss->bytes));
    REQUIRE_OK(vkt_tensor_read(b->d[0], 0, dx, b->d[0]->bytes));
    REQUIRE_OK(vkt_tensor_read(b->d[1], 0, dw, b->d[1]->bytes));
}

/* Both sides add the same numbers, rounding at most as often as there are terms. */
static void device_computes_the_same(int how, uint32_t chunks)
{
    static float loss[2][R], dx[2][N_DX], dw[2][N_DW];
    vkt_buffer *buf;
    uint64_t slab[2];
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { host.bytes, VKT_MEM_DEVICE, "test" }, &buf));
    for (int plain = 0; plain < 2; plain++) {
        built b = build(gpu, how, plain);
        b.g->head.chunks = chunks;
        bind_inputs(b.g, buf);
        REQUIRE_OK(vkt_graph_compile(b.g, &(vkt_plan_desc) { 0 }));
        slab[plain] = vkt_graph_bytes(b.g);
        REQUIRE_OK(vkt_graph_run(b.g));
        read_all(&b, loss[plain], dx[plain], dw[plain]);
        vkt_graph_destroy(&b.g);
    }
    /* A sum of V exponentials to V eps; its logarithm. */
    for (size_t i = 0; i < R; i++) REQUIRE_NEAR(loss[0][i], loss[1][i], 2.0 * V * FLT_EPSILON);
    /* V terms p w, where p sums to 1: times a weight to 1.5, twice |w| < 10. */
    for (size_t i = 0; i < N_DX; i++)
        REQUIRE_NEAR(dx[0][i], dx[1][i], 2.0 * V * FLT_EPSILON * 1.5 * 20);
    /* R terms p h are positive, except at most one, a target's, which is 1.5 |h| < 30 apart. */
    for (size_t i = 0; i < N_DW; i++)
        REQUIRE_NEAR(dw[0][i], dw[1][i], 2.0 * R * FLT_EPSILON * (fabsf(dw[1][i]) + 60));
    assert_true(chunks < N_CHUNKS || slab[0] < slab[1] / 3);
    assert_int_equal(vkt_gpu_get_stats(gpu).n_validation, 0);
    vkt_buffer_destroy(gpu, &buf);
}

static void the_device_computes_the_same(void **state)
{
    (void)state;
    for (uint32_t chunks = 1; chunks <= 8; chunks += chunks < 2 ? 1 : 6)
        device_computes_the_same(TRAINED, chunks);
}

static void the_device_computes_the_same_in_padded_rows(void **state)
{
    (void)state;
    device_computes_the_same(PADDED, 1);
    device_computes_the_same(PADDED, 8);
}

static void the_device_computes_the_same_of_a_scaled_loss(void **state)
{
    (void)state;
    device_computes_the_same(SCALED, 2);
}

static void what_it_leaves_alone(void **state)
{
    (void)state;
    static const struct {
        int how;
        uint32_t n;
    } cases[] = { { TRAINED, 1 }, { EVALUATED, 1 }, { READ_TWICE, 0 },
                  { SCALED, 1 },  { PADDED, 1 },    { SQUARED, 0 } };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        built b = build(NULL, cases[i].how, false);
        bind_inputs(b.g, &host);
        REQUIRE_OK(vkt_graph_plan(b.g, &(vkt_plan_desc) { 0 }));
        assert_int_equal(vkt__rewrite_count(b.g, &vkt__pass_head), cases[i].n);
        vkt_graph_destroy(&b.g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_twins_compute_the_same),
        cmocka_unit_test(the_twins_compute_the_same_in_padded_rows),
        cmocka_unit_test(the_twins_compute_the_same_of_a_scaled_loss),
        cmocka_unit_test(the_device_computes_the_same),
        cmocka_unit_test(the_device_computes_the_same_of_a_scaled_loss),
        cmocka_unit_test(the_device_computes_the_same_in_padded_rows),
        cmocka_unit_test(what_it_leaves_alone),
    };
    vkt_gpu_desc desc = { .cap = getenv("VKT_TEST_CAP"),
                          .validate = getenv("VKT_TEST_VALIDATE") != NULL,
                          .no_cache = true };
    if (vkt_gpu_create(&desc, &gpu) != VKT_OK) return 1;
    int failed = cmocka_run_group_tests_name("rewrite_head", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
