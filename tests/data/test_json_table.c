/* data: tables as JSON lines, which give what the same table gives as CSV. */
#define DIR "test_json_table_tmp"
#include "data_files.h"

#define LINES DIR "/t.jsonl"

static void put_lines(const char *text)
{
    put(LINES, text, strlen(text));
}

static vkt_dataset *open_lines(const char *text, vkt_data_desc d)
{
    vkt_dataset *ds;
    put_lines(text);
    d.source = "csv";
    d.path = LINES;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    return ds;
}

static const char csv[] = "a,town,b,kind\n1,Kiel,true,u\n0.1,\"Bad \"\"Ems\"\", x\",false,v\n"
                          "-3e20,Kiel,,u\n4,\"two\nlines\",true,v\n",
                  lines[] = "{\"a\": 1, \"town\": \"Kiel\", \"b\": true, \"kind\": \"u\"}\n\n"
                            "{\"town\": \"Bad \\\"Ems\\\", x\", \"kind\": \"v\", \"b\": false, "
                            "\"a\": 0.1}\r\n"
                            "{\"a\": -3e20, \"town\": \"Kiel\", \"b\": null, \"kind\": \"u\"}\n"
                            "{\"a\": 4, \"town\": \"two\\nlines\", \"b\": true, \"kind\": \"v\"}";

static void lines_are_what_csv_is(void **state)
{
    (void)state;
    vkt_data_desc d = { .label = "kind", .missing = VKT_MISSING_MEAN };
    vkt_dataset *a = open_csv(csv, d), *b = open_lines(lines, d), *again;
    assert_int_equal(vkt_dataset_get_info(b)->n[VKT_SPLIT_TRAIN], 4);
    assert_string_equal(vkt_dataset_schema(a), vkt_dataset_schema(b));
    for (uint64_t i = 0; i < 4; i++) assert_int_equal(class_of(a, i), class_of(b, i));
    vkt_dataset_destroy(&b);
    /* Under the schema of the one the other is evaluated, with its labels. */
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(a), LINES, &again));
    assert_true(vkt_dataset_get_info(again)->has_labels);
    assert_int_equal(vkt_dataset_get_info(again)->n[VKT_SPLIT_TEST], 4);
    require_same_examples(a, VKT_SPLIT_TRAIN, again);
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&a);
}

/* Names are names though they look like numbers, keys may come late, and what a line lacks is
 * blank. */
static void keys_name_columns(void **state)
{
    (void)state;
    vkt_dataset *ds = open_lines(
        "\xef\xbb\xbf{\"1\": 5, \"2\": \"u\"}\n \t\n{\"2\": \"v\", \"3\": 7, \"1\": 6}\n",
        (vkt_data_desc) { .label = "2", .missing = VKT_MISSING_MEAN, RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 2);
    const float *x = inputs(ds, VKT_SPLIT_TRAIN, 1, 2);
    assert_true(x[0] == 6 && x[1] == 7);
    vkt_dataset_destroy(&ds);
}

static void bad_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
    } rows[] = {
        { "{\"a\": 1, \"k\": \"u\"}\n\n{\"a\": [1], \"k\": \"v\"}\n", "line 3",
          "'a' must be a text, a number, true, false or null" },
        { "{\"a\": 1, \"k\": \"u\"}\n{\"a\": 1, \"k\": {}}\n", "line 2", "'k' must be" },
        { "{\"a\": \"x\\u0000y\", \"k\": \"u\"}\n", "line 1", "u0000 is not allowed" },
        { "{\"a\": 1, \"k\": \"u\"}\n[7]\n", "line 2",
          "is not a JSON object of column names: write {\"COLUMN\": VALUE, ...}" },
        { "{\"a\": 1, \"k\": \"u\"}\n{\"a\": 1, \"k\": \"u\"", "line 2", "'}' expected" },
        { "{\"a\": 1, \"a\": 2, \"k\": \"u\"}\n", "line 1", "duplicate" },
        { "{\"a\": 1}\n{\"a\": 2}\n", LINES, "has one column" },
        /* A cell of two lines before it does not count. */
        { "{\"a\": 1, \"b\": \"x\\ny\", \"k\": \"u\"}\n{\"a\": 2, \"b\": \"z\", \"k\": \"v\"}\n"
          "{\"a\": null, \"b\": \"z\", \"k\": \"v\"}\n",
          "line 3", "no value in column 'a'" },
        /* Blank lines do, also where the table's reader finds what is wrong. */
        { "{\"a\": 1, \"k\": \"u\"}\n\n \n{\"a\": 2, \"k\": \"v\"}\n\n{\"a\": null, \"k\": "
          "\"v\"}\n",
          "line 6", "no value in column 'a'" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        put_lines(rows[i].text);
        refuse(&(vkt_data_desc) { .source = "csv", .path = LINES, .label = "k" }, VKT_E_FORMAT,
               rows[i].where, rows[i].what);
    }
    vkt_dataset *ds = open_csv("1,2,u\n3,4,v\n", (vkt_data_desc) { .header = "no", RAW }), *other;
    TEST_LOG_CAPTURE();
    put_lines(lines);
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), LINES, &other), VKT_E_FORMAT);
    REQUIRE_LOGGED("the training data had no column names: give CSV");
    vkt_dataset_destroy(&ds);
}

/* By its content: rows are a table's, texts and conversations a language model's. */
static void a_table_is_told_from_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *source;
    } rows[] = {
        { lines, "csv" },
        { "\n  {\"a\": 1, \"b\": null}\n", "csv" },
        { "{\"text\": \"x\", \"label\": 1}\n", "text" },
        { "{\"prompt\": \"x\", \"completion\": \"y\"}\n", "text" },
        { "{\"messages\": [], \"id\": 3}\n", "text" },
        { "{\"a\": 1, \"b\": [2]}\n", "text" },
        { "{\"a\": 1}\n", "text" },
        { "{\"a\": 1, \"b\": \n", "text" },
        { "", "text" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_source_info s;
        put_lines(rows[i].text);
        assert_int_not_equal(vkt_source_of(LINES, &s), VKT_LIKE_NONE);
        assert_string_equal(s.name, rows[i].source);
    }
    vkt_table_advice *a;
    put_lines(lines);
    REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = LINES }, &a));
    assert_true(a->n_rows == 4 && a->n_columns == 4 && a->header && a->delimiter == 0);
    assert_string_equal(a->columns[1].name, "town");
    vkt_table_advice_destroy(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_what_csv_is),
        cmocka_unit_test(keys_name_columns),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(a_table_is_told_from_texts),
    };
    return cmocka_run_group_tests_name("json_table", tests, setup, teardown);
}
