/* Losses of preferences against tests/golden/preference.json (tools/golden/golden_preference.py):
 * a Llama's kind of two blocks and an adapter that already does something, before and after a step;
 * and what a run of them is evaluated and resumed to. */
#include "recipe_run.h"

#include <jansson.h>

#include "formula_model.h"
#include "runs/history.h"
#include "vktrain/train.h"

#define DIR "test_preference_tmp"

static json_t *golden;

static int setup(void **state)
{
    (void)state;
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    write_formula_model(DIR, 0);
    /* The third one's prompt is what its answers begin with. */
    put(DIR "/pairs.jsonl",
        "{\"prompt\": \"Is it? \", \"chosen\": \"Yes.\", \"rejected\": \"No way\"}\n"
        "{\"prompt\": \"2+2=\", \"chosen\": \"4\", \"rejected\": \"five\"}\n"
        "{\"chosen\": \"The sky is blue\", \"rejected\": \"The sky is green\"}\n");
    golden = json_load_file(test_file("golden/preference.json"), 0, NULL);
    assert_non_null(golden);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(golden);
    return vkt__remove_tree(DIR);
}

static double number(const json_t *c, const char *key)
{
    return json_number_value(json_object_get(c, key));
}

/* Sums of some dozen log-probabilities of about 6, to float32's error of each. */
static const double limit = 1e-5;

static void require_golden(double got, double want)
{
    REQUIRE_NEAR(got, want, limit * fmax(fabs(want), 1));
}

static void train(const json_t *c, const char *dir, const char *more, vkt_train_result *r)
{
    vkt__str recipe = { 0 };
    const char *loss = json_string_value(json_object_get(c, "kind"));
    vkt__str_printf(&recipe,
                    "init: " DIR "/base\nlora: {from: " DIR "/peft}\n"
                    "data: {source: text, path: " DIR "/pairs.jsonl, tokenizer: bytes, "
                    "context: 24, valid_fraction: 0, test_fraction: 0}\n"
                    "loss: {kind: %s, beta: %g, label_smoothing: %g",
                    loss, number(c, "beta"), number(c, "smoothing"));
    if (!strcmp(loss, "simpo")) vkt__str_printf(&recipe, ", margin: %g", number(c, "margin"));
    vkt__str_printf(&recipe,
                    "}\noptim: {rule: sgd, lr: 4}\ntrain: {steps: 1, %s}\n"
                    "checkpoint: {metric: loss}\n",
                    more);
    vkt_train_desc desc = { .run_dir = dir, .train_on_all = true };
    REQUIRE_OK(train_recipe(recipe.data, NULL, &desc, r));
    vkt__str_finish(&recipe);
}

/* The losses of both steps, and the rewards after the first, in memory and in the checkpoint. */
static void require_case(const json_t *c, const char *more)
{
    vkt_train_result r;
    vkt_eval_result e;
    vkt_history *h = NULL;
    static const char dir[] = DIR "/run";
    REQUIRE_OK(vkt__remove_tree(dir));
    train(c, dir, more, &r);
    REQUIRE_OK(vkt_history_load(dir, &h));
    assert_int_equal(h->n_steps, 1);
    require_golden(h->steps[0].loss, number(c, "loss_before"));
    vkt_history_destroy(&h);
    REQUIRE_OK(vkt_eval(&(vkt_eval_desc) { .checkpoint = dir, .split = VKT_SPLIT_TRAIN }, &e));
    assert_int_equal(e.n, 3);
    require_golden(e.loss, number(c, "loss_after"));
    require_golden(e.rewards_chosen, number(c, "chosen"));
    require_golden(e.rewards_rejected, number(c, "rejected"));
    require_golden(e.rewards_margin, number(c, "chosen") - number(c, "rejected"));
    REQUIRE_NEAR(e.accuracy, number(c, "accuracy"), 1e-12);
    vkt_eval_result_finish(&e);
}

static void losses_and_rewards_are_pytorchs(void **state)
{
    (void)state;
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(golden, "cases"), i, c) require_case(c, "batch: 3");
}

/* Micro-batches of one pair sum up to the same. */
static void micro_batches_are_the_same(void **state)
{
    (void)state;
    require_case(json_array_get(json_object_get(golden, "cases"), 0), "batch: 1, accumulate: 3");
}

/* Other preferences are read as the run's own; a text is measured as text. */
static void a_run_is_evaluated_on_others(void **state)
{
    (void)state;
    vkt_eval_result e;
    put(DIR "/others.jsonl", "{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": \"cd\"}\n");
    REQUIRE_OK(
        vkt_eval(&(vkt_eval_desc) { .checkpoint = DIR "/run", .data = DIR "/others.jsonl" }, &e));
    assert_int_equal(e.n, 1);
    assert_true(isfinite(e.rewards_margin));
    vkt_eval_result_finish(&e);
    put(DIR "/text.txt", "It is what it is.");
    REQUIRE_OK(
        vkt_eval(&(vkt_eval_desc) { .checkpoint = DIR "/run", .data = DIR "/text.txt" }, &e));
    assert_int_equal(e.n, 16 + 1);
    assert_true(isfinite(e.perplexity) && isnan(e.rewards_margin));
    vkt_eval_result_finish(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_rewards_are_pytorchs),
        cmocka_unit_test(micro_batches_are_the_same),
        cmocka_unit_test(a_run_is_evaluated_on_others),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("preference", tests, setup, teardown);
}
