/* The drawing of a net: lines from layers to those that take their outputs, names escaped. */
#include "testing.h"

#include "report/graph_svg.h"

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, what)); s++) n++;
    return n;
}

static void a_skip_is_drawn_beside_the_rows(void **state)
{
    (void)state;
    static const char *const both[] = { "a<b", "up" }, *const whole[] = { "input" };
    const vkt_layer layers[] = {
        { .type = "conv", .out = 8, .name = "a<b" },
        { .type = "max_pool" },
        { .type = "upsample", .name = "up" },
        { .type = "concat", .from = both, .n_from = 2 },
        { .type = "conv", .from = whole, .n_from = 1 },
    };
    vkt__str s = { 0 };
    assert_true(vkt__graph_is_drawn(layers, 5));
    assert_false(vkt__graph_is_drawn(layers, 3)); /* one after the other */
    vkt__graph_svg(layers, 5, &s);
    assert_int_equal(count(s.data, "<circle"), 6); /* the input's too */
    assert_int_equal(count(s.data, "class=\"axis\""), 4);
    /* Rows are 22 apart, the first at 16.5; the second line is where the first one is not. */
    assert_non_null(strstr(s.data,
                           "<path class=\"s1\" d=\"M36 38.5C24 38.5 24 38.5 24 48.5V94.5C24 "
                           "104.5 24 104.5 36 104.5\"/>"));
    assert_non_null(strstr(s.data, "<path class=\"s2\" d=\"M36 16.5C12 16.5"));
    assert_non_null(strstr(s.data, "conv 8 (a&lt;b)</text>"));
    assert_null(strstr(s.data, "a<b"));
    vkt__str_finish(&s);
}

/* Many lines at once share the last lane; a list too long to be looked at is not drawn. */
static void many_layers(void **state)
{
    (void)state;
    static const char *const whole[] = { "input" };
    static vkt_layer layers[200];
    vkt__str s = { 0 };
    for (size_t i = 0; i < VKT_COUNT(layers); i++)
        layers[i] = (vkt_layer) { .type = "add", .from = whole, .n_from = 1 };
    assert_false(vkt__graph_is_drawn(layers, 200));
    assert_true(vkt__graph_is_drawn(layers, 100));
    vkt__graph_svg(layers, 100, &s);
    assert_int_equal(count(s.data, "<path"), 100);
    assert_int_equal(count(s.data, "C12 16.5"), 88);
    vkt__str_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skip_is_drawn_beside_the_rows),
        cmocka_unit_test(many_layers),
    };
    return cmocka_run_group_tests_name("drawings of nets", tests, NULL, NULL);
}
