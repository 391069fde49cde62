/* Long lines, as values for the page's script and on a canvas: thinned ones keep their extremes,
 * breaks and ends; short lines and other marks are whole. */
#include <jansson.h>
#include <math.h>

#include "base/os.h"
#include "data/pictures/picture.h"
#include "report/plot.h"
#include "testing.h"

enum { LONG = 10000, COLUMNS = 100, HIGH_AT = 1234, LOW_AT = 5678 };
static double x[LONG + 1], y[LONG];

/* A ramp with one value far above it and one far below. */
static vkt__series ramp(vkt__mark mark, size_t n)
{
    for (size_t i = 0; i <= LONG; i++) x[i] = (double)i + 1;
    for (size_t i = 0; i < LONG; i++) y[i] = 1 + (double)i / LONG;
    y[HIGH_AT] = 123456.75;
    y[LOW_AT] = 0.25;
    return (vkt__series) { .mark = mark, .n = n, .x = x, .y = y };
}

static json_t *one(vkt__plot *p, const vkt__series *s, json_t **root)
{
    vkt__str text = { 0 };
    json_error_t e;
    vkt__plot_add(p, s);
    vkt__plot_json(p, COLUMNS, &text);
    *root = json_loads(text.data, 0, &e);
    if (!*root) fail_msg("%s: %s", e.text, text.data);
    vkt__str_finish(&text);
    return json_array_get(json_object_get(*root, "s"), p->n_series - 1);
}

static double number_at(const json_t *s, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(s, key), i));
}

static size_t count(const json_t *s, const char *key)
{
    return json_array_size(json_object_get(s, key));
}

/* Where a value stands; counts its steps by the distances. */
static double place_of(const json_t *s, double value)
{
    double at = 0;
    for (size_t i = 0; i < count(s, "y"); i++) {
        at += number_at(s, "x", i);
        if (number_at(s, "y", i) == value) return at;
    }
    fail_msg("%g is not among %zu values", value, count(s, "y"));
    return NAN;
}

static void a_long_line_is_thinned(void **state)
{
    (void)state;
    vkt__plot p = { .title = "t" };
    vkt__series s = ramp(VKT__LINE, LONG);
    json_t *root, *j = one(&p, &s, &root);
    /* The lowest and the highest point of each column are kept; the highest of a ramp is the last.
     * The line's last point begins a column. */
    assert_in_range(count(j, "y"), 2 * COLUMNS, 2 * COLUMNS + 4);
    assert_int_equal(count(j, "x"), count(j, "y"));
    assert_int_equal(json_integer_value(json_object_get(j, "d")), 1);
    assert_true(number_at(j, "x", 0) == 1 && number_at(j, "y", 0) == 1);
    REQUIRE_NEAR(place_of(j, 123500), HIGH_AT + 1, 0); /* of 4 digits */
    REQUIRE_NEAR(place_of(j, 0.25), LOW_AT + 1, 0);
    double last = 0;
    for (size_t i = 0; i < count(j, "x"); i++) last += number_at(j, "x", i);
    assert_true(last == LONG);
    json_decref(root);
}

static void half_the_columns_do_for_what_is_smooth(void **state)
{
    (void)state;
    vkt__plot p = { .title = "t" };
    vkt__series s = ramp(VKT__LINE, LONG);
    s.smoothed = true;
    json_t *root, *j = one(&p, &s, &root);
    assert_in_range(count(j, "y"), COLUMNS, COLUMNS + 4);
    assert_int_equal(json_integer_value(json_object_get(j, "s")), 1);
    json_decref(root);
}

static void a_short_line_and_dots_are_whole(void **state)
{
    (void)state;
    vkt__plot p = { .title = "t" };
    vkt__series s = ramp(VKT__LINE, 2 * COLUMNS);
    y[7] = 123456.75;
    json_t *root, *j = one(&p, &s, &root);
    assert_int_equal(count(j, "y"), 2 * COLUMNS);
    assert_true(number_at(j, "y", 7) == 123460); /* of 5 digits */
    assert_true(count(j, "x") == 1 && number_at(j, "x", 0) == 1);
    assert_true(json_number_value(json_object_get(j, "b")) == 1); /* evenly, by 1 */
    json_decref(root);
    s = ramp(VKT__DOTS, LONG);
    j = one(&p, &s, &root);
    assert_int_equal(count(j, "y"), LONG);
    json_decref(root);
    s = ramp(VKT__BARS, LONG);
    j = one(&p, &s, &root);
    assert_int_equal(count(j, "y"), LONG);
    assert_int_equal(count(j, "x"), 1);
    s.n = 2; /* few edges are written one by one */
    json_decref(root);
    x[2] = 7.5;
    j = one(&p, &s, &root);
    assert_true(count(j, "x") == 3 && number_at(j, "x", 2) == 7.5);
    json_decref(root);
    s.n = 0;
    j = one(&p, &s, &root);
    assert_true(count(j, "x") == 0 && count(j, "y") == 0);
    json_decref(root);
}

/* On a logarithmic axis the first decades are as wide as the last; 0 has no place there. */
static void columns_follow_the_axis(void **state)
{
    (void)state;
    vkt__plot p = { .title = "t", .log_x = true };
    vkt__series s = ramp(VKT__LINE, LONG);
    size_t early = 0;
    double at = 0;
    x[0] = 0;
    json_t *root, *j = one(&p, &s, &root);
    assert_int_equal(json_integer_value(json_object_get(root, "lx")), 1);
    assert_true(number_at(j, "x", 0) == 0 && number_at(j, "x", 1) == 2);
    for (size_t i = 0; i < count(j, "x"); i++) early += (at += number_at(j, "x", i)) <= 10;
    assert_int_equal(early, 10); /* each of the first ten points has a column of its own */
    assert_in_range(count(j, "x"), 50, 2 * COLUMNS + 4);
    json_decref(root);
}

/* Most of a run that diverged has no loss: one null says so, and what comes after is there. */
static void a_long_gap_is_one_null(void **state)
{
    (void)state;
    vkt__plot p = { .title = "t" };
    vkt__series s = ramp(VKT__LINE, LONG);
    size_t nulls = 0;
    for (size_t i = 100; i < LONG - 100; i++) y[i] = i % 3 ? NAN : INFINITY;
    json_t *root, *j = one(&p, &s, &root);
    for (size_t i = 0; i < count(j, "y"); i++)
        nulls += json_is_null(json_array_get(json_object_get(j, "y"), i));
    assert_int_equal(nulls, 1);
    assert_in_range(count(j, "y"), 5, 12);
    json_decref(root);
    for (size_t i = 0; i < LONG; i++) y[i] = NAN; /* no place at all: nothing to choose by */
    j = one(&p, &s, &root);
    assert_int_equal(count(j, "y"), LONG);
    json_decref(root);
}

/* Uneven steps are written as distances, other numbers one by one. */
static void numbers_across(void **state)
{
    (void)state;
    static const double steps[] = { 10, 11, 13, 1000000 }, rates[] = { 0.1, 0.2, 0.4 },
                        ys[] = { 1, 2, 3, 4 }, low[] = { 0, 1, 2, 3 };
    static const char *const label[] = { "a\"</script>", NULL, "c", "d" };
    vkt__plot p = { .title = "t" };
    json_t *root,
        *j = one(&p, &(vkt__series) { .mark = VKT__LINE, .n = 4, .x = steps, .y = ys }, &root);
    assert_int_equal(json_integer_value(json_object_get(j, "d")), 1);
    assert_true(number_at(j, "x", 0) == 10 && number_at(j, "x", 2) == 2 &&
                number_at(j, "x", 3) == 999987);
    json_decref(root);
    j = one(&p, &(vkt__series) { .mark = VKT__LINE, .n = 3, .x = rates, .y = ys }, &root);
    assert_true(!json_object_get(j, "d") && !json_object_get(j, "b") &&
                number_at(j, "x", 2) == 0.4);
    json_decref(root);
    vkt__series band = {
        .mark = VKT__BAND, .n = 4, .x = steps, .y = ys, .y2 = low, .label = label
    };
    j = one(&p, &band, &root);
    assert_true(count(j, "z") == 4 && number_at(j, "z", 3) == 3);
    assert_string_equal(json_string_value(json_array_get(json_object_get(j, "l"), 0)), label[0]);
    assert_string_equal(json_string_value(json_array_get(json_object_get(j, "l"), 1)), "");
    json_decref(root);
}

/* ---- as drawn ---- */

typedef struct drawn {
    double xy[4 * LONG], width;
    size_t n, n_nan;
} drawn;

/* The longest line is the series. */
static void on_line(void *to, const double *xy, size_t n, int ink, double width, bool faint)
{
    drawn *d = to;
    (void)faint;
    if (ink < VKT__INK_SERIES || n < 3) return;
    assert_true(2 * n <= VKT_COUNT(d->xy));
    memcpy(d->xy, xy, 2 * n * sizeof *xy);
    d->n = n;
    d->width = width;
    d->n_nan = 0;
    for (size_t i = 0; i < n; i++) d->n_nan += isnan(xy[2 * i]) || isnan(xy[2 * i + 1]);
}

static void on_fill(void *to, const double *xy, size_t n, int ink, bool faint)
{
    (void)to, (void)xy, (void)n, (void)ink, (void)faint;
}

static void on_dot(void *to, double at, double down, int ink, bool cross, const char *label)
{
    (void)to, (void)at, (void)down, (void)ink, (void)cross, (void)label;
}

static void on_text(void *to, double at, double down, double size, vkt__anchor anchor, bool bold,
                    bool up, const char *text)
{
    (void)to, (void)at, (void)down, (void)size, (void)anchor, (void)bold, (void)up, (void)text;
}

static drawn *draw(vkt__plot *p, const vkt__series *s)
{
    static drawn d;
    const vkt__canvas c = { &d, on_line, on_fill, on_dot, on_text, NULL };
    d = (drawn) { .n = 0 };
    p->n_series = 0;
    vkt__plot_add(p, s);
    vkt__plot_draw(p, &c);
    return &d;
}

static void a_drawn_line_has_a_column_a_pixel(void **state)
{
    (void)state;
    vkt__plot p = { .title = "t", .width = 782 }; /* 700 pixels across */
    vkt__series s = ramp(VKT__LINE, LONG);
    vkt__plot_frame f;
    const drawn *d = draw(&p, &s);
    f = vkt__plot_find_frame(&p);
    assert_in_range(d->n, 2 * 700, 2 * 700 + 4);
    double top = INFINITY, bottom = -INFINITY;
    for (size_t i = 0; i < d->n; i++) {
        top = fmin(top, d->xy[2 * i + 1]);
        bottom = fmax(bottom, d->xy[2 * i + 1]);
    }
    double high = f.y0 + (123456.75 - f.y_low) / (f.y_high - f.y_low) * (f.y1 - f.y0),
           low = f.y0 + (0.25 - f.y_low) / (f.y_high - f.y_low) * (f.y1 - f.y0);
    REQUIRE_NEAR(top, high, 1e-6);
    REQUIRE_NEAR(bottom, low, 1e-6);
    REQUIRE_NEAR(d->xy[0], f.x0, 1e-9);
    REQUIRE_NEAR(d->xy[2 * d->n - 2], f.x1, 1e-9);
    REQUIRE_NEAR(d->width, 1.8, 0);
    p.width = 432; /* 350 across: columns of 1.5 pixels */
    assert_in_range(draw(&p, &s)->n, 2 * 233, 2 * 234 + 4);
    p.width = 322; /* 240 across, a phone: columns of 3 pixels */
    assert_in_range(draw(&p, &s)->n, 2 * 80, 2 * 80 + 4);
    s.faint = true;
    REQUIRE_NEAR(draw(&p, &s)->width, 1, 0);
}

static void a_drawn_line_breaks(void **state)
{
    (void)state;
    vkt__plot p = { .title = "t", .width = 782 };
    vkt__series s = ramp(VKT__LINE, LONG);
    for (size_t i = 4000; i < 8000; i++) y[i] = NAN;
    const drawn *d = draw(&p, &s);
    assert_int_equal(d->n_nan, 1);
    assert_in_range(d->n, 2 * 419, 2 * 421 + 5);
    p.log_y = true; /* what is not above 0 has no place */
    for (size_t i = 4000; i < 8000; i++) y[i] = -1;
    assert_int_equal(draw(&p, &s)->n_nan, 1);
}

/* How far the points of one line lie below white, most of them: it crosses the grid and axes. */
static int depth_of(bool faint)
{
    char *file;
    size_t n;
    uint32_t w, h;
    uint8_t *rgb;
    int n_deep[256] = { 0 }, most = 0;
    vkt__plot p = { .title = "", .width = 300, .height = 200 };
    static const double at[] = { 0, 1, 2 }, level[] = { 1, 3, 2 };
    vkt__plot_add(&p, &(vkt__series) { .n = 3, .x = at, .y = level, .faint = faint });
    REQUIRE_OK(vkt__plot_png(&p, "tpl.png"));
    REQUIRE_OK(vkt__file_read("tpl.png", 1 << 24, &file, &n));
    remove("tpl.png");
    REQUIRE_OK(vkt__picture_decode(file, n, "tpl.png", 3, 0, 0, 0, &w, &h, &rgb));
    assert_true(w == 600 && h == 400);
    /* of points that have a colour: text and grid are grey */
    for (size_t i = 0; i < (size_t)w * h; i++) {
        const uint8_t *c = rgb + 3 * i;
        if (abs(c[0] - c[2]) < 40) continue;
        n_deep[255 - VKT_MIN(VKT_MIN(c[0], c[1]), c[2])]++;
    }
    free(rgb);
    free(file);
    for (int d = 1; d < 256; d++)
        if (n_deep[d] > n_deep[most]) most = d;
    return most;
}

/* Raw values behind a smoothed curve are a third as dark, where they cross themselves, too. */
static void what_is_faint_is_faint(void **state)
{
    (void)state;
    int full = depth_of(false), faint = depth_of(true);
    assert_true(full > 100);
    REQUIRE_NEAR((double)faint / full, 0.32, 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_line_is_thinned),
        cmocka_unit_test(half_the_columns_do_for_what_is_smooth),
        cmocka_unit_test(a_short_line_and_dots_are_whole),
        cmocka_unit_test(columns_follow_the_axis),
        cmocka_unit_test(a_long_gap_is_one_null),
        cmocka_unit_test(numbers_across),
        cmocka_unit_test(a_drawn_line_has_a_column_a_pixel),
        cmocka_unit_test(a_drawn_line_breaks),
        cmocka_unit_test(what_is_faint_is_faint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
