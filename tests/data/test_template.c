/* data: chat templates. Golden texts of 40 templates from transformers' apply_chat_template
 * (tools/golden/golden_chat.py), what is refused and in which line, and the limits. */
#include "testing.h"

#include <jansson.h>
#include <math.h>

#include "jinja/template.h"

#define GOLDEN VKT_TEST_DIR "/golden/"
#define NOW 1769860800.0 /* 2026-01-31 12:00 UTC: noon, so that time zones agree on the day */

/* The text that a template makes of JSON variables; NULL: refused. */
static vkt_status render(const char *template, const char *variables, vkt__rendered *out)
{
    vkt__template *t;
    json_t *o = json_loads(variables, 0, NULL);
    assert_non_null(o);
    vkt_status st = vkt__template_parse(template, strlen(template), "test", &t);
    if (st == VKT_OK) st = vkt__template_render(t, o, NOW, out);
    vkt__template_destroy(&t);
    json_decref(o);
    return st;
}

static bool same_spans(const vkt__rendered *r, const json_t *want)
{
    bool same = r->n_generated == json_array_size(want);
    for (size_t i = 0; same && i < r->n_generated; i++) {
        const json_t *span = json_array_get(want, i);
        same = (json_int_t)r->generated[i].first == json_integer_value(json_array_get(span, 0)) &&
               (json_int_t)r->generated[i].end == json_integer_value(json_array_get(span, 1));
    }
    return same;
}

/* Whether the case comes out as golden. */
static bool case_holds(const vkt__template *t, const char *name, const json_t *c)
{
    vkt__rendered r = { 0 };
    const json_t *text = json_object_get(c, "text"), *spans = json_object_get(c, "generated");
    vkt_status st = vkt__template_render(t, json_object_get(c, "variables"), NOW, &r);
    bool holds = text ? st == VKT_OK && r.text.len == json_string_length(text) &&
                            !memcmp(r.text.data, json_string_value(text), r.text.len) &&
                            (!spans || same_spans(&r, spans))
                      : st == VKT_E_FORMAT;
    if (!holds)
        print_error("%s, %s: not as transformers has it:\n%s\n---- but ----\n%s\n", name,
                    json_string_value(json_object_get(c, "chat")),
                    text ? json_string_value(text) : "(refused)", r.text.data);
    vkt__rendered_finish(&r);
    return holds;
}

/* What Jinja2 3.1 makes of them, with trim_blocks and lstrip_blocks. */
static void test_written(void **state)
{
    (void)state;
    static const struct {
        const char *template, *text;
    } cases[] = {
        { "{{ -7 % 3 }} {{ 7 % -3 }} {{ -7 // 3 }}", "2 -2 -3" },
        { "{{ -7.5 % 2 }} {{ 7.5 % -2 }}", "0.5 -0.5" },
        { "{{ (1, 2) + (3,) }} {{ [1] + [2] }}", "(1, 2, 3) [1, 2]" },
        { "{{ 1 is sameas 1.0 }} {{ true is sameas 1 }} {{ 1 is eq 1.0 }}", "False False True" },
        { "a\n  {%+ if true %}b{% endif %}", "a\n  b" },
        { "a\n  {% if true %}b{% endif %}", "a\nb" },
        { "a\rb\r\nc", "a\nb\nc" },
        { "[{{ '' | default('x', false) }}{{ '' | default('y', true) }}]", "[y]" },
        { "{% set z = 0.0 %}{{ -z }} {{ +z }} {{ -1.5 }}", "-0.0 0.0 -1.5" },
        { "{{ 'abab'.rfind('ab') }}{{ 'abc'.rfind('abc') }}{{ 'abc'.rfind('') }}{{ "
          "'abc'.find('') }}",
          "2030" },
        { "[{{ '  a  '.rstrip() }}|{{ '  a  '.lstrip() }}|{{ '  a  '.strip() }}]", "[  a|a  |a]" },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt__rendered r = { 0 };
        REQUIRE_OK(render(cases[i].template, "{}", &r));
        assert_string_equal(r.text.data, cases[i].text);
        vkt__rendered_finish(&r);
    }
}

static void test_golden(void **state)
{
    (void)state;
    json_t *all = json_load_file(GOLDEN "chat_templates.json", 0, NULL), *row, *c;
    size_t i, k, n_cases = 0, n_bad = 0;
    TEST_LOG_CAPTURE();
    assert_true(json_array_size(all) >= 40);
    json_array_foreach(all, i, row)
    {
        const json_t *text = json_object_get(row, "template");
        const char *name = json_string_value(json_object_get(row, "name"));
        vkt__template *t;
        REQUIRE_OK(
            vkt__template_parse(json_string_value(text), json_string_length(text), name, &t));
        json_array_foreach(json_object_get(row, "cases"), k, c)
        {
            n_cases++;
            n_bad += !case_holds(t, name, c);
        }
        vkt__template_destroy(&t);
    }
    json_decref(all);
    assert_int_equal(n_bad, 0);
    assert_true(n_cases >= 150);
}

/* Expressions and statements of every kind come out as Jinja2 has them
 * (tools/golden/golden_jinja.py). Some that it takes are refused, as "x".replace("", "."), and some
 * that it refuses are taken, as a list that is looked for among the keys of a dict: as many as
 * there are. */
static void test_expressions(void **state)
{
    (void)state;
    json_t *all = json_load_file(GOLDEN "jinja.json", 0, NULL), *row, *none = json_object();
    size_t i, n_bad = 0, n_refused = 0, n_taken = 0;
    TEST_LOG_CAPTURE();
    assert_true(json_array_size(all) >= 3000);
    json_array_foreach(all, i, row)
    {
        const char *template = json_string_value(json_array_get(row, 0)),
                   *text = json_string_value(json_array_get(row, 1));
        vkt__template *t = NULL;
        vkt__rendered r = { 0 };
        vkt_status st = vkt__template_parse(template, strlen(template), "test", &t);
        if (st == VKT_OK) st = vkt__template_render(t, none, NOW, &r);
        const char *got = r.text.data ? r.text.data : "";
        n_refused += text && st != VKT_OK;
        n_taken += !text && st == VKT_OK;
        if (text && st == VKT_OK && strcmp(got, text) != 0) {
            print_error("%s is '%s', not '%s'\n", template, got, text);
            n_bad++;
        }
        vkt__rendered_finish(&r);
        vkt__template_destroy(&t);
    }
    json_decref(none);
    json_decref(all);
    assert_int_equal(n_bad, 0);
    assert_int_equal(n_refused, 70);
    assert_int_equal(n_taken, 10);
}

/* What is not understood is named with its line, when the template is read or when it runs. */
static void test_refused(void **state)
{
    static const struct {
        const char *template, *said;
    } rows[] = {
        { "a\n{% include 'x' %}", "line 2: a block is not understood: 'include'" },
        { "{% extends 'x' %}", "line 1: a block is not understood: 'extends'" },
        { "a\nb\n{{ x | wordwrap }}", "line 3: a filter is not understood: 'wordwrap'" },
        { "{{ x is odder }}", "line 1: a test is not understood: 'odder'" },
        { "{% for x in y %}", "line 1: a {% for %} without its end" },
        { "{% if x %}{% endfor %}", "an {% if %} without its end" },
        { "{{ x", "line 1: a tag does not end" },
        { "{{ 'x }}", "a text in quotes does not end" },
        { "{# x", "a comment does not end" },
        { "{{ (1 }}", "line 1:" },
        { "{{ 1 2 }}", "an expression that goes on is not understood: '2'" },
        { "{{ x ? }}", "here is no place for '?'" },
        { "{% break %}", "outside of a loop" },
        { "{% for a in b recursive %}{% endfor %}", "a recursive loop" },
        { "{% endif %}", "not open" },
        { "\n\n{{ messages.a.b }}", "line 3: 'messages' is not defined" },
        { "\n{{ 1 + none }}", "line 2: \"+\" of a number and none" },
        { "{{ raise_exception('Only so.') }}", "line 1: the template refuses it: Only so." },
        { "{{ nobody() }}", "'nobody' is not defined" },
        { "{{ 'a'.encode() }}", "a text has no method 'encode'" },
        { "{{ strftime_now('%Q') }}", "does not know '%Q'" },
        { "{{ 1 // 0 }}", "a division by zero" },
        { "{{ 9223372036854775807 + 9223372036854775807 }}", "a number is too large" },
        { "{% macro m() %}{% generation %}{% endgeneration %}{% endmacro %}{{ m() }}",
          "{% generation %} inside of a macro" },
        { "{% set l = {} %}{% set l.a = 1 %}", "only a namespace's attributes can be set" },
    };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__rendered r = { 0 };
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(render(rows[i].template, "{}", &r), VKT_E_FORMAT);
        REQUIRE_LOGGED(rows[i].said);
        vkt__rendered_finish(&r);
    }
}

/* What Python would refuse at run time, each place of ours that does: filters, methods, functions,
 * tests, operators. */
static void test_wrong_kinds(void **state)
{
    static const struct {
        const char *template, *said;
    } rows[] = {
        { "{{ 1 + nothing }}", "'nothing' is not defined" },
        { "{{ -'a' }}", "a sign before what is no number" },
        { "{{ 1 < 'a' }}", "a number and a text have no order" },
        { "{{ 'a' in 1 }}", "\"in\" of a text and a number" },
        { "{{ 1 not 'in' [1] }}", "line 1" },
        { "{{ 1 | length }}", "a number has no length" },
        { "{% for i in 1 %}{% endfor %}", "a number can't be looped over" },
        { "{{ 1[1:2] }}", "a number can't be sliced" },
        { "{{ 1 not b }}", "an expression that goes on is not understood: 'not'" },
        { "{{ 'abc'['a':2] }}", "a text as a slice's index" },
        { "{{ 1 % 0 }}", "a division by zero" },
        { "{{ 1 // 0 }}", "a division by zero" },
        { "{{ 1 / 0 }}", "a division by zero" },
        { "{{ 0 ** -1 }}", "a power that is no number" },
        { "{{ (-8) ** 0.5 }}", "a power that is no number" },
        { "{{ 'abc'[::0] }}", "a slice's step must be a number that is not 0" },
        { "{% set a, b = [1, 2, 3] %}", "3 values for 2 names" },
        { "{{ 1() }}", "a number can't be called" },
        { "{% macro m(a) %}{% endmacro %}{{ m(b=1) }}", "the macro 'm' does not take 'b'" },
        { "{% macro m(a) %}{% endmacro %}{{ m(1, a=1) }}", "the macro 'm' does not take 'a'" },
        { "{% for i in [1] %}{{ loop.cycled(1) }}{% endfor %}",
          "loop.cycled(..) is not understood" },
        { "{% for i in [1] %}{{ loop.nextone }}{% endfor %}", "loop.nextone is not understood" },
        { "{{ range('a') }}", "range of what is no whole number" },
        { "{{ range(3000000000) }}", "range of what is no whole number, or too large" },
        { "{{ range() }}", "range takes 1 to 3 numbers" },
        { "{{ range(stop=3) }}", "range takes 1 to 3 numbers" },
        { "{{ namespace(1) }}", "namespace and dict take names, or a dict" },
        { "{{ strftime_now(1) }}", "strftime_now takes a format" },
        { "{{ namespace(a=1) }}", "is no text" },
        { "{{ 'a'.strip(1) }}", "a text is needed here, not a number" },
        { "{{ 'a'.find() }}", "a text is needed here, not nothing" },
        { "{{ 'a'.strip('a', 'b') }}", "strip takes 1 arguments at most" },
        { "{{ 'a'.strip(char='b') }}", "strip does not know the argument 'char'" },
        { "{{ 'a b'.split(maxsplit='1') }}", "a number is needed here, not a text" },
        { "{{ 'a b'.rsplit(none, 1) }}", "rsplit by white space with a limit" },
        { "{{ 'a b'.split('') }}", "split by an empty text" },
        { "{{ 'a'.startswith(1) }}", "startswith and endswith need a text, not a number" },
        { "{{ 'a'.replace('', 'b') }}", "replace of an empty text" },
        { "{{ 'a'.index('b') }}", "index: the text is not there" },
        { "{{ ','.join() }}", "join of nothing" },
        { "{{ 'a'.partition('') }}", "partition by an empty text" },
        { "{{ [{'a': 1}] | map(attribute=1.5) | list }}", "an attribute must be a text" },
        { "{{ 1 | tojson(separators=[1, 2]) }}", "tojson: separators must be two texts" },
        { "{{ {1: 2} | tojson(sort_keys=true) }}", "tojson: a key is not a text" },
        { "{{ 1 | items }}", "items of a number" },
        { "{{ 'a' | abs }}", "abs of a text" },
        { "{{ 'a' | round }}", "round of a text" },
        { "{{ 9223372036854775807 | round(-1) }}", "round leaves the whole numbers" },
        { "{{ 1 | round(99) }}", "round takes -15 to 15 places" },
        { "{{ [1] | sum(start='a') }}", "sum from a text" },
        { "{{ ['a'] | sum }}", "sum of a text" },
        { "{{ [1] | selectattr }}", "selectattr needs an attribute" },
        { "{{ [1] | select(1) }}", "a test's name must be a text" },
        { "{{ [1] | select('odder') }}", "the test 'odder' is not understood" },
        { "{{ [1] | map }}", "map needs a filter's name or attribute=" },
        { "{{ [1] | map('shout') }}", "the filter 'shout' is not understood" },
        { "{{ 1.5 is odd }}", "odd, even and divisibleby are tests of whole numbers" },
        { "{{ 4 is divisibleby(0) }}", "odd, even and divisibleby are tests of whole numbers" },
        { "{{ 1 is divisibleby }}", "the test 'divisibleby' takes one value" },
        { "{{ 1 is odd(2) }}", "the test 'odd' takes nothing" },
    };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__rendered r = { 0 };
        TEST_LOG_CAPTURE();
        vkt_status st = render(rows[i].template, "{}", &r);
        if (st != VKT_E_FORMAT || !strstr(test_log, rows[i].said))
            print_error("%s: status %d, %s\n", rows[i].template, (int)st, test_log);
        REQUIRE_STATUS(st, VKT_E_FORMAT);
        REQUIRE_LOGGED(rows[i].said);
        vkt__rendered_finish(&r);
    }
}

/* As Jinja2 3.1 has them. */
static void test_filters(void **state)
{
    static const struct {
        const char *template, *text;
    } rows[] = {
        /* Equal ones stay in their order, also where it falls. */
        { "{{ [{'k': 1, 'v': 'a'}, {'k': 0, 'v': 'b'}, {'k': 1, 'v': 'c'}, {'k': 2, 'v': 'd'}] | "
          "sort(attribute='k', reverse=true) | map(attribute='v') | join }}",
          "dacb" },
        { "{{ ['b', 'A', 'B', 'a'] | sort(reverse=true) | join }}", "bBAa" },
        { "{{ 'a\n\nb' | indent(2) }}", "a\n\n  b" },
        { "{{ ' a b  c '.split(none, 1) }}", "['a', 'b  c ']" },
        { "{{ [{'k': 1}, {'k': 2}] | sum('k', 0.5) }} {{ 7 | round }} {{ [1] == (1,) }}",
          "3.5 7 False" },
        { "{{ 9007199254740993 | round }} {{ 50001 | round(-5) }} {{ 15 | round(-1) }} "
          "{{ -25 | round(-1) }} {{ -26 | round(-1) }} {{ 9223372036854775807 | round }} "
          "{{ 499999999999999 | round(-15) }} {{ true | round(-1) }}",
          "9007199254740993 100000 20 -20 -30 9223372036854775807 0 0" },
        { "{{ 'a\n\nb' | indent(2, blank=true) }}", "a\n  \n  b" },
        { "{{ 'a\n\nb' | indent(2, first=true, blank=true) }}", "  a\n  \n  b" },
    };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__rendered r = { 0 };
        REQUIRE_OK(render(rows[i].template, "{}", &r));
        assert_string_equal(r.text.data, rows[i].text);
        vkt__rendered_finish(&r);
    }
}

/* Templates that would run for ever, or take all memory, end soon and say so. */
static void test_limits(void **state)
{
    static const struct {
        const char *template, *said;
    } rows[] = {
        { "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% "
          "endfor "
          "%}{% endfor %}{% endfor %}",
          "line 1: it " },
        { "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "does a macro call itself?" },
        { "{% set ns = namespace(t='0123456789') %}{% for i in range(99) %}{% set ns.t = ns.t + "
          "ns.t "
          "%}{% endfor %}",
          "MiB" },
        { "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% "
          "endfor %}",
          "line 1: it " },
        { "{{ 'a' * 999999999999 }}", "steps" },
        { "{{ range(1000000) }}", "range of more than" },
        { "{{ [1] | tojson(indent=99999999) }}", "an indent must be" },
        { "{% set ns = namespace(l=[]) %}{% for i in range(999) %}{% set ns.l = [ns.l, ns.l] %}{% "
          "endfor %}{{ ns.l }}",
          "deep" },
        { "{% set ns = namespace(l=[]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% "
          "endfor %}{{ ns.l }}",
          "line 1: it " },
        { "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa'|replace('a', 'b' * 9000000) }}", "steps" },
        { "{% set ns = namespace(m='x' * 9000000) %}{% for i in range(99) %}{{ ns.m }}{% endfor %}",
          "line 1: it " },
        { "{{ ('a' * 9000000) ~ ('b' * 9000000) ~ ('b' * 9000000) ~ ('b' * 9000000) }}",
          "line 1: it " },
        { "{{ ('a\\n' * 99) | indent('b' * 1000000) }}", "indent makes too long a text" },
        { "{{ ('a' * 99).replace('a', 'b' * 1000000) }}", "replace makes too long a text" },
        { "{{ ('b' * 1000000).join('a' * 99) }}", "join makes too long a text" },
        { "{% set ns = namespace(l=[]) %}{% set x = 'a' * 1000000 %}{% for i in range(99) %}{% set "
          "ns.l = ns.l + [x] %}{% endfor %}{{ ns.l }}",
          "it writes more than 64 MiB" },
        { "{% set ns = namespace(a=[], b=[]) %}{% for i in range(150) %}{% set ns.a = [ns.a] %}{% "
          "set ns.b = [ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
          "what is compared is too deep" },
    };
    vkt__str deep = { 0 };
    vkt__rendered r = { 0 };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__rendered made = { 0 };
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(render(rows[i].template, "{}", &made), VKT_E_FORMAT);
        REQUIRE_LOGGED(rows[i].said);
        vkt__rendered_finish(&made);
    }
    vkt__str_add(&deep, "{{ ", 3);
    for (int i = 0; i < 5000; i++) vkt__str_add(&deep, i % 2 ? "[" : "not ", i % 2 ? 1 : 4);
    REQUIRE_STATUS(render(deep.data, "{}", &r), VKT_E_FORMAT);
    deep.len = 0;
    for (int i = 0; i < 5000; i++) vkt__str_add(&deep, "{% if 1 %}", 10);
    REQUIRE_STATUS(render(deep.data, "{}", &r), VKT_E_FORMAT);
    vkt__str_finish(&deep);
    vkt__rendered_finish(&r);
}

/* n times a text, after the others. */
static void add_times(vkt__str *s, const char *text, int n)
{
    for (int i = 0; i < n; i++) vkt__str_add(s, text, strlen(text));
}

static void require_refused(const vkt__str *template, const char *variables, const char *said)
{
    vkt__rendered r = { 0 };
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(render(template->data, variables, &r), VKT_E_FORMAT);
    REQUIRE_LOGGED(said);
    vkt__rendered_finish(&r);
}

/* Templates and data that are too long or too deep to be written down as rows. */
static void test_sizes(void **state)
{
    (void)state;
    vkt__str s = { 0 }, data = { 0 };
    add_times(&s, "0123456789abcdef", (4 << 16) + 1);
    require_refused(&s, "{}", "the chat template of 'test' is longer than 4 MiB");
    s.len = 0;
    add_times(&s, "{{ '\xff' }}", 1);
    require_refused(&s, "{}", "the chat template of 'test' is not UTF-8");
    s.len = 0;
    add_times(&s, "{% for i in range(99) %}", 1);
    add_times(&s, "0123456789abcdef", 1 << 16);
    add_times(&s, "{% endfor %}", 1);
    require_refused(&s, "{}", "line 1: it writes more than 64 MiB");
    s.len = 0;
    add_times(&s, "{% set ns = namespace(l=[]) %}{% for i in range(64) %}{% set ns.l = [ns.l] %}",
              1);
    add_times(&s, "{% endfor %}{{ ns.l | map('map'", 1);
    add_times(&s, ", 'map'", 64);
    add_times(&s, ") | list }}", 1);
    require_refused(&s, "{}", "map within map too often");
    s.len = 0;
    add_times(&s, "{{ [(0)", 1); /* as many as one likes beside each other */
    add_times(&s, ", (1), not 1, -1", 500);
    add_times(&s, "] | length }}", 1);
    vkt__rendered r = { 0 };
    REQUIRE_OK(render(s.data, "{}", &r));
    assert_string_equal(r.text.data, "1501");
    vkt__rendered_finish(&r);
    s.len = 0;
    add_times(&s, "{{ 1 }}", 1);
    add_times(&data, "{\"a\": ", 1);
    add_times(&data, "[", 150);
    add_times(&data, "]", 150);
    add_times(&data, "}", 1);
    require_refused(&s, data.data, "the data are more than 100 deep");
    vkt__str_finish(&s);
    vkt__str_finish(&data);
}

/* What one rendering left behind is not the next one's. */
static void test_again(void **state)
{
    static const char template[] = "u{% generation %}a{% endgeneration %}";
    vkt__template *t;
    vkt__rendered r = { 0 };
    json_t *o = json_object();
    (void)state;
    REQUIRE_OK(vkt__template_parse(template, strlen(template), "test", &t));
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(vkt__template_render(t, o, NAN, &r));
        assert_string_equal(r.text.data, "ua");
        assert_int_equal(r.n_generated, 1);
        assert_int_equal(r.generated[0].first, 1);
        assert_int_equal(r.generated[0].end, 2);
    }
    vkt__rendered_finish(&r);
    vkt__template_destroy(&t);
    json_decref(o);
}

/* A turn of 20 MB costs its length, not its square. */
static void test_long(void **state)
{
    static const char template[] =
        "{% for m in messages %}<s>{{ m.content | trim }}{{ m.content.strip() "
        "}}</s>{% endfor %}";
    size_t n = 20 << 20;
    char *text = malloc(n + 1);
    vkt__template *t;
    vkt__rendered r = { 0 };
    (void)state;
    assert_non_null(text);
    memset(text, 'x', n);
    text[n] = 0;
    json_t *o = json_pack("{s:[{s:s, s:s}]}", "messages", "role", "user", "content", text);
    REQUIRE_OK(vkt__template_parse(template, strlen(template), "test", &t));
    REQUIRE_OK(vkt__template_render(t, o, NAN, &r));
    assert_int_equal(r.text.len, 2 * n + 7);
    vkt__rendered_finish(&r);
    vkt__template_destroy(&t);
    json_decref(o);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),      cmocka_unit_test(test_written),
        cmocka_unit_test(test_expressions), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wrong_kinds), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_filters),     cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_long),        cmocka_unit_test(test_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
