/* The order of a benchmark, with items that measure nothing: what is measured again, what stays,
 * and what is flagged. */
#include "testing.h"

#include "base/os.h"
#include "bench/bench_clock.h"
#include "bench/bench_rows.h"
#include "gpu/gpu_vk.h"

#define DIR "tbo"
#include "own_folder.h"

/* Percent of the ceiling at each call of an item; 0: the end. */
static const double planned[][4] = {
    { 60, 70, 50 },   /* once */
    { 180, 70 },      /* a wrong moment: the later one counts, though it is slower */
    { 180, 130, 90 }, /* twice more */
    { 130, 120, 110 } /* and no more than that: flagged */
};
static uint32_t calls[10];

static vkt_status run(vkt__bencher *b, const vkt__bench_item *item)
{
    vkt_bench_row *r = vkt__bench_row(b->out, item->group, item->name, "us", false);
    r->percent = planned[item->arg][calls[item->arg]++];
    r->value = r->min = r->max = r->q1 = r->q3 = 1000 / r->percent;
    r->runs = 9;
    if (item->arg == 3) vkt__bench_left_out(b->out, "a part of '%s'", item->name);
    return VKT_OK;
}

static vkt_bench *measured(const vkt_bench_desc *desc)
{
    static const char *const names[] = { "at once", "a moment", "twice", "stays" };
    vkt__bencher b = { .desc = desc, .out = vkt__bench_create() };
    vkt__bench_items list = { 0 };
    memset(calls, 0, sizeof calls);
    for (uint32_t i = 0; i < VKT_COUNT(planned); i++)
        vkt__bench_plan(&list, VKT_BENCH_OPS, names[i], 1, run, i, 0);
    REQUIRE_OK(vkt__bench_measure(&b, &list));
    assert_int_equal(b.out->n_rows, VKT_COUNT(planned));
    free(list.item);
    return b.out;
}

static void above_a_ceiling_is_measured_again_then_flagged(void **state)
{
    (void)state;
    static const uint32_t times[] = { 1, 2, 3, 3 };
    static const double last[] = { 60, 70, 90, 110 };
    vkt_bench *out = measured(&(vkt_bench_desc) { 0 });
    for (size_t i = 0; i < VKT_COUNT(planned); i++) {
        assert_int_equal(calls[i], times[i]);
        REQUIRE_NEAR(out->rows[i].percent, last[i], 0);
        if (i < 3)
            assert_null(out->rows[i].flag);
        else
            assert_non_null(strstr(out->rows[i].flag, "above 105% of the ceiling"));
    }
    assert_int_equal(out->n_left_out, 1); /* said once, though tried three times */
    vkt_bench_destroy(&out);
    out = measured(&(vkt_bench_desc) { .once = true }); /* for tests: its times mean nothing */
    for (size_t i = 0; i < VKT_COUNT(planned); i++) {
        assert_int_equal(calls[i], 1);
        assert_null(out->rows[i].flag);
    }
    vkt_bench_destroy(&out);
}

/* What was slower than the baseline: the fastest of up to three. */
static void slower_than_the_baseline_is_measured_again(void **state)
{
    (void)state;
    vkt_bench *baseline = measured(&(vkt_bench_desc) { .once = true }), *out;
    vkt_bench_row *r = baseline->rows;
    r->value = r->min = r->max = r->q1 = r->q3 = 1; /* us; of 60%: 16.7 */
    out = measured(&(vkt_bench_desc) { .baseline = baseline, .tolerance = 0.05 });
    assert_int_equal(calls[0], 3);
    REQUIRE_NEAR(out->rows[0].value, 1000.0 / 70, 1e-12);
    vkt_bench_destroy(&out);
    vkt_bench_destroy(&baseline);
}

/* Items beside other programs: what proc/stat says at the end of each call of theirs. */
static const bool disturbed[][3] = {
    { true, false }, /* a passing moment: the later one counts, though it is slower */
    { true, true, true },
    { true, true, true },
    { true }, /* is not tried again: that was in vain four times in a row */
};

static void counted(unsigned seconds)
{
    char text[64];
    snprintf(text, sizeof text, "cpu  %u00 0 0 0 0 0 0 0\n", seconds);
    REQUIRE_OK(vkt__file_replace("tbo/proc/stat", text, strlen(text)));
}

static vkt_status run_beside(vkt__bencher *b, const vkt__bench_item *item)
{
    static unsigned seconds = 1;
    uint32_t call = calls[item->arg]++;
    vkt__sleep_ms(220);
    if (call > 2 || disturbed[item->arg][call]) counted(seconds += 2 * vkt__cpu_count());
    vkt_bench_row *r = vkt__bench_row(b->out, item->group, item->name, "us", false);
    r->value = r->min = r->max = r->q1 = r->q3 = 10 + call;
    return VKT_OK;
}

static void what_is_disturbed_is_measured_again_then_flagged(void **state)
{
    (void)state;
#ifdef _WIN32
    skip(); /* its counters are no files */
#endif
    static const char *const names[] = { "a moment", "each time", "later", "too late" };
    vkt__bencher b = { .desc = &(vkt_bench_desc) { 0 }, .out = vkt__bench_create() };
    vkt__bench_items list = { 0 };
    REQUIRE_OK(vkt__mkdirs("tbo/proc"));
    counted(1);
    vkt__conditions_open(&b.beside, NULL, "tbo", NULL);
    memset(calls, 0, sizeof calls);
    for (uint32_t i = 0; i < VKT_COUNT(names); i++)
        vkt__bench_plan(&list, VKT_BENCH_OPS, names[i], 1, run_beside, i, 0);
    REQUIRE_OK(vkt__bench_measure(&b, &list));
    assert_int_equal(calls[0], 2);
    assert_null(b.out->rows[0].flag);
    REQUIRE_NEAR(b.out->rows[0].value, 11, 0);
    assert_int_equal(calls[1], 3);
    assert_int_equal(calls[2], 3);
    assert_int_equal(calls[3], 1);
    for (size_t i = 1; i < 4; i++) {
        assert_non_null(strstr(b.out->rows[i].flag, "other programs took"));
        REQUIRE_NEAR(b.out->rows[i].value, 10, 0); /* the faster of what is as doubtful */
    }
    vkt__conditions_close(&b.beside);
    free(list.item);
    vkt_bench_destroy(&b.out);
}

/* An item that would end after the benchmark must is not begun, and that is said. */
static void what_has_no_time_is_left_out(void **state)
{
    (void)state;
    static const char *const names[] = { "short", "long", "short too" };
    static const double weights[] = { 1, 100, 1 };
    vkt__bencher b = { .desc = &(vkt_bench_desc) { .once = true },
                       .out = vkt__bench_create(),
                       .seconds = 90 };
    vkt__bench_items list = { 0 };
    memset(calls, 0, sizeof calls);
    for (uint32_t i = 0; i < VKT_COUNT(names); i++)
        vkt__bench_plan(&list, VKT_BENCH_OPS, names[i], weights[i], run, i, 0);
    REQUIRE_OK(vkt__bench_measure(&b, &list));
    assert_int_equal(b.out->n_rows, 2);
    assert_string_equal(b.out->rows[1].name, "short too");
    assert_int_equal(b.out->n_left_out, 1);
    assert_string_equal(b.out->left_out[0], "long: no time for it in 90 s");
    free(list.item);
    vkt_bench_destroy(&b.out);
}

/* Items that take at least ten times as long as was thought, and would be measured again. */
static double shares[10], again[10]; /* of the first measurement of each and of later ones */
static vkt_status run_slowly(vkt__bencher *b, const vkt__bench_item *item)
{
    (calls[item->arg]++ ? again : shares)[item->arg] = b->share;
    vkt__sleep_ms(10);
    vkt_bench_row *r = vkt__bench_row(b->out, item->group, item->name, "us", false);
    r->value = r->min = r->max = r->q1 = r->q3 = 10;
    r->percent = 150;
    r->runs = vkt__bench_min_runs(b);
    return VKT_OK;
}

/* Each item gets its share of a minute that is too short, and none is left out. */
static void a_minute_is_shared(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
    for (int k = 0; k < 2; k++) {
        vkt__bencher b = { .desc = &(vkt_bench_desc) { .quick = true },
                           .out = vkt__bench_create(),
                           .min_runs = 5,
                           .minute_s = k ? 1000 : 0.06 };
        vkt__bench_items list = { 0 };
        memset(calls, 0, sizeof calls);
        for (uint32_t i = 0; i < VKT_COUNT(names); i++)
            vkt__bench_plan(&list, VKT_BENCH_OPS, names[i], 0.001, run_slowly, i, 0);
        REQUIRE_OK(vkt__bench_measure(&b, &list));
        assert_int_equal(b.out->n_rows, VKT_COUNT(names));
        assert_int_equal(b.out->n_left_out, 0);
        assert_true(shares[0] == 1);
        assert_int_equal(b.out->rows[0].runs, 5);
        assert_true(k ? b.share == 1 : b.share >= 0.1 && b.share < 0.5);
        assert_int_equal(b.out->rows[9].runs, k ? 5 : 3);
        assert_int_equal(calls[0], k ? 3 : 1); /* nothing once more when the minute is over */
        free(list.item);
        vkt_bench_destroy(&b.out);
    }
}

/* Beside a baseline, which was measured in full, so is what is measured again. */
static void what_is_measured_again_beside_a_baseline_has_its_whole_share(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "b", "c" };
    vkt_bench *baseline = NULL;
    for (int k = 0; k < 2; k++) {
        vkt__bencher b = { .desc = &(
                               vkt_bench_desc) { .quick = true, .once = !k, .baseline = baseline },
                           .out = vkt__bench_create(),
                           .min_runs = 5,
                           .minute_s = 0.015 };
        vkt__bench_items list = { 0 };
        memset(calls, 0, sizeof calls);
        for (uint32_t i = 0; i < VKT_COUNT(names); i++)
            vkt__bench_plan(&list, VKT_BENCH_OPS, names[i], 0.01, run_slowly, i, 0);
        REQUIRE_OK(vkt__bench_measure(&b, &list));
        free(list.item);
        if (!k) {
            baseline = b.out;
            continue;
        }
        assert_true(shares[2] < 0.5);
        for (size_t i = 0; i < VKT_COUNT(names); i++) {
            assert_int_equal(calls[i], 3);
            assert_true(again[i] == 1);
        }
        vkt_bench_destroy(&b.out);
    }
    vkt_bench_destroy(&baseline);
}

/* Measures five times; the middle one is 12. */
static vkt_status run_varying(vkt__bencher *b, const vkt__bench_item *item)
{
    static const double values[] = { 12, 10, 14, 13, 11 };
    vkt_bench_row *r = vkt__bench_row(b->out, item->group, item->name, "us", false);
    r->value = r->min = r->max = r->q1 = r->q3 = values[calls[0]++];
    r->runs = 9;
    if (item->arg && calls[0] == 3) vkt__bench_refuse(b, r, true, "wrong result");
    return VKT_OK;
}

static void what_is_repeated_keeps_the_median(void **state)
{
    (void)state;
    for (uint32_t wrong = 0; wrong < 2; wrong++) {
        vkt__bencher b = { .desc = &(vkt_bench_desc) { .repeat = 5 }, .out = vkt__bench_create() };
        vkt__bench_items list = { 0 };
        memset(calls, 0, sizeof calls);
        vkt__bench_plan(&list, VKT_BENCH_OPS, "a row", 1, run_varying, wrong, 0);
        REQUIRE_OK(vkt__bench_measure(&b, &list));
        assert_int_equal(calls[0], 5);
        assert_int_equal(b.out->n_rows, 1);
        if (wrong) {
            assert_non_null(b.out->rows[0].refused); /* one of five is one too many */
        } else {
            REQUIRE_NEAR(b.out->rows[0].value, 12, 0);
            assert_string_equal(b.out->rows[0].note, "median of 5 measurements, 10 to 14 us");
        }
        free(list.item);
        vkt_bench_destroy(&b.out);
    }
}

/* The second measurement loses the device. */
static vkt_status run_lost(vkt__bencher *b, const vkt__bench_item *item)
{
    if (calls[0]++) return VKT_E_DEVICE;
    for (int i = 0; i < 2; i++) {
        vkt_bench_row *r =
            vkt__bench_row(b->out, item->group, i ? "another" : item->name, "us", false);
        r->value = r->min = r->max = r->q1 = r->q3 = 10;
    }
    return VKT_OK;
}

static void a_device_lost_while_repeating_leaves_each_row_once(void **state)
{
    (void)state;
    struct vkt_gpu gpu = { .lost = true };
    vkt__bencher b = { .gpu = &gpu,
                       .desc = &(vkt_bench_desc) { .repeat = 5 },
                       .out = vkt__bench_create() };
    vkt__bench_items list = { 0 };
    memset(calls, 0, sizeof calls);
    vkt__bench_plan(&list, VKT_BENCH_OPS, "a row", 1, run_lost, 0, 0);
    REQUIRE_STATUS(vkt__bench_measure(&b, &list), VKT_E_DEVICE);
    assert_int_equal(calls[0], 2);
    assert_int_equal(b.n_wrong, 1);
    assert_int_equal(b.out->n_rows, 2);
    free(list.item);
    vkt_bench_destroy(&b.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(above_a_ceiling_is_measured_again_then_flagged),
        cmocka_unit_test(slower_than_the_baseline_is_measured_again),
        cmocka_unit_test_setup_teardown(what_is_disturbed_is_measured_again_then_flagged, setup,
                                        teardown),
        cmocka_unit_test(what_is_repeated_keeps_the_median),
        cmocka_unit_test(a_device_lost_while_repeating_leaves_each_row_once),
        cmocka_unit_test(what_has_no_time_is_left_out),
        cmocka_unit_test(a_minute_is_shared),
        cmocka_unit_test(what_is_measured_again_beside_a_baseline_has_its_whole_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
