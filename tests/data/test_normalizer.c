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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_text_is_normalised_whole),
    };
    return cmocka_run_group_tests_name("normalizer", tests, NULL, NULL);
}
