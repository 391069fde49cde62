/* data: CSV parsing, columns, labels and missing cells, from files made here. */
#define DIR "test_csv_tmp"
#include "base/number.h"
#include "data_files.h"

#include <locale.h>

static void csv_dialects(void **state)
{
    (void)state;
    static const char *const same[] = {
        "a,b,y\n1,2.5,x\n-3,4e2,z\n",
        "\357\273\277a,b,y\r\n1,2.5,x\r\n-3,4e2,z",
        "a;b;y\n1;2.5;x\n-3;4e2;z\n",
        "a\tb\ty\r1\t2.5\tx\r-3\t4e2\tz\r",
        "\n\"a\",\"b\",\"y\"\n\n\"1\", 2.50 ,\"x\"\n  -3,+400.,  z  \n\n",
        "1,2.5,x\n-3,4e2,z\n",
    };
    for (size_t i = 0; i < VKT_COUNT(same); i++) {
        vkt_dataset *ds = open_csv(same[i], (vkt_data_desc) { RAW });
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        assert_int_equal(info->n[VKT_SPLIT_TRAIN], 2);
        assert_int_equal(info->n_outputs, 2);
        assert_string_equal(info->class_names[0], "x");
        assert_string_equal(info->class_names[1], "z");
        const float *x = inputs(ds, VKT_SPLIT_TRAIN, 0, 2);
        assert_true(x[0] == 1 && x[1] == 2.5f);
        x = inputs(ds, VKT_SPLIT_TRAIN, 1, 2);
        assert_true(x[0] == -3 && x[1] == 400);
        vkt_dataset_destroy(&ds);
    }
    vkt_dataset *ds = open_csv("1 2.5 x\n-3 4e2 z\n", (vkt_data_desc) { .delimiter = ' ', RAW });
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 1, 2)[1] == 400);
    vkt_dataset_destroy(&ds);
    /* Delimiters, quotes and line ends inside quotes; a delimiter given. */
    ds = open_csv("v|y\n1|\"a,\"\"b\"\"|\nc\"\n2|\"d\"\n",
                  (vkt_data_desc) { .delimiter = '|', RAW });
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "a,\"b\"|\nc");
    vkt_dataset_destroy(&ds);
}

static void csv_numbers(void **state)
{
    (void)state;
    static const char *const good[] = { "0",
                                        "-0",
                                        "+7",
                                        ".5",
                                        "5.",
                                        "1e3",
                                        "1E-3",
                                        "2.5e+2",
                                        "0.1",
                                        "123456789012345",
                                        "1e22",
                                        "1e23",
                                        "1e-22",
                                        "1e-23",
                                        "0.30000000000000004",
                                        "9007199254740993",
                                        "179769313486231570e291",
                                        "0.000000000000000000000000000001234567890123456789",
                                        "4.9e-324",
                                        "1e-999",
                                        "00000000000000000000000000012.5",
                                        "3.14159265358979323846264338327950288" };
    static const char *const bad[] = {
        "",      "-",    "+",   ".",   "e5",  "1e",  "1e+",   "1,5",
        "1.2.3", "0x10", "inf", "nan", "1 2", "--1", "1e999", "12a"
    };
    double v;
    for (size_t i = 0; i < VKT_COUNT(good); i++) {
        if (!vkt__number(good[i], &v)) fail_msg("%s is a number", good[i]);
        if (v != strtod(good[i], NULL)) fail_msg("%s is not %.17g", good[i], v);
    }
    for (size_t i = 0; i < VKT_COUNT(bad); i++)
        if (vkt__number(bad[i], &v)) fail_msg("'%s' is not a number", bad[i]);
    /* Whatever double is printed comes back, on the fast path and the slow one. */
    for (uint64_t i = 0; i < 20000; i++) {
        char text[64];
        double want = (vkt_rand_uniform(1, VKT_RNG_TEST, 2 * i) - 0.5) *
                      pow(10, vkt_rand_uniform(1, VKT_RNG_TEST, 2 * i + 1) * 40 - 20);
        snprintf(text, sizeof text, "%.*g", (int)(i % 17) + 1, want);
        assert_true(vkt__number(text, &v) && v == strtod(text, NULL));
    }
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        assert_true(vkt__number("3.14159265358979323846", &v) && v == 314159265358979323846e-20);
        setlocale(LC_NUMERIC, "C");
    }
}

static void csv_header_and_label_choice(void **state)
{
    (void)state;
    vkt_dataset *ds =
        open_csv("\xef\xbb\xbfkind,b\np,1\nq,2\n", (vkt_data_desc) { .label = "kind", RAW });
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 1, 1)[0] == 2);
    vkt_dataset_destroy(&ds);
    /* label first, as a letter, no header; by position; by name; header that could be data. */
    ds = open_csv("T,2,8\nI,5,12\nD,4,11\n", (vkt_data_desc) { .label = "0", RAW });
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "D");
    assert_int_equal(class_of(ds, 0), 2);
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 2, 2)[1] == 11);
    vkt_dataset_destroy(&ds);
    /* A position that is also a value of the first row is no header. */
    ds = open_csv("0,7,0\n1,8,0\n", (vkt_data_desc) { .label = "0", RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 2);
    vkt_dataset_destroy(&ds);
    ds = open_csv("y,a\np,1\nq,2\n", (vkt_data_desc) { .label = "y", RAW });
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 1, 1)[0] == 2);
    vkt_dataset_destroy(&ds);
    ds = open_csv("size,y\nbig,no\nsmall,yes\n", (vkt_data_desc) { RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 2);
    vkt_dataset_destroy(&ds);
    ds = open_csv("big,no\nsmall,yes\nbig,yes\n", (vkt_data_desc) { RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 3);
    vkt_dataset_destroy(&ds);
    ds = open_csv("1990,y\n1,2\n3,4\n", (vkt_data_desc) { .header = "yes", RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 2);
    vkt_dataset_destroy(&ds);
    /* Classes that are numbers are in numeric order, and 2 is 2.0. */
    ds = open_csv("1,10\n1,2\n1,-1\n1,2.0\n", (vkt_data_desc) { RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 3);
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "-1");
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[2], "10");
    assert_int_equal(class_of(ds, 3), class_of(ds, 1));
    vkt_dataset_destroy(&ds);
}

static void csv_columns_are_standardised_on_train(void **state)
{
    (void)state;
    char text[4096] = "a,colour,same,y\n";
    for (int i = 0; i < 60; i++)
        sprintf(text + strlen(text), "%d,%s,0.1,%d\n", i * i,
                i % 3 == 0   ? "red"
                : i % 3 == 1 ? "green"
                             : "blue",
                i % 2);
    vkt_dataset *ds = open_csv(text, (vkt_data_desc) { .valid_fraction = 0.3, .seed = 4 });
    uint64_t n = vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN];
    double sum = 0, sq = 0;
    for (uint64_t i = 0; i < n; i++) {
        const float *x = inputs(ds, VKT_SPLIT_TRAIN, i, 5); /* a, blue, green, red, same */
        sum += x[0], sq += (double)x[0] * x[0];
        assert_true(x[1] + x[2] + x[3] == 1 && (x[1] == 1 || x[2] == 1 || x[3] == 1));
        assert_true(x[4] == 0);
    }
    REQUIRE_NEAR(sum / (double)n, 0, 1e-6);
    REQUIRE_NEAR(sq / (double)n, 1, 1e-6);
    vkt_dataset_destroy(&ds);
    ds = open_csv("1,30,x\n2,50,z\n", (vkt_data_desc) { .standardize = VKT_STANDARDIZE_GLOBAL });
    double m = 83 / 4.0, v = (1 + 900 + 4 + 2500) / 4.0 - m * m;
    REQUIRE_NEAR(inputs(ds, VKT_SPLIT_TRAIN, 1, 2)[1], (50 - m) / sqrt(v), 1e-6);
    vkt_dataset_destroy(&ds);
}

static void csv_missing_policies(void **state)
{
    (void)state;
    const char *text = "a,c,y\n1,w,p\n?,w,q\n5,NA,p\n6,v,q\nNaN,v,p\n8,,q\n,w,p\n";
    vkt_dataset *ds = open_csv(text, (vkt_data_desc) { .missing = VKT_MISSING_DROP, RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 2);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 5);
    vkt_dataset_destroy(&ds);
    ds = open_csv(text, (vkt_data_desc) { .missing = VKT_MISSING_MEAN, RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 7);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 0);
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 1, 4)[0] == 5); /* mean of 1 5 6 8 */
    const float *x = inputs(ds, VKT_SPLIT_TRAIN, 2, 4);
    assert_true(x[1] == 1 && x[2] == 0 && x[3] == 0); /* blank is a category of its own */
    vkt_dataset_destroy(&ds);
    put_csv(text);
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_E_FORMAT, CSV "' line 3",
           "no value in column 'a'");
    put_csv("a,y\n,p\n,q\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .missing = VKT_MISSING_DROP },
           VKT_E_FORMAT, CSV, "all 2 rows");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .missing = VKT_MISSING_MEAN },
           VKT_E_FORMAT, CSV, "column 'a' has no value");
}

static void csv_regression(void **state)
{
    (void)state;
    vkt_dataset *ds =
        open_csv("a,price\n1,10\n2,20\n3,60\n", (vkt_data_desc) { .task = VKT_TASK_REGRESS });
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    double scale, mean;
    float x[1];
    vkt_label y;
    assert_int_equal(info->n_outputs, 1);
    assert_null(info->class_names);
    vkt_dataset_target_scale(ds, 0, &scale, &mean);
    REQUIRE_NEAR(mean, 30, 1e-12);
    REQUIRE_NEAR(scale, sqrt((400 + 100 + 900) / 3.0), 1e-12);
    vkt_dataset_example(ds, VKT_SPLIT_TRAIN, 2, x, &y);
    REQUIRE_NEAR(y.f * scale + mean, 60, 1e-5);
    vkt_dataset_destroy(&ds);
    /* The scale is the training rows' own, whatever stands elsewhere. */
    char text[2048] = "a,price\n";
    for (int i = 0; i < 60; i++) sprintf(text + strlen(text), "%d,%d\n", i, i * i * i);
    ds = open_csv(text,
                  (vkt_data_desc) { .task = VKT_TASK_REGRESS, .valid_fraction = 0.3, .seed = 4 });
    uint64_t n = vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN];
    double sum = 0, sq = 0;
    for (uint64_t i = 0; i < n; i++) {
        vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i, x, &y);
        sum += (double)y.f, sq += (double)y.f * (double)y.f;
    }
    assert_int_equal(n, 42);
    REQUIRE_NEAR(sum / (double)n, 0, 1e-6);
    REQUIRE_NEAR(sq / (double)n, 1, 1e-6);
    vkt_dataset_destroy(&ds);
    put_csv("a,price\n1,10\n2,cheap\n3,60\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .task = VKT_TASK_REGRESS },
           VKT_E_FORMAT, CSV "' line 3", "'cheap' in column 'price' is not a number");
}

static void csv_class_line(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("4,3,benign,malign\n1,2,3,0\n4,5,6,1\n7,8,9,1\n0,0,0,0\n",
                               (vkt_data_desc) { RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 4);
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[1], "malign");
    assert_int_equal(class_of(ds, 1), 1);
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 2, 3)[2] == 9);
    vkt_dataset_destroy(&ds);
    /* iris: as many cells as a row. */
    ds = open_csv("2,2,pos\n1,2,0\n3,4,0\n", (vkt_data_desc) { RAW });
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "pos");
    vkt_dataset_destroy(&ds);
    put_csv("5,3,benign,malign\n1,2,3,0\n4,5,6,1\n7,8,9,1\n0,0,0,0,0\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_E_FORMAT, "line 5",
           "has 5 cells");
    put_csv("9,2,benign,malign\n1,2,0\n4,5,1\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_E_FORMAT, "line 1",
           "promises 9 rows, the file has 2");
    put_csv("2,2,benign,malign\n1,2,0\n4,5,7\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_E_FORMAT, "line 3",
           "class '7' is not among the 2");
}

static void csv_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
    } bad[] = {
        { "", CSV, "is empty" },
        { "\n\r\n", CSV, "is empty" },
        { "a,b,y\n", CSV, "a header but no rows" },
        { "a,b,y\n1,2,x\n1,2\n", "line 3", "has 2 cells where the line before has 3" },
        { "a,b,y\n1,2\n1,2\n", "line 2", "has 2 cells where the line before has 3" },
        { "a,b,y\n1,2,x\n1,\"2\n3,4,z\n", "line 3", "never closed" },
        { "a,b,y\n1,2,x\n1,\"2\"3,z\n", "line 3", "text after a closing quote" },
        { "a,b,y\n1,2,x\n1,2\"3,z\n", "line 3", "a quote inside a cell" },
        { "a,b,y\n1,2,x\n\"1\n\n\",oops,z\n3,4,x\n5,6,z\n", "line 3", "is not a number" },
        { "a,b,y\n1,2,x\n3,4,z\n5,oops,z\n", "line 4", "'oops' in column 'b' is not a number" },
        { "a,b,y\n1,2,x\n3,0x10,z\n5,1,z\n", "line 3", "'0x10' in column 'b' is not a number" },
        { "a,b,y\n1,2,x\n3,1e999,z\n5,1,z\n", "line 3", "is not a number" },
        { "a,b,y\n1,1e200,x\n3,1,z\n5,1,z\n", CSV, "too large to standardise" },
        { "a\n1\n2\n", CSV, "has one column" },
        { "\"to\ntal\",y\n1,x\n?,z\n", "line 4", "column 'to tal'" },
        { "a,b,y\n1,2,x\n3,4,x\n", CSV, "is 'x' everywhere" },
        { "a,b,y\n1,2,\xff\n3,4,\xc3\xb6\n", "line 2", "not UTF-8" }, /* some of it is */
        { "a,b,y\n1,2,\x81\n3,4,x\n", "line 2", "not UTF-8" },
        { "sep=;\r\na;b;y\r\n1;2;x\r\n3;4;z\r\n", "line 1", "'sep=;' is for Excel alone" },
        { "\xef\xbb\xbf[\n {\n  \"a\": 1,\n  \"y\": \"x\"\n }\n]\n", CSV, "is JSON, not CSV" },
        { "BZh91AY&SY\xff", CSV, "is compressed (bzip2), not CSV: unpack it first" },
        { "\xff\xfe"
          "a",
          CSV, "is UTF-16, not CSV: save the file as UTF-8" },
    };
    const vkt_data_desc d = { .source = "csv", .path = CSV };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        put_csv(bad[i].text);
        refuse(&d, VKT_E_FORMAT, bad[i].where, bad[i].what);
    }
    put(CSV, "a,b\n1,\0\n", 8);
    refuse(&d, VKT_E_FORMAT, "line 2", "a zero byte");
    put(CSV, "PK\3\4\24\0\0\0", 8);
    refuse(&d, VKT_E_FORMAT, CSV, "is a ZIP archive, as Excel's .xlsx is, not CSV: save");
    put_csv("PAR1,b,y\n1,2,x\n3,4,oops\n"); /* a table may begin like one */
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "yy" }, VKT_E_ARG, CSV,
           "data.label 'yy' is not a column");
    put_csv("a,b,y\n1,2,x\n3,4,z\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "yy" }, VKT_E_ARG, CSV,
           "did you mean 'y'?");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "3" }, VKT_E_ARG, CSV,
           "columns 0 to 2");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .header = "maybe" }, VKT_E_ARG, "maybe",
           "auto, yes or no");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .delimiter = '"' }, VKT_E_ARG,
           "delimiter", "ASCII");
    refuse(&(vkt_data_desc) { .source = "csv", .path = DIR "/none.csv" }, VKT_E_IO, "none.csv",
           "can't open");
    refuse(&(vkt_data_desc) { .source = "csv" }, VKT_E_ARG, "data.path", "missing");
    refuse(&(vkt_data_desc) { .source = "cvs", .path = CSV }, VKT_E_ARG, "cvs",
           "did you mean 'csv'?");
    refuse(&(vkt_data_desc) { .path = CSV }, VKT_E_ARG, "data.source", "missing");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .valid_fraction = 1 }, VKT_E_ARG,
           "valid_fraction", "below 1");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .test_fraction = NAN }, VKT_E_ARG,
           "test_fraction", "below 1");
    put_csv("1,x\n3,z\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "y" }, VKT_E_ARG, CSV,
           "has no header line");
    char many[8192] = "";
    for (int i = 0; i < 50; i++) sprintf(many + strlen(many), "%d,%d.5\n", i, i);
    put_csv(many);
    refuse(&d, VKT_E_FORMAT, CSV, "50 different values");
}

static void csv_test_file(void **state)
{
    (void)state;
    vkt_data_desc d = { .test_path = DIR "/test.csv", RAW };
    /* Other column order, an unseen category (zeros), own test set instead of test_fraction. */
    put(d.test_path, "y,c,a\np,w,7\nq,u,8\n", 18);
    vkt_dataset *ds = open_csv("a,c,y\n1,u,p\n2,v,q\n3,u,p\n", d);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TEST], 2);
    const float *x = inputs(ds, VKT_SPLIT_TEST, 0, 3);
    assert_true(x[0] == 7 && x[1] == 0 && x[2] == 0);
    x = inputs(ds, VKT_SPLIT_TEST, 1, 3);
    assert_true(x[0] == 8 && x[1] == 1 && x[2] == 0);
    vkt_dataset_destroy(&ds);
    d.source = "csv";
    d.path = CSV;
    put(d.test_path, "y,c,a\np,w,7\nr,u,8\n", 18);
    refuse(&d, VKT_E_FORMAT, "test.csv' line 3", "class 'r' is not among the 2 classes");
    put(d.test_path, "y,a\np,7\nr,8\n", 12);
    refuse(&d, VKT_E_FORMAT, "test.csv' line 1", "column 'c', which the model needs");
    put(d.test_path, "c,a\nu,7\nu,8\n", 12);
    refuse(&d, VKT_E_FORMAT, "test.csv", "lacks the label column 'y'");
}

/* Rows enough for threads: i, i / 2, $i, a date, 7, a text, i % 5, a class. */
enum { MANY = 9000 };
static char *many_rows(uint32_t bad_a, uint32_t bad_b, const char *unseen)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "a,b,price,day,same,t,five,y\n");
    for (uint32_t i = 0; i < MANY; i++)
        vkt__str_printf(&s, "%s%u,%s%g,$%u,2024-%02u-%02u,7,%s,%u,%s\n", i == bad_a ? "x" : "", i,
                        i == bad_b ? "x" : "", i / 2.0, i, i % 12 + 1, i % 28 + 1,
                        unseen && i % 1000 == 77 ? unseen
                        : i % 3                  ? "u"
                                                 : "v",
                        i % 5, i * 7 % 11 < 5 ? "p" : "q");
    return s.data;
}

static void csv_in_threads(void **state)
{
    (void)state;
    char *text = many_rows(MANY, MANY, NULL);
    vkt_data_desc d = { .ignore = "day", .standardize = VKT_STANDARDIZE_FEATURE };
    vkt_dataset *ds = open_csv(text, d);
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], MANY);
    const double mean = (MANY - 1) / 2.0, std = sqrt(((double)MANY * MANY - 1) / 12);
    for (uint32_t i = 0; i < MANY; i++) { /* a, b, price, same, t, five */
        const float *x = inputs(ds, VKT_SPLIT_TRAIN, i, 7);
        for (int k = 0; k < 3; k++) REQUIRE_NEAR(x[k], (i - mean) / std, 1e-5);
        assert_true(x[3] == 0 && x[4] == (i % 3 != 0) && x[5] == (i % 3 == 0));
        REQUIRE_NEAR(x[6], (i % 5 - 2.0) / sqrt(2), 1e-5);
    }
    bool found = false;
    for (uint32_t i = 0; i < info->n_notes; i++)
        found = found || strstr(info->notes[i], "numbers as '$0', read as");
    assert_true(found);
    vkt_dataset_destroy(&ds);
    free(text);
    /* What is said is what one thread says: of the first column that has it, its first row. */
    d.test_path = DIR "/test.csv";
    d.source = "csv";
    d.path = CSV;
    text = many_rows(8500, 100, NULL);
    put(d.test_path, text, strlen(text));
    refuse(&d, VKT_E_FORMAT, "test.csv' line 8502", "'x8500' in column 'a' is not a number");
    free(text);
    text = many_rows(MANY, MANY, "w");
    put(d.test_path, text, strlen(text));
    free(text);
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    REQUIRE_LOGGED("test.csv': column 't' has 'w' or the like in 9 of 9000 rows, which training");
    const float *x = inputs(ds, VKT_SPLIT_TEST, 1077, 7);
    assert_true(x[4] == 0 && x[5] == 0);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_dialects),
        cmocka_unit_test(csv_numbers),
        cmocka_unit_test(csv_header_and_label_choice),
        cmocka_unit_test(csv_columns_are_standardised_on_train),
        cmocka_unit_test(csv_missing_policies),
        cmocka_unit_test(csv_regression),
        cmocka_unit_test(csv_class_line),
        cmocka_unit_test(csv_bad_files),
        cmocka_unit_test(csv_test_file),
        cmocka_unit_test(csv_in_threads),
    };
    return cmocka_run_group_tests_name("data", tests, setup, teardown);
}
