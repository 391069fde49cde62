/* Short of device memory: recomputed activations and moments in the host's memory give the same
 * bits in less memory, and are chosen, and said, when a run does not fit. The plans of the built-in
 * recipes are near their lower bound. */
#include "on_device.h"
#include "recipe_run.h"

#include "gpu/commands.h"
#include "tensor/graph/graph.h"
#include "train/session.h"

/* Deep, so that most memory is activations; every kind of row that is recomputed. */
#define RECIPE(model)                                                                              \
    "data: {source: digits, test_fraction: 0.2}\n"                                                 \
    "model: " model "\n"                                                                           \
    "optim: {rule: adamw}\n"                                                                       \
    "train: {steps: 8, batch: 256}\n"                                                              \
    "eval: {batch: 256, every: 8}\n"
static const char deep[] = RECIPE("[flatten, linear: 64, repeat: {n: 6, body: [residual: "
                                  "[layernorm, linear: 64, gelu, "
                                  "dropout: 0.1, linear: 64, relu]]}, rmsnorm, linear]"),
                  /* Running averages change at each pass forward: they must see one. */
    images[] = RECIPE("[repeat: {n: 3, body: [conv: {out: 4, kernel: 3}, batch_norm, relu]}, "
                      "flatten, linear]"),
                  *recipe = deep;

static const char *more_cap = "";

static vkt_gpu_desc gpu_desc(void)
{
    return test_gpu_desc(more_cap);
}

static vkt_train_result train(const char *dir, const char *const *set)
{
    vkt_train_result r;
    vkt__remove_tree(dir);
    TEST_LOG_CAPTURE();
    vkt_status st =
        train_recipe(recipe, set, &(vkt_train_desc) { .run_dir = dir, .gpu = gpu_desc() }, &r);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    if (st != VKT_OK) print_error("%s", test_log);
    REQUIRE_OK(st);
    return r;
}

static void require_same_run(const char *a, const char *b)
{
    require_same_file(a, b, "checkpoints/step-00000008/model.safetensors");
    require_same_file(a, b, "checkpoints/step-00000008/optimizer.safetensors");
}

static void finish(const char *a, const char *b)
{
    vkt__remove_tree(a);
    vkt__remove_tree(b);
}

static void recomputation_gives_the_same_bits_in_less_memory(void **state)
{
    (void)state;
    static const char *const precisions[] = { "train.precision=fp32", "train.precision=bf16" };
    for (int k = 0; k < 2; k++) {
        const char *const none[] = { "train.recompute=none", precisions[k], NULL }, *const all[] = {
            "train.recompute=all", precisions[k], NULL
        };
        vkt_train_result plain = train("tm_plain", none), r = train("tm_recompute", all);
        require_same_run("tm_plain", "tm_recompute");
        print_message("%s: %.2f MiB, recomputed %.2f MiB\n", precisions[k],
                      (double)plain.device_bytes / 1048576, (double)r.device_bytes / 1048576);
        assert_true(r.device_bytes == r.planned_bytes);
        assert_true(r.device_bytes < plain.device_bytes * 9 / 10);
        finish("tm_plain", "tm_recompute");
    }
}

static void what_changes_memory_is_not_done_again(void **state)
{
    (void)state;
    recipe = images;
    vkt_train_result plain = train("tm_plain", (const char *[]) { "train.recompute=none", NULL }),
                     r = train("tm_recompute", (const char *[]) { "train.recompute=all", NULL });
    recipe = deep;
    require_same_run("tm_plain", "tm_recompute");
    assert_true(r.device_bytes < plain.device_bytes); /* something was done again */
    finish("tm_plain", "tm_recompute");
}

static void offloaded_moments_give_the_same_bits_in_less_memory(void **state)
{
    (void)state;
    static const char *const host[] = { "optim.offload=host", NULL };
    more_cap = "unified=0";
    vkt_train_result plain = train("tm_plain", NULL), r = train("tm_offload", host);
    more_cap = "";
    assert_null(strstr(test_log, "saves no memory on this device"));
    require_same_run("tm_plain", "tm_offload");
    uint64_t moments = 0; /* at least the parameters' bytes, twice */
    char path[] = "tm_plain/checkpoints/step-00000008/optimizer.safetensors";
    moments = (uint64_t)vkt__file_size(path);
    assert_true(r.device_bytes == r.planned_bytes);
    assert_true(r.device_bytes + moments * 9 / 10 < plain.device_bytes);
    finish("tm_plain", "tm_offload");
    /* Where host and device share memory it is done when asked for, and said to be in vain. */
    train("tm_offload", host);
    if (!strstr(test_log, "saves no memory on this device"))
        print_message("the device has memory of its own\n");
    finish("tm_offload", "tm_offload");
}

/* What a run needs, less and less of it: each measure in turn, said once. */
static void measures_are_taken_in_order_and_said(void **state)
{
    (void)state;
    static const char *const recompute[] = { "train.recompute=all", NULL }, *const both[] = {
        "train.recompute=all", "optim.offload=host", NULL
    };
    static char cap[96];
    more_cap = "unified=0";
    uint64_t needs[3] = { train("tm_plain", NULL).planned_bytes,
                          train("tm_measure", recompute).planned_bytes,
                          train("tm_measure", both).planned_bytes };
    for (int k = 0; k < 3; k++) {
        /* Just too little for what the measure before would need. */
        snprintf(cap, sizeof cap, "unified=0,memory=%llu", (unsigned long long)needs[k] - 4096);
        more_cap = cap;
        vkt_train_result r = train("tm_measure", NULL);
        assert_true(r.device_bytes < needs[k]);
        REQUIRE_LOGGED("ops of the forward pass run again");
        assert_int_equal(strstr(test_log, "moments, ") != NULL, k >= 1);
        assert_int_equal(strstr(test_log, "micro-batches of") != NULL, k >= 2);
        char *first = strstr(test_log, "run again");
        assert_null(strstr(first + 1, "run again"));
        if (k < 2) require_same_run("tm_plain", "tm_measure");
    }
    more_cap = "";
    finish("tm_plain", "tm_measure");
}

/* Leaves out recipes without their data, and those that do not fit this device. */
static void plans_of_recipes_are_near_the_bound(void **state)
{
    (void)state;
    vkt_gpu *gpu;
    vkt_gpu_desc desc = gpu_desc();
    const char *name;
    uint32_t n = 0;
    REQUIRE_OK(vkt_gpu_create(&desc, &gpu));
    for (size_t i = 0; vkt_recipe(i, &name, NULL, NULL); i++) {
        vkt_config *c;
        vkt_dataset *data;
        vkt__session *s;
        REQUIRE_OK(vkt_config_create(&c));
        REQUIRE_OK(vkt_config_load(c, name));
        REQUIRE_OK(vkt_config_finish(c));
        TEST_LOG_CAPTURE();
        vkt_status st = vkt_dataset_open(&c->data, &data);
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
        for (int again = 0; again < 2 && st == VKT_OK; again++) {
            c->recompute = again ? VKT_SAVING_ALWAYS : VKT_SAVING_NONE;
            TEST_LOG_CAPTURE();
            vkt_status fits = vkt__session_create(gpu, c, data, true, &s);
            vkt_log_set(NULL, NULL, VKT_LOG_WARN);
            if (fits == VKT_E_OOM_DEVICE) {
                print_message("%s: does not fit this device, left out\n", name);
                break;
            }
            REQUIRE_OK(fits);
            char *text = vkt__session_explain(s), peak[64]; /* says what was planned */
            snprintf(peak, sizeof peak, "%.2f MiB of", (double)s->planned_bytes / 1048576);
            assert_non_null(strstr(text, peak));
            free(text);
            const vkt_graph *graphs[] = { s->train.graph, s->eval.graph };
            for (int k = 0; k < 2; k++) {
                uint64_t bytes = vkt_graph_bytes(graphs[k]),
                         bound = vkt_graph_bytes_bound(graphs[k]);
                print_message("%s: %.2f MiB, bound %.2f MiB\n", name, (double)bytes / 1048576,
                              (double)bound / 1048576);
                assert_true(bytes >= bound && bytes <= bound + bound / 20);
                n++;
            }
            vkt__session_destroy(&s);
        }
        if (st == VKT_OK) vkt_dataset_destroy(&data);
        vkt_config_destroy(&c);
    }
    vkt_gpu_destroy(&gpu);
    assert_true(n >= 4); /* digits is built in */
}

/* Tensors of a graph that lie in memory of the host's. */
static uint32_t far_tensors(const vkt_graph *g, const vkt__ring *l)
{
    uint32_t n = 0;
    for (size_t i = 0; g && i < g->n_tensors; i++)
        for (uint32_t s = 0; s < l->n_slots && g->tensors[i]->bound; s++)
            n += g->tensors[i]->buf[s] == l->upload[s] || g->tensors[i]->buf[s] == l->readback[s];
    return n;
}

/* Where that is slow, a step's kernels read and write the device's own memory; of the host's a copy
 * alone reads a batch of x. */
static void steps_do_not_reach_into_the_hosts_memory(void **state)
{
    (void)state;
    static const char *const micro[] = { "train.accumulate=2", NULL };
    more_cap = "unified=0";
    vkt_gpu_desc desc = gpu_desc();
    more_cap = "";
    for (int k = 0; k < 2; k++) {
        vkt_gpu *gpu;
        vkt_config *c;
        vkt_dataset *data;
        vkt__session *s;
        REQUIRE_OK(vkt_gpu_create(&desc, &gpu));
        REQUIRE_OK(vkt_config_create(&c));
        REQUIRE_OK(vkt_config_parse(c, deep, sizeof deep - 1, "deep"));
        for (int i = 0; k && micro[i]; i++) REQUIRE_OK(vkt_config_set(c, micro[i]));
        REQUIRE_OK(vkt_config_finish(c));
        REQUIRE_OK(vkt_dataset_open(&c->data, &data));
        REQUIRE_OK(vkt__session_create(gpu, c, data, true, &s));
        assert_int_equal(s->update != NULL, k);
        assert_int_equal(far_tensors(s->train.graph, &s->train), s->train.n_slots);
        assert_int_equal(far_tensors(s->eval.graph, &s->eval), s->eval.n_slots);
        assert_int_equal(far_tensors(s->update, &s->train), 0);
        vkt__session_destroy(&s);
        vkt_dataset_destroy(&data);
        vkt_config_destroy(&c);
        vkt_gpu_destroy(&gpu);
    }
}

/* Rows of an evaluation's batch: what fills up the last one costs as much as examples do. */
static void an_evaluation_has_few_rows_without_an_example(void **state)
{
    (void)state;
    static const struct {
        const char *batch, *sample;
        uint32_t ranks, rows;
    } cases[] = {
        { "eval.batch=4800", "eval.sample=0", 1, 160 }, /* one batch of 145 examples */
        { "eval.batch=130", "eval.sample=0", 1, 80 },   /* two of 73 */
        { "eval.batch=64", "eval.sample=0", 1, 64 },    /* three of 49 */
        { "eval.batch=4800", "eval.sample=70", 1, 80 },
        { "eval.batch=4800", "eval.sample=0", 3, 64 },
    };
    vkt_gpu *gpu;
    vkt_gpu_desc desc = gpu_desc();
    REQUIRE_OK(vkt_gpu_create(&desc, &gpu));
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_config *c;
        vkt_dataset *data;
        vkt__session *s;
        REQUIRE_OK(vkt_config_create(&c));
        REQUIRE_OK(vkt_config_load(c, "digits"));
        REQUIRE_OK(vkt_config_set(c, cases[i].batch));
        REQUIRE_OK(vkt_config_set(c, cases[i].sample));
        REQUIRE_OK(vkt_config_finish(c));
        c->ranks = cases[i].ranks;
        REQUIRE_OK(vkt_dataset_open(&c->data, &data));
        REQUIRE_OK(vkt__session_create(gpu, c, data, true, &s));
        assert_int_equal(s->info->n[VKT_SPLIT_VALID], 145);
        assert_int_equal(s->eval.batch, cases[i].rows);
        vkt__session_destroy(&s);
        vkt_dataset_destroy(&data);
        vkt_config_destroy(&c);
    }
    vkt_gpu_destroy(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recomputation_gives_the_same_bits_in_less_memory),
        cmocka_unit_test(what_changes_memory_is_not_done_again),
        cmocka_unit_test(offloaded_moments_give_the_same_bits_in_less_memory),
        cmocka_unit_test(measures_are_taken_in_order_and_said),
        cmocka_unit_test(plans_of_recipes_are_near_the_bound),
        cmocka_unit_test(steps_do_not_reach_into_the_hosts_memory),
        cmocka_unit_test(an_evaluation_has_few_rows_without_an_example),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
