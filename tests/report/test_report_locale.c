/* report: a study's page is the same whatever the decimal point of the program's locale. */
#define DIR "test_report_locale_tmp"
#include "own_folder.h"

#include "comma_locale.h"
#include "report/study_view.h"
#include "vktrain/report.h"

static const char study[] =
    "{\"format\":\"vktrain study\",\"kind\":\"lr\",\"metric\":\"loss\",\"metric_sign\":-1,"
    "\"trials\":["
    "{\"name\":\"t-000\",\"group\":\"sweep\",\"state\":\"done\",\"set\":[\"optim.lr=0.0015\"],"
    "\"best\":0.75,\"final_loss\":0.5,\"step_ms\":1.25,\"items_per_s\":1000.5},"
    "{\"name\":\"t-001\",\"group\":\"sweep\",\"state\":\"done\",\"set\":[\"optim.lr=0.015\"],"
    "\"best\":0.25,\"final_loss\":0.125,\"step_ms\":1.5,\"items_per_s\":900.25},"
    "{\"name\":\"t-002\",\"group\":\"sweep\",\"state\":\"done\",\"set\":[\"optim.lr=0.15\"],"
    "\"best\":0.5,\"final_loss\":0.25,\"step_ms\":1.75,\"items_per_s\":800.75}],"
    "\"chosen\":[[\"lr*\",\"0.015\"]]}";

static char *page(const char *name)
{
    const char *path = DIR;
    char out[64], *data;
    size_t n;
    vkt_report_result r;
    snprintf(out, sizeof out, DIR "/%s.html", name);
    REQUIRE_OK(vkt_report_write(
        &(vkt_report_desc) { .paths = &path, .n_paths = 1, .out = out, .no_png = true }, &r));
    REQUIRE_OK(vkt__file_read(out, 1 << 24, &data, &n));
    return data;
}

static void a_comma_changes_nothing(void **state)
{
    (void)state;
    REQUIRE_OK(vkt__file_replace(DIR "/study.json", study, sizeof study - 1));
    char *want = page("c");
    assert_non_null(strstr(want, "<circle"));
    if (comma_locale()) {
        char *got = page("comma");
        setlocale(LC_NUMERIC, "C");
        assert_string_equal(got, want);
        free(got);
    }
    free(want);
}

static void a_page_of_nothing_is_refused(void **state)
{
    (void)state;
    vkt_report_result r;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_report_write(&(vkt_report_desc) { .out = DIR "/none.html" }, &r), VKT_E_ARG);
    REQUIRE_LOGGED("no run or study is given");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* The options that trials of the question set, in their order; those of checks are asked for. */
static void options_of_trials(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\":\"vktrain study\",\"trials\":["
        "{\"name\":\"a\",\"group\":\"seeds\",\"set\":[\"data.seed=1\",\"optim.lr=2\"],\"best\":1},"
        "{\"name\":\"b\",\"group\":\"search\",\"set\":[\"optim.lr=1\",\"optim.lr_end=0\",5]},"
        "{\"name\":\"c\",\"group\":\"sweep\",\"set\":[\"optim.rule=adam\",\"optim.lr=3\"]}]}";
    vkt__study_view s = { .dir = DIR };
    char keys[VKT__MAX_AXES][64];
    REQUIRE_OK(vkt__file_replace(DIR "/study.json", text, sizeof text - 1));
    REQUIRE_OK(vkt__study_view_load(&s));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.sign, -1);
    assert_string_equal(s.t[1].label, "b optim.lr=1 optim.lr_end=0 ");
    assert_true(s.t[0].best == 1 && isnan(s.t[1].best));
    assert_int_equal(vkt__study_keys(&s, false, keys), 3);
    assert_string_equal(keys[0], "optim.lr");
    assert_string_equal(keys[1], "optim.lr_end");
    assert_string_equal(keys[2], "optim.rule");
    assert_int_equal(vkt__study_keys(&s, true, keys), 4);
    assert_string_equal(keys[0], "data.seed");
    assert_string_equal(vkt__trial_value(&s.t[1], "optim.lr"), "1");
    assert_null(vkt__trial_value(&s.t[1], "optim"));
    vkt__study_view_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(options_of_trials, setup, teardown),
        cmocka_unit_test_setup_teardown(a_comma_changes_nothing, setup, teardown),
        cmocka_unit_test(a_page_of_nothing_is_refused),
    };
    return cmocka_run_group_tests_name("report locale", tests, NULL, NULL);
}
