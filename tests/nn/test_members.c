/* nn: the layer members by its formula, without a device; what it can't be. */
#include <math.h>

#include "testing.h"

#include "base/memory.h"
#include "nn/params.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "vktrain/nn.h"

enum { B = 3, K = 4, N = 2, H = 5, OUT = 2 };

static const vkt_layer body[] = { { .type = "linear", .out = H }, { .type = "tanh" } },
                       line[] = { { .type = "linear" } };

static vkt_status create(const vkt_layer *layers, size_t n, vkt_shape in, vkt_model **m)
{
    return vkt_model_create(
        NULL, &(vkt_model_desc) { .layers = layers, .n_layers = n, .input = in, .n_outputs = OUT },
        m);
}

static const float *param(const vkt_model *m, const char *name)
{
    size_t n = m->n_params;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(m->params[i].pub.name, name))
            return (const float *)vkt_model_values(m)->host + m->params[i].pub.offset;
    fail_msg("no parameter '%s'", name);
    return NULL;
}

static float input(uint64_t i)
{
    return (float)vkt_rand_normal(1, VKT_RNG_TEST, i);
}

typedef struct pass {
    const vkt_tensor *x, *y;
    double got[B * K * OUT];
} pass;

static void fill(void *user, const vkt_tensor *t, double *data)
{
    const pass *p = user;
    for (uint64_t i = 0; i < t->count; i++) {
        const char *host = t->bound ? (const char *)t->buf[0]->host + t->buf_offset[0] : NULL;
        if (t == p->x)
            data[i] = input(i);
        else if (host)
            data[i] = (double)((const float *)(const void *)host)[i];
    }
}

static void take(void *user, const vkt_tensor *t, const double *data)
{
    pass *p = user;
    if (t == p->y) memcpy(p->got, data, t->count * sizeof *data);
}

/* Rows [B, N], by member in training. */
static void run(vkt_model *m, bool train, pass *p)
{
    vkt_graph *g = vkt__graph_new(NULL);
    p->x = vkt_input(g, vkt_shape2(B, N), VKT_F32, "x");
    p->y = vkt_model_build(m, g, (vkt_tensor *)(uintptr_t)p->x, train);
    assert_int_equal(g->status, VKT_OK);
    assert_int_equal(p->y->count, train ? B * K * OUT : B * OUT);
    vkt__graph_ref(g, fill, p, take);
    vkt_graph_destroy(&g);
}

static double by_formula(const vkt_model *m, uint32_t b, uint32_t k, uint32_t o)
{
    const float *in = param(m, "0.input_scale"), *w = param(m, "0.body.0.weight"),
                *c = param(m, "0.body.0.bias"), *scale = param(m, "0.scale"),
                *bias = param(m, "0.bias"), *head = param(m, "0.weight"),
                *all = param(m, "0.shortcut.0.weight"), *of_all = param(m, "0.shortcut.0.bias");
    double y = bias[k * OUT + o] + of_all[o];
    for (uint32_t i = 0; i < N; i++) y += all[o * N + i] * input(b * N + i);
    for (uint32_t h = 0; h < H; h++) {
        double a = c[h];
        for (uint32_t i = 0; i < N; i++) a += w[h * N + i] * in[k * N + i] * input(b * N + i);
        y += head[o * H + h] * scale[k * H + h] * tanh(a);
    }
    return y;
}

static void each_is_a_net_and_the_answer_is_their_mean(void **state)
{
    (void)state;
    const vkt_layer layer = { .type = "members",
                              .members = K,
                              .body = body,
                              .n_body = VKT_COUNT(body),
                              .shortcut = line,
                              .n_shortcut = 1 };
    vkt_model *m;
    pass each, mean;
    uint32_t n_signs = 0;
    REQUIRE_OK(create(&layer, 1, vkt_shape1(N), &m));
    REQUIRE_OK(vkt_model_init(m, 7));
    const float *in = param(m, "0.input_scale");
    for (uint32_t i = 0; i < K * N; i++) {
        assert_true(fabsf(in[i]) == 1);
        n_signs += in[i] > 0;
    }
    assert_true(n_signs >= 1 && n_signs < K * N); /* else all members were one */
    float *v = vkt_model_values(m)->host;
    for (uint64_t i = 0; i < vkt_model_values(m)->bytes / 4; i++)
        v[i] += 0.3f * (float)vkt_rand_normal(2, VKT_RNG_TEST, i);
    run(m, true, &each);
    run(m, false, &mean);
    for (uint32_t b = 0; b < B; b++)
        for (uint32_t o = 0; o < OUT; o++) {
            double sum = 0;
            for (uint32_t k = 0; k < K; k++) {
                double want = by_formula(m, b, k, o);
                REQUIRE_NEAR(each.got[(b * K + k) * OUT + o], want, 1e-5 * (1 + fabs(want)));
                sum += want;
            }
            REQUIRE_NEAR(mean.got[b * OUT + o], sum / K, 1e-5 * (1 + fabs(sum)));
        }
    /* Scales and biases are vectors: they do not decay, and no rule of matrices takes them. */
    for (size_t i = 0; i < m->n_params; i++) {
        const char *name = m->params[i].pub.name;
        bool own =
            !strcmp(name, "0.input_scale") || !strcmp(name, "0.scale") || !strcmp(name, "0.bias");
        if (own) assert_false(m->params[i].pub.decay);
        if (own) assert_false(vkt__model_is_hidden(m, i));
    }
    vkt_model_destroy(&m);
}

static void what_can_not_be(void **state)
{
    (void)state;
    static const vkt_layer flat[] = { { .type = "reshape", .sizes = { 1, { K * H } } } },
                           wide[] = { { .type = "linear", .out = OUT + 1 } };
    const struct {
        vkt_layer layers[2];
        size_t n;
        vkt_shape in;
        const char *words;
    } rows[] = {
        { { { .type = "members", .body = body, .n_body = 2 }, { .type = "linear" } },
          2,
          vkt_shape1(N),
          "it must be the model's last layer" },
        { { { .type = "members", .body = body, .n_body = 2 } },
          1,
          vkt_shape2(4, N),
          "it takes a vector, not [4, 2] f32: put `- flatten` before it" },
        { { { .type = "members", .members = K, .body = flat, .n_body = 1 } },
          1,
          vkt_shape1(H),
          "its body gives [20] f32 for the members' 4 vectors" },
        { { { .type = "members", .body = body, .n_body = 2, .shortcut = wide, .n_shortcut = 1 } },
          1,
          vkt_shape1(N),
          "its shortcut gives [3] f32, but is added to 2 outputs" },
    };
    vkt_model *m;
    TEST_LOG_CAPTURE(); /* heads of several losses */
    const vkt_layer one = { .type = "members", .name = "m", .body = body, .n_body = 2 };
    const vkt_model_head head = { "m", OUT };
    REQUIRE_STATUS(vkt_model_create(NULL,
                                    &(vkt_model_desc) { .layers = &one,
                                                        .n_layers = 1,
                                                        .input = vkt_shape1(N),
                                                        .n_outputs = OUT,
                                                        .heads = &head,
                                                        .n_heads = 1 },
                                    &m),
                   VKT_E_SHAPE);
    REQUIRE_LOGGED("so that `losses` can't stand beside them: take `loss`");
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        TEST_LOG_CAPTURE();
        vkt_status st = create(rows[i].layers, rows[i].n, rows[i].in, &m);
        assert_true(st == VKT_E_ARG || st == VKT_E_SHAPE);
        REQUIRE_LOGGED(rows[i].words);
        assert_null(m);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* Where the last layer begins with zeros, all members give 0 at first. */
static void a_zero_last_layer_says_nothing(void **state)
{
    (void)state;
    vkt_layer layer = { .type = "members", .members = K, .body = body, .n_body = VKT_COUNT(body) };
    for (int zero = 0; zero < 2; zero++) {
        vkt_model *m;
        uint32_t n = 0;
        layer.zero = zero;
        REQUIRE_OK(create(&layer, 1, vkt_shape1(N), &m));
        REQUIRE_OK(vkt_model_init(m, 7));
        for (uint32_t i = 0; i < OUT * H; i++) n += param(m, "0.weight")[i] != 0;
        assert_int_equal(n > 0, !zero);
        for (uint32_t i = 0; i < K * OUT; i++) assert_true(param(m, "0.bias")[i] == 0);
        vkt_model_destroy(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_a_net_and_the_answer_is_their_mean),
        cmocka_unit_test(a_zero_last_layer_says_nothing),
        cmocka_unit_test(what_can_not_be),
    };
    return cmocka_run_group_tests_name("members", tests, NULL, NULL);
}
