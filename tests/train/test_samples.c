/* Texts at every evaluation: the same after a resume and as vkt_generate's, cut back on resume,
 * without effect on training; memory as planned. Few runs: each compiles its kernels. */
#include "on_device.h"
#include "recipe_run.h"

#include "runs/sample_files.h"
#include "train/language/samples.h"

#define DIR "test_samples_tmp"
#define RECIPE                                                                                     \
    "seed: 3\ndata: {source: text, path: " DIR "/text.txt, tokenizer: chars, context: 16, "        \
    "valid_fraction: 0.2, test_fraction: 0}\n"                                                     \
    "model: [{transformer: {layers: 2, heads: 2, width: 16}}]\n"                                   \
    "optim: {rule: adamw, lr: 0.02}\neval: {every: 3}\n"                                           \
    "train: {steps: 9, batch: 4, ema: 0.5}\n"
#define TWO "samples: {count: 2, tokens: 24, prompt: \"3 times \", temperature: 0.5}\n"

static vkt_status train(const char *recipe, const char *dir, bool resume, vkt_train_result *r)
{
    vkt_train_desc desc = { .run_dir = dir, .resume = resume, .gpu = test_gpu_desc("") };
    return train_recipe(recipe, NULL, &desc, r);
}

static int setup(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    for (int i = 0; i < 300; i++)
        vkt__str_printf(&text, "%d times %d is %d.\n", i % 7, i % 11, i % 7 * (i % 11));
    REQUIRE_OK(vkt__file_replace(DIR "/text.txt", text.data, text.len));
    vkt__str_finish(&text);
    vkt_train_result r;
    REQUIRE_OK(train(RECIPE TWO, DIR "/run", false, &r));
    assert_true(r.device_bytes == r.planned_bytes);
    assert_true(r.n_allocs_first == r.n_allocs_last);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

static void add(void *user, const char *text, size_t n)
{
    vkt__str_add(user, text, n);
}

/* The second of the texts of the last step is what vkt_generate writes from the step's checkpoint,
 * of the average of the weights; it is longer than the context, so that the caches start over. */
static void second_is_as_generated(void **state)
{
    (void)state;
    vkt__str want = { 0 };
    vkt_generate_result r;
    vkt_generate_desc d = { .model = { .gpu = test_gpu_desc(""),
                                       .checkpoint = DIR "/run/checkpoints/step-00000009" },
                            .prompt = "3 times ",
                            .n_tokens = 24,
                            .sampler = { .temperature = 0.5f, .seed = vkt__sample_seed(3, 9, 1) },
                            .fn = add,
                            .user = &want };
    vkt__str_printf(&want, "\n=== 2 of 2 ===\n3 times ");
    REQUIRE_OK(vkt_generate(&d, &r));
    vkt__str_add(&want, "\n", 1);
    uint64_t step = 0;
    char *got = vkt_run_sample(DIR "/run", &step);
    assert_int_equal(step, 9);
    assert_non_null(got);
    print_message("%s", got);
    assert_memory_equal(got, "=== 1 of 2 ===\n3 times ", 23);
    assert_string_equal(strstr(got, "\n=== 2"), want.data);
    vkt__str_finish(&want);
    free(got);
}

/* The run of `setup` again from its first checkpoint: what lies beyond is cut off and written
 * again. And one without samples: the same weights in less memory. */
static void samples_are_of_seed_step_and_weights(void **state)
{
    (void)state;
    static const char *const name[] = { "run/samples/step-00000003.txt",
                                        "run/samples/step-00000009.txt",
                                        "run/checkpoints/step-00000009/model.safetensors" };
    char *want[3], *got[3];
    size_t n_want[3], n_got[3], n;
    vkt_train_result r;
    vkt__samples_file *files;
    for (int i = 0; i < 3; i++) want[i] = read_run_file(DIR, name[i], &n_want[i]);
    REQUIRE_OK(vkt__samples_list(DIR "/run", &files, &n));
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) assert_int_equal(files[i].step, 3 * i + 3);
    free(files);
    REQUIRE_OK(vkt__remove_tree(DIR "/run/checkpoints/step-00000006"));
    REQUIRE_OK(vkt__remove_tree(DIR "/run/checkpoints/step-00000009"));
    REQUIRE_OK(vkt__file_replace(DIR "/run/samples/step-00000008.txt", "later", 5));
    REQUIRE_OK(vkt__file_replace(DIR "/run/samples/step-00000008.md", "not ours", 8));
    REQUIRE_OK(vkt__file_replace(DIR "/run/samples/step-00000009.txt", "later", 5));
    REQUIRE_OK(train(RECIPE TWO, DIR "/run", true, &r));
    assert_int_equal(r.n_steps, 6);
    assert_false(vkt__file_exists(DIR "/run/samples/step-00000008.txt"));
    assert_true(vkt__file_exists(DIR "/run/samples/step-00000008.md"));
    for (int i = 0; i < 3; i++) {
        got[i] = read_run_file(DIR, name[i], &n_got[i]);
        assert_int_equal(n_got[i], n_want[i]);
        assert_memory_equal(got[i], want[i], n_got[i]);
        free(got[i]);
    }
    uint64_t bytes = r.planned_bytes, step;
    REQUIRE_OK(train(RECIPE "samples: {count: 0}\n", DIR "/without", false, &r));
    assert_true(r.planned_bytes < bytes);
    assert_null(vkt_run_sample(DIR "/without", &step));
    got[2] = read_run_file(DIR, "without/checkpoints/step-00000009/model.safetensors", &n_got[2]);
    assert_int_equal(n_got[2], n_want[2]);
    assert_memory_equal(got[2], want[2], n_want[2]);
    free(got[2]);
    for (int i = 0; i < 3; i++) free(want[i]);
}

static void prompts_that_cannot_be(void **state)
{
    (void)state;
    vkt_train_result r;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(train(RECIPE "samples: {prompt: \"abc\"}\n", DIR "/bad", false, &r), VKT_E_ARG);
    REQUIRE_LOGGED("samples.prompt: byte 0 of the text begins a character, 'a', that");
    REQUIRE_STATUS(
        train(RECIPE "samples: {prompt: \"3 times 4 is 12.3 times 4\"}\n", DIR "/bad", false, &r),
        VKT_E_ARG);
    REQUIRE_LOGGED("samples.prompt has 25 tokens, the model's context is 16: shorten it");
    REQUIRE_STATUS(train("data: {source: digits}\nmodel: [flatten, linear]\nsamples: {prompt: a}\n",
                         DIR "/bad", false, &r),
                   VKT_E_ARG);
    REQUIRE_LOGGED("t.yaml:3: samples.prompt: only for text and the novel");
    assert_false(vkt__file_exists(DIR "/bad"));
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void what_is_no_text_is_replaced(void **state)
{
    (void)state;
    static const char raw[] = "a\tb\r\n\xc3\xa9\xc3(\x1b[2J\x00z\xc2\x9b\x7f\xe6\x97";
    vkt__str out = { 0 };
    vkt__samples_clean(raw, sizeof raw - 1, &out);
#define BAD "\xef\xbf\xbd"
    assert_string_equal(out.data, "a\tb\r\n\xc3\xa9" BAD "(" BAD "[2J" BAD "z" BAD BAD BAD BAD);
    vkt__str_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_is_as_generated),
        cmocka_unit_test(samples_are_of_seed_step_and_weights),
        cmocka_unit_test(prompts_that_cannot_be),
        cmocka_unit_test(what_is_no_text_is_replaced),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("samples", tests, setup, teardown);
}
