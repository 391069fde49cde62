/* optim and train: the moving average of the weights against one made here step by step; a resumed
 * run goes on with it; evaluation takes it. */
#include "recipe_run.h"

#include "runs/checkpoint.h"
#include "train/session.h"

#define RUN "test_ema_tmp"

static const char recipe[] =
    "data: {source: digits}\nmodel:\n  - flatten\n  - linear: 16\n  - relu\n"
    "  - linear\noptim: {rule: adamw, lr: 0.01}\n"
    "train: {steps: 8, batch: 32, ema: 0.4}\neval: {every: 1}\n"
    "checkpoint: {keep: 20}\n";

static vkt_status train(const char *dir, uint64_t steps, bool resume)
{
    vkt_train_result r;
    char set[64];
    const char *const sets[] = { set, NULL };
    snprintf(set, sizeof set, "train.steps=%llu", (unsigned long long)steps);
    return train_recipe(recipe, sets, &(vkt_train_desc) { .run_dir = dir, .resume = resume }, &r);
}

/* Tensor `name` of a file of the checkpoint of that step. */
static float *read_tensor(const char *dir, uint64_t step, const char *name, bool optim, size_t *n)
{
    char path[200];
    vkt__checkpoint *c;
    float *out = NULL;
    snprintf(path, sizeof path, "%s/checkpoints/step-%08llu", dir, (unsigned long long)step);
    REQUIRE_OK(vkt__checkpoint_open(path, &c));
    vkt__safetensors *f = optim ? c->optim : c->model;
    const vkt_tensor_info *t;
    for (size_t i = 0; (t = vkt__safetensors_tensor(f, i)); i++) {
        if (strcmp(t->name, name) != 0) continue;
        out = malloc(t->bytes);
        *n = t->bytes / 4;
        REQUIRE_OK(vkt__safetensors_read(f, i, out));
    }
    vkt__checkpoint_close(&c);
    assert_non_null(out);
    return out;
}

static void average_follows_the_weights(void **state)
{
    (void)state;
    double *mean = NULL;
    size_t n = 0;
    REQUIRE_OK(train(RUN "/a", 8, false));
    for (uint64_t step = 1; step <= 8; step++) {
        float *raw = read_tensor(RUN "/a", step, "raw.1.weight", true, &n);
        float *average = read_tensor(RUN "/a", step, "1.weight", false, &n);
        double t = (double)step - 1;
        double share = step == 1 ? 1 : 1 - VKT_MIN((double)0.4f, (1 + t) / (10 + t));
        if (!mean) mean = calloc(n, sizeof *mean);
        for (size_t i = 0; i < n; i++) {
            mean[i] += share * ((double)raw[i] - mean[i]);
            REQUIRE_NEAR(average[i], mean[i],
                         8 * 6e-8); /* three roundings a step, of values to 1 */
        }
        free(raw);
        free(average);
    }
    free(mean);
}

static void resumed_average_is_the_same(void **state)
{
    (void)state;
    size_t n;
    char path[200];
    REQUIRE_OK(train(RUN "/b", 8, false));
    for (int step = 5; step <= 8; step++) { /* as if killed after step 4 */
        snprintf(path, sizeof path, RUN "/b/checkpoints/step-%08d", step);
        REQUIRE_OK(vkt__remove_tree(path));
    }
    REQUIRE_OK(train(RUN "/b", 8, true));
    for (int raw = 0; raw < 2; raw++) {
        const char *name = raw ? "raw.3.bias" : "3.bias";
        float *a = read_tensor(RUN "/a", 8, name, raw, &n);
        float *b = read_tensor(RUN "/b", 8, name, raw, &n);
        assert_memory_equal(a, b, n * sizeof *a);
        free(a), free(b);
    }
}

static void evaluation_takes_the_average(void **state)
{
    (void)state;
    vkt_eval_result average, raw;
    vkt_eval_desc d = { .checkpoint = RUN "/a/checkpoints/step-00000002",
                        .split = VKT_SPLIT_VALID };
    char want[64], *text;
    size_t n;
    REQUIRE_OK(vkt_eval(&d, &average));
    d.raw = true;
    REQUIRE_OK(vkt_eval(&d, &raw));
    assert_true(average.loss != raw.loss);
    REQUIRE_OK(vkt__file_read(RUN "/a/metrics.jsonl", 1 << 20, &text, &n));
    snprintf(want, sizeof want, "\"step\":2,\"split\":\"valid\",\"loss\":%.9g,", raw.loss);
    assert_non_null(strstr(text, want));
    snprintf(want, sizeof want, "\"step\":2,\"split\":\"valid_ema\",\"loss\":%.9g,", average.loss);
    assert_non_null(strstr(text, want));
    free(text);
    vkt_eval_result_finish(&average);
    vkt_eval_result_finish(&raw);
}

static size_t take_all(vkt__arena *a, vkt__safetensors *f, vkt__st_tensor *out)
{
    const vkt_tensor_info *t;
    size_t n = 0;
    for (; (t = vkt__safetensors_tensor(f, n)); n++) {
        out[n] = (vkt__st_tensor) { .name = vkt__arena_strdup(a, t->name),
                                    .dtype = "F32",
                                    .rank = t->rank,
                                    .data = vkt__arena_alloc(a, t->bytes) };
        memcpy(out[n].shape, t->shape, sizeof out[n].shape);
        REQUIRE_OK(vkt__safetensors_read(f, n, out[n].data));
    }
    return n;
}

/* The checkpoint as version 0.2 wrote it: the raw weights as the model, the average beside it. */
static void make_older(const char *dir, uint64_t step)
{
    char path[200], name[64];
    vkt__checkpoint *c;
    vkt__arena a = { 0 };
    vkt__st_tensor model[16], optim[32];
    snprintf(path, sizeof path, "%s/checkpoints/step-%08llu", dir, (unsigned long long)step);
    REQUIRE_OK(vkt__checkpoint_open(path, &c));
    size_t n_model = take_all(&a, c->model, model), n_optim = take_all(&a, c->optim, optim),
           n_swapped = 0;
    for (size_t i = 0; i < n_optim; i++)
        for (size_t k = 0; k < n_model && !strncmp(optim[i].name, "raw.", 4); k++) {
            if (strcmp(optim[i].name + 4, model[k].name) != 0) continue;
            void *average = model[k].data;
            model[k].data = optim[i].data;
            optim[i].data = average;
            snprintf(name, sizeof name, "ema.%s", model[k].name);
            optim[i].name = vkt__arena_strdup(&a, name);
            n_swapped++;
            break;
        }
    assert_int_equal(n_swapped, n_model);
    REQUIRE_OK(vkt__checkpoint_write(&(vkt__checkpoint_desc) { .run_dir = dir,
                                                               .state = c->state,
                                                               .model = model,
                                                               .n_model = n_model,
                                                               .optim = optim,
                                                               .n_optim = n_optim }));
    vkt__checkpoint_close(&c);
    vkt__arena_finish(&a);
}

static double loss_of(const char *checkpoint, bool raw)
{
    vkt_eval_result r;
    vkt_eval_desc d = { .checkpoint = checkpoint, .split = VKT_SPLIT_VALID, .raw = raw };
    REQUIRE_OK(vkt_eval(&d, &r));
    double loss = r.loss;
    vkt_eval_result_finish(&r);
    return loss;
}

/* What the run's first evaluation with a rate of 0 says. */
static double loss_of_begun(const char *init)
{
    char set[100];
    vkt_train_result r;
    const char *const sets[] = { set, "optim.lr=0", "train.ema=0", "train.steps=1", NULL };
    snprintf(set, sizeof set, "init=%s", init);
    REQUIRE_OK(vkt__remove_tree(RUN "/c"));
    REQUIRE_OK(train_recipe(recipe, sets, &(vkt_train_desc) { .run_dir = RUN "/c" }, &r));
    return r.valid_loss;
}

static void a_run_begins_at_the_average_of_another(void **state)
{
    (void)state;
    const char *last = RUN "/a/checkpoints/step-00000008";
    assert_true(loss_of(last, false) != loss_of(last, true));
    assert_true(loss_of_begun(last) == loss_of(last, false));
}

static void an_older_run_opens(void **state)
{
    (void)state;
    size_t n;
    char path[200];
    const char *last = RUN "/b/checkpoints/step-00000004";
    double average = loss_of(last, false), raw = loss_of(last, true);
    make_older(RUN "/b", 4);
    assert_true(loss_of(last, false) == average);
    assert_true(loss_of(last, true) == raw);
    assert_true(loss_of_begun(last) == average);
    for (int step = 5; step <= 8; step++) {
        snprintf(path, sizeof path, RUN "/b/checkpoints/step-%08d", step);
        REQUIRE_OK(vkt__remove_tree(path));
    }
    REQUIRE_OK(train(RUN "/b", 8, true));
    for (int of_optim = 0; of_optim < 2; of_optim++) {
        const char *name = of_optim ? "raw.3.bias" : "3.bias";
        float *a = read_tensor(RUN "/a", 8, name, of_optim, &n);
        float *b = read_tensor(RUN "/b", 8, name, of_optim, &n);
        assert_memory_equal(a, b, n * sizeof *a);
        free(a), free(b);
    }
}

static int clean(void **state)
{
    (void)state;
    return vkt__remove_tree(RUN);
}

int main(void)
{
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_follows_the_weights),
        cmocka_unit_test(resumed_average_is_the_same),
        cmocka_unit_test(evaluation_takes_the_average),
        cmocka_unit_test(a_run_begins_at_the_average_of_another),
        cmocka_unit_test(an_older_run_opens),
    };
    return cmocka_run_group_tests_name("ema", tests, clean, clean);
}
