/* data: columns as people have them: numbers with decimal commas, currencies and per cent signs,
 * dates, blanks, identifiers; and the line that says how each is read. */
#define DIR "test_columns_tmp"
#include "data_files.h"

#include <jansson.h>

#include <math.h>

static void forms_of_cells(void **state)
{
    (void)state;
    static const struct {
        vkt__form form;
        vkt__date_part part;
        const char *cell;
        double want; /* NAN: it is not written so */
    } cases[] = {
        { VKT__FORM_COMMA, 0, "0,095", 0.095 },
        { VKT__FORM_COMMA, 0, "-1,5e-3", -0.0015 },
        { VKT__FORM_COMMA, 0, "12,5 %", 12.5 },
        { VKT__FORM_COMMA, 0, "1,2,3", NAN },
        { VKT__FORM_COMMA, 0, "0.5", NAN },
        { VKT__FORM_COMMA, 0, "", NAN },
        { VKT__FORM_COMMA, 0, ",", NAN },
        { VKT__FORM_POINT, 0, "$1,234.50", 1234.5 },
        { VKT__FORM_POINT, 0, "-$1,234,567", -1234567 },
        { VKT__FORM_POINT, 0,
          "\xe2\x88\x92"
          "12 EUR",
          -12 },
        { VKT__FORM_POINT, 0, "1,23", NAN },
        { VKT__FORM_POINT, 0, "0,123", NAN }, /* no group begins with 0 */
        { VKT__FORM_POINT, 0, "1,2345", NAN },
        { VKT__FORM_POINT, 0, "$5$", NAN },
        { VKT__FORM_POINT, 0, "5 kg", NAN },
        { VKT__FORM_POINT, 0, "inf", NAN },
        { VKT__FORM_POINT_COMMA, 0, "1.234.567,5 \xe2\x82\xac", 1234567.5 },
        { VKT__FORM_BLANK_COMMA, 0,
          "1\xc2\xa0"
          "234,5",
          1234.5 },
        { VKT__FORM_BLANK_POINT, 0, "1 234.5", 1234.5 },
        { VKT__FORM_APOSTROPHE, 0, "CHF 1'234.5", 1234.5 },
        { VKT__FORM_YEAR_FIRST, VKT__DATE_MONTH, "2024-02-29", 2 },
        { VKT__FORM_YEAR_FIRST, VKT__DATE_WEEKDAY, "2026-11-22", 6 }, /* a Sunday */
        { VKT__FORM_YEAR_FIRST, VKT__DATE_WEEKDAY, "1970-01-01", 3 },
        { VKT__FORM_YEAR_FIRST, VKT__DATE_YEAR, "2023-07-02 12:00", 2023.5 },
        { VKT__FORM_YEAR_FIRST, VKT__DATE_HOUR, "2023-07-02T06:30:00.000Z", 6.5 },
        { VKT__FORM_YEAR_FIRST, VKT__DATE_HOUR, "2023-07-02T06:30:36+02:00", 6.51 },
        { VKT__FORM_YEAR_FIRST, VKT__DATE_DAY, "2023-02-29", NAN },
        { VKT__FORM_YEAR_FIRST, VKT__DATE_DAY, "2023-02-03x", NAN },
        { VKT__FORM_YEAR_FIRST, VKT__DATE_DAY, "0000-01-01", NAN },
        { VKT__FORM_DAY_FIRST, VKT__DATE_DAY, "31.5.99", 31 },
        { VKT__FORM_DAY_FIRST, VKT__DATE_YEAR, "1.1.1999", 1999 },
        { VKT__FORM_DAY_FIRST, VKT__DATE_YEAR, "1.1.70", 1970 },
        { VKT__FORM_DAY_FIRST, VKT__DATE_DAY, "5/31/2024", NAN },
        { VKT__FORM_MONTH_FIRST, VKT__DATE_DAY, "5/31/2024", 31 },
        { VKT__FORM_DAY_FIRST, VKT__DATE_MONTH, "18 Apr 2021", 4 },
        { VKT__FORM_DAY_FIRST, VKT__DATE_DAY, "18-april-21 14:30", 18 },
        { VKT__FORM_DAY_FIRST, VKT__DATE_HOUR, "18-april-21 14:30", 14.5 },
        { VKT__FORM_DAY_FIRST, VKT__DATE_YEAR, "1/Jan/69", 2069 },
        { VKT__FORM_DAY_FIRST, VKT__DATE_MONTH, "18 Ap 2021", NAN },
        { VKT__FORM_DAY_FIRST, VKT__DATE_MONTH, "31 Feb 2021", NAN },
        { VKT__FORM_DAY_FIRST, VKT__DATE_MONTH, "18 Apr-2021", NAN },
        { VKT__FORM_DAY_FIRST, VKT__DATE_MONTH, "Apr 18, 2021", NAN },
        { VKT__FORM_MONTH_FIRST, VKT__DATE_DAY, "Apr 18, 2021", 18 },
        { VKT__FORM_MONTH_FIRST, VKT__DATE_MONTH, "SEPTEMBER 1 2021", 9 },
        { VKT__FORM_MONTH_FIRST, VKT__DATE_MONTH, "Aprils 1 2021", NAN },
        { VKT__FORM_YEAR_FIRST, VKT__DATE_MONTH, "2021-Apr-18", NAN },
        { VKT__FORM_MONTH_FIRST, VKT__DATE_DAY, "5/31.2024", NAN },
        { VKT__FORM_TIME, VKT__DATE_HOUR, "14:45", 14.75 },
        { VKT__FORM_TIME, VKT__DATE_HOUR, "24:00", NAN },
        { VKT__FORM_TEXT, 0, "1", NAN },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        double v = NAN;
        bool is = vkt__form_value(cases[i].form, cases[i].part, cases[i].cell, &v);
        if (is == isnan(cases[i].want) || (is && fabs(v - cases[i].want) > 1e-9))
            fail_msg("'%s' as %s is %g, not %g", cases[i].cell, vkt__form_name(cases[i].form),
                     is ? v : NAN, cases[i].want);
    }
}

/* The data set of a text; it must have the note (NULL: none at all) and keep its inputs under its
 * own schema. */
static vkt_dataset *noted(const char *text, vkt_data_desc d, const char *note)
{
    vkt_dataset *ds = open_csv(text, d), *again;
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    bool found = note ? false : info->n_notes == 0;
    for (uint32_t i = 0; i < info->n_notes && note; i++)
        found = found || strstr(info->notes[i], note);
    if (!found) fail_msg("no note '%s', but '%s'", note, info->n_notes ? info->notes[0] : "none");
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &again));
    if (info->n_dropped == 0) {
        float a[64], b[64];
        vkt_label y;
        assert_int_equal(vkt_dataset_get_info(again)->n_inputs, info->n_inputs);
        for (uint64_t i = 0; i < info->n[VKT_SPLIT_TRAIN]; i++) {
            REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i, a, &y));
            REQUIRE_OK(vkt_dataset_example(again, VKT_SPLIT_TEST, i, b, &y));
            assert_memory_equal(a, b, info->n_inputs * sizeof *a);
        }
    }
    vkt_dataset_destroy(&again);
    return ds;
}

static void refuse_csv(const char *text, const char *where, const char *what)
{
    put_csv(text);
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, RAW }, VKT_E_FORMAT, where, what);
}

/* Reads the text; the first input of the second row must be this number. */
static void reads(const char *text, double want, const char *note)
{
    vkt_dataset *ds = noted(text, (vkt_data_desc) { RAW }, note);
    float x[64];
    vkt_label y;
    REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, 1, x, &y));
    REQUIRE_NEAR(x[0], want, 1e-6);
    vkt_dataset_destroy(&ds);
}

static void columns_of_numbers(void **state)
{
    (void)state;
    reads("a,b,y\n1.5,2,p\n2.5,3,q\n", 2.5, NULL);
    reads("a;b;y\n1,5;2;p\n-2,5;3;q\n", -2.5,
          "column 'a': numbers as '1,5', read as 1234,5: from -2.5 to 1.5");
    reads("0,1;0,2;p\n0,3;0,4;q\n", 0.3f, "numbers as '0,1', read as 1234,5");
    reads("a,y\n\"$1,234.50\",p\n\"$2,000\",q\n", 2000, "numbers as '$1,234.50', read as 1,234.5");
    reads("a,y\n12%,p\n13.5 %,q\n", 13.5, "numbers as '12%', read as 1,234.5");
    reads("a,y\n0,p\n0.5,q\n", 0.5, NULL);
    reads("a,y\n10115,p\n01067,q\n", 1067,
          "column 'a': numbers as '01067', read without the leading zeros; if they are codes, "
          "data.embed learns a vector for each");
    reads("a|b|y\n1|2|p\n3|4|q\n", 3, NULL);
    /* 1,234 is thousands in a file of commas, a fraction beside semicolons: both say so. */
    reads("a,y\n\"1,234\",p\n\"2,345\",q\n", 2345, "read as 1,234.5 (a guess: 1234,5 would");
    reads("a;y\n1,234;p\n2,345;q\n", 2.345, "read as 1234,5 (a guess: 1,234.5 would");
    reads("a;b;y\n1.234;0,5;p\n2.345;1,5;q\n", 2345, "read as 1.234,5 (a guess: 1234.5 would");
    refuse_csv("a,y\n1,p\ninf,q\n2,p\n", "line 3", "'inf' in column 'a' is not a number");
    refuse_csv("a,y\n1,p\n1e400,q\n2,p\n", "line 3", "'1e400' in column 'a' is not a number");
    refuse_csv("a;y\n1,5;p\n2,5;q\n1.5x;q\n", "line 4", "is not a number written as 1234,5");
}

/* Rows of n columns; `copies`: every fifth is the one two before it, off by a thousandth. digits:
 * decimals that are kept, so that few values are left. */
static vkt_dataset *open_rows(uint32_t n_columns, int digits, bool copies, bool drop)
{
    vkt__str text = { 0 };
    vkt_dataset *ds;
    for (uint32_t c = 0; c < n_columns; c++) vkt__str_printf(&text, "x%u,", c);
    vkt__str_printf(&text, "y\n");
    for (uint64_t i = 0; i < 500; i++) {
        bool copy = copies && i % 5 == 4;
        for (uint64_t c = 0; c < n_columns; c++) {
            double v = vkt_rand_normal(5, VKT_RNG_TEST, 100 * (copy ? i - 2 : i) + c),
                   off = copy ? 0.002 * vkt_rand_normal(6, VKT_RNG_TEST, 100 * i + c) : 0;
            vkt__str_printf(&text, "%.*f,", digits, v + off);
        }
        vkt__str_printf(&text, "%c\n", i % 2 ? 'p' : 'q');
    }
    ds = open_csv(text.data, (vkt_data_desc) { .valid_fraction = 0.2,
                                               .duplicates = drop ? VKT_DUPLICATES_DROP
                                                                  : VKT_DUPLICATES_KEEP });
    vkt__str_finish(&text);
    return ds;
}

/* Copies that were changed a little are found; rows of one continuous column, of many, of few
 * values, and equal ones are not near by that. */
static void near_duplicates(void **state)
{
    (void)state;
    const struct {
        uint32_t n_columns;
        int digits;
        bool copies, near, equal;
    } rows[] = { { 8, 6, true, true, false },   { 8, 6, false, false, false },
                 { 2, 6, false, false, false }, { 40, 6, true, true, false },
                 { 3, 0, false, false, false }, { 8, 1, true, false, true } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        uint64_t n_shared, n_near;
        vkt_dataset *ds = open_rows(rows[i].n_columns, rows[i].digits, rows[i].copies, false);
        TEST_LOG_CAPTURE();
        REQUIRE_OK(vkt_dataset_report(ds, &n_shared, &n_near));
        if (rows[i].near != (n_near > 0)) print_error("row %zu: %d near\n", i, (int)n_near);
        assert_int_equal(n_near > 0, rows[i].near);
        /* A fifth are copies; of a held one the other is in training in four of five cases. */
        if (rows[i].near) assert_in_range(n_near, 20, 80);
        if (rows[i].near) REQUIRE_LOGGED("nearly equal a training example");
        assert_int_equal(n_shared > 20, rows[i].equal);
        vkt_dataset_destroy(&ds);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void equal_rows_are_left_out_where_asked(void **state)
{
    (void)state;
    uint64_t n_shared, n_near, n[2];
    for (int drop = 0; drop < 2; drop++) {
        vkt_dataset *ds = open_rows(8, 1, true, drop);
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        n[drop] = info->n[VKT_SPLIT_VALID] + info->n[VKT_SPLIT_TEST];
        REQUIRE_OK(vkt_dataset_report(ds, &n_shared, &n_near));
        if (!drop) n[0] -= n_shared;
        if (drop) assert_int_equal(n_shared, 0);
        vkt_dataset_destroy(&ds);
    }
    assert_int_equal(n[0], n[1]);
}

/* An embedded column stands behind all others among the inputs, and anywhere in the file. */
static void equal_rows_with_an_embedded_column(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    uint64_t n_shared, n_near;
    vkt__str_printf(&text, "name,size,y\n");
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t of = i - i % 3; /* each row three times */
        vkt__str_printf(&text, "n%d,%.6f,%c\n", (int)(of % 40),
                        vkt_rand_normal(3, VKT_RNG_TEST, of), of % 2 ? 'p' : 'q');
    }
    vkt_dataset *ds =
        open_csv(text.data, (vkt_data_desc) { .valid_fraction = 0.2, .embed = "name" });
    REQUIRE_OK(vkt_dataset_report(ds, &n_shared, &n_near));
    assert_true(n_shared > 10);
    vkt_dataset_destroy(&ds);
    vkt__str_finish(&text);
}

/* Rows of three columns with few values are equal by chance, and no result is too good by that;
 * rows with a continuous one are not. */
static void equal_rows_by_chance(void **state)
{
    (void)state;
    static const char *const colours[] = { "red", "green", "blue" };
    for (int continuous = 0; continuous < 2; continuous++) {
        vkt__str text = { 0 };
        uint64_t n_shared, n_near;
        vkt__str_printf(&text, "a,b,c,y\n");
        for (uint64_t i = 0; i < 300; i++) {
            double u = vkt_rand_normal(3, VKT_RNG_TEST, 10 * i);
            const char *colour = colours[i * 7 % 3];
            int b = vkt_rand_normal(3, VKT_RNG_TEST, 10 * i + 1) > 0.3;
            /* Twice the same: a third of the rows, as copies that someone has made. */
            if (continuous && i % 3 == 2) u = vkt_rand_normal(3, VKT_RNG_TEST, 10 * (i - 2));
            if (continuous && i % 3 == 2) b = vkt_rand_normal(3, VKT_RNG_TEST, 10 * i - 19) > 0.3;
            if (continuous) colour = colours[i / 3 % 3];
            if (continuous)
                vkt__str_printf(&text, "%s,%d,%.6f,%c\n", colour, b, u, i % 2 ? 'p' : 'q');
            else
                vkt__str_printf(&text, "%s,%d,%d,%c\n", colour, b, u > 0, i % 2 ? 'p' : 'q');
        }
        vkt_dataset *ds = open_csv(text.data, (vkt_data_desc) { .valid_fraction = 0.2 });
        TEST_LOG_CAPTURE();
        REQUIRE_OK(vkt_dataset_report(ds, &n_shared, &n_near));
        if (continuous) {
            assert_true(n_shared > 10);
            REQUIRE_LOGGED("are in the training set too");
        } else {
            assert_int_equal(n_shared, 0);
        }
        vkt_dataset_destroy(&ds);
        vkt__str_finish(&text);
    }
}

static void columns_of_dates(void **state)
{
    (void)state;
    vkt_dataset *ds = noted("d,y\n2024-01-31,p\n2024-02-01,q\n", (vkt_data_desc) { RAW },
                            "column 'd': dates or times as '2024-01-31', read as year-month-day: "
                            "year with its fraction, month, day and weekday (Monday is 0) are "
                            "inputs");
    const float *x = inputs(ds, VKT_SPLIT_TRAIN, 1, 4);
    assert_true(x[1] == 2 && x[2] == 1 && x[3] == 3); /* February 1st, a Thursday */
    vkt_dataset_destroy(&ds);
    ds = noted("d,y\n31/5/2024 06:00,p\n1/6/2024 18:30,q\n", (vkt_data_desc) { RAW },
               "read as day.month.year: year with its fraction, month, day, weekday (Monday is 0) "
               "and hour");
    x = inputs(ds, VKT_SPLIT_TRAIN, 1, 5);
    assert_true(x[1] == 6 && x[2] == 1 && x[4] == 18.5f);
    vkt_dataset_destroy(&ds);
    ds = noted("d,y\n5/6/2024,p\n6/6/2024,q\n", (vkt_data_desc) { RAW },
               "read as month/day/year (a guess: day.month.year would");
    vkt_dataset_destroy(&ds);
    refuse_csv("d,y\n2024-01-31,p\n2024-02-01,q\n2024-02-30,q\n", "line 4",
               "is not a date or time written as year-month-day");
}

static void columns_with_blanks(void **state)
{
    (void)state;
    const char *text = "a,c,y\n1,u,p\n,v,q\n3,NA,p\n#N/A,v,q\n";
    vkt_data_desc d = { .missing = VKT_MISSING_MEAN, RAW };
    vkt_dataset *ds = noted(text, d, "column 'a': 2 of 4 cells are blank: the mean stands there");
    const float *x = inputs(ds, VKT_SPLIT_TRAIN, 2, 4); /* a; blank, u, v */
    assert_true(x[0] == 3 && x[1] == 1 && x[2] == 0 && x[3] == 0);
    x = inputs(ds, VKT_SPLIT_TRAIN, 3, 4);
    assert_true(x[0] == 2 && x[1] == 0 && x[3] == 1);
    vkt_dataset_destroy(&ds);
    ds = noted(text, d, "column 'c': 1 of 4 cells are blank: a category of their own");
    vkt_dataset_destroy(&ds);
    /* What has no label is left out, and that is said. */
    TEST_LOG_CAPTURE();
    ds = open_csv("a,y\n1,p\n2,\n3,q\n", d);
    REQUIRE_LOGGED("1 of 3 rows are left out, for lack of a value (the first in column 'y')");
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 1);
    vkt_dataset_destroy(&ds);
}

static void columns_are_chosen(void **state)
{
    (void)state;
    const char *text = ",id,a,b,y\n1,7,5,6,p\n2,8,7,8,q\n";
    vkt_dataset *ds = noted(text, (vkt_data_desc) { .ignore = "0, id", RAW }, NULL);
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 1, 2)[0] == 7);
    vkt_dataset *other;
    TEST_LOG_CAPTURE(); /* a left-out column is there, or not: no word */
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &other));
    vkt_dataset_destroy(&other);
    put(CSV, "b,a\n6,5\n", 8);
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &other));
    assert_string_equal(test_log, "");
    vkt_dataset_destroy(&other);
    vkt_dataset_destroy(&ds);
    ds = noted(text, (vkt_data_desc) { .columns = "b", RAW }, NULL);
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 1, 1)[0] == 8);
    vkt_dataset_destroy(&ds);
    put_csv(text);
    vkt_data_desc d = { .source = "csv", .path = CSV, .ignore = "aa" };
    refuse(&d, VKT_E_ARG, "data.ignore: 'aa' is not a column", "did you mean 'a'");
    d.ignore = "0,1,2,3";
    refuse(&d, VKT_E_ARG, CSV, "leave no column but the label");
}

/* Columns that are embedded come last, each an input that names a row; numbers may be names. */
static void columns_are_embedded(void **state)
{
    (void)state;
    const char *text = "town,a,zip,c,y\nRom,1,7,u,p\nOslo,2,9,v,q\nRom,3,9,,p\nBari,4,10,v,q\n";
    vkt_data_desc d = { .embed = "town, zip", .missing = VKT_MISSING_MEAN, RAW };
    vkt_dataset *ds = noted(text, d, "column 'zip': 4 cells as '7': a vector is learned for each"),
                *other;
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_true(info->n_plain == 4 && info->embed_rows == 6);
    const float *x = inputs(ds, VKT_SPLIT_TRAIN, 1, 6); /* a; blank, u, v; Oslo of 3; 9 of 3 */
    assert_true(x[0] == 2 && x[3] == 1 && x[4] == 1 && x[5] == 3 + 2);
    x = inputs(ds, VKT_SPLIT_TRAIN, 3, 6);
    assert_true(x[4] == 0 && x[5] == 3);
    TEST_LOG_CAPTURE();
    put_csv("town,a,zip,c\nKiel,1,9,u\n");
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &other));
    REQUIRE_LOGGED("column 'town' has 'Kiel' in 1 of 1 rows, which training did not see");
    x = inputs(other, VKT_SPLIT_TEST, 0, 6);
    assert_true(x[4] == -1 && x[5] == 5);
    vkt_dataset_destroy(&other);
    vkt_dataset_destroy(&ds);
    put_csv(text);
    d = (vkt_data_desc) { .source = "csv", .path = CSV, .embed = "y" };
    refuse(&d, VKT_E_ARG, "data.embed: column 4 of", "is no input: it is the label");
    d.embed = "tow";
    refuse(&d, VKT_E_ARG, "data.embed: 'tow' is not a column", "did you mean 'town'");
}

/* Each row as the ids of its tokens; those of validation and test make no token. */
static void columns_of_sentences(void **state)
{
    (void)state;
    char text[8192];
    size_t n = (size_t)sprintf(text, "id,what,y\n");
    for (int i = 0; i < 40; i++)
        n += (size_t)sprintf(text + n, "%d,\"%s barks, and barks%s\",%c\n", i,
                             i % 2 ? "the dog" : "a seal", i == 7 ? " and barks and barks" : "",
                             "pq"[i % 2]);
    vkt_data_desc d = { .text = "what", .context = 8, RAW };
    vkt_dataset *ds = noted(text, d, "1 of 40 are longer than that: their ends are cut"), *other;
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_true(info->n_plain == 0 && info->n_inputs == 8 && info->embed_rows > 257);
    const float *x = inputs(ds, VKT_SPLIT_TRAIN, 1, 8);
    uint32_t rows = info->embed_rows, tokens = 0;
    while (tokens < 8 && x[tokens] >= 0) tokens++;
    assert_true(tokens > 2 && tokens < 8 && x[7] == -1 && x[0] < (float)rows);
    float want[8];
    memcpy(want, x, sizeof want);
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 7, 8)[7] >= 0);
    TEST_LOG_CAPTURE();
    put_csv("what\n\"the dog barks, and barks\"\nZ\xc3\xbcrich\n");
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &other));
    assert_memory_equal(inputs(other, VKT_SPLIT_TEST, 0, 8), want, sizeof want);
    x = inputs(other, VKT_SPLIT_TEST, 1, 8); /* bytes that training did not see are tokens, too */
    assert_true(x[6] >= 0 && x[7] == -1);
    vkt_dataset_destroy(&other);
    /* A table of fewer rows than the tokenizer has tokens. */
    json_t *o = json_loads(vkt_dataset_schema(ds), 0, NULL), *table = json_object_get(o, "table"),
           *has = json_object_get(table ? table : o, "vocab");
    json_integer_set(has, json_integer_value(has) - 1);
    char *less = json_dumps(o, 0);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(less, CSV, &other), VKT_E_FORMAT);
    REQUIRE_LOGGED("tokens, the model's table");
    REQUIRE_LOGGED("the checkpoint's schema was changed");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    free(less);
    json_decref(o);
    vkt_dataset_destroy(&ds);
    /* Capitals are as small letters, and a first word is as one within the text, if asked for. */
    for (int lower = 0; lower < 2; lower++) {
        put_csv(text);
        d = (vkt_data_desc) { .text = "what", .context = 8, .lowercase = lower, RAW };
        ds = noted(text, d, "are longer than that: their ends are cut");
        put_csv("what\nthe dog barks\nThe DOG barks\ndog\n\n");
        REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &other));
        memcpy(want, inputs(other, VKT_SPLIT_TEST, 0, 8), sizeof want);
        assert_int_equal(!memcmp(inputs(other, VKT_SPLIT_TEST, 1, 8), want, sizeof want), lower);
        assert_int_equal(inputs(other, VKT_SPLIT_TEST, 2, 8)[0] == want[1], lower);
        vkt_dataset_destroy(&other);
        vkt_dataset_destroy(&ds);
    }
    put_csv(text);
    d = (vkt_data_desc) { .source = "csv", .path = CSV, .text = "y", .context = 8 };
    refuse(&d, VKT_E_ARG, "data.text must name one column", "neither the label");
    d.text = "id, what";
    refuse(&d, VKT_E_ARG, "data.text must name one column", "");
    d.text = "waht";
    refuse(&d, VKT_E_ARG, "data.text: 'waht' is not a column", "did you mean 'what'");
    d.text = "what";
    d.tokenizer = "chars";
    refuse(&d, VKT_E_ARG, "data.tokenizer: chars is not for data.text", "");
    d.tokenizer = "bytes";
    d.lowercase = true;
    refuse(&d, VKT_E_ARG, "data.lowercase: data.tokenizer says itself", "");
    d.lowercase = false;
    d.vocab = 200;
    refuse(&d, VKT_E_ARG, "data.vocab: with data.text", "");
    d.vocab = 0;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    assert_true(inputs(ds, VKT_SPLIT_TRAIN, 1, 8)[0] < 256);
    vkt_dataset_destroy(&ds);
    d.tokenizer = NULL; /* the last row, of words of its own, is for validation */
    d.time = "id";
    d.valid_fraction = 0.25;
    sprintf(text + n, "40,zyx zyx zyx qqq qqq,p\n");
    put_csv(text);
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    assert_int_equal(vkt_dataset_get_info(ds)->embed_rows, rows);
    vkt_dataset_destroy(&ds);
}

/* What predict is given: another delimiter, and values that training did not see. */
static void other_files(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("a;c;y\n1;rot;p\n2;blau;q\n", (vkt_data_desc) { RAW }), *other;
    TEST_LOG_CAPTURE();
    put(CSV, "a,c\n1,lila\n2,rot\n3,lila\n", 24);
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &other));
    REQUIRE_LOGGED("is read with the delimiter ',', not ';'");
    REQUIRE_LOGGED("column 'c' has 'lila' or the like in 2 of 3 rows, which training did not see");
    vkt_dataset_destroy(&other);
    vkt_dataset_destroy(&ds);
}

static void advice_is(const char *text, const char *label, const char *why, bool numbers,
                      const char *ignore, const char *note)
{
    vkt_table_advice *a;
    put_csv(text);
    REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a));
    assert_string_equal(a->label, label);
    assert_string_equal(a->why, why);
    assert_int_equal(a->numbers, numbers);
    assert_string_equal(a->ignore ? a->ignore : "-", ignore);
    if (note) assert_non_null(strstr(a->notes[a->n_notes - 1], note));
    vkt_table_advice_destroy(&a);
    assert_null(a);
}

static void recipes_are_advised(void **state)
{
    (void)state;
    char text[8000];
    size_t n;
    advice_is("Class,x\np,1\nq,2\n", "Class", "by its name", false, "-", NULL);
    advice_is("x,z\n1,p\n2,q\n", "z", "the last column", false, "-", NULL);
    n = (size_t)sprintf(text, "\"\",id,same,code,x,y\n");
    for (int i = 0; i < 60; i++)
        n += (size_t)sprintf(text + n, "\"%d\",%d,3,k%d,%d,%c\n", i + 1, 1000000 + i * i, i,
                             i * 37 % 11, "pq"[i % 2]);
    advice_is(text, "y", "by its name", false, "0, id, same, code",
              "column 'code' is left out: text, 60 different values in 60 rows");
    n = (size_t)sprintf(text, "x;ziel\n");
    for (int i = 0; i < 60; i++)
        n += (size_t)sprintf(text + n, "%d;%d,%d\n", i * 7 % 13, i * i % 41, i % 10);
    advice_is(text, "ziel", "the last column", true, "-", NULL);
    /* Sentences are the input, but not beside many columns that could be. */
    for (int wide = 0; wide < 2; wide++) {
        n = (size_t)sprintf(text, wide ? "a,b,c,says,mood\n" : "says,mood\n");
        for (int i = 0; i < 60; i++) {
            if (wide) n += (size_t)sprintf(text + n, "%d,%d,%d,", i * 7 % 13, i % 4, i % 3);
            n += (size_t)sprintf(text + n, "say it %d times again,%s\n", i, i % 2 ? "good" : "bad");
        }
        put_csv(text);
        vkt_table_advice *a;
        REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a));
        if (wide) assert_null(a->text);
        assert_string_equal(wide ? a->sentences : a->text, "says");
        assert_true(a->most_words == 5 && !a->ignore == !wide);
        vkt_table_advice_destroy(&a);
    }
    /* More than a third of the rows have words of their own: 25 of 60, and not 22 of 66. */
    for (int k = 0; k < 2; k++) {
        n = (size_t)sprintf(text, "says,mood\n");
        for (int i = 0; i < (k ? 66 : 60); i++)
            n += (size_t)sprintf(text + n, "say it %d times again,%s\n", i % (k ? 22 : 25),
                                 i % 2 ? "good" : "bad");
        put_csv(text);
        vkt_table_advice *a;
        REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a));
        assert_true(!a->text == (k == 1));
        vkt_table_advice_destroy(&a);
    }
    /* The only column is the input, even if it counts the rows. */
    n = (size_t)sprintf(text, "n,y\n");
    for (int i = 0; i < 20; i++) n += (size_t)sprintf(text + n, "%d,%c\n", i, "pq"[i / 10]);
    advice_is(text, "y", "by its name", false, "-", NULL);
    /* Many classes by name stay classes. */
    n = (size_t)sprintf(text, "x,kind\n");
    for (int i = 0; i < 200; i++)
        n += (size_t)sprintf(text + n, "%d,kind_%d\n", i * 7 % 13, i % 40);
    advice_is(text, "kind", "the last column", false, "-", NULL);
}

/* The odd files of a review: each is read rightly, or refused in a line that says where. */
static void odd_files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n; /* bytes; 0: to its end */
        const char *where, *what;
    } refused[] = {
        { "a,y\n\xc3\xa9,p\n\xe9t\xe9,q\n", 0, "line 3", "not UTF-8" },
        { "\xff\xfe"
          "a\0,\0y\0\n",
          9, CSV, "is UTF-16, but damaged near byte 9: save the file as UTF-8 text" },
        { "a,y\n\"1,p\n2,q\n", 0, "line 2", "a quote opened here is never closed" },
        { "a,y\n1,p\n2,q,3\n", 0, "line 3 has 3 cells", "where the line before has 2" },
        { "", 0, CSV, "is empty" },
        { "a,y\n", 0, CSV, "has a header but no rows" },
    };
    static const char *const read[] = {
        "\xef\xbb\xbfgr\xc3\xb6\xc3\x9f"
        "e|y\r\n1.5|p\r\n2|q\r\n",
        "gr\xc3\xb6\xc3\x9f"
        "e\ty\r1.5\tp\r2\tq\r",
        "\"gr\xc3\xb6\xc3\x9f"
        "e\",y\n\"1.5\",\"p\"\n2,q",
        "gr\xc3\xb6\xc3\x9f"
        "e;y\n1,5;p\n2;q\n",
    };
    for (size_t i = 0; i < VKT_COUNT(refused); i++) {
        vkt_table_advice *a = NULL;
        size_t n = refused[i].n ? refused[i].n : strlen(refused[i].text);
        put(CSV, refused[i].text, n);
        refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, RAW }, VKT_E_FORMAT,
               refused[i].where, refused[i].what);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_table_advise(&(vkt_data_desc) { .path = CSV }, &a), VKT_E_FORMAT);
        REQUIRE_LOGGED(refused[i].what);
    }
    for (size_t i = 0; i < VKT_COUNT(read); i++) {
        vkt_dataset *ds;
        put_csv(read[i]);
        REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "csv", .path = CSV, RAW }, &ds));
        assert_non_null(strstr(vkt_dataset_schema(ds), "gr\xc3\xb6\xc3\x9f"
                                                       "e"));
        assert_true(inputs(ds, VKT_SPLIT_TRAIN, 0, 1)[0] == 1.5f);
        assert_true(inputs(ds, VKT_SPLIT_TRAIN, 1, 1)[0] == 2);
        vkt_dataset_destroy(&ds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_of_cells),
        cmocka_unit_test(columns_of_numbers),
        cmocka_unit_test(equal_rows_with_an_embedded_column),
        cmocka_unit_test(equal_rows_by_chance),
        cmocka_unit_test(near_duplicates),
        cmocka_unit_test(equal_rows_are_left_out_where_asked),
        cmocka_unit_test(columns_of_dates),
        cmocka_unit_test(columns_with_blanks),
        cmocka_unit_test(columns_are_chosen),
        cmocka_unit_test(other_files),
        cmocka_unit_test(columns_are_embedded),
        cmocka_unit_test(columns_of_sentences),
        cmocka_unit_test(recipes_are_advised),
        cmocka_unit_test(odd_files),
    };
    return cmocka_run_group_tests_name("columns", tests, setup, teardown);
}
