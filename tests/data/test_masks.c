/* data: which bytes of a conversation count, by constructs that chat templates are made of, as
 * transformers' assistant mask has them (tools/golden/golden_masks.py); and that they do not move
 * when the others' words do. */
#include "testing.h"

#include <jansson.h>
#include <math.h>

#include "data/chat/lesson.h"

#define GOLDEN VKT_TEST_DIR "/golden/"

enum { MOST = 64 };

static vkt__chat *chat_of(const json_t *all, const json_t *row)
{
    const char *control[MOST], *ends[MOST];
    size_t i, n_control = 0, n_ends = 0;
    json_t *v;
    vkt__chat *c;
    json_t *settings =
        json_pack("{s:O, s:O, s:s}", "chat_template", json_object_get(row, "template"), "eos_token",
                  json_object_get(row, "eos"), "bos_token", "<s>");
    json_array_foreach(json_object_get(all, "control"), i, v) control[n_control++] =
        json_string_value(v);
    json_array_foreach(json_object_get(all, "ends"), i, v) ends[n_ends++] = json_string_value(v);
    REQUIRE_OK(vkt__chat_create(settings, "test", control, n_control, ends, n_ends, &c));
    json_decref(settings);
    return c;
}

/* The text's bytes and those that count, as the golden file has them. */
static void print_mask(const vkt__chat_text *t, vkt__str *out)
{
    size_t at = 0, first = 0;
    bool counts = false;
    vkt__str spans = { 0 };
    vkt__str_add(&spans, "", 0);
    for (size_t i = 0; i <= t->n; i++) {
        bool now = i < t->n && t->stretch[i].counts;
        if (now && !counts) first = at;
        if (!now && counts) vkt__str_printf(&spans, " %zu-%zu", first, at);
        counts = now;
        if (i < t->n) at += t->stretch[i].n;
    }
    out->len = 0;
    vkt__str_printf(out, "%zu:%s", at, spans.data);
    vkt__str_finish(&spans);
}

/* The mask of a conversation, "" where it is refused. */
static void mask_of(const vkt__chat *c, const json_t *chat, vkt__str *out)
{
    vkt__chat_text t = { 0 };
    const json_t *tools = json_object_get(chat, "tools");
    vkt__conversation v = { .messages = json_object_get(chat, "messages"),
                            .tools = json_is_array(tools) ? tools : NULL,
                            .now = NAN };
    vkt__log_quiet(true);
    vkt_status st = vkt__chat_lesson(c, &v, &t);
    vkt__log_quiet(false);
    out->len = 0;
    vkt__str_add(out, "", 0);
    assert_true(st == VKT_OK || st == VKT_E_FORMAT);
    if (st == VKT_OK) print_mask(&t, out);
    vkt__chat_text_finish(&t);
}

static void test_masks(void **state)
{
    json_t *all = json_load_file(GOLDEN "chat_masks.json", 0, NULL), *row;
    size_t i, n = 0, n_refused = 0, n_wrong = 0;
    vkt__str s = { 0 };
    (void)state;
    assert_non_null(all);
    json_array_foreach(json_object_get(all, "templates"), i, row)
    {
        const json_t *masks = json_object_get(row, "masks"),
                     *chats = json_object_get(all, "conversations");
        bool may = json_is_true(json_object_get(row, "may_refuse"));
        vkt__chat *c = chat_of(all, row);
        for (size_t k = 0; k < json_array_size(masks); k++) {
            const char *want = json_string_value(json_array_get(masks, k));
            mask_of(c, json_array_get(chats, k), &s);
            n++;
            n_refused += *want && may && !*s.data;
            if (!strcmp(s.data, want) || (may && !*s.data)) continue;
            n_wrong++;
            print_message("%s, conversation %zu: \"%s\", transformers: \"%s\"\n",
                          json_string_value(json_object_get(row, "name")), k + 1, s.data, want);
        }
        vkt__chat_destroy(&c);
    }
    print_message("%zu masks, %zu refused of those that may be\n", n, n_refused);
    assert_true(n >= 480);
    assert_int_equal(n_wrong, 0);
    vkt__str_finish(&s);
    json_decref(all);
}

/* Other letters for those of everyone but the assistant, as many bytes of each. */
static json_t *other_words(const json_t *chat)
{
    json_t *copy = json_deep_copy(chat), *m;
    size_t k;
    json_array_foreach(json_object_get(copy, "messages"), k, m)
    {
        json_t *content = json_object_get(m, "content");
        char *s = strcpy(vkt__alloc(json_string_length(content) + 1), json_string_value(content));
        if (!vkt__is_assistant(m))
            for (char *at = s; *at; at++)
                if (*at >= 'a' && *at <= 'z') *at = (char)('a' + (*at - 'a' + 7) % 26);
        json_string_set(content, s);
        free(s);
    }
    return copy;
}

static void test_others_words(void **state)
{
    json_t *all = json_load_file(GOLDEN "chat_masks.json", 0, NULL), *row, *chat;
    size_t i, k, n = 0;
    vkt__str a = { 0 }, b = { 0 };
    (void)state;
    json_array_foreach(json_object_get(all, "templates"), i, row)
    {
        vkt__chat *c = chat_of(all, row);
        json_array_foreach(json_object_get(all, "conversations"), k, chat)
        {
            json_t *other = other_words(chat);
            mask_of(c, chat, &a);
            mask_of(c, other, &b);
            n += *a.data != 0;
            assert_string_equal(a.data, b.data);
            json_decref(other);
        }
        vkt__chat_destroy(&c);
    }
    assert_true(n > 400);
    vkt__str_finish(&a);
    vkt__str_finish(&b);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_others_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
