/* data: numbers and names keep their meaning from the file to the example: whole numbers beyond
 * 2^53, leading zeros, NA, UTC offsets, encodings, names that come twice, units. What can't be kept
 * is refused, what is read otherwise is said. Each case was silent and wrong once. */
#define DIR "test_meaning_tmp"
#include "data_files.h"

#include <math.h>

static const vkt_data_desc raw = { RAW };

static bool has_note(const vkt_dataset *ds, const char *what)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    for (uint32_t i = 0; i < info->n_notes; i++)
        if (strstr(info->notes[i], what)) return true;
    return false;
}

static void refused(const char *text, vkt_data_desc d, const char *where, const char *what)
{
    put_csv(text);
    d.source = "csv";
    d.path = CSV;
    refuse(&d, VKT_E_FORMAT, where, what);
}

/* The text's classes, as many and named so. */
static void classes_are(const char *text, vkt_data_desc d, uint32_t n, const char *const *names,
                        const char *note)
{
    vkt_dataset *ds = open_csv(text, d), *again;
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n_outputs, n);
    for (uint32_t i = 0; i < n; i++) assert_string_equal(info->class_names[i], names[i]);
    if (note && !has_note(ds, note)) fail_msg("no note '%s'", note);
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &again));
    for (uint64_t i = 0; i < info->n[VKT_SPLIT_TRAIN]; i++) {
        float x[8];
        vkt_label y;
        REQUIRE_OK(vkt_dataset_example(again, VKT_SPLIT_TEST, i, x, &y));
        assert_int_equal(y.u, class_of(ds, i));
    }
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
}

static void labels_beyond_2e53(void **state)
{
    (void)state;
    static const char *const names[] = { "42", "9007199254740992", "9007199254740993" };
    const char *note = "classes as '9007199254740993' are names, not numbers";
    classes_are("x,y\n1,9007199254740992\n2,9007199254740993\n3,42\n4,9007199254740993\n", raw, 3,
                names, note);
    classes_are("{\"x\":1,\"y\":9007199254740992}\n{\"x\":2,\"y\":9007199254740993}\n"
                "{\"x\":3,\"y\":42}\n",
                raw, 3, names, note);
}

static void inputs_beyond_2e53(void **state)
{
    (void)state;
    const char *text = "id,y\n9007199254740992,p\n9007199254740993,q\n9007199254740995,p\n";
    refused(text, raw, "column 'id'", "whole numbers beyond 2^53, as '9007199254740993'");
    refused("x;y\n1.000;9.007.199.254.740.993\n1.500;8,5\n",
            (vkt_data_desc) { RAW, .task = VKT_TASK_REGRESS }, "column 'y'",
            "write them as 1.5e18");
    vkt_dataset *ds = open_csv(text, (vkt_data_desc) { RAW, .embed = "id" });
    assert_int_equal(vkt_dataset_get_info(ds)->embed_rows, 3);
    vkt_dataset_destroy(&ds);
    ds = open_csv("x,y\n9007199254740993e0,p\n9007199254740992,q\n1e30,q\n", (vkt_data_desc) { 0 });
    vkt_dataset_destroy(&ds);
    const int64_t x[4] = { 1, 2, 9007199254740993, 4 };
    const uint8_t y[4] = { 0, 1, 0, 1 };
    const vkt_arrays arrays = { { VKT_ARRAY_I64, 2, { 4, 1 }, x }, { VKT_ARRAY_U8, 1, { 4 }, y } };
    refuse(&(vkt_data_desc) { .source = "npy", .arrays = &arrays }, VKT_E_FORMAT, "row 2",
           "X holds 9007199254740993, a whole number beyond 2^53");
}

static void labels_with_leading_zeros(void **state)
{
    (void)state;
    static const char *const three[] = { "01", "1", "2" }, *const two[] = { "0", "1" };
    classes_are("x,y\n1,01\n2,1\n3,2\n4,01\n", raw, 3, three, "classes as '01' are names");
    classes_are("x,y\n1,0\n2,1.0\n3,1\n4,0\n", raw, 2, two, "'1' and '1.0' are one number");
}

static void a_class_called_na(void **state)
{
    (void)state;
    static const char *const three[] = { "DE", "FR", "NA" };
    classes_are("x,y\n1,DE\n2,\"NA\"\n3,FR\n4,\"NA\"\n", raw, 3, three, NULL);
    classes_are("{\"x\":1,\"y\":\"NA\"}\n{\"x\":2,\"y\":\"FR\"}\n{\"x\":3,\"y\":\"DE\"}\n", raw, 3,
                three, NULL);
    refused("x,y\n1,DE\n2,NA\n3,FR\n", raw, "line 3",
            "(NA is a class where it stands in quotes): fill it, or set data.missing");
    TEST_LOG_CAPTURE();
    vkt_dataset *ds = open_csv("x,y\n1,DE\n2,NA\n3,FR\n,US\n5,DE\n",
                               (vkt_data_desc) { RAW, .missing = VKT_MISSING_DROP });
    REQUIRE_LOGGED("2 of 5 rows are left out, for lack of a value (the first in column 'y'), 1 of "
                   "them of a label; no row is left with the label 'NA', 'US'");
    vkt_dataset_destroy(&ds);
}

/* ---- times ---- */

static void times_in_order(void **state)
{
    (void)state;
    char text[4000] = "when,x,y\n";
    static const int offsets[] = { -11, 0, 13 };
    for (int i = 0; i < 60; i++) { /* minute 10 i of UTC's day, each site by its own clock */
        int o = offsets[i * 7 % 3], m = 10 * i + 60 * o + 1440;
        sprintf(text + strlen(text), "2024-03-%02dT%02d:%02d:00%c%02d:00,%d,%d\n", 1 + m / 1440,
                m / 60 % 24, m % 60, o < 0 ? '-' : '+', abs(o), i * i % 7, i);
    }
    vkt_dataset *ds = open_csv(
        text, (vkt_data_desc) { .time = "when", .task = VKT_TASK_REGRESS, .valid_fraction = 0.2 });
    double scale, mean;
    vkt_dataset_target_scale(ds, 0, &scale, &mean);
    REQUIRE_NEAR(mean, 23.5, 1e-9); /* the first 48 are the training examples */
    vkt_dataset_destroy(&ds);
    refused("t,x,y\n2024-01-01T00:00Z,1,2\n2024-01-01 01:00,2,3\n",
            (vkt_data_desc) { .time = "t", .task = VKT_TASK_REGRESS }, "line 3",
            "has no UTC offset, but '2024-01-01T00:00Z' has one");
    /* Nanoseconds since 1970: a double would round them to 256, and leave the file's order. */
    text[0] = 0;
    strcat(text, "t,x,y\n");
    for (int i = 0; i < 10; i++)
        sprintf(text + strlen(text), "17000000000000000%02d,%d,%d\n", 30 - i, i, i);
    ds = open_csv(text,
                  (vkt_data_desc) { .time = "t", .task = VKT_TASK_REGRESS, .valid_fraction = 0.2 });
    vkt_dataset_target_scale(ds, 0, &scale, &mean);
    REQUIRE_NEAR(mean, 5.5, 1e-9); /* 9 down to 2 */
    vkt_dataset_destroy(&ds);
}

static void inputs_by_one_clock(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("t,y\n2024-03-01T00:30:00+02:00,p\n2024-02-29T22:30:00Z,q\n"
                               "2024-02-29T12:30-1000,q\n",
                               raw);
    assert_true(has_note(ds, "by the clock of UTC, as their offsets differ"));
    float first[5];
    memcpy(first, inputs(ds, VKT_SPLIT_TRAIN, 0, 5), sizeof first);
    assert_true(first[1] == 2 && first[2] == 29 && first[3] == 3 && first[4] == 22.5f);
    for (uint64_t i = 1; i < 3; i++)
        assert_memory_equal(first, inputs(ds, VKT_SPLIT_TRAIN, i, 5), sizeof first);
    vkt_dataset_destroy(&ds);
    /* One offset everywhere is the clock that the others are read by. */
    ds = open_csv("t,y\n2024-03-01T00:30+02:00,p\n2024-03-01T23:30+02:00,q\n", raw);
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 1, 5)[4] == 23.5f);
    vkt__arena arena = { 0 };
    char *schema = vkt__arena_strdup(&arena, vkt_dataset_schema(ds));
    vkt_dataset_destroy(&ds);
    put_csv("t\n2024-03-01T22:00Z\n");
    REQUIRE_OK(vkt_dataset_open_schema(schema, CSV, &ds));
    const float *x = inputs(ds, VKT_SPLIT_TEST, 0, 5);
    assert_true(x[2] == 2 && x[4] == 0);
    vkt_dataset_destroy(&ds);
    /* The year is a fraction by name, and by its old name, too. */
    char *part = strstr(schema, "\"year_fraction\"");
    assert_non_null(part);
    assert_non_null(strstr(schema, "year + (day_of_year - 1 + hour / 24) / days_of_year"));
    memcpy(part, "\"year\"         ", 15);
    REQUIRE_OK(vkt_dataset_open_schema(schema, CSV, &ds));
    vkt_dataset_destroy(&ds);
    vkt__arena_finish(&arena);
}

/* ---- how texts are written ---- */

static size_t utf16(const char *ascii, bool little, bool mark, char *out)
{
    size_t n = 0;
    for (int i = mark ? -1 : 0; i < (int)strlen(ascii); i++) {
        int c = i < 0 ? 0xfeff : ascii[i] == '~' ? 0xe9 : ascii[i];
        out[n++] = (char)(little ? c & 255 : c >> 8);
        out[n++] = (char)(little ? c >> 8 : c & 255);
    }
    return n;
}

static void encodings(void **state)
{
    (void)state;
    char text[200];
    vkt_dataset *ds;
    const vkt_data_desc d = { .source = "csv", .path = CSV, RAW };
    for (int kind = 0; kind < 4; kind++) {
        size_t n = utf16("x,y\n1,~t~\n2,q\n", kind & 1, kind < 2, text);
        put(CSV, text, n);
        TEST_LOG_CAPTURE();
        REQUIRE_OK(vkt_dataset_open(&d, &ds));
        REQUIRE_LOGGED("is converted from UTF-16");
        assert_string_equal(vkt_dataset_get_info(ds)->class_names[1], "\xc3\xa9t\xc3\xa9");
        vkt_dataset_destroy(&ds);
    }
    put_csv("x,y\n1,\xe9t\xe9\n2,\x80\n");
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    REQUIRE_LOGGED("is not UTF-8 and read as Windows-1252, as '\xc3\xa9t\xc3\xa9'");
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "\xc3\xa9t\xc3\xa9");
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[1], "\xe2\x82\xac");
    vkt_dataset_destroy(&ds);
}

/* The parts of a long text in any sizes: the same as the whole. */
static void encodings_in_parts(void **state)
{
    (void)state;
    static const char utf8[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82,b\n1,2\n";
    static const char units[] = "a\0\xe9\0\xac\x20\x3d\xd8\x42\xde,\0b\0\n\0001\0,\0002\0\n\0";
    for (int wide = 0; wide < 2; wide++)
        for (size_t step = 4; step < 20; step++) {
            const char *from = wide ? units : utf8;
            size_t n = wide ? sizeof units - 1 : sizeof utf8 - 1;
            vkt__decoder decoder = { 0 };
            vkt__str out = { 0 };
            for (size_t at = 0; at <= n; at += step) {
                size_t k = VKT_MIN(step, n - at);
                bool changed;
                size_t before = out.len;
                REQUIRE_OK(
                    vkt__decode(&decoder, "text", from + at, k, at + k == n, &out, &changed));
                if (!changed) assert_int_equal(out.len, before);
                if (!changed) vkt__str_add(&out, from + at, k);
            }
            assert_string_equal(out.data, utf8);
            vkt__str_finish(&out);
        }
}

static void names_that_come_twice(void **state)
{
    (void)state;
    vkt_dataset *ds, *again;
    TEST_LOG_CAPTURE();
    ds = open_csv("a,a,a.1,y,a\n1,2,3,p,4\n5,6,7,q,8\n", (vkt_data_desc) { RAW, .label = "y" });
    REQUIRE_LOGGED("line 1: two columns are named 'a': the second is taken as 'a.2', and 1 more");
    assert_non_null(strstr(vkt_dataset_schema(ds), "\"a.2\""));
    assert_non_null(strstr(vkt_dataset_schema(ds), "\"a.3\""));
    put_csv("a.1,a,a,a\n30,10,20,40\n"); /* by name, the second and third by their count */
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &again));
    const float *x = inputs(again, VKT_SPLIT_TEST, 0, 4);
    assert_true(x[0] == 10 && x[1] == 20 && x[2] == 30 && x[3] == 40);
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
}

/* ---- numbers ---- */

static void units_and_far_cells(void **state)
{
    (void)state;
    vkt_dataset *again,
        *ds = open_csv("r,p,y\n15%,$3,p\n2.5 %,$4,q\n20%,$5,p\n", (vkt_data_desc) { 0 });
    put_csv("r,p\n0.15,4 EUR\n15%,$4\n");
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &again));
    REQUIRE_LOGGED("column 'r': 1 of 2 cells, as '0.15', lack the '%'");
    REQUIRE_LOGGED("column 'p': 1 of 2 cells, as '4 EUR', lack the '$'");
    vkt_dataset_destroy(&again);
    put_csv("{\"r\":\"15%\",\"p\":5}\n");
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &again));
    assert_string_equal(test_log, "");
    vkt_dataset_destroy(&again);
    put_csv("r,p\n800%,$4\n");
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &again));
    REQUIRE_LOGGED("column 'r': 1 of 1 cells, as '800%', are far from all that training saw");
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
    ds = open_csv("r,y\n15%,p\n0.5,q\n20%,p\n", raw);
    assert_true(has_note(ds, "1 of 3 cells lack the '%' and are read as if they had it"));
    vkt_dataset_destroy(&ds);
    ds = open_csv("bp,y\n120,p\n999,q\n140,p\n130,q\n999,p\n", raw);
    assert_true(has_note(ds, "2 cells are 999, far from the others' 120 to 140"));
    vkt_dataset_destroy(&ds);
    ds = open_csv("bp,y\n120,p\n999,q\n640,p\n130,q\n", raw);
    assert_false(has_note(ds, "far from"));
    vkt_dataset_destroy(&ds);
}

/* A few labels a thousand times as large as the others neither set the scale nor stay unsaid. */
static void labels_far_away(void **state)
{
    (void)state;
    char text[4000] = "x,y\n";
    double scale, mean;
    for (int i = 0; i < 100; i++)
        sprintf(text + strlen(text), "%d,%d\n", i, i == 50 ? 100000 : i % 41 - 20);
    const vkt_data_desc d = { .task = VKT_TASK_REGRESS };
    vkt_dataset *ds = open_csv(text, d);
    assert_true(
        has_note(ds, "label 'y': 1 of 100 training labels lie more than 20 quartile ranges"));
    vkt_dataset_target_scale(ds, 0, &scale, &mean);
    if (!(fabs(mean) <= 5 && scale > 10 && scale < 20)) fail_msg("%g %g", mean, scale);
    vkt_dataset_destroy(&ds);
    text[0] = 0;
    strcat(text, "x,y\n");
    for (int i = 0; i < 100; i++) sprintf(text + strlen(text), "%d,%d\n", i, i % 41 - 20);
    ds = open_csv(text, d);
    assert_false(has_note(ds, "quartile"));
    vkt_dataset_destroy(&ds);
}

static void labels_by_name_and_kind(void **state)
{
    (void)state;
    char text[4000] = "n,survived,class\n";
    vkt_table_advice *a;
    for (int i = 0; i < 60; i++)
        sprintf(text + strlen(text), "%d,%s,%d\n", i * i, i % 3 ? "yes" : "no", i % 2);
    put_csv(text);
    REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a));
    assert_string_equal(a->label, "survived");
    assert_int_equal(a->n_notes, 0);
    vkt_table_advice_destroy(&a);
    strcpy(text, "n,visits\n");
    for (int i = 0; i < 60; i++) sprintf(text + strlen(text), "%d,%d\n", i * i, i % 7);
    put_csv(text);
    REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a));
    assert_non_null(strstr(a->notes[0], "its 7 whole numbers, 0 to 6, are classes; if they are "
                                        "counts or amounts, --task regress"));
    vkt_table_advice_destroy(&a);
}

static size_t notes_of_counts(const char *columns, const char *label, int step)
{
    char text[4000];
    vkt_table_advice *a;
    size_t n = 0;
    sprintf(text, "n,%s\n", columns);
    for (int i = 0; i < 60; i++)
        sprintf(text + strlen(text), strchr(columns, ',') ? "%d,%d,%d\n" : "%d,%d\n", i * i,
                i % 5 * step, i % 6 * step);
    put_csv(text);
    REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV, .label = label }, &a));
    for (size_t i = 0; i < a->n_notes; i++) n += strstr(a->notes[i], "are counts or amounts") != 0;
    vkt_table_advice_destroy(&a);
    return n;
}

/* Every other number may be left out, as of counts that are few; of numbers further apart none are
 * missing: they are codes. Several labels are not asked about. */
static void counts_lie_beside_each_other(void **state)
{
    (void)state;
    assert_int_equal(notes_of_counts("visits", "visits", 1), 1);
    assert_int_equal(notes_of_counts("visits", "visits", 2), 1);
    assert_int_equal(notes_of_counts("visits", "visits", 3), 0);
    assert_int_equal(notes_of_counts("visits,calls", "visits, calls", 1), 0);
}

static void rows_that_are_numbered(void **state)
{
    (void)state;
    static const char *const names[] = { "", "Unnamed: 0", "X", "a" };
    for (size_t k = 0; k < VKT_COUNT(names); k++) {
        char text[4000];
        vkt_table_advice *a;
        sprintf(text, "%s,b,y\n", names[k]);
        for (int i = 0; i < 60; i++) /* in no order, and not all of them */
            sprintf(text + strlen(text), "%d,%d,%s\n", i * 37 % 61 + 1, i % 3,
                    i * 37 % 61 < 30 ? "p" : "q");
        put_csv(text);
        REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a));
        const char *want = k == 0 ? "0" : names[k];
        if (k == 3)
            assert_null(a->ignore);
        else
            assert_string_equal(a->ignore, want);
        if (k != 3) assert_non_null(strstr(a->notes[0], "it numbers the rows"));
        if (k != 3)
            assert_int_equal(a->n_notes, 1); /* a column that is left out has no second note */
        vkt_table_advice_destroy(&a);
    }
}

/* What is noted of the column `v` of a table whose cells and labels these make, 200 of them. */
typedef double (*cell_fn)(uint64_t i);
static double at_random(uint64_t i)
{
    return vkt_rand_normal(3, VKT_RNG_TEST, i);
}
static double position(uint64_t i)
{
    return (double)i + 0.5;
}
static double number_of_its_own(uint64_t i)
{
    return (double)(i * 37 % 200);
}
static double third(uint64_t i)
{
    return (double)(i / 67);
}
static double nearly_third(uint64_t i)
{
    return (double)(i % 25 ? i / 67 : 1);
}
static double steep(uint64_t i)
{
    return 3 * at_random(i) - 2;
}
static double steep_and_noise(uint64_t i)
{
    return steep(i) + 0.2 * at_random(1000 + i);
}
static double rare(uint64_t i)
{
    return i < 4;
}

static void columns_that_give_the_label_away(void **state)
{
    (void)state;
    static const struct {
        cell_fn x, label;
        bool classes;
        const char *note; /* NULL: none */
    } of[] = {
        { at_random, third, true, NULL },
        { third, third, true, "tells the label alone (100% of the rows)" },
        { position, third, true, "tells the label alone (100% of the rows)" }, /* by ranges */
        { nearly_third, third, true, NULL },
        { rare, rare, true, NULL }, /* a constant is as right */
        { number_of_its_own, third, true, "may number the rows: 200 different whole numbers" },
        { at_random, steep, false, "tells the label alone (correlation 1)" },
        { at_random, steep_and_noise, false, NULL },
    };
    for (size_t k = 0; k < VKT_COUNT(of); k++) {
        vkt__str s = { 0 };
        vkt_table_advice *a;
        vkt__str_printf(&s, "v,other,y\n");
        for (uint64_t i = 0; i < 200; i++) {
            vkt__str_printf(&s, "%.5f,%.5f,", of[k].x(i), at_random(5000 + i));
            vkt__str_printf(&s, of[k].classes ? "class %.0f\n" : "%.5f\n", of[k].label(i));
        }
        for (char *c = s.data; of[k].x == number_of_its_own && (c = strstr(c, ".00000"));)
            memmove(c, c + 6, strlen(c + 6) + 1);
        put_csv(s.data);
        REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a));
        const char *said = a->n_notes ? a->notes[0] : NULL;
        if (!said != !of[k].note || a->n_notes > 1 || (said && !strstr(said, of[k].note)))
            print_error("case %zu: %s\n", k, said ? said : "nothing");
        assert_true(a->n_notes == (of[k].note != NULL) && (!said || strstr(said, of[k].note)));
        assert_null(a->ignore);
        assert_int_equal(a->n_far_labels, 0);
        vkt_table_advice_destroy(&a);
        vkt__str_finish(&s);
    }
}

/* A column that is blank in most rows says nothing of them. */
static void few_cells_give_no_label_away(void **state)
{
    (void)state;
    for (uint64_t blanks = 0; blanks < 2; blanks++) {
        vkt__str s = { 0 };
        vkt_table_advice *a;
        vkt__str_printf(&s, "v,other,y\n");
        for (uint64_t i = 0; i < 300; i++) {
            if (i % 2 >= blanks) vkt__str_printf(&s, "%.0f", third(i));
            vkt__str_printf(&s, ",%.5f,class %.0f\n", at_random(7000 + i), third(i));
        }
        put_csv(s.data);
        REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a));
        assert_int_equal(a->n_notes, !blanks);
        vkt_table_advice_destroy(&a);
        vkt__str_finish(&s);
    }
}

static void labels_that_are_far_are_counted(void **state)
{
    (void)state;
    vkt__str s = { 0 };
    vkt_table_advice *a;
    vkt__str_printf(&s, "x,y\n");
    for (uint64_t i = 0; i < 100; i++)
        vkt__str_printf(&s, "%.5f,%.5f\n", at_random(i), at_random(300 + i) * (i % 40 ? 1 : 1e9));
    put_csv(s.data);
    REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a));
    assert_true(a->numbers);
    assert_int_equal(a->n_far_labels, 3);
    vkt_table_advice_destroy(&a);
    vkt__str_finish(&s);
}

/* ---- folders and archives ---- */

static void folders_of_texts(void **state)
{
    (void)state;
    vkt_dataset *ds;
    static const char text[] = "some words that are long enough for a window of four\n";
    for (int i = 0; i < 4; i++) {
        char path[100];
        snprintf(path, sizeof path, DIR "/texts/%s", i % 2 ? "de" : "fr");
        REQUIRE_OK(vkt__mkdirs(path));
        snprintf(path, sizeof path, DIR "/texts/%s/%d.txt", i % 2 ? "de" : "fr", i);
        put(path, text, sizeof text - 1);
    }
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open(
        &(vkt_data_desc) {
            .source = "text", .path = DIR "/texts", .tokenizer = "bytes", .context = 4 },
        &ds));
    REQUIRE_LOGGED("its 2 folders are no classes");
    vkt_dataset_destroy(&ds);
}

static void archives_that_unpack_without_end(void **state)
{
    (void)state;
    size_t n = 80 << 20;
    char *text = malloc(n);
    assert_non_null(text);
    for (size_t i = 0; i < n; i += 4) memcpy(text + i, "1,2\n", 4);
    put_gz(DIR "/b.csv.gz", text, n);
    vkt_data_desc d = { .source = "csv", .path = DIR "/b.csv.gz" };
    refuse(&d, VKT_E_FORMAT, "b.csv.gz", "unpacks to more than 200 times its size");
    put_gz(DIR "/s.csv.gz", text, 1 << 20); /* a small one may */
    memset(text, '1', n);
    memcpy(text, "a,b\n", 4);
    put(DIR "/l.csv", text, n);
    free(text);
    refuse(&(vkt_data_desc) { .source = "csv", .path = DIR "/l.csv" }, VKT_E_FORMAT, "line 2",
           "a row of more than 64 MiB");
    vkt_dataset *ds;
    d.path = DIR "/s.csv.gz";
    d.task = VKT_TASK_REGRESS;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_beyond_2e53),
        cmocka_unit_test(inputs_beyond_2e53),
        cmocka_unit_test(labels_with_leading_zeros),
        cmocka_unit_test(a_class_called_na),
        cmocka_unit_test(times_in_order),
        cmocka_unit_test(inputs_by_one_clock),
        cmocka_unit_test(encodings),
        cmocka_unit_test(encodings_in_parts),
        cmocka_unit_test(names_that_come_twice),
        cmocka_unit_test(units_and_far_cells),
        cmocka_unit_test(rows_that_are_numbered),
        cmocka_unit_test(columns_that_give_the_label_away),
        cmocka_unit_test(few_cells_give_no_label_away),
        cmocka_unit_test(labels_that_are_far_are_counted),
        cmocka_unit_test(labels_far_away),
        cmocka_unit_test(folders_of_texts),
        cmocka_unit_test(labels_by_name_and_kind),
        cmocka_unit_test(counts_lie_beside_each_other),
        cmocka_unit_test(archives_that_unpack_without_end),
    };
    return cmocka_run_group_tests_name("meaning", tests, setup, teardown);
}
