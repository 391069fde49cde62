/* data: what tables do at their ends: a test file beside a split, few rows of a class, line ends
 * within cells, numbers of lines in parts, and edited schemas of several targets. */
#define DIR "test_table_ends_tmp"
#include "data_files.h"

#include "data/inputs.h"
#include "data/open.h"
#include "data/tables/row_parts.h"
#include "recipe/relocate.h"

static bool has_note(const vkt_dataset *ds, const char *words)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    for (uint32_t i = 0; i < info->n_notes; i++)
        if (strstr(info->notes[i], words)) return true;
    return false;
}

/* A test file is the test set, whole, however the other file is split; what is dropped of it
 * counts, too. */
static void a_test_file_is_kept_whole(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    vkt__str_printf(&text, "t,g,a,y\n");
    for (int i = 0; i < 40; i++)
        vkt__str_printf(&text, "%d,g%d,%d,%c\n", i, i / 4, i * i, 'p' + i % 2);
    static const char test[] = "t,g,a,y\n3,g1,5,p\n4,g2,6,q\n99,g7,,p\n98,g7,7,p\n";
    const char *const by[][2] = { { "t", NULL }, { NULL, "g" } };
    for (size_t k = 0; k < VKT_COUNT(by); k++) {
        vkt_data_desc d = { .time = by[k][0],
                            .group = by[k][1],
                            .valid_fraction = 0.25,
                            .seed = 3,
                            .missing = VKT_MISSING_DROP,
                            .test_path = DIR "/test.csv" };
        put(d.test_path, test, strlen(test));
        vkt_dataset *ds = open_csv(text.data, d);
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        assert_int_equal(info->n[VKT_SPLIT_TEST], 3);
        assert_int_equal(info->n[VKT_SPLIT_TRAIN] + info->n[VKT_SPLIT_VALID], 40);
        assert_int_equal(info->n_dropped, 1);
        vkt_dataset_destroy(&ds);
    }
    vkt__str_finish(&text);
}

/* A share of the training rows has a row of each class, however rare. */
static void a_share_has_every_class(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    uint64_t count[2];
    vkt__str_printf(&text, "a,y\n");
    for (int i = 0; i < 100; i++) vkt__str_printf(&text, "%d,%s\n", i, i == 50 ? "rare" : "usual");
    vkt_dataset *ds = open_csv(text.data, (vkt_data_desc) { .train_fraction = 0.1, .seed = 1 });
    vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, count);
    assert_int_equal(count[0], 1);
    assert_int_equal(count[1], 10);
    vkt_dataset_destroy(&ds);
    vkt__str_finish(&text);
}

/* A first line of two numbers names no classes. */
static void a_row_of_two_numbers_is_a_row(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("4,1\n7,0\n8,1\n9,0\n3,1\n", (vkt_data_desc) { RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 5);
    vkt_dataset_destroy(&ds);
}

/* A first line is no header where one of its words stands further below again. */
static void a_word_that_comes_again_is_no_header(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        vkt__str text = { 0 };
        vkt__str_printf(&text, "first,yes\n");
        for (int i = 0; i < 40; i++)
            vkt__str_printf(&text, "w%d,%s\n", i,
                            i == 30 && again ? "yes"
                            : i % 2          ? "no"
                                             : "maybe");
        vkt_dataset *ds = open_csv(text.data, (vkt_data_desc) { .embed = "0" });
        assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 40 + again);
        vkt_dataset_destroy(&ds);
        vkt__str_finish(&text);
    }
}

/* By a time of day, too: the last hours are held out. */
static void hours_go_on(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    vkt__str_printf(&text, "t,a,y\n");
    for (int i = 0; i < 24; i++)
        vkt__str_printf(&text, "%02d:30,%d,%c\n", i * 7 % 24, i * 7 % 24, 'p' + i % 2);
    vkt_dataset *ds =
        open_csv(text.data, (vkt_data_desc) { .time = "t", .valid_fraction = 0.25, RAW });
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_SPLIT_VALID], 6);
    for (uint64_t i = 0; i < 6; i++)
        assert_true(inputs(ds, VKT_SPLIT_VALID, i, info->n_inputs)[info->n_inputs - 1] >= 18);
    vkt_dataset_destroy(&ds);
    vkt__str_finish(&text);
}

/* The line that is named is the file's, whatever ends lines, also within a cell. */
static void lines_are_the_files(void **state)
{
    (void)state;
    static const char *const ends[] = { "\n", "\r\n", "\r" };
    for (size_t e = 0; e < VKT_COUNT(ends); e++) {
        const char *n = ends[e];
        vkt__str text = { 0 };
        vkt__str_printf(&text, "a,b,y%s\"t%su\",2,x%s%sv,oops,z%sw,4,x%sq,6,z%s", n, n, n, n, n, n,
                        n);
        put(CSV, text.data, text.len);
        refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_E_FORMAT, "line 5",
               "'oops' in column 'b' is not a number");
        vkt__str_finish(&text);
    }
}

/* A file that is read in parts has its own lines, too: those of the header and of earlier parts
 * count once. */
static void lines_of_parts_are_the_files(void **state)
{
    (void)state;
    enum { ROWS = 700, CONTEXT = 16384, BAD = 650 };
    static const char *const ends[] = { "\n", "\r\n" };
    vkt_dataset *ds =
                    open_csv("what,n,y\na,1,p\nb,2,q\nc,3,p\nd,4,q\n",
                             (vkt_data_desc) { .label = "y", .text = "what", .context = CONTEXT }),
                *part;
    for (size_t e = 0; e < VKT_COUNT(ends); e++) {
        vkt__row_parts *rows;
        vkt__str s = { 0 };
        vkt_status st = VKT_OK;
        char line[40];
        unsigned n_parts = 0;
        vkt__str_printf(&s, "what%s", ends[e]);
        for (int i = 0; i < ROWS; i++) vkt__str_printf(&s, i == BAD ? "x,y%s" : "x%s", ends[e]);
        REQUIRE_OK(vkt__row_parts_open_text(s.data, s.len, "rows", &rows));
        TEST_LOG_CAPTURE();
        while (st == VKT_OK) {
            st = vkt__dataset_open_rows(vkt_dataset_schema(ds), rows, &part);
            if (st == VKT_OK && !part) break;
            if (st == VKT_OK) vkt_dataset_destroy(&part);
            n_parts++;
        }
        assert_int_equal(st, VKT_E_FORMAT);
        assert_true(n_parts > 1);
        snprintf(line, sizeof line, "'rows' line %d", BAD + 2);
        REQUIRE_LOGGED(line);
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        vkt__row_parts_close(&rows);
        vkt__str_finish(&s);
    }
    vkt_dataset_destroy(&ds);
}

/* What stands where there is no value may be below zero, too. */
static void far_values_of_both_signs(void **state)
{
    (void)state;
    static const struct {
        const char *text, *note;
    } rows[] = {
        { "bp,y\n120,p\n999,q\n140,p\n130,q\n999,p\n", "2 cells are 999, far from" },
        { "bp,y\n120,p\n-999,q\n140,p\n130,q\n-999,p\n", "2 cells are -999, far from" },
        { "bp,y\n12,p\n-99,q\n14,p\n13,q\n-99,p\n", "2 cells are -99, far from" },
        { "bp,y\n-120,p\n-999,q\n-640,p\n-130,q\n", NULL },
        { "bp,y\n1,p\n2,q\n3,p\n100000,q\n", NULL },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_dataset *ds = open_csv(rows[i].text, (vkt_data_desc) { RAW });
        assert_int_equal(has_note(ds, rows[i].note ? rows[i].note : "far from"),
                         rows[i].note != NULL);
        vkt_dataset_destroy(&ds);
    }
}

/* A column of labels without one of them has nothing to compare with. */
static void a_column_without_labels_is_none(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("a,y\n1,p\n2,q\n3,p\n", (vkt_data_desc) { RAW }), *again;
    put(DIR "/new.csv", "a,y\n1,\n2,\n", 10);
    again = open_with(ds, DIR "/new.csv");
    assert_int_equal(vkt_dataset_get_info(again)->n[VKT_SPLIT_TEST], 2);
    assert_false(vkt_dataset_get_info(again)->has_labels);
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
}

/* As many tokens as the tokenizer has may be asked for. */
static void the_tokenizers_own_size_is_taken(void **state)
{
    (void)state;
    const char *text = "what,y\na b,p\nb,q\nc,p\nd,q\n";
    vkt_data_desc d = {
        .label = "y", .text = "what", .context = 8, .tokenizer = "bytes", .vocab = 257
    };
    vkt_dataset *ds = open_csv(text, d);
    vkt_dataset_destroy(&ds);
    d.vocab = 256;
    d.source = "csv";
    d.path = CSV;
    refuse(&d, VKT_E_ARG, "data.vocab", "data.tokenizer has 257 tokens, it is 256");
}

/* Two targets of one column, or of one that the file has not, are no schema. */
static void targets_have_columns_of_their_own(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } edits[] = {
        { "\"label_position\": 2", "\"label_position\": 1" },
        { "\"label_position\": 2", "\"label_position\": 3" },
        { "\"label_position\": 2", "\"label_position\": -1" },
        { "\"label_position\": 2", "\"label_position\": 0" },
    };
    vkt_dataset *ds = open_csv("a,p,q\n1,2,3\n4,5,7\n7,8,9\n",
                               (vkt_data_desc) { .label = "p,q", .task = VKT_TASK_REGRESS }),
                *again;
    const char *json = vkt_dataset_schema(ds);
    for (size_t i = 0; i < VKT_COUNT(edits); i++) {
        const char *at = strstr(json, edits[i].from);
        vkt__str text = { 0 };
        assert_non_null(at);
        vkt__str_printf(&text, "%.*s%s%s", (int)(at - json), json, edits[i].to,
                        at + strlen(edits[i].from));
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_dataset_open_schema(text.data, CSV, &again), VKT_E_FORMAT);
        REQUIRE_LOGGED("schema: '");
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        vkt__str_finish(&text);
    }
    vkt_dataset_destroy(&ds);
}

/* Rows as lines of JSON, longer than what is looked at, cut in the middle of one. */
static void long_lines_of_json_are_a_table(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    vkt_source_info s = { 0 };
    for (int i = 0; i < 4000; i++)
        vkt__str_printf(&text, "{\"a\": %d, \"b\": \"word word\", \"y\": \"%c\"}\n", i,
                        'p' + i % 2);
    put(DIR "/rows.txt", text.data, text.len);
    assert_int_equal(vkt_source_of(DIR "/rows.txt", &s), VKT_LIKE_CONTENT);
    assert_string_equal(s.name, "csv");
    vkt__str_finish(&text);
}

/* JSON has one way to write a number, whatever the column's file had. */
static void numbers_of_json_are_numbers(void **state)
{
    (void)state;
    static const char *const files[] = { "q,y\n\"1.000,5\",p\n\"2.000,25\",q\n\"3.000,5\",p\n",
                                         "q;y\n1000,5;p\n2000,25;q\n3000,5;p\n",
                                         "q;y\n1 000,5;p\n2 000,25;q\n3 000,5;p\n",
                                         "q;y\n1000.5;p\n2000.25;q\n3000.5;p\n" };
    for (size_t i = 0; i < VKT_COUNT(files); i++) {
        static const char text[] = "{\"q\": 1234.5}\n{\"q\": 7}\n";
        vkt_dataset *ds = open_csv(files[i], (vkt_data_desc) { RAW }), *part;
        vkt__row_parts *rows;
        REQUIRE_OK(vkt__row_parts_open_text(text, sizeof text - 1, "rows", &rows));
        REQUIRE_OK(vkt__dataset_open_rows(vkt_dataset_schema(ds), rows, &part));
        assert_non_null(part);
        assert_true(inputs(part, VKT_SPLIT_TEST, 0, 1)[0] == 1234.5f);
        assert_true(inputs(part, VKT_SPLIT_TEST, 1, 1)[0] == 7);
        vkt_dataset_destroy(&part);
        vkt__row_parts_close(&rows);
        vkt_dataset_destroy(&ds);
    }
}

/* A date is one column, whatever a model makes of it. */
static void a_date_is_one_column(void **state)
{
    (void)state;
    static const char *const names[] = { "day", "a", "b" };
    vkt_dataset *ds = open_csv("day,a,b,y\n2024-01-02,1,u,p\n2024-03-04,2,v,q\n2024-05-06,3,u,p\n",
                               (vkt_data_desc) { RAW });
    vkt_data_column c;
    bool named;
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(vkt__dataset_column(ds, i, &c, &named));
        assert_string_equal(c.name, names[i]);
        assert_true(named);
        assert_int_equal(c.date, i == 0);
        assert_int_equal(c.n_values, i == 2 ? 2 : 0);
    }
    assert_false(vkt__dataset_column(ds, 3, &c, NULL));
    vkt_dataset_destroy(&ds);
}

/* A path that is neither here nor where the run read it stays as it was said. */
static void paths_stay_or_are_found(void **state)
{
    (void)state;
    vkt__arena a = { 0 };
    put(DIR "/there.csv", "1", 1);
    TEST_LOG_CAPTURE();
    assert_string_equal(vkt__path_from("there.csv", DIR, &a), DIR "/there.csv");
    assert_string_equal(vkt__path_from("nowhere.csv", DIR, &a), "nowhere.csv");
    REQUIRE_LOGGED("'nowhere.csv' is not here, nor is '" DIR "/nowhere.csv'");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    assert_string_equal(vkt__path_from(DIR "/there.csv", DIR, &a), DIR "/there.csv");
    assert_string_equal(vkt__path_from("/nowhere.csv", DIR, &a), "/nowhere.csv");
    assert_string_equal(vkt__path_from("x.csv", "", &a), "x.csv");
    assert_null(vkt__path_from(NULL, DIR, &a));
    vkt__arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_test_file_is_kept_whole),
        cmocka_unit_test(a_share_has_every_class),
        cmocka_unit_test(a_row_of_two_numbers_is_a_row),
        cmocka_unit_test(a_word_that_comes_again_is_no_header),
        cmocka_unit_test(hours_go_on),
        cmocka_unit_test(lines_are_the_files),
        cmocka_unit_test(lines_of_parts_are_the_files),
        cmocka_unit_test(far_values_of_both_signs),
        cmocka_unit_test(a_column_without_labels_is_none),
        cmocka_unit_test(the_tokenizers_own_size_is_taken),
        cmocka_unit_test(targets_have_columns_of_their_own),
        cmocka_unit_test(long_lines_of_json_are_a_table),
        cmocka_unit_test(numbers_of_json_are_numbers),
        cmocka_unit_test(a_date_is_one_column),
        cmocka_unit_test(paths_stay_or_are_found),
    };
    return cmocka_run_group_tests_name("table ends", tests, setup, teardown);
}
