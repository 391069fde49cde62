/* Each family and variant that is read, against transformers: tests/golden/families.json (written
 * by tools/golden/golden_families.py) has config.json files, logits, and losses of AdamW. The
 * config is read, its model computes the same, and the config that is written says the same. And
 * each kind of adapter, against what PEFT computes: tests/golden/adapters.json
 * (golden_adapters.py).
 */
#include "testing.h"

#include <jansson.h>

#include "models/huggingface/hf_config.h"
#include "nn/params.h"
#include "recipe/recipe_model.h"
#include "tensor/graph/graph.h"
#include "vktrain/data.h"
#include "vktrain/optim.h"

static json_t *file, *adapters_file;
static vkt_gpu *gpu;
static uint32_t B, T, V;

/* What the issue asks of float32, of the logits' root mean square and of a loss. */
static const double limit = 1e-5;

static void read_config(const json_t *j, vkt__hf_config *c)
{
    char *text = json_dumps(json_object_get(j, "config"), 0);
    REQUIRE_OK(
        vkt__hf_config_parse(text, strlen(text), json_string_value(json_object_get(j, "name")), c));
    free(text);
}

/* ---- the config that is written ---- */

static void require_same(const char *key, const json_t *want, const json_t *got)
{
    const char *inner;
    json_t *v;
    if (json_is_object(want)) {
        /* mscale is written as the factor that it means. */
        json_object_foreach((json_t *)(uintptr_t)want, inner, v) if (strncmp(inner, "mscale", 6))
            require_same(inner, v, json_object_get(got, inner));
    } else if (json_is_array(want)) {
        for (size_t i = 0; i < json_array_size(want); i++)
            require_same(key, json_array_get(want, i), json_array_get(got, i));
    } else if (json_is_number(want)) {
        /* A recipe's numbers are float32. */
        REQUIRE_NEAR(json_number_value(got), json_number_value(want),
                     0x1p-23 * json_number_value(want));
    } else if (!json_equal(want, got)) {
        fail_msg("'%s' comes back as another value", key);
    }
}

static void what_is_read_is_written(void **state)
{
    (void)state;
    static const char *const others[] = { "bos_token_id", "eos_token_id", "dtype", "torch_dtype" };
    size_t i;
    json_t *j, *v;
    json_array_foreach(json_object_get(file, "models"), i, j)
    {
        vkt__hf_config c, again;
        const char *key;
        read_config(j, &c);
        vkt_layer layer = vkt__hf_config_layer(&c);
        vkt_config *config;
        REQUIRE_OK(vkt_config_create(&config));
        REQUIRE_OK(vkt__model_take(config, &layer, 1, "config.json"));
        REQUIRE_OK(vkt__hf_config_of(config->layers, config->n_layers, &again));
        again.vocab = c.vocab;
        char *text = vkt__hf_config_json(&again, 0);
        json_t *want = json_object_get(j, "config"), *got = json_loads(text, 0, NULL);
        size_t n = 0;
        json_object_foreach(got, key, v)
        {
            bool other = !json_object_get(want, key);
            for (size_t k = 0; k < VKT_COUNT(others); k++) other |= !strcmp(key, others[k]);
            if (other) continue;
            require_same(key, json_object_get(want, key), v);
            n++;
        }
        assert_true(n >= 13);
        json_decref(got);
        free(text);
        vkt_config_destroy(&config);
    }
}

/* ---- the model ---- */

/* Its place among the names; their number: it is none of them. */
static size_t place_of(const json_t *names, const char *name)
{
    size_t place = 0, n = json_array_size(names);
    while (place < n && strcmp(name, json_string_value(json_array_get(names, place)))) place++;
    return place;
}

/* The formula of golden_families.py. */
static void set_weights(vkt_model *m, const json_t *j, bool plus_one)
{
    const json_t *names = json_object_get(j, "params"), *adapters = json_object_get(j, "adapters");
    const vkt_param *p;
    size_t n = 0, n_base = 0;
    for (; (p = vkt_model_param(m, n)); n++) {
        size_t place = place_of(names, p->name);
        double scale = json_number_value(json_object_get(j, "scale")),
               one = !plus_one && p->shape.rank == 1 && strstr(p->name, "weight");
        if (place == json_array_size(names)) {
            place = place_of(adapters, p->name);
            if (place == json_array_size(adapters)) fail_msg("no '%s' in the file", p->name);
            scale = 0.6;
            one = strstr(p->name, "magnitude") != NULL;
        } else {
            n_base++;
        }
        float *v = vkt__alloc(p->count * 4);
        for (uint64_t i = 0; i < p->count; i++)
            v[vkt_param_at(p, i)] =
                (float)(scale * ((double)((i * 7919 + place * 104729) % 2003) / 2003 - 0.5) + one);
        REQUIRE_OK(vkt_buffer_write(gpu, vkt_model_values(m), p->offset * 4, v, p->count * 4));
        free(v);
    }
    assert_int_equal(n_base, json_array_size(names));
    assert_true(n == n_base || n == n_base + json_array_size(adapters));
}

/* A buffer of tokens, targets, their order and segments. */
static vkt_buffer *inputs_of(vkt_tensor *ids, vkt_tensor *targets, vkt_tensor *order,
                             vkt_tensor *segments)
{
    vkt_buffer *b;
    vkt_tensor *all[] = { ids, targets, order, segments };
    uint32_t n = B * T, *token = vkt__alloc(4 * n * 4 + (V + 1) * 4), *lines[4];
    for (int i = 0; i < 4; i++) lines[i] = token + (size_t)i * n;
    for (uint32_t i = 0; i < n; i++) {
        lines[0][i] = (i * i + 3 * i + 1) % V;
        lines[1][i] = (5 * i + 2) % V;
    }
    vkt_token_order(lines[0], n, V, lines[2], lines[3]);
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 4 * 1024, VKT_MEM_DEVICE, "test" }, &b));
    for (int i = 0; i < 4; i++) {
        vkt_bind(all[i], VKT_ALL_SLOTS, b, 1024u * (unsigned)i);
        assert_true(all[i]->count * 4 <= 1024);
        REQUIRE_OK(vkt_buffer_write(gpu, b, 1024u * (unsigned)i, lines[i], all[i]->count * 4));
    }
    free(token);
    return b;
}

static void check_logits(const json_t *want, vkt_tensor *logits)
{
    size_t n = (size_t)B * T * V;
    double squares = 0;
    float *got = vkt__alloc(n * sizeof *got);
    assert_int_equal(json_array_size(want), n);
    for (size_t i = 0; i < n; i++) {
        double v = json_number_value(json_array_get(want, i));
        squares += v * v;
    }
    REQUIRE_OK(vkt_tensor_read(logits, 0, got, n * 4));
    for (size_t i = 0; i < n; i++)
        REQUIRE_NEAR(got[i], json_number_value(json_array_get(want, i)),
                     limit * sqrt(squares / (double)n));
    free(got);
}

/* Trained whole, or beside adapters. */
static void check_model(const json_t *j, const vkt_lora *lora)
{
    uint32_t rank = lora->rank;
    vkt__hf_config c;
    vkt_model *m;
    vkt_optim *optim;
    vkt_buffer *step;
    read_config(j, &c);
    vkt_layer layer = vkt__hf_config_layer(&c);
    vkt_model_desc desc = {
        .layers = &layer, .n_layers = 1, .input = vkt_shape1(T), .n_outputs = V, .lora = *lora
    };
    REQUIRE_OK(vkt_model_create(gpu, &desc, &m));
    set_weights(m, j, c.plus_one);
    if (json_object_get(j, "trained"))
        assert_int_equal(vkt_model_trained_count(m),
                         json_integer_value(json_object_get(j, "trained")));
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *ids = vkt_input(g, vkt_shape2(B, T), VKT_U32, "tokens"),
               *targets = vkt_input(g, vkt_shape1(B * T), VKT_U32, "targets"),
               *order = vkt_input(g, vkt_shape1(B * T), VKT_U32, VKT_TOKEN_ORDER),
               *segments = vkt_input(g, vkt_shape1(V + 1), VKT_U32, VKT_TOKEN_SEGMENTS),
               *logits = vkt_model_build(m, g, ids, true);
    vkt_keep(logits, "logits");
    vkt_tensor *loss = vkt_sum(g, vkt_softmax_xent(g, logits, targets, NULL, NULL, NULL).loss);
    loss = vkt_scale(g, loss, 1.0f / (float)(B * T));
    vkt_tensor *balance = vkt__model_added_loss(m, g);
    assert_int_equal(balance != NULL, c.experts_balance > 0);
    if (balance) loss = vkt_add(g, loss, balance);
    vkt_model_backward(m, g, loss);
    vkt_optim_desc rule = { .rule = VKT_RULE_ADAMW,
                            .form = VKT_OPTIM_FORM_TORCH,
                            .beta1 = 0.9f,
                            .beta2 = 0.99f,
                            .eps = 1e-5f,
                            .weight_decay = 0.1f };
    REQUIRE_OK(vkt_optim_create(gpu, &rule, m, &optim));
    vkt_tensor *scalars = vkt_optim_build(optim, g, loss, NULL);
    vkt_buffer *inputs = inputs_of(ids, targets, order, segments);
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 512, VKT_MEM_READBACK, "test" }, &step));
    vkt_bind(vkt_step(g), VKT_ALL_SLOTS, step, 0);
    vkt_bind(scalars, VKT_ALL_SLOTS, step, 256);
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "test" }));
    const json_t *losses = json_object_get(j, rank ? "adapter_losses" : "losses");
    const float *got = (const float *)(const void *)((const char *)step->host + 256);
    for (uint32_t s = 0; s < json_array_size(losses); s++) {
        double want = json_number_value(json_array_get(losses, s));
        vkt_optim_fill_step(optim, json_number_value(json_object_get(file, "lr")), s, 1,
                            step->host);
        REQUIRE_OK(vkt_graph_run(g));
        if (!s && !rank) check_logits(json_object_get(j, "logits"), logits);
        REQUIRE_NEAR(got[VKT_SCALAR_LOSS], want, limit * want);
    }
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &inputs);
    vkt_buffer_destroy(gpu, &step);
    vkt_optim_destroy(&optim);
    vkt_model_destroy(&m);
}

static void models_compute_what_transformers_does(void **state)
{
    (void)state;
    size_t i;
    json_t *j;
    const char *only = getenv("VKT_TEST_FAMILY"); /* the beginning of names */
    json_array_foreach(json_object_get(file, "models"), i, j)
    {
        const char *name = json_string_value(json_object_get(j, "name"));
        if (only && strncmp(only, name, strlen(only)) != 0) continue;
        print_message("  %s\n", name);
        check_model(j, &(vkt_lora) { 0 });
        check_model(j, &(vkt_lora) { .rank = 2, .alpha = 3, .targets = VKT_LORA_ALL });
    }
}

/* ---- adapters ---- */

static const char *words_of(const json_t *list, vkt__str *out)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
        vkt__str_printf(out, "%s%s", i ? ", " : "", json_string_value(v));
    return out->data;
}

static const char *pairs_of(const json_t *map, vkt__str *out)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)map, key, v)
        vkt__str_printf(out, "%s%s=%g", out->len ? ", " : "", key, json_number_value(v));
    return out->data;
}

static void adapters_compute_what_peft_does(void **state)
{
    (void)state;
    size_t i;
    json_t *j;
    json_array_foreach(json_object_get(adapters_file, "models"), i, j)
    {
        const json_t *how = json_object_get(j, "lora");
        const char *bias = json_string_value(json_object_get(how, "bias"));
        vkt__str text[4] = { 0 };
        print_message("  %s\n", json_string_value(json_object_get(j, "name")));
        vkt_lora lora = { .rank = (uint32_t)json_integer_value(json_object_get(how, "rank")),
                          .alpha = (float)json_number_value(json_object_get(how, "alpha")),
                          .targets = words_of(json_object_get(how, "targets"), &text[0]),
                          .modules = words_of(json_object_get(how, "modules"), &text[1]),
                          .rank_pattern = pairs_of(json_object_get(how, "rank_pattern"), &text[2]),
                          .alpha_pattern =
                              pairs_of(json_object_get(how, "alpha_pattern"), &text[3]),
                          .rslora = json_is_true(json_object_get(how, "rslora")),
                          .dora = json_is_true(json_object_get(how, "dora")),
                          .bias = !bias                  ? VKT_LORA_BIAS_NONE
                                  : !strcmp(bias, "all") ? VKT_LORA_BIAS_ALL
                                                         : VKT_LORA_BIAS_LORA_ONLY };
        if (!lora.targets) lora.targets = VKT_LORA_ALL;
        check_model(j, &lora);
        for (int k = 0; k < 4; k++) vkt__str_finish(&text[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_written),
        cmocka_unit_test(models_compute_what_transformers_does),
        cmocka_unit_test(adapters_compute_what_peft_does),
    };
    file = json_load_file(test_file("golden/families.json"), 0, NULL);
    adapters_file = json_load_file(test_file("golden/adapters.json"), 0, NULL);
    B = (uint32_t)json_integer_value(json_object_get(file, "batch"));
    T = (uint32_t)json_integer_value(json_object_get(file, "context"));
    V = (uint32_t)json_integer_value(json_object_get(file, "vocab"));
    vkt_gpu_desc desc = { .no_cache = true, .cap = getenv("VKT_TEST_CAP") };
    if (!file || !adapters_file || vkt_gpu_create(&desc, &gpu) != VKT_OK) return 1;
    int failed = cmocka_run_group_tests_name("families", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    json_decref(file);
    json_decref(adapters_file);
    return failed;
}
