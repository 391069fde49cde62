/* Checkpoints: written aside, found damaged, killed at any write, pruned. */
#define DIR "test_checkpoint_tmp"
#include "run_files.h"

#include <jansson.h>

#include "runs/checkpoint_set.h"
#include "runs/metrics.h"
#include "runs/run_folder.h"
#include "formats/tfevents.h"

/* ---- checkpoints ---- */

static float w0[6] = { 1, 2, 3, 4, 5, 6.5f }, w1[3] = { -1, 0, 1e-30f };

static const vkt__st_tensor small_tensors[] = {
    { .name = "0.weight", .dtype = "F32", .rank = 2, .shape = { 2, 3 }, .data = w0 },
    { .name = "0.bias", .dtype = "F32", .rank = 1, .shape = { 3 }, .data = w1 },
};

static vkt__checkpoint_desc checkpoint(uint64_t step, double value)
{
    return (vkt__checkpoint_desc) {
        .run_dir = DIR,
        .model = small_tensors,
        .n_model = 2,
        .optim = small_tensors,
        .n_optim = 2,
        .state = { .step = step,
                   .loader_batches = step + 5,
                   .seed = UINT64_MAX,
                   .config_hash = 0x8000000000000001u,
                   .data_hash = 7,
                   .metric = "accuracy",
                   .value = value,
                   .config = "a: \"b\"\n",
                   .schema = "{\"x\": 1}",
                   .extra = "{\"n_clipped\":3}" },
    };
}

static void save(uint64_t step, double value)
{
    vkt__checkpoint_desc d = checkpoint(step, value);
    REQUIRE_OK(vkt__checkpoint_write(&d));
}

static void checkpoints_come_back(void **state)
{
    (void)state;
    vkt__checkpoint *c;
    char path[256];
    save(1200, 0.5);
    save(1200, 0.75); /* again: replaced */
    REQUIRE_OK(vkt__checkpoint_newest(DIR, &c));
    const vkt__checkpoint_state *s = &c->state;
    assert_string_equal(c->dir, DIR "/checkpoints/step-00001200");
    assert_true(s->step == 1200 && s->loader_batches == 1205 && s->seed == UINT64_MAX &&
                s->value == 0.75);
    assert_true(s->config_hash == 0x8000000000000001u && s->data_hash == 7);
    assert_string_equal(s->config, "a: \"b\"\n");
    assert_string_equal(s->schema, "{\"x\": 1}");
    assert_string_equal(s->extra, "{\"n_clipped\":3}");
    assert_string_equal(s->metric, "accuracy");
    float a[6];
    vkt__st_tensor t = small_tensors[0];
    t.data = a;
    REQUIRE_OK(vkt__safetensors_load(c->optim, &t, 1, true));
    assert_memory_equal(a, w0, sizeof a);
    vkt__checkpoint_close(&c);

    save(1300, NAN);
    REQUIRE_OK(vkt__checkpoint_find(DIR, path, sizeof path));
    assert_string_equal(path, DIR "/checkpoints/step-00001300");
    REQUIRE_OK(vkt__checkpoint_link_best(DIR, "step-00001200"));
    REQUIRE_OK(vkt__checkpoint_find(DIR, path, sizeof path));
#ifdef _WIN32 /* a text file with the name, no link */
    assert_string_equal(path, DIR "/checkpoints/step-00001200");
#else
    assert_string_equal(path, DIR "/best");
#endif
    REQUIRE_OK(vkt__checkpoint_open(path, &c));
    assert_int_equal(c->state.step, 1200);
    vkt__checkpoint_close(&c);
    /* Where there are no links: a text with the target. One that leads elsewhere is not followed.
     */
    REQUIRE_OK(vkt__remove_tree(DIR "/best"));
    REQUIRE_OK(vkt__file_replace(DIR "/best", "checkpoints/step-00001200\r\n", 27));
    REQUIRE_OK(vkt__checkpoint_find(DIR, path, sizeof path));
    assert_string_equal(path, DIR "/checkpoints/step-00001200");
    REQUIRE_OK(vkt__file_replace(DIR "/best", "checkpoints/../../elsewhere", 27));
    REQUIRE_STATUS(vkt__checkpoint_find(DIR, path, sizeof path), VKT_E_FORMAT);
    REQUIRE_LOGGED("'" DIR "/best' is not a checkpoint of the run");
    REQUIRE_OK(vkt__remove_tree(DIR "/best"));
    REQUIRE_OK(vkt__checkpoint_find(DIR, path, sizeof path));
    assert_string_equal(path, DIR "/checkpoints/step-00001300");
    REQUIRE_OK(vkt__checkpoint_find(DIR "/checkpoints/step-00001200", path, sizeof path));
    REQUIRE_STATUS(vkt__checkpoint_find(DIR "/none", path, sizeof path), VKT_E_IO);
    REQUIRE_LOGGED("there is no '" DIR "/none': give a run");
    REQUIRE_STATUS(vkt__checkpoint_find(DIR "/checkpoints", path, sizeof path), VKT_E_IO);
    REQUIRE_LOGGED("'" DIR "/checkpoints' is not a run with checkpoints, a checkpoint folder");
}

static void a_flipped_byte_is_found(void **state)
{
    (void)state;
    static const char *const files[] = { "state.json", "model.safetensors",
                                         "optimizer.safetensors" };
    save(10, 0.5);
    for (size_t k = 0; k < 3; k++) {
        char path[256];
        size_t n;
        snprintf(path, sizeof path, DIR "/checkpoints/step-00000010/%s", files[k]);
        char *data = read_all(path, &n);
        assert_true(n > 250);
        for (size_t at = k, i = 0; at < n; at += 7, i++) {
            char kept = data[at];
            data[at] ^= (char)(1 << i % 8);
            REQUIRE_OK(vkt__file_replace(path, data, n));
            vkt__checkpoint *c = NULL;
            TEST_LOG_CAPTURE();
            vkt_status st = vkt__checkpoint_open(DIR "/checkpoints/step-00000010", &c);
            if (st == VKT_OK) st = vkt__checkpoint_verify(c);
            if (st != VKT_E_FORMAT) print_error("%s, byte %zu of %zu\n", files[k], at, n);
            REQUIRE_STATUS(st, VKT_E_FORMAT);
            REQUIRE_LOGGED(files[k]);
            vkt__checkpoint_close(&c);
            data[at] = kept;
        }
        /* Cut short at any of many places, or missing. */
        for (size_t cut = 0; cut < n; cut += 61) {
            vkt__checkpoint *c = NULL;
            REQUIRE_OK(vkt__file_replace(path, data, cut));
            TEST_LOG_CAPTURE();
            REQUIRE_STATUS(vkt__checkpoint_open(DIR "/checkpoints/step-00000010", &c),
                           VKT_E_FORMAT);
            REQUIRE_LOGGED(files[k]);
        }
        REQUIRE_OK(vkt__remove_tree(path));
        vkt__checkpoint *c = NULL;
        REQUIRE_STATUS(vkt__checkpoint_open(DIR "/checkpoints/step-00000010", &c), VKT_E_FORMAT);
        REQUIRE_LOGGED("is missing");
        REQUIRE_OK(vkt__file_replace(path, data, n));
        free(data);
    }
    vkt__checkpoint *c = NULL;
    REQUIRE_OK(vkt__checkpoint_open(DIR "/checkpoints/step-00000010", &c));
    REQUIRE_OK(vkt__checkpoint_verify(c));
    vkt__checkpoint_close(&c);
}

static void a_damaged_newest_falls_back(void **state)
{
    (void)state;
    vkt__checkpoint *c;
    REQUIRE_STATUS(vkt__checkpoint_newest(DIR, &c), VKT_E_IO);
    REQUIRE_LOGGED("no checkpoint in '" DIR "'");
    save(10, 0.5);
    save(20, 0.6);
    size_t n;
    char *data = read_all(DIR "/checkpoints/step-00000020/optimizer.safetensors", &n);
    data[n - 3] ^= 16;
    REQUIRE_OK(vkt__file_replace(DIR "/checkpoints/step-00000020/optimizer.safetensors", data, n));
    free(data);
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt__checkpoint_newest(DIR, &c));
    assert_int_equal(c->state.step, 10);
    vkt__checkpoint_close(&c);
    REQUIRE_LOGGED("tensor '0.bias' is damaged");
    REQUIRE_LOGGED("trying the one before it, step-00000010");
    REQUIRE_OK(vkt__remove_tree(DIR "/checkpoints/step-00000010/state.json"));
    REQUIRE_STATUS(vkt__checkpoint_newest(DIR, &c), VKT_E_IO);
    REQUIRE_LOGGED("no usable checkpoint in '" DIR "'");
}

/* A link to itself: opening it is an error, for root too, and it is there. */
static bool put_unreadable(const char *path, const char *name)
{
    REQUIRE_OK(vkt__remove_tree(path));
    return vkt__link(name, path) == VKT_OK;
}

/* "Can't be read" is not "damaged": another checkpoint in its place would be a wrong result. */
static void what_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    static const char *const files[] = { "state.json", "model.safetensors",
                                         "optimizer.safetensors" };
    for (size_t k = 0; k < 3; k++) {
        char file[256], found[256];
        assert_int_equal(begin(NULL), 0);
        save(10, 0.5);
        save(20, 0.6);
        REQUIRE_OK(vkt__checkpoint_link_best(DIR, "step-00000020"));
        snprintf(file, sizeof file, DIR "/checkpoints/step-00000020/%s", files[k]);
        if (!put_unreadable(file, files[k])) skip();
        vkt__checkpoint *c = NULL;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__checkpoint_newest(DIR, &c), VKT_E_IO);
        assert_null(c);
        REQUIRE_LOGGED(file);
        assert_null(strstr(test_log, "trying"));
        if (k) continue;
        vkt__checkpoint_item *items;
        size_t n;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__checkpoint_list(DIR, &items, &n), VKT_E_IO);
        REQUIRE_LOGGED(file);
        assert_true(!items && !n);
        REQUIRE_STATUS(vkt__checkpoint_prune(DIR, 1, 1, NULL), VKT_E_IO);
        put_unreadable(DIR "/best", "best");
        REQUIRE_STATUS(vkt__checkpoint_find(DIR, found, sizeof found), VKT_E_IO);
        put_unreadable(DIR "/best", "checkpoints/step-00000099");
        REQUIRE_STATUS(vkt__checkpoint_find(DIR, found, sizeof found), VKT_E_FORMAT);
        REQUIRE_LOGGED("'" DIR "/best' points to a checkpoint that does not exist");
        REQUIRE_OK(vkt__remove_tree(DIR "/checkpoints"));
        put_unreadable(DIR "/checkpoints", "checkpoints");
        REQUIRE_STATUS(vkt__checkpoint_list(DIR, &items, &n), VKT_E_IO);
    }
}

static bool has(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, DIR "/checkpoints/%s", name);
    return vkt__file_exists(path);
}

/* Killed before each file operation in turn: what was there before is usable, and cleaning leaves
 * only whole checkpoints. `replace`: the killed write was of a step that existed. */
static void crash_everywhere(bool replace)
{
    bool finished = false;
    int n_crashes = 0;
    for (int k = 0; !finished; k++) {
        assert_int_equal(begin(NULL), 0);
        save(10, 0.5);
        if (replace) save(20, 0.5);
        vkt__crash crash = { k };
        vkt__checkpoint_desc d = checkpoint(20, 0.75);
        d.crash = &crash;
        vkt_status st = vkt__checkpoint_write(&d);
        assert_true(st == VKT_OK || st == VKT_E_INTERRUPTED);
        finished = st == VKT_OK;
        n_crashes += !finished;
        REQUIRE_OK(vkt__checkpoint_clean(DIR));
        char **names;
        size_t n;
        REQUIRE_OK(vkt__list_dir(DIR "/checkpoints", &names, &n));
        for (size_t i = 0; i < n; i++) assert_true(!strncmp(names[i], "step-", 5));
        vkt__names_free(names, n);
        vkt__checkpoint *c;
        REQUIRE_OK(vkt__checkpoint_newest(DIR, &c));
        if (replace) assert_int_equal(c->state.step, 20);
        if (finished) assert_true(c->state.step == 20 && c->state.value == 0.75);
        vkt__checkpoint_close(&c);
        assert_string_equal(test_log, ""); /* nothing was damaged */
        save(20, 0.8);                     /* and the next write goes through */
    }
    assert_int_equal(n_crashes, replace ? 11 : 9);
}

static void a_killed_write_leaves_the_earlier_ones(void **state)
{
    (void)state;
    crash_everywhere(false);
    crash_everywhere(true);
}

static void prune_keeps_the_best_and_the_last(void **state)
{
    (void)state;
    static const double values[] = { 0.2, 0.9, 0.5, 0.9, 0.8, NAN };
    bool finished = false;
    for (int k = 0; !finished; k++) {
        assert_int_equal(begin(NULL), 0);
        for (int i = 0; i < 6; i++) save((uint64_t)(i + 1), values[i]);
        vkt__crash crash = { k };
        vkt_status st = vkt__checkpoint_prune(DIR, 2, 1, &crash);
        finished = st == VKT_OK;
        if (!finished) REQUIRE_STATUS(st, VKT_E_INTERRUPTED);
        REQUIRE_OK(vkt__checkpoint_clean(DIR));
        assert_true(has("step-00000002") && has("step-00000004") && has("step-00000006"));
    }
    assert_false(has("step-00000001") || has("step-00000003") || has("step-00000005"));
    vkt__checkpoint_item *items;
    size_t n;
    REQUIRE_OK(vkt__checkpoint_list(DIR, &items, &n));
    assert_int_equal(n, 3);
    assert_int_equal(vkt__checkpoint_best(items, n, 1)->step, 2);
    free(items);
    REQUIRE_OK(vkt__checkpoint_prune(DIR, 1, -1, NULL));
    assert_true(has("step-00000002") && !has("step-00000004") && has("step-00000006"));
}

/* The best is known before the newest is written; a step that is written again counts once. */
static void the_best_is_known_before_it_is_written(void **state)
{
    (void)state;
    static const struct {
        uint64_t step;
        double value;
        int sign;
        uint64_t best;
    } next[] = {
        { 30, 0.95, 1, 30 }, { 30, 0.9, 1, 20 },  { 10, 0.9, 1, 10 }, { 30, NAN, 1, 20 },
        { 20, 0.1, 1, 10 },  { 20, 0.1, -1, 20 }, { 20, NAN, 1, 10 }, { 30, 0.2, -1, 10 }
    };
    vkt__checkpoint_item best, *items;
    size_t n;
    REQUIRE_OK(vkt__checkpoint_best_with(DIR, 10, NAN, 1, &best));
    assert_true(!*best.name && isnan(best.value));
    for (size_t i = 0; i < VKT_COUNT(next); i++) {
        assert_int_equal(begin(NULL), 0);
        save(10, 0.2);
        save(20, 0.9);
        REQUIRE_OK(
            vkt__checkpoint_best_with(DIR, next[i].step, next[i].value, next[i].sign, &best));
        assert_int_equal(best.step, next[i].best);
        save(next[i].step, next[i].value);
        REQUIRE_OK(vkt__checkpoint_list(DIR, &items, &n));
        const vkt__checkpoint_item *after = vkt__checkpoint_best(items, n, next[i].sign);
        assert_string_equal(best.name, after->name);
        assert_true(best.value == after->value);
        free(items);
    }
}

/* What a checkpoint must hold and does not, one line each. */
static void what_is_not_there_is_told(void **state)
{
    (void)state;
    vkt__checkpoint *c;
    vkt__st_tensor t[2];
    char path[64], found[8];
    vkt__checkpoint_desc d = checkpoint(1300, 0.5);
    d.state.metric = "\xff";
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__checkpoint_write(&d), VKT_E_ARG);
    REQUIRE_LOGGED("a text of the state is not UTF-8 or not JSON");
    save(1300, 0.5);
    snprintf(path, sizeof path, DIR "/checkpoints/step-00001300");
    REQUIRE_OK(vkt__checkpoint_open(path, &c));
    memcpy(t, small_tensors, sizeof t);
    TEST_LOG_CAPTURE();
    t[0].name = "3.weight";
    REQUIRE_STATUS(vkt__checkpoint_load(c, false, t, 2, true), VKT_E_FORMAT);
    REQUIRE_LOGGED("3.weight");
    vkt__checkpoint_close(&c);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__checkpoint_find(path, found, sizeof found), VKT_E_ARG);
    REQUIRE_LOGGED("the path '" DIR "/checkpoints/step-00001300' is too long");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void a_failed_write_leaves_nothing(void **state)
{
    (void)state;
    vkt__st_tensor t[2] = { small_tensors[0], small_tensors[0] };
    vkt__checkpoint_desc d = checkpoint(10, 0.5);
    d.model = t;
    REQUIRE_STATUS(vkt__checkpoint_write(&d), VKT_E_ARG);
    assert_false(has(".tmp-step-00000010") || has("step-00000010"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(checkpoints_come_back),
        TEST(a_flipped_byte_is_found),
        TEST(a_damaged_newest_falls_back),
        TEST(what_cannot_be_read_is_an_error),
        TEST(a_killed_write_leaves_the_earlier_ones),
        TEST(what_is_not_there_is_told),
        TEST(prune_keeps_the_best_and_the_last),
        TEST(the_best_is_known_before_it_is_written),
        TEST(a_failed_write_leaves_nothing),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
