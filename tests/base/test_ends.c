/* base: names, texts, sizes and pauses at their ends: the first, the last, none, and what is just
 * too much. */
#include "testing.h"

#include "base/in_threads.h"
#include "base/os.h"
#include "base/words.h"

/* Each status has a word of its own, and what is none is said to be unknown. */
static void each_status_has_a_name(void **state)
{
    (void)state;
    for (int i = VKT_OK; i <= VKT_E_FAILED; i++) {
        const char *name = vkt_status_name((vkt_status)i);
        assert_string_not_equal(name, "unknown");
        for (int k = VKT_OK; k < i; k++)
            assert_string_not_equal(name, vkt_status_name((vkt_status)k));
    }
    assert_string_equal(vkt_status_name(VKT_E_FAILED), "failed");
    assert_string_equal(vkt_status_name((vkt_status)(VKT_E_FAILED + 1)), "unknown");
    assert_string_equal(vkt_status_name((vkt_status)-1), "unknown");
}

/* Never more threads than there are cores, pieces of work, or than were asked for; never none. */
static void threads_are_bounded(void **state)
{
    (void)state;
    assert_true(vkt__threads_for(1 << 20, 1 << 20) <= vkt__cpu_count());
    assert_int_equal(vkt__threads_for(1, 64), 1);
    assert_int_equal(vkt__threads_for(0, 64), 1);
    assert_int_equal(vkt__threads_for(64, 1), 1);
}

/* A product that leaves 64 bits is no small allocation. */
static void sizes_do_not_wrap(void **state)
{
    (void)state;
    static const uint64_t n[] = { (1ull << 62) + 1, 1ull << 63, UINT64_MAX };
    void *p = NULL;
    for (size_t i = 0; i < VKT_COUNT(n); i++) {
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__alloc_large(n[i], 4, "a test", &p), VKT_E_OOM_HOST);
        REQUIRE_LOGGED("no memory for a test: ");
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        assert_null(p);
    }
    REQUIRE_OK(vkt__alloc_large(0, 4, "a test", &p));
    assert_non_null(p);
    free(p);
}

/* Each byte that is of no character becomes a mark, and nothing of the rest is lost. */
static void bytes_of_no_character_are_marked(void **state)
{
    (void)state;
#define MARK "\xef\xbf\xbd"
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "", "" },
        { "a\xc3\xa9z", "a\xc3\xa9z" },
        { "\xff", MARK },
        { "a\xe2\x82", "a" MARK MARK },
        { "\xe2\x28\xa1", MARK "(" MARK },
        { "\xc0\x80x", MARK MARK "x" },
        { "\xf0\x9f\x99\x82\xf0\x9f", "\xf0\x9f\x99\x82" MARK MARK },
        { "\xed\xa0\x80", MARK MARK MARK },
    };
    vkt__arena a = { 0 };
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        assert_string_equal(vkt__utf8_text(rows[i].text, strlen(rows[i].text), &a), rows[i].want);
    vkt__arena_finish(&a);
}

/* At least as long as was asked, and not a thousand times as long, unless the machine is busy. */
static void a_pause_has_its_length(void **state)
{
    (void)state;
    static const unsigned us[] = { 1, 999, 1500 };
    for (size_t i = 0; i < VKT_COUNT(us); i++) {
        double least = INFINITY;
        for (int k = 0; k < 4; k++) {
            double begin = vkt__now();
            vkt__sleep_us(us[i]);
            least = fmin(least, vkt__now() - begin);
        }
        assert_true(least < 0.9);
        assert_true(least > 0.9e-6 * us[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_has_a_name),
        cmocka_unit_test(threads_are_bounded),
        cmocka_unit_test(sizes_do_not_wrap),
        cmocka_unit_test(bytes_of_no_character_are_marked),
        cmocka_unit_test(a_pause_has_its_length),
    };
    return cmocka_run_group_tests_name("ends", tests, NULL, NULL);
}
