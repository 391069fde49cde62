/* data: long tables, which are read in blocks by threads: the same cells, lines and refusals as of
 * the text read in order. */
#define DIR "test_csv_rows_tmp"
#include "data_files.h"

#include "data/tables/csv.h"
#include "data/tables/csv_rows.h"

enum { LONG = 5 << 20 }; /* more than the fewest blocks */

static uint32_t draw(uint64_t i, uint32_t below)
{
    return (uint32_t)(vkt_rand_uniform(7, VKT_RNG_TEST, i) * below);
}

/* Rows of three cells: numbers, and texts in quotes with all that a block may be cut in. */
static vkt__str make_text(uint64_t seed, const char *line_end)
{
    static const char *const cells[] = { "1.5",      "",       "word",
                                         "\"a\nb\"", "\"NA\"", "\"x,\"\"y\"\"\r\nz,,\"",
                                         "\"\r\"",   " 7 ",    "\"\xc3\xa9\"",
                                         "\"\"" };
    vkt__str s = { 0 };
    vkt__str_printf(&s, "a,b,c%s", line_end);
    for (uint64_t i = 1; s.len < LONG; i++) {
        for (uint32_t c = 0; c < 3; c++)
            vkt__str_printf(&s, "%s%s", c ? "," : "",
                            cells[draw(seed * 100000000 + 8 * i + c, VKT_COUNT(cells))]);
        vkt__str_printf(&s, "%s%s", line_end,
                        draw(seed * 100000000 + 8 * i + 3, 50) ? "" : line_end);
    }
    return s;
}

/* Read in order; NULL cells where it is refused. */
static vkt__csv_rows in_order(const vkt__str *s, char **text)
{
    vkt__csv_rows r = { .name = "t", .delimiter = ',', .first_line = 1 };
    *text = malloc(s->len + 1);
    memcpy(*text, s->data, s->len + 1);
    vkt__log_quiet(true);
    if (vkt__csv_rows_read(&r, *text, 0, s->len) != VKT_OK) vkt__csv_rows_finish(&r);
    vkt__log_quiet(false);
    return r;
}

/* Whether threads read it: then they read it as it is read in order. */
static bool same_by_threads(const vkt__str *s)
{
    char *text, *other = malloc(s->len + 1);
    vkt__csv_rows want = in_order(s, &text), r = { .name = "t", .delimiter = ',', .first_line = 1 };
    vkt__csv_copy(other, s->data, s->len);
    other[s->len] = 0;
    bool done = vkt__csv_rows_by_threads(&r, other, 0, s->len);
    if (done) {
        assert_non_null(want.cell);
        assert_int_equal(r.n_rows, want.n_rows);
        assert_int_equal(r.n_cells, want.n_cells);
        assert_int_equal(r.n_first, want.n_first);
        assert_int_equal(r.n_columns, want.n_columns);
        assert_int_equal(r.n_said, want.n_said);
        for (size_t i = 0; i < r.n_rows; i++) assert_int_equal(r.line[i], want.line[i]);
        for (size_t i = 0, k = 0; i < r.n_cells; i++) {
            assert_string_equal(other + r.cell[i], text + want.cell[i]);
            if (k == r.n_said || r.cell[i] != r.said[k]) continue;
            assert_int_equal(want.said[k], want.cell[i]);
            k++;
        }
    }
    vkt__csv_rows_finish(&r);
    vkt__csv_rows_finish(&want);
    free(text);
    free(other);
    return done;
}

static void long_tables_are_read_by_threads(void **state)
{
    (void)state;
    static const char *const ends[] = { "\n", "\r\n", "\r" };
    for (size_t i = 0; i < VKT_COUNT(ends); i++) {
        vkt__str s = make_text(i, ends[i]);
        assert_true(same_by_threads(&s));
        s.data[--s.len] = 0; /* without the last line's end */
        while (s.data[s.len - 1] == '\r' || s.data[s.len - 1] == '\n') s.data[--s.len] = 0;
        assert_true(same_by_threads(&s));
        vkt__str_finish(&s);
    }
}

/* A block ends where a row does, so a row's end can't be a delimiter. */
static void a_line_end_is_no_delimiter_for_threads(void **state)
{
    (void)state;
    vkt__str s = make_text(3, "\n");
    for (const char *d = "\n\r\""; *d; d++) {
        vkt__csv_rows r = { .name = "t", .delimiter = *d, .first_line = 1 };
        assert_false(vkt__csv_rows_by_threads(&r, s.data, 0, s.len));
    }
    vkt__str_finish(&s);
}

/* One byte changed anywhere: threads take it as it is read in order, or refuse it. */
static void damage_is_seen(void **state)
{
    (void)state;
    static const char to[] = "\",\n\rx\xff";
    vkt__str s = make_text(9, "\n");
    uint32_t n_taken = 0, n_refused = 0;
    for (uint32_t i = 0; i < 24; i++) {
        char *at = s.data + draw(1000 + i, (uint32_t)s.len), was = *at;
        *at = to[i % (sizeof to - 1)];
        if (same_by_threads(&s))
            n_taken++;
        else
            n_refused++;
        *at = was;
    }
    assert_true(n_taken > 0 && n_refused > 4);
    vkt__str_finish(&s);
}

/* A row that is longer than several blocks; blank blocks; one line. */
static void rows_may_be_longer_than_a_block(void **state)
{
    (void)state;
    vkt__str s = { 0 };
    vkt__str_printf(&s, "a,b\n1,\"");
    while (s.len < LONG) vkt__str_add(&s, "a,\n", 3);
    vkt__str_printf(&s, "\"\n2,3\n");
    assert_true(same_by_threads(&s));
    for (size_t i = 8; i < s.len - 8; i++) s.data[i] = '\n'; /* within the quotes, lines alone */
    assert_true(same_by_threads(&s));
    s.data[7] = s.data[s.len - 6] = '4'; /* the lines are blank now */
    s.data[s.len - 7] = ',';
    same_by_threads(&s);
    for (size_t i = 0; i < s.len; i++) s.data[i] = i % 2 ? ',' : '1';
    assert_true(same_by_threads(&s));
    vkt__str_finish(&s);
}

/* Where a block begins, rows have other cells from there on. */
static void blocks_have_the_same_columns(void **state)
{
    (void)state;
    enum { BLOCK = 1 << 20 };
    vkt__str s = { 0 };
    for (size_t i = 0; i < LONG; i += 8)
        vkt__str_add(&s, i < 2 * BLOCK + 8 ? "1,2,3,4\n" : "1,2,345\n", 8);
    assert_false(same_by_threads(&s));
    for (size_t i = 0; i < LONG; i += 8) memcpy(s.data + i, "1,2,345\n", 8);
    assert_true(same_by_threads(&s));
    vkt__str_finish(&s);
}

static void check_said(vkt__str *s, const char *says)
{
    vkt__csv csv;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__csv_parse(s->data, s->len, "t.csv", ',', false, &csv), VKT_E_FORMAT);
    REQUIRE_LOGGED(says);
}

/* The line of a message is the file's, wherever the block begins. */
static void messages_have_their_line(void **state)
{
    (void)state;
    vkt__str s = { 0 };
    uint32_t n = 0;
    for (; s.len < LONG; n++) vkt__str_printf(&s, "\"%u\nx\",%u\n", n, n);
    char says[80];
    char *row = strstr(s.data, "\"300000\nx\",300000\n");
    assert_non_null(row);
    vkt__csv csv;
    REQUIRE_OK(vkt__csv_parse(s.data, s.len, "t.csv", ',', false, &csv));
    assert_int_equal(csv.n_rows, n);
    assert_int_equal(csv.line[300000], 600001);
    vkt__csv_finish(&csv);
    row[10] = ' '; /* no delimiter */
    snprintf(says, sizeof says, "line %u: text after a closing quote", 600002);
    check_said(&s, says);
    row[9] = row[8] = ' '; /* the quote stays open until the next one */
    check_said(&s, "line 600003: text after a closing quote");
    memcpy(row, "\"300000\nx\",300,00\n", 18);
    check_said(&s, "line 600001 has 3 cells where the line before has 2");
    memcpy(row, "\"300000\nx\",300\"00\n", 18);
    check_said(&s, "line 600002: a quote inside a cell");
    memcpy(row, "\"300000\n\xff\",300000\n", 18);
    check_said(&s, "line 600002: not UTF-8");
    vkt__str_finish(&s);
}

/* The number of notes on a column that tells the label, but that every wrong-th of the first rows
 * has another one. Its values are counted in stages. */
static int notes_on_telling(uint32_t wrong)
{
    enum { ROWS = 30000, FIRST = 5000 };
    vkt__str s = { 0 };
    vkt_table_advice *a;
    int n = 0;
    vkt__str_printf(&s, "x,z,y\n");
    for (uint32_t i = 0; i < ROWS; i++)
        vkt__str_printf(&s, "%u,%g,%s\n", i % 50, draw(i, 1000) / 7.0,
                        (i % 50 < 25) == (i >= FIRST || i % wrong != 0) ? "a" : "b");
    put(DIR "/t.csv", s.data, s.len);
    REQUIRE_OK(vkt_table_advise(&(vkt_data_desc) { .path = DIR "/t.csv" }, &a));
    for (uint32_t i = 0; i < a->n_notes; i++) n += strstr(a->notes[i], "tells the label") != NULL;
    vkt_table_advice_destroy(&a);
    vkt__str_finish(&s);
    return n;
}

static void a_column_may_tell_the_label_of_a_long_table(void **state)
{
    (void)state;
    assert_int_equal(notes_on_telling(40), 1);
    assert_int_equal(notes_on_telling(20), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_tables_are_read_by_threads),
        cmocka_unit_test(a_line_end_is_no_delimiter_for_threads),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(rows_may_be_longer_than_a_block),
        cmocka_unit_test(blocks_have_the_same_columns),
        cmocka_unit_test(messages_have_their_line),
        cmocka_unit_test(a_column_may_tell_the_label_of_a_long_table),
    };
    return cmocka_run_group_tests_name("csv rows", tests, setup, teardown);
}
