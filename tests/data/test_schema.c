/* data: a schema read back gives the same examples; an edited one is refused. */
#define DIR "test_schema_tmp"
#include "data_files.h"

#include "data/open.h"

static void schema_round_trip_images(void **state)
{
    (void)state;
    for (int how = VKT_STANDARDIZE_AUTO; how <= VKT_STANDARDIZE_FEATURE; how++) {
        vkt_dataset *ds, *again;
        make_idx(DIR "/idx", 30, 9);
        REQUIRE_OK(vkt_dataset_open(
            &(vkt_data_desc) { IDX_DESC, .standardize = (vkt_standardize)how }, &ds));
        again = open_with(ds, DIR "/idx"); /* the test files */
        assert_true(vkt_dataset_get_info(again)->has_labels);
        require_same_examples(ds, VKT_SPLIT_TEST, again);
        vkt_dataset_destroy(&again);
        again = open_with(ds, DIR "/idx/train-images-idx3-ubyte.gz");
        assert_true(vkt_dataset_get_info(again)->has_labels); /* plain labels beside gzip images */
        require_same_examples(ds, VKT_SPLIT_TRAIN, again);
        vkt_dataset_destroy(&again);
        REQUIRE_OK(vkt__remove_tree(DIR "/idx/t10k-labels-idx1-ubyte.gz"));
        again = open_with(ds, DIR "/idx/t10k-images-idx3-ubyte");
        assert_false(vkt_dataset_get_info(again)->has_labels);
        require_same_examples(ds, VKT_SPLIT_TEST, again);
        vkt_dataset_destroy(&again);
        vkt_dataset_destroy(&ds);
    }
    vkt_dataset *ds, *again;
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    again = open_with(ds, DIR "/idx"); /* no test files: train */
    require_same_examples(ds, VKT_SPLIT_TRAIN, again);
    vkt_dataset_destroy(&again);
    TEST_LOG_CAPTURE();
    put(DIR "/other", bytes, idx_images(bytes, 2, 5, 4, 0));
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/other", &again),
                   VKT_E_FORMAT);
    REQUIRE_LOGGED("images of 5x4x1, not the 4x5x1");
    put(DIR "/idx/train-labels-idx1-ubyte", bytes, idx_labels(bytes, 30, 4));
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/idx", &again),
                   VKT_E_FORMAT);
    REQUIRE_LOGGED("label 3 of record 3 is outside the 3 classes");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

static void schema_round_trip_tables(void **state)
{
    (void)state;
    const char *text =
        "a,c,y,b\n0.1,u,p,1e-5\n-7.3,\"v,w\",q,1234567.891\n3,u,r,?\n1e3,\xc3\xa9,p,0\n";
    for (int task = VKT_TASK_CLASSIFY; task <= VKT_TASK_REGRESS; task++) {
        vkt_data_desc d = { .label = task == VKT_TASK_CLASSIFY ? "y" : "a",
                            .missing = VKT_MISSING_MEAN,
                            .task = (vkt_task)task };
        vkt_dataset *ds = open_csv(text, d), *again = open_with(ds, CSV);
        require_same_examples(ds, VKT_SPLIT_TRAIN, again);
        vkt_dataset_destroy(&again);
        vkt_dataset_destroy(&ds);
    }
    vkt_data_desc d = { .label = "y", .missing = VKT_MISSING_MEAN };
    vkt_dataset *ds = open_csv(text, d), *again;
    /* By name whatever the order; without label; extra columns are named in a warning. */
    const char *other =
        "b,extra,a,c\n1e-5,9,0.1,u\n1234567.891,9,-7.3,\"v,w\"\nNA,9,3,u\n0,9,1e3,\xc3\xa9\n";
    put(DIR "/new.csv", other, strlen(other));
    TEST_LOG_CAPTURE();
    again = open_with(ds, DIR "/new.csv");
    REQUIRE_LOGGED("1 column that the training data did not have is ignored: 'extra'");
    assert_false(vkt_dataset_get_info(again)->has_labels);
    require_same_examples(ds, VKT_SPLIT_TRAIN, again);
    vkt_dataset_destroy(&again);
    /* By position, without header: with and without label. */
    const char *plain = strchr(text, '\n') + 1;
    put(DIR "/new.csv", plain, strlen(plain));
    again = open_with(ds, DIR "/new.csv");
    assert_true(vkt_dataset_get_info(again)->has_labels);
    require_same_examples(ds, VKT_SPLIT_TRAIN, again);
    vkt_dataset_destroy(&again);
    const char *unlabelled = "0.1,u,1e-5\n-7.3,\"v,w\",1234567.891\n3,u,?\n1e3,\xc3\xa9,0\n";
    put(DIR "/new.csv", unlabelled, strlen(unlabelled));
    again = open_with(ds, DIR "/new.csv");
    assert_false(vkt_dataset_get_info(again)->has_labels);
    require_same_examples(ds, VKT_SPLIT_TRAIN, again);
    vkt_dataset_destroy(&again);

    static const struct {
        const char *text, *what;
    } bad[] = {
        { "1,2\n3,4\n", "has 2 columns; the model needs 4, or 3 without the label" },
        { "a,c,y,b\n1,u,s,4\n", "class 's' is not among the 3 classes" },
        { "a,c,y,q\n1,u,p,4\n", "column 'b', which the model needs" },
        { "a,c,y,b\nu,u,p,4\n", "'u' in column 'a' is not a number" },
        { "a,c,y,b\n1e300,u,p,4\n", "too far from the training data" },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        put(DIR "/new.csv", bad[i].text, strlen(bad[i].text));
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/new.csv", &again),
                       VKT_E_FORMAT);
        REQUIRE_LOGGED(bad[i].what);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "digits" }, &ds));
    size_t n;
    const void *gz = vkt_embedded("digits.csv.gz", &n);
    put(DIR "/digits.csv", gz, n);
    again = open_with(ds, DIR "/digits.csv");
    require_same_examples(ds, VKT_SPLIT_TRAIN, again);
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
}

/* The schema with each key renamed in turn must be refused; so must text that is not JSON. */
static void schema_edited(void **state)
{
    (void)state;
    vkt_dataset *ds[2], *again;
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds[0]));
    ds[1] = open_csv("a,c,y\n1,u,p\n2,v,q\n3,u,p\n", (vkt_data_desc) { RAW });
    TEST_LOG_CAPTURE();
    for (int i = 0; i < 2; i++) {
        const char *json = vkt_dataset_schema(ds[i]);
        int n_keys = 0;
        for (const char *p = strstr(json, "\": "); p; p = strstr(p + 1, "\": "), n_keys++) {
            size_t n = strlen(json) + 1;
            char *copy = memcpy(malloc(n), json, n);
            copy[p - json - 1] ^= 1;
            test_log[0] = 0;
            REQUIRE_STATUS(vkt_dataset_open_schema(copy, i == 0 ? DIR "/idx" : CSV, &again),
                           VKT_E_FORMAT);
            REQUIRE_LOGGED("schema: '");
            free(copy);
        }
        assert_true(n_keys > 5);
    }
    static const char *const edits[][2] = {
        { "\"input_shape\": [\n  3\n ]", "\"input_shape\": [3, 1, 1, 1, 1]" },
        { "\"input_shape\": [\n  3\n ]", "\"input_shape\": [4]" },
        { "\"input_shape\": [\n  3\n ]", "\"input_shape\": [-3]" },
        { "\"std\": 1.0", "\"std\": 0.0" },
        { "\"version\": 1", "\"version\": 2" },
        { "\"position\": 1", "\"position\": 2" },
        { "\"position\": 1", "\"position\": 0" },
        { "\"u\"", "\"x\"" }, /* categories out of order */
        { "\"fill\": \"u\"", "\"fill\": \"w\"" },
        { "\"class_numbers\": false", "\"class_numbers\": true" },
        { "\"q\"\n  ]", "\"q\", \"r\"\n  ]" },
    };
    for (size_t i = 0; i < VKT_COUNT(edits); i++) {
        const char *json = vkt_dataset_schema(ds[1]), *at = strstr(json, edits[i][0]);
        if (!at) fail_msg("schema lacks %s:\n%s", edits[i][0], json);
        vkt__str text = { 0 };
        vkt__str_printf(&text, "%.*s%s%s", (int)(at - json), json, edits[i][1],
                        at + strlen(edits[i][0]));
        vkt_status st = vkt_dataset_open_schema(text.data, CSV, &again);
        if (st != VKT_E_FORMAT) fail_msg("edit %zu: status %d", i, st);
        vkt__str_finish(&text);
    }
    REQUIRE_STATUS(vkt_dataset_open_schema("{", CSV, &again), VKT_E_FORMAT);
    REQUIRE_LOGGED("not JSON");
    test_log[0] = 0;
    REQUIRE_STATUS(vkt_dataset_open_schema("{\"a\\\n}", CSV, &again),
                   VKT_E_FORMAT); /* jansson quotes the line end */
    assert_ptr_equal(strchr(test_log, '\n'), test_log + strlen(test_log) - 1);
    REQUIRE_STATUS(vkt_dataset_open_schema("[]", CSV, &again), VKT_E_FORMAT);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds[0]);
    vkt_dataset_destroy(&ds[1]);
}

/* A class that lacks its value, amid its label's others. */
static void schema_class_without_value(void **state)
{
    (void)state;
    vkt_dataset *again,
        *ds = open_csv(
            "a,y,kind\n1,2,p\n2,4,q\n3,5,r\n4,9,p\n",
            (vkt_data_desc) { .label = "y,kind", .classes = "kind", .task = VKT_TASK_REGRESS });
    const char *json = vkt_dataset_schema(ds), *cut = "\"class\": \"q\",", *at = strstr(json, cut);
    if (!at) fail_msg("schema lacks %s:\n%s", cut, json);
    vkt__str text = { 0 };
    vkt__str_printf(&text, "%.*s%s", (int)(at - json), json, at + strlen(cut));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(text.data, CSV, &again), VKT_E_FORMAT);
    REQUIRE_LOGGED("'label_position' must be of one label");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt__str_finish(&text);
    vkt_dataset_destroy(&ds);
}

/* Rows of long texts come in parts of few rows, each row whole, also where a quoted cell has a line
 * end. */
static void parts_hold_few_rows(void **state)
{
    (void)state;
    enum { ROWS = 700, CONTEXT = 16384, MOST = (4 << 20) / CONTEXT, FIRST = 'a' - '!' };
    vkt_dataset *ds =
                    open_csv("what,y\na,p\nb,q\nc,p\nd,q\n",
                             (vkt_data_desc) { .label = "y", .text = "what", .context = CONTEXT }),
                *part;
    float *x = malloc(CONTEXT * sizeof *x);
    vkt__row_parts *rows;
    vkt__str s = { 0 };
    uint64_t n = 0;
    vkt_label y;
    vkt__str_printf(&s, "what\n");
    for (uint32_t i = 0; i < ROWS; i++)
        vkt__str_printf(&s, i % 3 ? "%c%cz\n" : "\"%c%cz\nx\"\n", 'a' + i % 26, 'a' + i / 26);
    REQUIRE_OK(vkt__row_parts_open_text(s.data, s.len, "rows", &rows));
    for (;;) {
        REQUIRE_OK(vkt__dataset_open_rows(vkt_dataset_schema(ds), rows, &part));
        if (!part) break;
        uint64_t k = vkt_dataset_get_info(part)->n[VKT_SPLIT_TEST];
        assert_true(k > 0 && k <= MOST);
        for (uint64_t i = 0; i < k; i++, n++) {
            REQUIRE_OK(vkt_dataset_example(part, VKT_SPLIT_TEST, i, x, &y));
            REQUIRE_NEAR((double)x[0], FIRST + (double)(n % 26), 0);
            REQUIRE_NEAR((double)x[1], FIRST + (double)(n / 26), 0);
        }
        vkt_dataset_destroy(&part);
    }
    assert_int_equal(n, ROWS);
    vkt__row_parts_close(&rows);
    vkt_dataset_destroy(&ds);
    vkt__str_finish(&s);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schema_round_trip_images),
        cmocka_unit_test(schema_round_trip_tables),
        cmocka_unit_test(schema_edited),
        cmocka_unit_test(schema_class_without_value),
        cmocka_unit_test(parts_hold_few_rows),
    };
    return cmocka_run_group_tests_name("data", tests, setup, teardown);
}
