/* Checkpoints of a run on a device: written beside its steps, kept, the best of them; and a lost
 * device, from which the run goes back to the last. */
#include "train_digits.h"

#include "runs/checkpoint_set.h"
#include "train/saver.h"

static void a_lost_device_is_opened_anew_once(void **state)
{
    (void)state;
    vkt_train_result r;
    REQUIRE_OK(train("tt_c_straight", NULL, false, 0, &r));
    char *straight = timeless("tt_c_straight");
    /* Before there is a checkpoint, in training, in an evaluation (of steps 10, 30), in the closing
     * ones. */
    static const uint64_t at[][2] = { { 1, 1 },  { 4, 2 },  { 10, 1 }, { 10, 2 },
                                      { 21, 3 }, { 28, 1 }, { 30, 1 }, { 30, 5 } };
    for (size_t i = 0; i < VKT_COUNT(at); i += getenv("VKT_TEST_CAP") ? 4 : 1) {
        TEST_LOG_CAPTURE();
        lose.step = at[i][0], lose.submits = at[i][1], lose.times = 1;
        vkt_status st = train("tt_c_lost", NULL, false, 0, &r);
        vkt__gpu_lose_after(0, 0);
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
        REQUIRE_OK(st);
        REQUIRE_LOGGED("the device was lost");
        REQUIRE_LOGGED("with submissions of 50 ms");
        assert_int_equal(r.step, 30);
        require_same_file("tt_c_straight", "tt_c_lost",
                          "checkpoints/step-00000030/model.safetensors");
        require_same_file("tt_c_straight", "tt_c_lost",
                          "checkpoints/step-00000030/optimizer.safetensors");
        char *lost = timeless("tt_c_lost");
        assert_string_equal(straight, lost);
        free(lost);
    }
    TEST_LOG_CAPTURE();
    vkt__gpu_wait_slice(4);
    lose.step = 21, lose.submits = 3, lose.times = 0;
    REQUIRE_OK(train("tt_c_lost", NULL, false, 0, &r));
    vkt__gpu_wait_slice(0);
    REQUIRE_LOGGED("the device hangs and is treated as lost");
    REQUIRE_LOGGED("the device was lost");
    require_same_file("tt_c_straight", "tt_c_lost", "checkpoints/step-00000030/model.safetensors");
    lose.step = 14, lose.submits = 6, lose.times = 2;
    vkt_status st = train("tt_c_lost", NULL, false, 0, &r);
    vkt__gpu_lose_after(0, 0);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_STATUS(st, VKT_E_DEVICE);
    REQUIRE_OK(train("tt_c_lost", NULL, true, 0, &r));
    require_same_file("tt_c_straight", "tt_c_lost", "checkpoints/step-00000030/model.safetensors");
    char *lost = timeless("tt_c_lost");
    assert_string_equal(straight, lost);
    free(lost);
    free(straight);
}

/* A checkpoint of step `first` that waits to be written until step `until` was read back. */
static struct {
    uint64_t first, until, seen; /* seen: steps that ended while it was not there */
    const char *dir;
    bool lost; /* meanwhile something takes its folder's place */
} slow;

static void hold_up(void *user, const vkt_progress *p)
{
    char path[300], aside[300];
    (void)user;
    snprintf(path, sizeof path, "%s/checkpoints/step-%08d", slow.dir, (int)slow.first);
    if (p->step > slow.first && p->step <= slow.until && !p->evaluated && !vkt__file_exists(path))
        slow.seen++;
    if (slow.lost && p->step > slow.until) vkt__sleep_ms(1); /* the thread has its time to fail */
    if (p->step != slow.until || p->evaluated) return;
    snprintf(path, sizeof path, "%s/checkpoints", slow.dir);
    snprintf(aside, sizeof aside, "%s/aside", slow.dir);
    if (slow.lost) {
        REQUIRE_OK(vkt__rename(path, aside));
        REQUIRE_OK(vkt__file_replace(path, "x", 1));
    }
    vkt__saver_hold(false);
}

static vkt_status train_held_up(const char *dir, uint64_t first, bool lost, const char *const *set,
                                vkt_train_result *r)
{
    vkt_config *c = config(set);
    vkt__remove_tree(dir);
    slow.dir = dir, slow.first = first, slow.until = first + 7, slow.lost = lost, slow.seen = 0;
    vkt_train_desc d = { .run_dir = dir, .gpu = gpu_desc(), .on_progress = hold_up };
    vkt__saver_hold(true);
    vkt_status st = vkt_train(c, &d, r);
    vkt__saver_hold(false);
    vkt_config_destroy(&c);
    return st;
}

static void steps_go_on_while_a_checkpoint_is_written(void **state)
{
    (void)state;
    vkt_train_result r;
    size_t n;
    REQUIRE_OK(train("tt_c_straight", NULL, false, 0, &r));
    REQUIRE_OK(train_held_up("tt_c_slow", 10, false, NULL, &r));
    assert_int_equal(slow.seen, 7);
    static const char *const files[] = { "model.safetensors", "optimizer.safetensors",
                                         "state.json" };
    for (int step = 10; step <= 30; step += 10)
        for (size_t i = 0; i < VKT_COUNT(files); i++) {
            char name[100];
            snprintf(name, sizeof name, "checkpoints/step-%08d/%s", step, files[i]);
            require_same_file("tt_c_straight", "tt_c_slow", name);
        }
    char *a = timeless("tt_c_straight"), *b = timeless("tt_c_slow");
    assert_string_equal(a, b);
    free(b);

    /* One that can't be written ends the run with its line, and is nobody's best. */
    TEST_LOG_CAPTURE();
    vkt_status st = train_held_up("tt_c_slow", 10, true, NULL, &r);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_STATUS(st, VKT_E_IO);
    assert_int_equal(slow.seen, 7);
    assert_true(r.step >= 17 && r.step <= 20);
    REQUIRE_LOGGED("tt_c_slow/checkpoints");
    assert_null(strchr(test_log, '\n') ? strchr(strchr(test_log, '\n') + 1, '\n') : NULL);
    char *record = read_run_file("tt_c_slow", "run.json", &n);
    assert_non_null(strstr(record, "\"status\": \"failed\""));
    assert_non_null(strstr(record, "\"best_step\": 0"));
    free(record);
    vkt__file_remove("tt_c_slow/checkpoints");
    REQUIRE_OK(vkt__rename("tt_c_slow/aside", "tt_c_slow/checkpoints"));
    REQUIRE_OK(train("tt_c_slow", NULL, true, 0, &r));
    require_same_file("tt_c_straight", "tt_c_slow", "checkpoints/step-00000030/model.safetensors");
    b = timeless("tt_c_slow");
    assert_string_equal(a, b);
    free(a);
    free(b);
}

/* Not as late as the next checkpoint. */
static void a_checkpoint_that_failed_ends_the_run(void **state)
{
    (void)state;
    static const char *const set[] = { "train.steps=2000", "eval.every=1000", NULL };
    vkt_train_result r;
    TEST_LOG_CAPTURE();
    vkt_status st = train_held_up("tt_c_slow", 1000, true, set, &r);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_STATUS(st, VKT_E_IO);
    assert_true(r.step >= 1007 && r.step < 2000);
}

/* With one to keep: the best and the newest, whichever way the metric goes. */
static void the_best_checkpoint_is_kept(void **state)
{
    (void)state;
    static const char *const metrics[] = { "checkpoint.metric=accuracy", "checkpoint.metric=loss" };
    for (size_t k = 0; k < VKT_COUNT(metrics); k++) {
        vkt_train_result r;
        vkt__checkpoint_item *items;
        size_t n;
        const char *set[] = { metrics[k], "eval.every=5", "checkpoint.keep=1", NULL };
        REQUIRE_OK(train("tt_c_kept", set, false, 0, &r));
        REQUIRE_OK(vkt__checkpoint_list("tt_c_kept", &items, &n));
        assert_true(n == 1 || n == 2);
        assert_int_equal(items[n - 1].step, 30);
        assert_int_equal(items[0].step, r.best_step);
        free(items);
    }
}

/* Nothing is learned: all evaluations are level, and the first is the best, with its checkpoint or
 * without. */
static void of_level_evaluations_the_first_is_best(void **state)
{
    (void)state;
    static const char *const set[] = { "optim.lr=1e-30", "eval.every=5", NULL };
    for (int without = 0; without < 2; without++) {
        vkt_config *c = config(set);
        vkt_train_result r;
        vkt__remove_tree("tt_c_level");
        vkt_train_desc d = { .run_dir = "tt_c_level",
                             .gpu = gpu_desc(),
                             .no_checkpoints = without != 0 };
        REQUIRE_OK(vkt_train(c, &d, &r));
        assert_int_equal(r.best_step, 5);
        vkt_config_destroy(&c);
    }
}

int main(void)
{
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_device_is_opened_anew_once),
        cmocka_unit_test(steps_go_on_while_a_checkpoint_is_written),
        cmocka_unit_test(a_checkpoint_that_failed_ends_the_run),
        cmocka_unit_test(the_best_checkpoint_is_kept),
        cmocka_unit_test(of_level_evaluations_the_first_is_best),
    };
    cmocka_set_test_filter(getenv("VKT_TEST_PARTS")); /* one of them, for tools/hardening/mutants */
    return cmocka_run_group_tests_name("train_checkpoints", tests, NULL, NULL);
}
