/* data: tokens that are added to a tokenizer, and those that it puts around a text, as Hugging
 * Face's tokenizers has them (tools/golden/golden_added.py); where a text goes on over stretches.
 */
#include "testing.h"

#include <jansson.h>

#include "data/text/store.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/tokenizer_around.h"
#include "tokenizers/tokenizer_json.h"

#define GOLDEN VKT_TEST_DIR "/golden/"

static json_t *load(void)
{
    json_t *all = json_load_file(GOLDEN "added.json", 0, NULL);
    assert_non_null(all);
    return all;
}

static vkt_tokenizer *parse(const json_t *file, bool kept)
{
    vkt_tokenizer *t, *again;
    char *text = json_dumps(file, 0);
    REQUIRE_OK(vkt__tokenizer_parse_json(text, strlen(text), "test", &t));
    free(text);
    if (!kept) return t;
    text = vkt__tokenizer_kept(t);
    REQUIRE_OK(vkt__tokenizer_parse_json(text, strlen(text), "kept", &again));
    free(text);
    assert_true(t->info.hash == again->info.hash);
    vkt_tokenizer_destroy(&t);
    return again;
}

static bool same(const vkt_tokens *have, const json_t *want)
{
    if (have->n != json_array_size(want)) return false;
    for (size_t i = 0; i < have->n; i++)
        if ((json_int_t)have->id[i] != json_integer_value(json_array_get(want, i))) return false;
    return true;
}

static size_t check(const json_t *row, const json_t *texts, bool kept)
{
    vkt_tokenizer *t = parse(json_object_get(row, "file"), kept);
    vkt_tokens out = { 0 };
    size_t k, wrong = 0;
    json_t *text;
    json_array_foreach(texts, k, text)
    {
        const char *s = json_string_value(text);
        out.n = 0;
        REQUIRE_OK(vkt_tokenizer_encode(t, s, strlen(s), true, &out));
        bool ok = same(&out, json_array_get(json_object_get(row, "plain"), k));
        out.n = 0;
        REQUIRE_OK(vkt__around_add(t, false, &out));
        REQUIRE_OK(vkt_tokenizer_encode(t, s, strlen(s), true, &out));
        REQUIRE_OK(vkt__around_add(t, true, &out));
        ok = ok && same(&out, json_array_get(json_object_get(row, "around"), k));
        if (ok) continue;
        wrong++;
        print_message("%s, text %zu \"%s\":", json_string_value(json_object_get(row, "name")), k,
                      s);
        for (size_t i = 0; i < out.n; i++) print_message(" %u", out.id[i]);
        print_message("\n");
    }
    vkt_free(out.id);
    vkt_tokenizer_destroy(&t);
    return wrong;
}

static void test_as_tokenizers(void **state)
{
    json_t *all = load(), *row;
    size_t i, wrong = 0;
    (void)state;
    json_array_foreach(json_object_get(all, "tokenizers"), i, row) for (int kept = 0; kept < 2;
                                                                        kept++) wrong +=
        check(row, json_object_get(all, "texts"), kept);
    assert_int_equal(wrong, 0);
    json_decref(all);
}

static vkt_tokenizer *named(const char *name)
{
    json_t *all = load(), *row;
    vkt_tokenizer *t = NULL;
    size_t i;
    json_array_foreach(json_object_get(all, "tokenizers"), i,
                       row) if (!strcmp(json_string_value(json_object_get(row, "name")), name)) t =
        parse(json_object_get(row, "file"), false);
    json_decref(all);
    assert_non_null(t);
    return t;
}

static void has(const vkt__store *s, const uint32_t *want, size_t n)
{
    assert_int_equal(s->tokens.n, n);
    assert_memory_equal(s->tokens.id, want, n * sizeof *want);
}

/* A text has them, also in a file of tokens; a conversation has its template's alone; a prompt that
 * writes them itself has them once. */
static void test_around_texts(void **state)
{
    vkt_tokenizer *t = named("bos and eos, in a sequence");
    vkt__stretch text = { "hi", 2, true, false }, chat = { "<s>hi", 5, true, true },
                 sides[] = { { "h", 1, false, false }, { "i", 1, true, false } };
    vkt__store s = { 0 };
    vkt_tokens out = { 0 };
    (void)state;
    REQUIRE_OK(vkt__store_add(&s, t, &(vkt__document) { "a", &text, 1 }));
    has(&s, (uint32_t[]) { 256, 'h', 'i', 257 }, 4);
    assert_null(s.uncounted);
    vkt__store_finish(&s);
    REQUIRE_OK(vkt__store_add(&s, t, &(vkt__document) { "a", &chat, 1, .whole = true }));
    has(&s, (uint32_t[]) { 256, 'h', 'i' }, 3);
    vkt__store_finish(&s);
    REQUIRE_OK(vkt__store_add(&s, t, &(vkt__document) { "a", sides, 2, .end_counts = true }));
    has(&s, (uint32_t[]) { 256, 'h', 'i', 257 }, 4);
    assert_int_equal(s.uncounted[0], 3); /* <s> and h */
    vkt__store_finish(&s);
    for (int own = 0; own < 2; own++) {
        out.n = 0;
        REQUIRE_OK(vkt__around_encode(t, own ? "<s>hi" : "hi", own ? 5 : 2, true, &out));
        assert_int_equal(out.n, 3);
        assert_int_equal(out.id[0], 256);
        assert_int_equal(out.id[1], 'h');
    }
    vkt_free(out.id);
    vkt_tokenizer_destroy(&t);
}

/* No space is put before what goes on behind text; before what stands behind a token there is. */
static void test_stretches(void **state)
{
    vkt_tokenizer *t = named("SentencePiece");
    vkt__stretch parts[] = { { "ab", 2, false, true },
                             { "a</s>", 5, true, true },
                             { "b", 1, false, true } };
    vkt__store s = { 0 };
    vkt_tokens whole = { 0 };
    (void)state;
    REQUIRE_OK(vkt__store_add(&s, t, &(vkt__document) { "a", parts, 3, .whole = true }));
    REQUIRE_OK(vkt_tokenizer_encode(t, "aba</s>b", 8, true, &whole));
    has(&s, whole.id, whole.n);
    has(&s, (uint32_t[]) { 256, 257, 258, 257, 260, 256, 258 }, 7);
    vkt_free(whole.id);
    vkt__store_finish(&s);
    vkt_tokenizer_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_tokenizers),
        cmocka_unit_test(test_around_texts),
        cmocka_unit_test(test_stretches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
