/* Flat objects are read as jansson reads them, or left to it. */
#include <jansson.h>
#include <string.h>

#include "formats/json_flat.h"
#include "testing.h"

/* Whether the text is taken; then every value must be jansson's. */
static bool taken(const char *text, size_t n)
{
    vkt__json_flat f;
    vkt__json_item item;
    vkt__arena a = { 0 };
    json_t *j = json_loadb(text, n, 0, NULL);
    bool same = true;
    if (vkt__json_flat_begin(&f, text, n)) {
        while (vkt__json_flat_next(&f, &item)) {
            char key[8];
            assert_true(item.n_key < sizeof key);
            memcpy(key, item.key, item.n_key);
            key[item.n_key] = 0;
            const json_t *v = json_object_get(j, key);
            if (item.kind == VKT__JSON_TEXT)
                same &= json_is_string(v) &&
                        !strcmp(json_string_value(v), vkt__json_item_text(&item, &a));
            else if (item.kind == VKT__JSON_NULL)
                same &= json_is_null(v);
            else
                same &= json_is_integer(v) == (item.kind == VKT__JSON_WHOLE) &&
                        json_number_value(v) >= vkt__json_item_number(&item) &&
                        json_number_value(v) <= vkt__json_item_number(&item);
        }
    }
    bool is_over = f.is_over;
    /* What is not whole may have had parts that look right. */
    assert_true(!is_over || (json_is_object(j) && same));
    json_decref(j);
    vkt__arena_finish(&a);
    return is_over;
}

static void values(void **state)
{
    (void)state;
    static const char *const taken_so[] = {
        "{}",
        " {\n \"k\" : \"a\" } \n",
        "{\"k\":\"\"}",
        "{\"k\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}",
        "{\"k\":\"Gr\xc3\xb6\xc3\x9f\x65\"}",
        "{\"k\":null}",
        "{\"k\":0}",
        "{\"k\":-0}",
        "{\"k\":-0.0}",
        "{\"k\":123456789012345678}",
        "{\"k\":0.1}",
        "{\"k\":1E+5}",
        "{\"k\":1.7976931348623157e308}",
        "{\"k\":5e-324}",
        "{\"a\":1,\"b\":\"x\",\"c\":null,\"d\":2.5}",
    };
    static const char *const left[] = {
        "",
        "[]",
        "{",
        "}",
        "{\"k\"}",
        "{\"k\":}",
        "{\"k\":1,}",
        "{,\"k\":1}",
        "{\"k\":1}}",
        "{\"k\":1} x",
        "{\"k\":01}",
        "{\"k\":+1}",
        "{\"k\":.5}",
        "{\"k\":1.}",
        "{\"k\":1e}",
        "{\"k\":--1}",
        "{\"k\":1e999}",
        "{\"k\":1234567890123456789}",
        "{\"k\":nul}",
        "{\"k\":nullx}",
        "{\"k\":true}",
        "{\"k\":[]}",
        "{\"k\":\"a",
        "{\"k\":\"a\\",
        "{\"k\":\"\\q\"}",
        "{\"k\":\"\\u0041\"}",
        "{\"k\":\"\n\"}",
        "{\"k\":\"\xff\"}",
        "{\"k\\n\":1}",
        "{k:1}",
        "{\"k\" 1}",
    };
    for (size_t i = 0; i < VKT_COUNT(taken_so); i++)
        if (!taken(taken_so[i], strlen(taken_so[i]))) fail_msg("not taken: %s", taken_so[i]);
    for (size_t i = 0; i < VKT_COUNT(left); i++)
        if (taken(left[i], strlen(left[i]))) fail_msg("taken: %s", left[i]);
}

/* A byte changed, left out or put in, wherever: what is still taken is what jansson reads. */
static void damaged_anywhere(void **state)
{
    (void)state;
    static const char text[] =
        "{\n  \"a\": \"x\\ny\",\n  \"b\": -12.5e-1,\n  \"c\": 7,\n  \"d\": null\n}\n",
                      bytes[] = "{}[]\":,\\ \n\t0159-+.eEnultrk\x01\xc3\xa9/u";
    char other[sizeof text + 1];
    size_t n = sizeof text - 1, n_taken = 0;
    for (size_t at = 0; at < n; at++)
        for (size_t b = 0; b < sizeof bytes; b++) /* with the NUL behind them */
            for (size_t gone = 0; gone < 2; gone++) {
                memcpy(other, text, at);
                other[at] = bytes[b];
                memcpy(other + at + 1, text + at + gone, n - at - gone);
                other[n + 1 - gone] = 0;
                n_taken += taken(other, n + 1 - gone);
            }
    for (size_t end = 0; end < n - 2; end++) assert_false(taken(text, end));
    assert_true(n_taken > 100); /* blanks, digits and letters that change no grammar */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(damaged_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
