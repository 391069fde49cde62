/* Suite 2 and other programs' rows in a file, without a device. */
#include "testing.h"

#include "base/os.h"
#include "bench/bench_clock.h"
#include "bench/bench_rows.h"
#include "bench/bench_suite.h"

#define DIR "tbs"
#include "own_folder.h"

/* Each row of each set is one that the benchmark has, so that --row takes it, and has a rule. */
static void rows_are_the_benchmarks(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        size_t least, most;
    } sets[] = { { "small", 40, 60 }, { "medium", 60, 90 }, { "large", 70, 100 } };
    char *all = vkt_bench_names(false);
    for (size_t i = 0; i < VKT_COUNT(sets); i++) {
        char *names = vkt_bench_suite_names(sets[i].set, NULL);
        size_t n = 0;
        for (char *line = names, *next; *line; line = next, n++) {
            char whole[300];
            next = line + strcspn(line, "\n");
            *next++ = 0;
            char *rule = strrchr(line, '\t');
            assert_true(rule && strlen(rule) > 30);
            *rule = 0;
            snprintf(whole, sizeof whole, "%s\n", line);
            if (n && !strstr(all, whole)) fail_msg("%s: not in the benchmark", line);
        }
        if (n < sets[i].least || n > sets[i].most) fail_msg("%s: %zu rows", sets[i].set, n);
        vkt_free(names);
    }
    assert_null(vkt_bench_suite_names("huge", NULL));
    vkt_free(all);
}

static void sets_follow_from_the_device(void **state)
{
    (void)state;
    vkt_caps c = { .klass = VKT_GPU_CLASS_CPU, .heap_bytes = 64ull << 30 };
    assert_int_equal(vkt__suite_set_of("auto", &c), VKT__SUITE_SMALL);
    assert_int_equal(vkt__suite_set_of("large", &c), VKT__SUITE_LARGE);
    c.klass = VKT_GPU_CLASS_NVIDIA;
    assert_int_equal(vkt__suite_set_of("auto", &c), VKT__SUITE_LARGE);
    c.heap_bytes = 8ull << 30;
    assert_int_equal(vkt__suite_set_of("auto", &c), VKT__SUITE_MEDIUM);
    c.heap_bytes = 64ull << 30;
    c.unified = true;
    assert_int_equal(vkt__suite_set_of("auto", &c), VKT__SUITE_MEDIUM);
    assert_int_equal(vkt__suite_set_of("", &c), VKT__SUITE_NONE);
    assert_string_equal(vkt__suite_half(&c), "bf16");
    c.coopmat = true;
    assert_string_equal(vkt__suite_half(&c), "fp16");
    c.bf16 = true;
    assert_string_equal(vkt__suite_half(&c), "bf16");
    /* what is small is for all */
    const char *mlp = "MLP 784-512-512-10, batch 128, fp16";
    for (uint32_t s = VKT__SUITE_SMALL; s <= VKT__SUITE_LARGE; s++) {
        assert_true(vkt__suite_has(s, "fp16", VKT_BENCH_STEPS, mlp));
        assert_false(vkt__suite_has(s, "bf16", VKT_BENCH_STEPS, mlp));
    }
}

/* A file whose scored steps took `share` of the references' times. */
static vkt_bench *measured(double share, const char *half)
{
    vkt_bench *b = vkt__bench_create();
    size_t n;
    const vkt__suite_row *row = vkt__suite_rows(&n);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            char name[160];
            double ms = k ? row[i].half_ms : row[i].fp32_ms;
            if (!(ms > 0)) continue;
            vkt__suite_name(&row[i], k ? half : NULL, name, sizeof name);
            vkt_bench_row *r = vkt__bench_row(b, VKT_BENCH_STEPS, name, "ms", false);
            vkt__times t = { .median = ms * share,
                             .min = ms * share * 0.9,
                             .max = ms * share * 1.1 };
            t.q1 = t.q3 = t.median;
            t.runs = 9;
            vkt__bench_set(r, &t, 1);
        }
    b->suite_version = VKT_BENCH_SUITE_VERSION;
    b->suite_set = "small";
    return b;
}

typedef struct told {
    size_t n;
    char last[400];
} told;

static void tell(void *user, const char *why)
{
    told *t = user;
    t->n++;
    snprintf(t->last, sizeof t->last, "%s", why);
}

static void two_scores(void **state)
{
    (void)state;
    static const char *const halves[] = { "bf16", "fp16" };
    for (size_t i = 0; i < VKT_COUNT(halves); i++) {
        vkt_bench *b = measured(0.5, halves[i]), *back;
        const char *missing = NULL;
        told t = { 0 };
        REQUIRE_NEAR(vkt_bench_suite_score(b, false, NULL), 200, 1e-9);
        REQUIRE_NEAR(vkt_bench_suite_score(b, true, NULL), 200, 1e-9);
        REQUIRE_OK(vkt_bench_save_json(b, DIR "/suite.json"));
        REQUIRE_OK(vkt_bench_load(DIR "/suite.json", &back));
        assert_int_equal(back->suite_version, 2);
        assert_string_equal(back->suite_set, "small");
        REQUIRE_NEAR(back->suite_fp32, 200, 1e-3);
        REQUIRE_NEAR(back->suite_half, 200, 1e-3);
        assert_int_equal(vkt_bench_verify((const vkt_bench *const *)&back, 1, 0, tell, &t), 0);
        size_t n;
        vkt_bench_machine *m = vkt_bench_table((const vkt_bench *const *)&back, 1, &n);
        REQUIRE_NEAR(m[0].suite_median[0], 200, 1e-3);
        REQUIRE_NEAR(m[0].suite_high[1], 200, 1e-3);
        vkt_free(m);
        /* two files of equal values agree, and a row that is 4% off does not */
        assert_int_equal(vkt_bench_agree(b, back, 0.03, &n), b->n_rows);
        assert_int_equal(n, b->n_rows);
        back->rows[0].value *= 1.04;
        assert_int_equal(vkt_bench_agree(b, back, 0.03, &n), b->n_rows - 1);
        assert_int_equal(vkt_bench_agree(b, back, 0.05, &n), b->n_rows);
        back->rows[0].value /= 1.04;
        back->suite_half = 300;
        assert_int_equal(vkt_bench_verify((const vkt_bench *const *)&back, 1, 0, tell, &t), 1);
        assert_non_null(
            strstr(t.last, "its score of suite 2 in 16 bits is 300; its steps give 200"));
        b->rows[b->n_rows - 1].flag = "other programs";
        assert_true(isnan(vkt_bench_suite_score(b, false, &missing)));
        assert_non_null(missing);
        vkt_bench_destroy(&back);
        vkt_bench_destroy(&b);
    }
}

/* Half of the interval by ranks: of 1, 2, ... 100 those 0.98 x 10 away from the middle. */
static void the_interval(void **state)
{
    (void)state;
    double s[100];
    vkt__times t;
    for (uint32_t i = 0; i < 100; i++) s[i] = i + 1;
    vkt__bench_stats(s, 100, &t);
    REQUIRE_NEAR(t.ci, 10.5 / 50.5, 1e-12);
    vkt__bench_stats(s, 3, &t); /* too few to tell */
    REQUIRE_NEAR(t.ci, 0, 0);
    /* in a suite what varies by a fifth goes on, and what does not is enough */
    vkt_bench_desc desc = { 0 };
    vkt__bencher b = { .desc = &desc, .suite = VKT__SUITE_SMALL };
    assert_false(vkt__bench_is_sure(&b, s, 100));
    for (uint32_t i = 0; i < 100; i++) s[i] = 100 + i % 2;
    assert_true(vkt__bench_is_sure(&b, s, 100));
    assert_false(vkt__bench_is_sure(&b, s, 3));
    b.suite = VKT__SUITE_NONE;
    assert_true(vkt__bench_is_sure(&b, s, 3));
}

static vkt_bench *peer(const char *driver, const char *settings)
{
    vkt_bench *p = measured(2, "bf16");
    p->suite_set = NULL;
    p->info.device = "Card";
    p->info.driver = driver;
    p->info.settings = settings;
    vkt__bench_row(p, VKT_BENCH_STEPS, "a step of another program", "ms", false)->refused = "no";
    return p;
}

static void peers_stand_in_the_file(void **state)
{
    (void)state;
    vkt_bench *b = measured(1, "bf16"), *back;
    size_t n, rows = b->n_rows;
    b->info.device = "Card";
    for (int i = 0; i < 3; i++) { /* the third takes the first one's place */
        vkt_bench *p = peer("PyTorch 2.14", i == 1 ? "compiled" : "eager");
        size_t kept;
        REQUIRE_OK(vkt_bench_add_peer(b, &p, &kept));
        assert_int_equal(kept, rows);
        assert_null(p);
    }
    assert_int_equal(b->n_peers, 2);
    assert_int_equal(b->peers[0]->n_rows, rows); /* without what is not in b */
    REQUIRE_OK(vkt_bench_save_json(b, DIR "/peers.json"));
    REQUIRE_OK(vkt_bench_load(DIR "/peers.json", &back));
    assert_int_equal(back->n_peers, 2);
    assert_int_equal(back->seal, VKT_BENCH_SEALED);
    assert_string_equal(back->peers[0]->info.device, "PyTorch 2.14, eager: Card");
    assert_string_equal(back->peers[1]->info.device, "PyTorch 2.14, compiled: Card");
    REQUIRE_NEAR(back->peers[1]->rows[0].value, 2 * back->rows[0].value, 1e-5);
    vkt_bench_machine *m = vkt_bench_table((const vkt_bench *const *)&back, 1, &n);
    assert_int_equal(n, 3); /* bars beside the device's */
    assert_int_equal(m[0].score_version, 1);
    assert_string_equal(m[0].info.device, "Card");
    vkt_free(m);
    vkt_bench_destroy(&back);
    vkt_bench_destroy(&b);
}

/* What no vktrain reads never takes a measured file's place. */
static void peers_that_no_file_can_hold_are_refused(void **state)
{
    (void)state;
    static char longer[500];
    vkt_bench *b = measured(1, "bf16"), *p, *back;
    char settings[VKT__BENCH_PEERS + 2][16];
    size_t kept;
    memset(longer, 'x', sizeof longer - 1);
    vkt__log_quiet(true);
    p = peer("", "eager");
    REQUIRE_STATUS(vkt_bench_add_peer(b, &p, &kept), VKT_E_FORMAT);
    assert_null(p);
    p = peer("PyTorch 2.14", "eager");
    p->info.device = longer;
    REQUIRE_STATUS(vkt_bench_add_peer(b, &p, &kept), VKT_E_FORMAT);
    assert_non_null(strstr(vkt__last_failure(), "more than 512 bytes"));
    for (uint32_t i = 0; i <= VKT__BENCH_PEERS + 1; i++) { /* the last is a second measurement */
        snprintf(settings[i], sizeof settings[i], "way %u", i % (VKT__BENCH_PEERS + 1));
        p = peer("PyTorch 2.14", settings[i]);
        p->info.device = "PyTorch 2.14 card";
        REQUIRE_STATUS(vkt_bench_add_peer(b, &p, &kept),
                       i == VKT__BENCH_PEERS ? VKT_E_FORMAT : VKT_OK);
    }
    assert_int_equal(b->n_peers, VKT__BENCH_PEERS);
    assert_string_equal(b->peers[0]->info.device, "PyTorch 2.14, way 0: PyTorch 2.14 card");
    REQUIRE_OK(vkt_bench_save_json(b, DIR "/peers.json"));
    b->peers[3]->info.driver = "";
    REQUIRE_STATUS(vkt_bench_save_json(b, DIR "/peers.json"), VKT_E_FORMAT);
    vkt__log_quiet(false);
    REQUIRE_OK(vkt_bench_load(DIR "/peers.json", &back));
    assert_string_equal(back->peers[0]->info.device, "PyTorch 2.14, way 0: PyTorch 2.14 card");
    vkt_bench_destroy(&back);
    vkt_bench_destroy(&b);
}

static void damaged_peers_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "\"peers\": 1", "peers must be a list" },
        { "\"peers\": [1]", "peer 1: info or results is missing" },
        { "\"peers\": [{\"info\": {}, \"results\": []}]", "peer 1: device must be a text" },
        { "\"suite\": {\"version\": 1}", "suite.version must be" },
        { "\"suite\": {\"version\": 2}", "suite.set must be a text" },
    };
    vkt_bench *b = measured(1, "bf16");
    char *text = NULL, wrong[200000];
    size_t n;
    b->suite_set = NULL;
    REQUIRE_OK(vkt_bench_save_json(b, DIR "/whole.json"));
    REQUIRE_OK(vkt__file_read(DIR "/whole.json", sizeof wrong / 2, &text, &n));
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_bench *back;
        snprintf(wrong, sizeof wrong, "{%s,%s", cases[i][0], text + 1);
        vkt__log_quiet(true);
        assert_int_equal(vkt_bench_parse(wrong, strlen(wrong), "it", &back), VKT_E_FORMAT);
        assert_non_null(strstr(vkt__last_failure(), cases[i][1]));
        vkt__log_quiet(false);
    }
    free(text);
    vkt_bench_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_benchmarks),
        cmocka_unit_test(sets_follow_from_the_device),
        cmocka_unit_test_setup_teardown(two_scores, setup, teardown),
        cmocka_unit_test(the_interval),
        cmocka_unit_test_setup_teardown(peers_stand_in_the_file, setup, teardown),
        cmocka_unit_test_setup_teardown(peers_that_no_file_can_hold_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_peers_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
