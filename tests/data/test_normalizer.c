/* data: the steps before a byte-level BPE: of long texts, of texts in several stretches, in other
 * formats. */
#include "testing.h"

#include <jansson.h>

#include "data/text/store.h"
#include "data/text/tokenizer_chat.h"
#include "models/gguf/gguf_export_tokenizer.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/vocabulary.h"

#define GOLDEN VKT_TEST_DIR "/golden/"
#define LOWERCASE "{\"type\": \"Lowercase\"}"
#define PREPEND "{\"type\": \"Prepend\", \"prepend\": \" \"}"
#define STRIP "{\"type\": \"Strip\"}"

/* gpt2-small with this normalizer, or NULL; of bytes alone, without merges or patterns; its token
 * <|endoftext|> found in normalised text. */
static vkt_tokenizer *with(const char *normalizer, bool bytes, bool normalized)
{
    vkt_tokenizer *t;
    json_t *o = json_load_file(GOLDEN "gpt2-small.json", 0, NULL);
    if (normalizer) json_object_set_new(o, "normalizer", json_loads(normalizer, 0, NULL));
    if (bytes) {
        json_object_set_new(json_object_get(o, "model"), "merges", json_array());
        json_object_set_new(json_object_get(o, "pre_tokenizer"), "use_regex", json_false());
    }
    json_object_set_new(json_array_get(json_object_get(o, "added_tokens"), 0), "normalized",
                        json_boolean(normalized));
    char *json = json_dumps(o, JSON_COMPACT);
    REQUIRE_OK(vkt__tokenizer_parse_json(json, strlen(json), "steps", &t));
    free(json);
    json_decref(o);
    return t;
}

/* More than is encoded at once: a text is normalised as a whole, not part by part. */
static void a_long_text_is_normalised_whole(void **state)
{
    (void)state;
    static const struct {
        const char *normalizer;
        bool bytes; /* without places: a part would end within a character */
    } rows[] = { { PREPEND, false }, { STRIP, false }, { LOWERCASE, true } };
    enum { N = (1 << 20) + 4096 };
    char *text = vkt__alloc(N);
    for (size_t i = 0; i < N; i += 2) memcpy(text + i, i % 66 ? "\xc3\x89" : " a", 2);
    for (size_t k = 0; k < VKT_COUNT(rows); k++) {
        vkt_tokenizer *t = with(rows[k].normalizer, rows[k].bytes, false);
        size_t from = rows[k].bytes;
        vkt__stretch all = { .text = text + from, .n = N - from, .counts = true };
        vkt__document d = { .name = "long", .stretch = &all, .n_stretches = 1, .whole = true };
        vkt__store s = { 0 };
        vkt_tokens whole = { 0 };
        REQUIRE_OK(vkt_tokenizer_encode(t, all.text, all.n, false, &whole));
        REQUIRE_OK(vkt__store_add(&s, t, &d));
        assert_int_equal(s.tokens.n, whole.n);
        assert_memory_equal(s.tokens.id, whole.id, whole.n * sizeof *whole.id);
        vkt__store_finish(&s);
        vkt_tokenizer_destroy(&t);
        free(whole.id);
    }
    free(text);
}

/* Each a stretch; control tokens are found in those that begin with one. */
static vkt_status encode(vkt_tokenizer *t, const char *const *part, size_t n, vkt_tokens *out)
{
    vkt__stretch s[4] = { 0 };
    out->n = 0;
    for (size_t i = 0; i < n; i++)
        s[i] = (vkt__stretch) { part[i], strlen(part[i]), true, *part[i] == '<' };
    return vkt__tokenizer_encode_chat(t, &(vkt__chat_text) { .stretch = s, .n = n }, out);
}

static void require_same(const vkt_tokens *a, const vkt_tokens *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->id, b->id, a->n * sizeof *a->id);
}

/* What lies between two control tokens is one text, whatever stretches it comes in. */
static void stretches_go_on(void **state)
{
    (void)state;
    static const char *const parts[] = { "<|endoftext|>he", "llo a", "<|endoftext|>", "b" },
                             *const as[] = { "<|endoftext|> he", "llo a", "<|endoftext|>", " b" },
                             *const ends[] = { " ", "he ", "<|endoftext|>", " b" },
                             *const no_ends[] = { "he", "<|endoftext|>", "b" },
                             *const apart[] = { "he ", "llo" };
    vkt_tokenizer *t = with(PREPEND, false, false), *plain = with(NULL, false, false);
    vkt_tokens a = { 0 }, b = { 0 };
    REQUIRE_OK(encode(t, parts, 4, &a));
    REQUIRE_OK(encode(plain, as, 4, &b));
    require_same(&a, &b);
    vkt_tokenizer_destroy(&t);
    t = with(STRIP, false, false);
    REQUIRE_OK(encode(t, ends, 4, &a));
    REQUIRE_OK(encode(plain, no_ends, 3, &b));
    require_same(&a, &b);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(encode(t, apart, 2, &a), VKT_E_FORMAT);
    REQUIRE_LOGGED("normalizer 'Strip'");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_tokenizer_destroy(&t);
    vkt_tokenizer_destroy(&plain);
    free(a.id);
    free(b.id);
}

/* GGUF has no place for such steps, which is said. */
static void gguf_has_no_steps(void **state)
{
    (void)state;
    for (int has = 0; has < 2; has++) {
        vkt_tokenizer *t = with(has ? LOWERCASE : NULL, false, false);
        vkt__gguf_out o = { 0 };
        TEST_LOG_CAPTURE();
        vkt__gguf_put_tokenizer(&o, t, t->info.n_vocab);
        if (has) REQUIRE_LOGGED("this tokenizer's normalizer, {\"type\":\"Lowercase\"}");
        assert_int_equal(strstr(test_log, "normalizer") != NULL, has);
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        vkt__gguf_out_finish(&o);
        vkt_tokenizer_destroy(&t);
    }
}

/* A list of NFC alone is NFC, beside tokens that are found in normalised text, too. */
static void nfc_in_a_list(void **state)
{
    (void)state;
    vkt_tokenizer *t =
        with("{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}]}", false, true);
    assert_true(t->nfc && !t->normalizer);
    vkt_tokenizer_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_text_is_normalised_whole),
        cmocka_unit_test(stretches_go_on),
        cmocka_unit_test(gguf_has_no_steps),
        cmocka_unit_test(nfc_in_a_list),
    };
    return cmocka_run_group_tests_name("normalizer", tests, NULL, NULL);
}
