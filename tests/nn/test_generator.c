/* Generation: scores from the caches are those of the whole text at once; sampling. Sentences: what
 * stands behind the last token does not count. */
#include "testing.h"

#include "base/log.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/graph.h"
#include "vktrain/nn.h"

enum { T = 48, V = 37 };
static vkt_gpu *gpu;

static vkt_model *model_of(bool llama, uint32_t positions)
{
    vkt_layer l = { .type = "transformer",
                    .init_scale = 8,
                    .transformer = { .layers = 2,
                                     .heads = 4,
                                     .kv_heads = llama ? 2 : 0,
                                     .width = 32,
                                     .norm = llama ? "rmsnorm" : NULL,
                                     .positions = llama ? "rope" : NULL,
                                     .activation = llama ? "swiglu" : NULL } };
    vkt_model *m;
    vkt_model_desc d = {
        .layers = &l, .n_layers = 1, .input = vkt_shape1(positions), .n_outputs = V
    };
    REQUIRE_OK(vkt_model_create(gpu, &d, &m));
    REQUIRE_OK(vkt_model_init(m, 3));
    return m;
}

/* Logits [n, V] of all positions at once. */
static void whole(vkt_model *m, const uint32_t *tokens, uint32_t n, float *logits)
{
    vkt_buffer *b;
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { n * 4, VKT_MEM_DEVICE, "test" }, &b));
    REQUIRE_OK(vkt_buffer_write(gpu, b, 0, tokens, n * 4));
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *ids = vkt_input(g, vkt_shape2(1, n), VKT_U32, "tokens");
    vkt_bind(ids, VKT_ALL_SLOTS, b, 0);
    vkt_tensor *y = vkt_model_build(m, g, ids, false);
    vkt_keep(y, "logits");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "test" }));
    REQUIRE_OK(vkt_graph_run(g));
    REQUIRE_OK(vkt_tensor_read(y, 0, logits, n * V * 4));
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &b);
}

/* Fed in pieces around the prompt's chunk, and one by one. In 16 bits keys and values are rounded:
 * of 2^-11 or 2^-8 of themselves, through the layers within a few times that. */
static void caches_give_what_the_whole_text_gives(void **state)
{
    (void)state;
    static const uint32_t pieces[][4] = {
        { 35, 1, 1, T - 37 }, { 1, 32, 14, 1 }, { 14, 20, 13, 1 } /* the chunk not full, twice */
    };
    static float want[T * V];
    for (int k = 0; k < 6; k++) {
        int llama = k % 2;
        const vkt_dtype cache = (vkt_dtype)(k / 2);
        uint32_t tokens[T];
        double rms = 0;
        for (uint32_t i = 0; i < T; i++) tokens[i] = vkt_rand_below(4, VKT_RNG_TEST, i, V);
        vkt_model *m = model_of(llama, T);
        vkt_generator *gen;
        whole(m, tokens, T, want);
        for (int i = 0; i < T * V; i++) rms += (double)want[i] * (double)want[i] / (T * V);
        REQUIRE_OK(vkt_generator_create(m, 0, cache, &gen));
        for (size_t way = 0; way < VKT_COUNT(pieces); way++) {
            const float *got;
            uint32_t at = 0;
            vkt_generator_reset(gen);
            for (int i = 0; i < 4; i++) {
                REQUIRE_OK(vkt_generator_feed(gen, tokens + at, pieces[way][i], &got));
                at += pieces[way][i];
                assert_int_equal(vkt_generator_left(gen), T - at);
                for (uint32_t c = 0; c < V; c++)
                    REQUIRE_NEAR(got[c], want[(at - 1) * V + c],
                                 vkt__tol(cache, cache ? 10 : 1000) *
                                     (sqrt(rms) + fabs((double)got[c])));
            }
            assert_int_equal(at, T);
        }
        const float *none;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_generator_feed(gen, tokens, 1, &none), VKT_E_ARG);
        REQUIRE_LOGGED("1 tokens after 48 are too many: the model has 48 positions");
        vkt_generator_reset(gen);
        REQUIRE_STATUS(vkt_generator_feed(gen, &(uint32_t) { V }, 1, &none), VKT_E_ARG);
        REQUIRE_LOGGED("token 37 is beyond the vocabulary of 37");
        vkt_generator_destroy(&gen);
        vkt_model_destroy(&m);
    }
}

/* GPUs read a long cache's keys in parts; at first most parts hold no keys. */
static void a_long_cache_gives_what_the_whole_text_gives(void **state)
{
    (void)state;
    enum { LONG = 1100 };
    static const uint32_t pieces[] = { 1, 1, 598, 1, LONG - 602, 1 };
    static float want[LONG * V];
    uint32_t tokens[LONG], at = 0;
    double rms = 0;
    vkt_model *m = model_of(true, LONG);
    vkt_generator *gen;
    for (uint32_t i = 0; i < LONG; i++) tokens[i] = vkt_rand_below(5, VKT_RNG_TEST, i, V);
    whole(m, tokens, LONG, want);
    for (int i = 0; i < LONG * V; i++) rms += (double)want[i] * (double)want[i] / (LONG * V);
    REQUIRE_OK(vkt_generator_create(m, 0, VKT_F32, &gen));
    for (size_t i = 0; i < VKT_COUNT(pieces); i++) {
        const float *got;
        REQUIRE_OK(vkt_generator_feed(gen, tokens + at, pieces[i], &got));
        at += pieces[i];
        for (uint32_t c = 0; c < V; c++)
            REQUIRE_NEAR(got[c], want[(at - 1) * V + c],
                         vkt__tol(VKT_F32, 1000) * (sqrt(rms) + fabs((double)got[c])));
    }
    vkt_generator_destroy(&gen);
    vkt_model_destroy(&m);
}

static void sampling(void **state)
{
    (void)state;
    static const float scores[] = { 1, 3, 3, -2, 2 };
    enum { N = 5, DRAWS = 20000 };
    uint32_t past[] = { 1, 1, 3 };
    vkt_sampler s = { 0 };
    assert_int_equal(vkt_sample(&s, scores, N, NULL, 0, 0), 1); /* of equals the first */
    s.repetition_penalty = 2;
    assert_int_equal(vkt_sample(&s, scores, N, past, 3, 0), 2);
    static const float below[] = { -1, -1.5f }; /* a penalty lowers scores below 0, too */
    assert_int_equal(vkt_sample(&s, below, 2, (uint32_t[]) { 0 }, 1, 0), 1);
    static const float twice[] = { 2, 0.9f }; /* once, however often it stands there */
    assert_int_equal(vkt_sample(&s, twice, 2, (uint32_t[]) { 0, 0 }, 2, 0), 0);
    s = (vkt_sampler) { .temperature = 2, .seed = 5 };
    double p[N], sum = 0;
    uint32_t count[N] = { 0 };
    for (int i = 0; i < N; i++) sum += p[i] = exp((double)scores[i] / 2);
    for (uint32_t k = 0; k < DRAWS; k++) count[vkt_sample(&s, scores, N, NULL, 0, k)]++;
    /* Five standard deviations of a count. */
    for (int i = 0; i < N; i++)
        REQUIRE_NEAR(count[i], DRAWS * p[i] / sum, 5 * sqrt(DRAWS * p[i] / sum));
    s.top_k = 2;
    for (uint32_t k = 0; k < 100; k++) {
        uint32_t t = vkt_sample(&s, scores, N, NULL, 0, k);
        assert_true(t == 1 || t == 2);
    }
    s.top_k = 0;
    s.top_p = (float)(p[1] / sum) * 0.99f;
    for (uint32_t k = 0; k < 100; k++) assert_int_equal(vkt_sample(&s, scores, N, NULL, 0, k), 1);
}

/* Two sentences, of three tokens and of none, in `places` places -> [2, 3]. */
static void read_sentences(bool full, uint32_t places, uint32_t third, float *out)
{
    vkt_layer l[] = { { .type = "sentence",
                        .init_scale = 8,
                        .transformer = { .layers = 2, .heads = 2, .width = 16, .full = full } },
                      { .type = "linear" } };
    vkt_model_desc d = {
        .layers = l, .n_layers = 2, .input = vkt_shape1(places), .n_outputs = 3, .embed_rows = V
    };
    vkt_model *m;
    vkt_buffer *b;
    float ids[2 * T];
    for (uint32_t i = 0; i < 2 * T; i++) ids[i] = -1;
    ids[0] = 4;
    ids[1] = 11;
    ids[2] = (float)third;
    REQUIRE_OK(vkt_model_create(gpu, &d, &m));
    REQUIRE_OK(vkt_model_init(m, 3));
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { sizeof ids, VKT_MEM_DEVICE, "test" }, &b));
    REQUIRE_OK(vkt_buffer_write(gpu, b, 0, ids, sizeof ids));
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *x = vkt_input(g, vkt_shape2(2, places), VKT_F32, "x");
    vkt_bind(x, VKT_ALL_SLOTS, b, 0);
    vkt_tensor *y = vkt_model_build(m, g, x, false);
    vkt_keep(y, "y");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "test" }));
    REQUIRE_OK(vkt_graph_run(g));
    REQUIRE_OK(vkt_tensor_read(y, 0, out, 6 * sizeof *out));
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &b);
    vkt_model_destroy(&m);
}

static void what_is_behind_a_sentence_does_not_count(void **state)
{
    (void)state;
    float few[2][6], many[6], other[6];
    for (int full = 0; full < 2; full++) {
        read_sentences(full, 3, 20, few[full]);
        read_sentences(full, 19, 20, many);
        read_sentences(full, 19, 21, other);
        for (int i = 0; i < 6; i++)
            REQUIRE_NEAR(many[i], few[full][i],
                         vkt__tol(VKT_F32, 1000) * (1 + fabs((double)few[full][i])));
        assert_true(fabs((double)many[0] - (double)other[0]) > 1e-3);
        assert_true(many[3] == other[3] && fabs((double)many[0] - (double)many[3]) > 1e-3);
    }
    assert_true(fabs((double)few[0][0] - (double)few[1][0]) > 1e-3); /* later tokens are seen */
}

/* The inert tensor of a layer that was not built is no result: it trained to nothing. */
static void a_layer_without_memory_fails_its_graph(void **state)
{
    (void)state;
    vkt_model *m = model_of(false, T);
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *ids = vkt_input(g, vkt_shape2(1, T), VKT_U32, "tokens");
    vkt__reserve_spent = true; /* as after an allocation that failed */
    vkt_model_build(m, g, ids, false);
    assert_int_equal(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "test" }), VKT_E_OOM_HOST);
    assert_false(vkt__reserve_spent);
    vkt_graph_destroy(&g);
    vkt_model_destroy(&m);
}

static void what_is_no_transformer_has_no_generator(void **state)
{
    (void)state;
    const vkt_layer layer = { .type = "linear" };
    vkt_model *m;
    vkt_generator *gen;
    REQUIRE_OK(vkt_model_create(
        gpu,
        &(vkt_model_desc) {
            .layers = &layer, .n_layers = 1, .input = vkt_shape1(8), .n_outputs = 4 },
        &m));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_generator_create(m, 0, VKT_F32, &gen), VKT_E_ARG);
    REQUIRE_LOGGED("the model is not a transformer: it can't generate text");
    assert_null(gen);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_model_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_give_what_the_whole_text_gives),
        cmocka_unit_test(a_long_cache_gives_what_the_whole_text_gives),
        cmocka_unit_test(sampling),
        cmocka_unit_test(what_is_behind_a_sentence_does_not_count),
        cmocka_unit_test(what_is_no_transformer_has_no_generator),
        cmocka_unit_test(a_layer_without_memory_fails_its_graph),
    };
    vkt_gpu_desc desc = { .no_cache = true, .cap = getenv("VKT_TEST_CAP") };
    if (vkt_gpu_create(&desc, &gpu) != VKT_OK) return 1;
    int failed = cmocka_run_group_tests_name("generator", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
