/* Texts at every evaluation: the same after a resume and as vkt_generate's, cut back on resume,
 * without effect on training; memory as planned. Few runs: each compiles its kernels anew. */
#include "testing.h"

#include "on_device.h"

#include "base/os.h"
#include "train/samples.h"

#define DIR "test_samples_tmp"
#define RECIPE                                                                                     \
    "seed: 3\ndata: {source: text, path: " DIR "/text.txt, tokenizer: chars, context: 16, "        \
    "valid_fraction: 0.2, test_fraction: 0}\n"                                                     \
    "model: [{transformer: {layers: 2, heads: 2, width: 16}}]\n"                                   \
    "optim: {rule: adamw, lr: 0.02}\neval: {every: 3}\n"
#define AVERAGED "train: {steps: 9, batch: 4, ema: 0.5}\n"
#define PLAIN "train: {steps: 9, batch: 4}\n"

/* Stops the run when it has read back step `user`. */
static void stop_at(void *user, const vkt_progress *p)
{
    if (user && p->step == *(const uint64_t *)user) vkt_train_stop();
}

static vkt_status train(const char *recipe, const char *dir, bool resume, uint64_t stop,
                        vkt_train_result *r)
{
    vkt_config *c;
    REQUIRE_OK(vkt_config_create(&c));
    vkt_status st = vkt_config_parse(c, recipe, strlen(recipe), "t.yaml");
    if (st == VKT_OK) st = vkt_config_finish(c);
    vkt_train_desc desc = { .run_dir = dir,
                            .resume = resume,
                            .gpu = test_gpu_desc(""),
                            .on_progress = stop_at,
                            .user = stop ? &stop : NULL };
    if (st == VKT_OK) st = vkt_train(c, &desc, r);
    vkt_config_destroy(&c);
    return st;
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
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

static void require_same_file(const char *a, const char *b)
{
    char *x, *y;
    size_t nx, ny;
    REQUIRE_OK(vkt__file_read(a, 1 << 26, &x, &nx));
    REQUIRE_OK(vkt__file_read(b, 1 << 26, &y, &ny));
    assert_int_equal(nx, ny);
    assert_memory_equal(x, y, nx);
    free(x);
    free(y);
}

static void add(void *user, const char *text, size_t n)
{
    vkt__str_add(user, text, n);
}

/* The file of the last step: two texts, as vkt_generate writes them from the step's checkpoint,
 * which holds the average of the weights; longer than the context, so that the caches begin anew.
 */
static void require_as_generated(const char *run, const char *checkpoint)
{
    vkt__str want = { 0 };
    for (uint32_t i = 0; i < 2; i++) {
        vkt_generate_result r;
        vkt_generate_desc d = { .gpu = test_gpu_desc(""),
                                .checkpoint = checkpoint,
                                .prompt = "3 times ",
                                .n_tokens = 24,
                                .sampler = { .temperature = 0.5f,
                                             .seed = vkt__sample_seed(3, 9, i) },
                                .fn = add,
                                .user = &want };
        vkt__str_printf(&want, "%s=== %u of 2 ===\n3 times ", i ? "\n" : "", i + 1);
        REQUIRE_OK(vkt_generate(&d, &r));
        vkt__str_add(&want, "\n", 1);
    }
    uint64_t step = 0;
    char *got = vkt_run_sample(run, &step);
    assert_int_equal(step, 9);
    assert_non_null(got);
    print_message("%s", got);
    assert_string_equal(got, want.data);
    vkt__str_finish(&want);
    free(got);
}

static void samples_are_of_seed_step_and_weights(void **state)
{
    (void)state;
    static const char recipe[] =
        RECIPE AVERAGED "samples: {count: 2, tokens: 24, prompt: \"3 times \", temperature: 0.5}\n";
    vkt_train_result r;
    vkt__samples_file *files;
    size_t n;
    REQUIRE_OK(train(recipe, DIR "/straight", false, 0, &r));
    assert_true(r.device_bytes == r.planned_bytes);
    assert_true(r.n_allocs_first == r.n_allocs_last);
    require_as_generated(DIR "/straight", DIR "/straight/checkpoints/step-00000009");
    REQUIRE_OK(vkt__samples_list(DIR "/straight", &files, &n));
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) assert_int_equal(files[i].step, 3 * i + 3);
    free(files);

    REQUIRE_STATUS(train(recipe, DIR "/resumed", false, 4, &r), VKT_INTERRUPTED);
    REQUIRE_OK(vkt__file_replace(DIR "/resumed/samples/step-00000008.txt", "later", 5));
    REQUIRE_OK(vkt__file_replace(DIR "/resumed/samples/step-00000008.md", "not ours", 8));
    REQUIRE_OK(train(recipe, DIR "/resumed", true, 0, &r));
    assert_false(vkt__file_exists(DIR "/resumed/samples/step-00000008.txt"));
    assert_true(vkt__file_exists(DIR "/resumed/samples/step-00000008.md"));
    require_same_file(DIR "/straight/samples/step-00000003.txt",
                      DIR "/resumed/samples/step-00000003.txt");
    require_same_file(DIR "/straight/samples/step-00000009.txt",
                      DIR "/resumed/samples/step-00000009.txt");
    require_same_file(DIR "/straight/checkpoints/step-00000009/model.safetensors",
                      DIR "/resumed/checkpoints/step-00000009/model.safetensors");
}

/* One by default; none if none is asked for, and the same weights. */
static void training_is_the_same_without(void **state)
{
    (void)state;
    vkt_train_result r;
    uint64_t step, bytes;
    REQUIRE_OK(train(RECIPE PLAIN, DIR "/with", false, 0, &r));
    bytes = r.planned_bytes;
    REQUIRE_OK(train(RECIPE PLAIN "samples: {count: 0}\n", DIR "/without", false, 0, &r));
    assert_true(r.planned_bytes < bytes);
    require_same_file(DIR "/with/checkpoints/step-00000009/model.safetensors",
                      DIR "/without/checkpoints/step-00000009/model.safetensors");
    assert_null(vkt_run_sample(DIR "/without", &step));
    char *text = vkt_run_sample(DIR "/with", &step);
    assert_non_null(text);
    assert_int_equal(strlen(text), 128 + 1); /* characters of one byte, and a line end */
    free(text);
}

static void prompts_that_cannot_be(void **state)
{
    (void)state;
    vkt_train_result r;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(train(RECIPE PLAIN "samples: {prompt: \"abc\"}\n", DIR "/bad", false, 0, &r),
                   VKT_ARG);
    REQUIRE_LOGGED("samples.prompt: byte 0 of the text begins a character, 'a', that");
    REQUIRE_STATUS(train(RECIPE PLAIN "samples: {prompt: \"3 times 4 is 12.3 times 4\"}\n",
                         DIR "/bad", false, 0, &r),
                   VKT_ARG);
    REQUIRE_LOGGED("samples.prompt has 25 tokens, the model's context is 16: shorten it");
    REQUIRE_STATUS(train("data: {source: digits}\nmodel: [flatten, linear]\nsamples: {prompt: a}\n",
                         DIR "/bad", false, 0, &r),
                   VKT_ARG);
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
        cmocka_unit_test(samples_are_of_seed_step_and_weights),
        cmocka_unit_test(training_is_the_same_without),
        cmocka_unit_test(prompts_that_cannot_be),
        cmocka_unit_test(what_is_no_text_is_replaced),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("samples", tests, setup, teardown);
}
