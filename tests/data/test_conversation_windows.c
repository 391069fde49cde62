/* data: windows of whole conversations, and those of a file as a data set: too long ones, pairs.
 * What counts in one is test_conversation's. */
#include "testing.h"

#include "data/dataset.h"
#include "data/text/packing.h"

#define DIR "test_conversation_windows_tmp"
#include "own_folder.h"
#include "text_files.h"

static void test_windows(void **state)
{
    static const uint64_t begin[] = { 0, 3, 6, 15, 19, 20 }; /* lengths 3 3 9 4 1 */
    static const struct {
        vkt_too_long how;
        size_t n;
        vkt__window want[4];
    } rows[] = { { VKT_TOO_LONG_LEFT, 3, { { 0, 6 }, { 9, 6 }, { 15, 5 } } },
                 { VKT_TOO_LONG_SKIP, 2, { { 0, 6 }, { 15, 5 } } } };
    vkt__window *w;
    size_t n;
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        REQUIRE_OK(vkt__pack_windows(begin, 5, 5, rows[i].how, "d", &w, &n));
        assert_int_equal(n, rows[i].n);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(w[k].at, rows[i].want[k].at);
            assert_int_equal(w[k].n, rows[i].want[k].n);
        }
        free(w);
    }
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__pack_windows(begin, 5, 5, VKT_TOO_LONG_STOP, "d", &w, &n), VKT_E_FORMAT);
    REQUIRE_LOGGED("1 of 5 conversations are longer than data.context");
    free(w);
}

/* Each window of a data set begins with a conversation and holds whole ones. */
static void test_data(void **state)
{
    uint32_t x[64], y[64];
    vkt__str s = { 0 };
    (void)state;
    for (int i = 0; i < 40; i++)
        vkt__str_printf(&s,
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"%.*s\"},{\"role\":"
                        "\"assistant\",\"content\":\"%d\"}]}\n",
                        1 + i % 7, "qqqqqqqq", i % 10);
    vkt__str_printf(&s, "{\"no\": 1}\n");
    put(DIR "/chats.jsonl", s.data);
    vkt__str_finish(&s);
    vkt_data_desc d = { .source = "text", .path = DIR "/chats.jsonl", .context = 64 };
    vkt_dataset *ds;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open(&d, &ds), VKT_E_FORMAT);
    REQUIRE_LOGGED("line 41: neither \"text\"");
    d.skip_bad_lines = true;
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    REQUIRE_LOGGED("1 of 41 lines are left out; the first is "
                   "'test_conversation_windows_tmp/chats.jsonl' line 41");
    uint64_t n = vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], answers = 0;
    for (uint64_t i = 0; i < n; i++) {
        vkt_dataset_window(ds, VKT_SPLIT_TRAIN, i, x, y);
        assert_memory_equal(((uint32_t[]) { 'u', 's', 'e', 'r', ':' }), x, 5 * sizeof *x);
        for (int k = 0; k < 64; k++) {
            assert_true(y[k] == VKT_NO_TOKEN || (y[k] >= '0' && y[k] <= '9') || y[k] == 256);
            answers += y[k] == 256;
        }
    }
    assert_int_equal(answers, 40);
    /* A run of an earlier version may have counted others. */
    const char *now = vkt_dataset_schema(ds);
    char *schema = strcpy(vkt__alloc(strlen(now) + 1), now), *rules;
    assert_false(vkt__dataset_reads_anew(ds, schema));
    assert_non_null(rules = strstr(schema, "vktrain_rules"));
    *rules = 'x';
    assert_true(vkt__dataset_reads_anew(ds, schema));
    free(schema);
    vkt_dataset_destroy(&ds);
}

#define SHORT                                                                                      \
    "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",\"content\":\"%" \
    "d\"}]}\n"

/* 20 short conversations, and as the fifth one of n more bytes. */
static void write_one_long(size_t n)
{
    vkt__str s = { 0 };
    char *x = vkt__alloc(n);
    memset(x, 'x', n);
    for (int i = 0; i < 20; i++) {
        vkt__str_printf(&s, SHORT, i % 10);
        if (i != 3) continue;
        vkt__str_printf(&s, "{\"messages\":[{\"role\":\"user\",\"content\":\"");
        vkt__str_add(&s, x, n);
        vkt__str_printf(&s, "\"},{\"role\":\"assistant\",\"content\":\"a\"}]}\n");
    }
    put(DIR "/long.jsonl", s.data);
    vkt__str_finish(&s);
    free(x);
}

/* Its tokens are most of the file's, but no split is given them in place of short ones. */
static void test_a_long_one_is_no_split(void **state)
{
    vkt_data_desc d = { .source = "text",
                        .path = DIR "/long.jsonl",
                        .context = 30,
                        .valid_fraction = 0.3,
                        .test_fraction = 0.2 };
    vkt_dataset *ds;
    (void)state;
    write_one_long(5000);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open(&d, &ds), VKT_E_FORMAT);
    REQUIRE_LOGGED("1 of ");
    for (d.too_long = VKT_TOO_LONG_LEFT; d.too_long <= VKT_TOO_LONG_SKIP; d.too_long++) {
        REQUIRE_OK(vkt_dataset_open(&d, &ds));
        const uint64_t *n = vkt_dataset_get_info(ds)->n;
        bool left = d.too_long == VKT_TOO_LONG_LEFT;
        assert_int_equal(n[0] + n[1] + n[2], left ? 21 : 20);
        assert_true(n[VKT_SPLIT_TEST] >= 3 && n[VKT_SPLIT_TEST] <= 5);
        assert_true(n[VKT_SPLIT_VALID] >= 4 && n[VKT_SPLIT_VALID] <= 6);
        vkt_dataset_destroy(&ds);
    }
}

/* A line that is longer than a line may be is not parsed. */
static void test_a_line_of_33_MiB(void **state)
{
    vkt_data_desc d = { .source = "text", .path = DIR "/long.jsonl", .context = 30 };
    vkt_dataset *ds;
    (void)state;
    write_one_long(33 << 20);
    for (d.too_long = VKT_TOO_LONG_STOP; d.too_long <= VKT_TOO_LONG_LEFT; d.too_long++) {
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_dataset_open(&d, &ds), VKT_E_FORMAT);
        REQUIRE_LOGGED(
            "long.jsonl' line 5: it has 33.0 MiB, a line may have 32: cut it up, or leave "
            "it out (data.too_long: skip)");
    }
    for (int bad = 0; bad < 2; bad++) {
        d.too_long = bad ? VKT_TOO_LONG_STOP : VKT_TOO_LONG_SKIP;
        d.skip_bad_lines = bad;
        TEST_LOG_CAPTURE();
        REQUIRE_OK(vkt_dataset_open(&d, &ds));
        REQUIRE_LOGGED(
            "1 of 21 lines are left out; the first is 'test_conversation_windows_tmp/long.jsonl' "
            "line 5: it has 33.0 MiB");
        assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 20);
        vkt_dataset_destroy(&ds);
    }
}

/* Pairs stay together: both of their windows, cut at the left or left out where one is too long;
 * and both go to the same split. */
static void test_windows_of_pairs(void **state)
{
    static const uint64_t begin[] = { 0, 3, 6, 15, 19, 20, 24 }; /* lengths 3 3, 9 4, 1 4 */
    vkt__window *w;
    size_t n;
    (void)state;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__pack_pairs(begin, 6, 6, VKT_TOO_LONG_STOP, "p", &w, &n), VKT_E_FORMAT);
    REQUIRE_LOGGED("1 of 3 conversations are longer");
    free(w);
    REQUIRE_OK(vkt__pack_pairs(begin, 6, 6, VKT_TOO_LONG_LEFT, "p", &w, &n));
    assert_int_equal(n, 3);
    assert_true(w[2].at == 8 && w[2].n == 7 && w[3].at == 15 && w[3].n == 4);
    free(w);
    REQUIRE_OK(vkt__pack_pairs(begin, 6, 6, VKT_TOO_LONG_SKIP, "p", &w, &n));
    assert_int_equal(n, 2);
    assert_true(w[1].at == 3 && w[2].at == 19 && w[3].at == 20);
    free(w);

    vkt__str text = { 0 };
    for (int i = 0; i < 20; i++)
        vkt__str_printf(&text, "{\"prompt\":\"%c\",\"chosen\":\"y\",\"rejected\":\"no\"}\n",
                        'a' + i);
    put(DIR "/pairs.jsonl", text.data);
    vkt__str_finish(&text);
    vkt_data_desc d = { .source = "text",
                        .path = DIR "/pairs.jsonl",
                        .tokenizer = "bytes",
                        .context = 4,
                        .packing = VKT_PACKING_PAIRS,
                        .valid_fraction = 0.5 };
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_true(info->pairs);
    assert_int_equal(info->n[VKT_SPLIT_TRAIN] + info->n[VKT_SPLIT_VALID], 20);
    assert_true(info->n[VKT_SPLIT_VALID] >= 9 && info->n[VKT_SPLIT_VALID] <= 11);
    for (int split = VKT_SPLIT_TRAIN; split <= VKT_SPLIT_VALID; split++)
        for (uint64_t i = 0; i < info->n[split]; i++) {
            uint32_t x[8], y[8];
            vkt_dataset_window(ds, (vkt_split)split, i, x, y);
            assert_int_equal(x[0], x[4]); /* the same prompt */
            const uint32_t want[] = { 'y', 256, VKT_NO_TOKEN, VKT_NO_TOKEN,
                                      'n', 'o', 256,          VKT_NO_TOKEN };
            assert_memory_equal(y, want, sizeof want);
        }
    vkt_dataset_destroy(&ds);
    d.context = 1;
    REQUIRE_STATUS(vkt_dataset_open(&d, &ds), VKT_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_a_long_one_is_no_split),
        cmocka_unit_test(test_a_line_of_33_MiB),
        cmocka_unit_test(test_windows_of_pairs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
