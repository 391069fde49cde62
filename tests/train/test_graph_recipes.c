/* train: recipes whose model is no list. A residual block written with `from` and `add` has the
 * bits of the built-in one; a run that was cut off goes on with the same bits; batches in parts; 16
 * bits; what the run says of its model builds the same model. */
#include "recipe_run.h"

#include <math.h>

#include "on_device.h"

#define RUN "test_graph_recipes_tmp"
#define LAST "checkpoints/step-00000012/model.safetensors"

#define REST                                                                                       \
    "data: {source: digits, test_fraction: 0.2}\noptim: {rule: momentum, lr: 0.02}\n"              \
    "train: {steps: 12, batch: 24}\neval: {every: 6}\n"

static const char built_in[] =
    REST "model:\n  - conv: 6\n"
         "  - residual: {body: [{conv: {out: 8, bias: false}}, batch_norm, relu, conv], shortcut: "
         "[{conv: {out: 8, kernel: 1}}]}\n"
         "  - relu\n  - dropout: 0.1\n  - global_pool\n  - linear\n";
static const char by_names[] =
    REST "model:\n  - conv: {out: 6, name: '0'}\n"
         "  - conv: {out: 8, bias: false, name: 1.body.0}\n  - batch_norm: {name: 1.body.1}\n"
         "  - relu: {name: act}\n  - conv: {name: 1.body.3}\n"
         "  - conv: {out: 8, kernel: 1, from: '0', name: 1.shortcut.0}\n"
         "  - add: {from: [1.body.3, 1.shortcut.0], name: sum}\n"
         "  - relu: {name: act2}\n  - dropout: {p: 0.1, name: drop}\n"
         "  - global_pool: {name: pool}\n  - linear: {name: '5'}\n";
static const char unet[] = REST
    "model:\n  - conv: {out: 8, name: wide}\n  - relu: {name: skip}\n  - max_pool\n"
    "  - conv: {out: 12, name: low}\n  - relu: {name: deep}\n"
    "  - conv_transpose: {out: 8, name: up}\n"
    "  - upsample: {from: deep, mode: bilinear, name: smooth}\n"
    "  - concat: {from: [skip, up, smooth], name: both}\n  - squeeze_excite: {name: gate}\n"
    "  - conv: {out: 8, kernel: 1, name: few}\n  - add: {from: [few, skip], name: sum}\n"
    "  - slice: {axis: 0, first: 1, count: 6, name: rows}\n"
    "  - permute: {order: [2, 0, 1], name: turned}\n  - reshape: {shape: [8, 48], name: flat}\n"
    "  - linear: {out: 4, name: mix}\n  - global_pool: {from: sum, name: means}\n"
    "  - reshape: {shape: [8, 1], name: column}\n  - mul: {from: [mix, column], name: scaled}\n"
    "  - flatten\n  - linear: {name: head}\n";

/* The label on two heads, and two losses of one layer. */
static const char heads[] =
    REST "model:\n  - conv: 6\n  - relu: {name: skip}\n  - global_pool\n  - linear: {name: early}\n"
         "  - conv: {from: skip, out: 8}\n  - relu\n  - dropout: 0.1\n  - global_pool\n"
         "  - linear: {name: late}\n"
         "losses:\n  - {on: late}\n  - {on: early, weight: 0.3}\n"
         "  - {on: late, kind: focal, weight: 0.25}\n";

/* Outputs are 0 to begin with, so that each member's loss is log 10. */
static const char members[] =
    REST "model:\n  - flatten\n  - members: {count: 3, zero: true, body: [{linear: 8}, relu, "
         "{dropout: 0.1}]}\n";

static vkt_status train(const char *text, const char *run, const char *const *set, bool resume,
                        uint64_t stop, vkt_train_result *r)
{
    return train_recipe(text, set,
                        &(vkt_train_desc) { .run_dir = run,
                                            .resume = resume,
                                            .gpu = test_gpu_desc(""),
                                            .on_progress = stop ? stop_at_step : NULL,
                                            .user = &stop },
                        r);
}

static void a_residual_block_has_the_same_bits(void **state)
{
    (void)state;
    vkt_train_result a, b;
    REQUIRE_OK(vkt__remove_tree(RUN));
    REQUIRE_OK(train(built_in, RUN "/a", NULL, false, 0, &a));
    REQUIRE_OK(train(by_names, RUN "/b", NULL, false, 0, &b));
    require_same_file(RUN "/a", RUN "/b", LAST);
    require_same_file(RUN "/a", RUN "/b", "checkpoints/step-00000012/optimizer.safetensors");
}

static void a_graph_resumes_with_the_same_bits(void **state)
{
    (void)state;
    static const char *const sets[][4] = {
        { NULL },
        { "train.precision=bf16", NULL },
        { "train.precision=fp16", "optim.rule=adamw", NULL },
        { "train.batch=8", "train.accumulate=3", "train.ema=0.9", NULL },
    };
    for (size_t i = 0; i < VKT_COUNT(sets); i++) {
        vkt_train_result r;
        REQUIRE_OK(vkt__remove_tree(RUN));
        REQUIRE_OK(train(unet, RUN "/a", sets[i], false, 0, &r));
        REQUIRE_STATUS(train(unet, RUN "/b", sets[i], false, 5, &r), VKT_E_INTERRUPTED);
        REQUIRE_OK(train(unet, RUN "/b", sets[i], true, 0, &r));
        require_same_file(RUN "/a", RUN "/b", LAST);
    }
}

/* Numbers "key": of the lines of a run's metrics that are of a training step. */
static size_t read_numbers(const char *run, const char *key, double *out, size_t most)
{
    size_t n, k = 0;
    char *text = read_run_file(run, "metrics.jsonl", &n), *line = text, sought[32];
    snprintf(sought, sizeof sought, "\"%s\":", key);
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        const char *at = strstr(line, sought);
        if (!at || !strstr(line, "\"kind\":\"train\"")) continue;
        assert_true(k < most);
        out[k++] = strtod(at + strlen(sought), NULL);
    }
    free(text);
    return k;
}

/* The example's loss is the members' mean, and so is what is right of it: a third where one of
 * three members is right. Focal loss goes the same way. */
static void members_have_a_loss_each(void **state)
{
    (void)state;
    static const struct {
        const char *set[2];
        double first; /* of the loss, times log 10 */
    } rows[] = {
        { { NULL }, 1 },
        { { "loss.label_smoothing=0.1" }, 1 },
        { { "loss.kind=focal" }, 0.9 * 0.9 },
        { { "train.precision=bf16" }, 1 },
    };
    double loss[12], right[12];
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_train_result r;
        REQUIRE_OK(vkt__remove_tree(RUN));
        REQUIRE_OK(train(members, RUN "/a", rows[i].set, false, 0, &r));
        assert_int_equal(read_numbers(RUN "/a", "loss", loss, 12), 12);
        REQUIRE_NEAR(loss[0], rows[i].first * log(10), 1e-5);
        assert_true(loss[11] < loss[0]);
        size_t n = read_numbers(RUN "/a", "accuracy", right, 12);
        for (size_t k = 0; k < n; k++) {
            double thirds = right[k] * 24 * 3;
            assert_true(right[k] >= 0 && right[k] <= 1);
            REQUIRE_NEAR(thirds, round(thirds), 1e-3);
        }
        REQUIRE_STATUS(train(members, RUN "/b", rows[i].set, false, 5, &r), VKT_E_INTERRUPTED);
        REQUIRE_OK(train(members, RUN "/b", rows[i].set, true, 0, &r));
        require_same_file(RUN "/a", RUN "/b", LAST);
    }
}

/* In parts: two orders of the same float32 sums. In 16 bits: the first loss is of the same weights,
 * rounded, as are the activations of some 20 layers; each relative rounding is at most half an
 * epsilon. */
static void batches_in_parts_and_16_bits(void **state)
{
    (void)state;
    static const struct {
        const char *set[3];
        double first, all; /* relative, of the first loss and of all */
    } rows[] = {
        { { "train.batch=24", NULL }, 0, 0 },
        { { "train.batch=6", "train.accumulate=4", NULL }, 1e-6, 2e-5 },
        { { "train.precision=bf16", NULL }, 20 * 0x1p-9, 1 },
        { { "train.precision=fp16", NULL }, 20 * 0x1p-12, 1 },
    };
    double want[12], got[12];
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_train_result r;
        REQUIRE_OK(vkt__remove_tree(RUN));
        REQUIRE_OK(train(unet, RUN "/a", rows[i].set, false, 0, &r));
        assert_int_equal(read_numbers(RUN "/a", "loss", got, 12), 12);
        if (i == 0) memcpy(want, got, sizeof want);
        REQUIRE_NEAR(got[0], want[0], rows[i].first * want[0]);
        for (int k = 0; k < 12; k++) REQUIRE_NEAR(got[k], want[k], rows[i].all * want[k]);
        assert_true(got[11] < got[0]);
    }
}

/* The configuration that a run keeps is the recipe's: the model from it has the same bits. */
static void what_is_written_is_read_back(void **state)
{
    (void)state;
    vkt_config *c;
    vkt_train_result r;
    REQUIRE_OK(vkt__remove_tree(RUN));
    REQUIRE_OK(train(unet, RUN "/a", NULL, false, 0, &r));
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, unet, strlen(unet), "t.yaml"));
    REQUIRE_OK(vkt_config_finish(c));
    char *text = vkt_config_yaml(c);
    vkt_config_destroy(&c);
    REQUIRE_OK(train(text, RUN "/b", NULL, false, 0, &r));
    vkt_free(text);
    require_same_file(RUN "/a", RUN "/b", LAST);
}

/* A checkpoint is the beginning of another run; a rate of nothing leaves it as it is. */
static void weights_begin_another_run(void **state)
{
    (void)state;
    vkt_train_result r;
    REQUIRE_OK(vkt__remove_tree(RUN));
    REQUIRE_OK(train(unet, RUN "/a", NULL, false, 0, &r));
    static const char *const sets[] = { "init=" RUN "/a/checkpoints/step-00000012", "optim.lr=0",
                                        "train.steps=1", NULL };
    REQUIRE_OK(train(unet, RUN "/b", sets, false, 0, &r));
    size_t na, nb;
    char *a = read_run_file(RUN "/a", LAST, &na),
         *b = read_run_file(RUN "/b", "checkpoints/step-00000001/model.safetensors", &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    free(a);
    free(b);
    REQUIRE_OK(vkt__remove_tree(RUN));
}

static double number_after(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

/* An evaluation's loss is the weighted sum of those it lists; of two losses of one layer each has
 * its kind in its name, and evaluations know no focus. The best checkpoint is that of the loss that
 * is chosen. */
static void several_losses_are_summed(void **state)
{
    (void)state;
    static const char *const by[] = { "checkpoint.metric=loss", "checkpoint.on=early",
                                      "optim.lr=0.3", "train.steps=24", NULL };
    vkt_train_result r;
    REQUIRE_OK(vkt__remove_tree(RUN));
    REQUIRE_OK(train(heads, RUN "/a", by, false, 0, &r));
    size_t n, n_evals = 0;
    char *text = read_run_file(RUN "/a", "metrics.jsonl", &n), *line = text;
    double best = INFINITY;
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        if (!strstr(line, "\"kind\":\"eval\"") || strstr(line, "\"checkpoint\"")) continue;
        double late = number_after(line, "\"late.cross_entropy\":"),
               early = number_after(line, "\"early\":"),
               again = number_after(line, "\"late.focal\":");
        REQUIRE_NEAR(number_after(line, "\"loss\":"), late + 0.3 * early + 0.25 * again, 1e-5);
        REQUIRE_NEAR(again, late, 0);
        assert_true(early != late);
        best = fmin(best, early);
        n_evals++;
    }
    free(text);
    assert_int_equal(n_evals, 4);
    REQUIRE_NEAR(r.best_metric, best, 1e-8);
    /* and so does an evaluation of the checkpoint */
    vkt_eval_result e;
    REQUIRE_OK(vkt_eval(&(vkt_eval_desc) { .gpu = test_gpu_desc(""),
                                           .checkpoint = RUN "/a",
                                           .split = VKT_SPLIT_VALID },
                        &e));
    assert_int_equal(e.n_losses, 3);
    assert_string_equal(e.losses[1].name, "early");
    REQUIRE_NEAR(e.losses[1].loss, best, 1e-6);
    REQUIRE_NEAR(e.loss, e.losses[0].loss + 0.3 * e.losses[1].loss + 0.25 * e.losses[2].loss, 1e-5);
    vkt_eval_result_finish(&e);
}

/* The first step's loss grows by the early one's for each unit of its weight. */
static void weights_count_in_training(void **state)
{
    (void)state;
    double loss[3];
    for (int i = 0; i < 3; i++) {
        char set[96];
        vkt_train_result r;
        snprintf(set, sizeof set, "losses=[{on: late}, {on: early, weight: %d}]", i + 1);
        REQUIRE_OK(vkt__remove_tree(RUN));
        REQUIRE_OK(
            train(heads, RUN "/a", (const char *[]) { set, "train.steps=1", NULL }, false, 0, &r));
        assert_int_equal(read_numbers(RUN "/a", "loss", &loss[i], 1), 1);
    }
    assert_true(loss[1] - loss[0] > 1);
    REQUIRE_NEAR(loss[2] - loss[1], loss[1] - loss[0], 1e-5);
}

/* One entry of weight 1 is what a recipe without `losses` has; and runs with several resume. */
static void losses_have_the_same_bits(void **state)
{
    (void)state;
    static const char *const one[] = { "losses=[{on: head}]", NULL };
    static const char *const sets[][4] = { { NULL },
                                           { "train.precision=bf16", "optim.rule=muon", NULL },
                                           { "train.batch=8", "train.accumulate=3", NULL } };
    vkt_train_result r;
    REQUIRE_OK(vkt__remove_tree(RUN));
    REQUIRE_OK(train(unet, RUN "/a", NULL, false, 0, &r));
    REQUIRE_OK(train(unet, RUN "/b", one, false, 0, &r));
    require_same_file(RUN "/a", RUN "/b", LAST);
    for (size_t i = 0; i < VKT_COUNT(sets); i++) {
        REQUIRE_OK(vkt__remove_tree(RUN));
        REQUIRE_OK(train(heads, RUN "/a", sets[i], false, 0, &r));
        REQUIRE_STATUS(train(heads, RUN "/b", sets[i], false, 5, &r), VKT_E_INTERRUPTED);
        REQUIRE_OK(train(heads, RUN "/b", sets[i], true, 0, &r));
        require_same_file(RUN "/a", RUN "/b", LAST);
    }
}

/* Numbers of two columns, each by a head of its own, the second one first: what is predicted of
 * each is what it is, far apart as their sizes are. */
static void targets_have_heads(void **state)
{
    (void)state;
    static const char recipe[] =
        "data: {source: csv, path: " RUN "/t.csv, label: [small, large], task: regress}\n"
        "model:\n  - linear: {out: 16, name: x}\n  - tanh: {name: hidden}\n"
        "  - linear: {name: of_large}\n  - linear: {from: hidden, name: of_small}\n"
        "losses:\n  - {on: of_large, target: large, kind: huber}\n"
        "  - {on: of_small, target: [small], weight: 2}\n"
        "optim: {rule: adamw, lr: 0.02}\ntrain: {steps: 150, batch: 32}\n";
    vkt__str csv = { 0 };
    vkt_train_result r;
    REQUIRE_OK(vkt__remove_tree(RUN));
    REQUIRE_OK(vkt__mkdirs(RUN));
    vkt__str_printf(&csv, "a,b,small,large\n");
    for (int i = 0; i < 300; i++) {
        double a = i * 37 % 101 / 50.0 - 1, b = i * 53 % 97 / 48.0 - 1;
        vkt__str_printf(&csv, "%g,%g,%g,%g\n", a, b, a * b, 1000 * (a - b));
    }
    REQUIRE_OK(vkt__file_replace(RUN "/t.csv", csv.data, csv.len));
    vkt__str_finish(&csv);
    REQUIRE_OK(train(recipe, RUN "/a", NULL, false, 0, &r));
    vkt_eval_result e;
    REQUIRE_OK(vkt_eval(&(vkt_eval_desc) { .gpu = test_gpu_desc(""),
                                           .checkpoint = RUN "/a",
                                           .split = VKT_SPLIT_TEST },
                        &e));
    assert_int_equal(e.n_targets, 2);
    for (uint32_t k = 0; k < 2; k++) assert_true(e.targets[k].r2 > 0.9);
    assert_int_equal(e.n_losses, 2);
    REQUIRE_NEAR(e.loss, e.losses[0].loss + 2 * e.losses[1].loss, 1e-6);
    vkt_eval_result_finish(&e);
    static const struct {
        const char *set, *words;
    } bad[] = {
        { "losses=[{on: of_large, target: larg}, {on: of_small, target: small}]",
          "the data has no target 'larg'; did you mean 'large'?" },
        { "losses=[{on: of_large, target: small}, {on: of_small, target: small}]",
          "no entry is of the target 'large'" },
        { "losses=[{on: of_large, target: [large, large]}, {on: of_small, target: small}]",
          "target names 'large' twice" },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(train(recipe, RUN "/b", (const char *[]) { bad[i].set, NULL }, false, 0, &r),
                       VKT_E_ARG);
        REQUIRE_LOGGED(bad[i].words);
    }
    REQUIRE_OK(vkt__remove_tree(RUN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_residual_block_has_the_same_bits),
        cmocka_unit_test(a_graph_resumes_with_the_same_bits),
        cmocka_unit_test(members_have_a_loss_each),
        cmocka_unit_test(batches_in_parts_and_16_bits),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(weights_begin_another_run),
        cmocka_unit_test(several_losses_are_summed),
        cmocka_unit_test(weights_count_in_training),
        cmocka_unit_test(losses_have_the_same_bits),
        cmocka_unit_test(targets_have_heads),
    };
    return cmocka_run_group_tests_name("graph recipes", tests, NULL, NULL);
}
