/* Steps on a CPU driver without threads of its own: when that is chosen, and that a run's bits do
 * not depend on it. */
#include "on_device.h"
#include "recipe_run.h"

#include "train/one_core.h"

static void short_steps_run_on_one_core(void **state)
{
    (void)state;
    assert_true(vkt__one_core_pays(100, 9, 50, 2));
    assert_false(vkt__one_core_pays(100, 9, 5, 2));
    assert_false(vkt__one_core_pays(10000, 9, 50, 2));
    assert_true(vkt__one_core_pays(100, 9, 0.1, 1)); /* there is no other core */
}

static void a_serial_device_hands_nothing_over(void **state)
{
    (void)state;
    vkt_gpu *gpu, *serial;
    REQUIRE_OK(vkt_gpu_create(&(vkt_gpu_desc) { .no_cache = true }, &gpu));
    REQUIRE_OK(vkt_gpu_create(&(vkt_gpu_desc) { .no_cache = true, .serial = true }, &serial));
    bool hands_over = vkt_gpu_caps(gpu)->hands_over;
    assert_true(!hands_over || vkt_gpu_caps(gpu)->type == VKT_GPU_CPU);
    assert_false(vkt_gpu_caps(serial)->hands_over);
    vkt_gpu_destroy(&serial);
    vkt_gpu_destroy(&gpu);
    /* What was set for it is gone: the next device is as the first. */
    REQUIRE_OK(vkt_gpu_create(&(vkt_gpu_desc) { .no_cache = true }, &gpu));
    assert_int_equal(vkt_gpu_caps(gpu)->hands_over, hands_over);
    vkt_gpu_destroy(&gpu);
}

/* The trainer chooses by the clock here, so either way is asked for: threads by the cap, none by
 * the description. */
static void runs_have_the_same_bits(void **state)
{
    (void)state;
    static const char recipe[] = "data: {source: digits}\n"
                                 "model: [flatten, linear: 16, relu, linear]\n"
                                 "train: {steps: 30, batch: 32}\neval: {every: 30}\n";
    static const char *const dirs[] = { "tserial_0", "tserial_1" };
    for (int serial = 0; serial < 2; serial++) {
        vkt_train_result r;
        vkt_train_desc d = { .run_dir = dirs[serial], .gpu = test_gpu_desc("hands-over=0") };
        d.gpu.serial = serial;
        vkt__remove_tree(d.run_dir);
        REQUIRE_OK(train_recipe(recipe, NULL, &d, &r));
    }
    require_same_file(dirs[0], dirs[1], "checkpoints/step-00000030/model.safetensors");
    for (int serial = 0; serial < 2; serial++) vkt__remove_tree(dirs[serial]);
}

/* A session moves to the new device whole: it trains there. The first device holds nothing of it,
 * and made no kernels except the one that measures. */
static void a_session_is_opened_again(void **state)
{
    (void)state;
    static const char recipe[] = "data: {source: digits}\nmodel: [flatten, linear]\n"
                                 "train: {steps: 4, batch: 1}\n";
    vkt_gpu_desc desc = test_gpu_desc("");
    vkt_gpu *gpu, *serial;
    vkt_config *c;
    vkt_dataset *data;
    vkt__session *s;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, recipe, strlen(recipe), "serial.yaml"));
    REQUIRE_OK(vkt_config_finish(c));
    REQUIRE_OK(vkt_dataset_open(&c->data, &data));
    REQUIRE_OK(vkt_gpu_create(&desc, &gpu));
    REQUIRE_OK(vkt__session_create(gpu, c, data, true, &s));
    assert_int_equal(vkt_gpu_get_stats(gpu).n_pipelines, 0);
    REQUIRE_OK(vkt__session_reopen(&desc, &s, &serial));
    assert_non_null(s);
    assert_true(vkt_gpu_get_stats(s->gpu).n_pipelines > 3);
    assert_true(!serial || vkt_gpu_caps(gpu)->hands_over);
    assert_ptr_equal(s->gpu, serial ? serial : gpu);
    print_message(serial ? "one core runs the steps\n" : "nothing was to gain here\n");
    if (serial) {
        assert_int_equal(vkt_gpu_get_stats(gpu).bytes, 0);
        assert_true(vkt_gpu_get_stats(gpu).n_pipelines <= 1);
    }
    vkt__session_destroy(&s);
    vkt_gpu_destroy(&serial);
    vkt_gpu_destroy(&gpu);
    vkt_dataset_destroy(&data);
    vkt_config_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_steps_run_on_one_core),
        cmocka_unit_test(a_serial_device_hands_nothing_over),
        cmocka_unit_test(runs_have_the_same_bits),
        cmocka_unit_test(a_session_is_opened_again),
    };
    return cmocka_run_group_tests_name("serial", tests, NULL, NULL);
}
