/* data: what readers of texts and their tokenizers do at their ends: which token ends a turn, how
 * wide a token is stored, where a text may be cut, what is nested too deep, and templates'
 * variables that nothing gives. */
#define DIR "test_text_ends_tmp"
#include "data_files.h"

#include "data/chat/lesson.h"
#include "data/chat/render.h"
#include "data/text/jsonl.h"
#include "data/text/shard.h"
#include "data/text/spill.h"
#include "data/text/tokenizer_chat.h"
#include "data/text/turns.h"
#include "tokenizers/tokenizer_cut.h"
#include "tokenizers/tokenizer_pre.h"
#include "tokenizers.h"

#define GOLDEN VKT_TEST_DIR "/golden/"

/* Two bytes hold 65536 different tokens. */
static void tokens_are_as_wide_as_they_need(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, width;
    } rows[] = { { 2, 2 }, { 32768, 2 }, { 32769, 2 }, { 65536, 2 }, { 65537, 4 } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_tokenizer t = { .info = { .n_vocab = rows[i].n, .hash = 5 } };
        vkt__shard_out o;
        vkt__spill s;
        REQUIRE_OK(vkt__shard_begin(DIR "/s.tok", &t, &o));
        fclose(o.f);
        vkt__spill_init(&s, rows[i].n);
        assert_int_equal(o.width, rows[i].width);
        assert_int_equal(s.width, rows[i].width);
    }
}

/* Order by token, those of one token as they came; what is no token comes last. */
static void tokens_are_sorted(void **state)
{
    (void)state;
    enum { N = 7, V = 3 };
    static const uint32_t tokens[N] = { 2, V, 0, 2, VKT_NO_TOKEN, 0, V + 1 };
    uint32_t order[N], segments[V + 2] = { 0 };
    segments[V + 1] = 77;
    vkt_token_order(tokens, N, V, order, segments);
    assert_memory_equal(order, ((uint32_t[N]) { 2, 5, 0, 3, 1, 4, 6 }), sizeof order);
    assert_memory_equal(segments, ((uint32_t[V + 1]) { 0, 2, 2, 4 }), (V + 1) * sizeof *segments);
    assert_int_equal(segments[V + 1], 77); /* not ours */
}

/* The end of a turn is a token whose text is eos, whole; the end of a text is one, too. */
static void a_turn_ends_with_its_token(void **state)
{
    (void)state;
    char *text;
    size_t n;
    static const char settings[] =
        "{\"eos_token\": \"<|endoftext|>\", \"chat_template\": \"{{ 1 }}\"}";
    REQUIRE_OK(vkt__mkdirs(DIR "/model"));
    REQUIRE_OK(vkt__file_read(GOLDEN "smollm2-small.json", 1 << 24, &text, &n));
    put(DIR "/model/tokenizer.json", text, n);
    put(DIR "/model/tokenizer_config.json", settings, sizeof settings - 1);
    free(text);
    static const char *const from[] = { DIR "/model", DIR "/model/tokenizer.json" };
    for (size_t i = 0; i < VKT_COUNT(from); i++) {
        vkt_tokenizer *t = open_tokenizer(from[i]);
        const char *template = vkt__tokenizer_setting(t, "chat_template");
        assert_non_null(template);
        assert_string_equal(template, "{{ 1 }}");
        unsigned n_ends = 0;
        for (uint32_t id = 0; id < t->info.n_vocab; id++) {
            size_t k;
            const char *word = vkt_tokenizer_bytes(t, id, &k);
            if (!vkt__tokenizer_ends(t, id)) continue;
            n_ends++;
            assert_true(word &&
                        ((k == 13 && !memcmp(word, "<|endoftext|>", 13)) || id == t->info.end));
        }
        assert_true(n_ends >= 1);
        assert_true(vkt__tokenizer_ends(t, t->info.end));
        json_decref(t->chat_settings);
        t->chat_settings = NULL; /* without settings it still is one */
        assert_true(vkt__tokenizer_ends(t, t->info.end));
        vkt_tokenizer_destroy(&t);
    }
}

/* What ends a document is a token of its own, not a piece of text that looks like one. */
static void an_end_is_an_added_token(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        vkt_tokenizer *t;
        json_t *o = load(GOLDEN "gpt2-small.json");
        if (plain) json_array_clear(json_object_get(o, "added_tokens"));
        char *text = json_dumps(o, 0);
        REQUIRE_OK(vkt__tokenizer_parse_json(text, strlen(text), "t", &t));
        uint32_t id = vkt_tokenizer_find(t, "<|endoftext|>");
        assert_true(id != VKT_NO_TOKEN);
        assert_int_equal(t->info.end, plain ? VKT_NO_TOKEN : id);
        vkt_tokenizer_destroy(&t);
        free(text);
        json_decref(o);
    }
}

/* Tokenizers that differ in one letter are two. */
static void a_letter_makes_another_tokenizer(void **state)
{
    (void)state;
    static const char *const chars[] = { "ab", "ac", "abc", "a" };
    uint64_t hash[VKT_COUNT(chars)];
    for (size_t i = 0; i < VKT_COUNT(chars); i++) {
        vkt_tokenizer *t;
        REQUIRE_OK(vkt_tokenizer_chars(chars[i], strlen(chars[i]), false, &t));
        hash[i] = t->info.hash;
        for (size_t k = 0; k < i; k++) assert_true(hash[i] != hash[k]);
        vkt_tokenizer_destroy(&t);
    }
}

/* A text is cut at the nearest place before the wanted one, else at the next behind it. */
static void texts_are_cut_where_words_end(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t want, cut;
    } rows[] = {
        { "aaaa bbbb cccc", 10, 9 },
        { "aaaa bbbb cccc", 9, 9 },
        { "aaaa bbbb cccc", 8, 9 },
        { "aaaaaaaaaaaa bb", 3, 12 },
        { "aaaaaaaaaaaa b", 3, 12 },
        { "aaaaaaaaaaaaaaa", 3, 15 },
        { "jazz\nbb cc", 4, 4 },
        { "JAZZ\nbb cc", 4, 4 },
        { "la la\nbb cc", 5, 5 },
        { "ab!!\nbb cc", 4, 7 },
        { "ab", 2, 2 },
    };
    vkt_tokenizer *t = open_tokenizer(GOLDEN "smollm2-small.json");
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        size_t is = vkt__tokenizer_cut(t, rows[i].text, strlen(rows[i].text), rows[i].want);
        if (is != rows[i].cut) fail_msg("'%s' at %zu: %zu", rows[i].text, rows[i].want, is);
    }
    vkt_tokenizer_destroy(&t);
}

/* Ways of splitting are known by their whole names. */
static void ways_of_splitting_have_whole_names(void **state)
{
    (void)state;
    for (size_t i = 0; vkt__pre_at(i); i++) {
        const char *name = vkt__pre_at(i)->name;
        assert_ptr_equal(vkt__pre_find(name, strlen(name)), vkt__pre_at(i));
    }
    assert_null(vkt__pre_find("", 0));
    assert_null(vkt__pre_find("gpt", 3));
    assert_null(vkt__pre_find("gpt-2x", 6));
}

/* Sequences within sequences have an end, and each has its own settings. */
static void steps_within_steps(void **state)
{
    (void)state;
    vkt__str deep = { 0 };
    for (int i = 0; i < 50; i++)
        vkt__str_printf(&deep, "{\"type\": \"Sequence\", \"normalizers\": [");
    vkt__str_printf(&deep, "{\"type\": \"Lowercase\"}");
    for (int i = 0; i < 50; i++) vkt__str_printf(&deep, "]}");
    refused(GOLDEN "words-t5.json", "normalizer", deep.data, VKT_E_FORMAT,
            "Sequence in too many others");
    vkt__str_finish(&deep);
}

/* How long a word may be is counted in characters. */
static void words_are_counted_in_characters(void **state)
{
    (void)state;
    static const char json[] =
        "{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
        "\"continuing_subword_prefix\": "
        "\"##\", \"max_input_chars_per_word\": 4, \"vocab\": {\"[UNK]\": 0, \"\xd0\xb4\": 1, "
        "\"##\xd0\xb4\": 2}}, \"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\": "
        "{\"type\": \"BertPreTokenizer\"}}";
    static const char four[] = "\xd0\xb4\xd0\xb4\xd0\xb4\xd0\xb4",
                      five[] = "\xd0\xb4\xd0\xb4\xd0\xb4\xd0\xb4\xd0\xb4";
    vkt_tokenizer *t;
    REQUIRE_OK(vkt__tokenizer_parse_json(json, sizeof json - 1, "t", &t));
    json_t *want = json_pack("[i, i, i, i]", 1, 2, 2, 2), *none = json_pack("[i]", 0);
    require_tokens(t, four, sizeof four - 1, true, want, 0);
    require_tokens(t, five, sizeof five - 1, true, none, 0);
    json_decref(want);
    json_decref(none);
    vkt_tokenizer_destroy(&t);
}

/* A token that is written as a byte is that text, where bytes stand for nothing. */
static void bytes_are_texts_without_fallback(void **state)
{
    (void)state;
    static const char json[] =
        "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"byte_fallback\": false, \"vocab\": "
        "[[\"<unk>\", 0], [\"\xe2\x96\x81\", -1], [\"<0x41>\", -1], [\"B\", -2]]}, "
        "\"pre_tokenizer\": "
        "{\"type\": \"Metaspace\", \"replacement\": \"\xe2\x96\x81\", \"prepend_scheme\": "
        "\"always\"}}";
    vkt_tokenizer *t;
    REQUIRE_OK(vkt__tokenizer_parse_json(json, sizeof json - 1, "t", &t));
    json_t *text = json_pack("[i, i, i]", 1, 2, 3), *letter = json_pack("[i, i]", 1, 0);
    require_tokens(t, "<0x41>B", 7, false, text, 0);
    require_tokens(t, "A", 1, false, letter, 0);
    json_decref(text);
    json_decref(letter);
    vkt_tokenizer_destroy(&t);
}

/* A prompt takes the place of the one before. */
static void a_prompt_replaces_the_one_before(void **state)
{
    (void)state;
    vkt__turns turns = { 0 };
    vkt_tokenizer *t = open_tokenizer(DIR "/model");
    vkt_tokens out = { 0 };
    size_t n = 0;
    REQUIRE_OK(vkt__turns_add(&turns, "user", "hello"));
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(vkt__turns_prompt(&turns, t, true, &out));
        if (i) assert_int_equal(out.n, n);
        n = out.n;
    }
    assert_true(n > 0);
    vkt_free(out.id);
    vkt__turns_finish(&turns);
    vkt_tokenizer_destroy(&t);
}

/* More different words than their table begins with places for. */
static void many_words_are_counted(void **state)
{
    (void)state;
    vkt__str s = { 0 };
    vkt_tokenizer *t;
    for (unsigned i = 0; i < 70000; i++) {
        char word[8];
        unsigned v = i;
        for (int k = 0; k < 4; k++, v /= 26) word[k] = (char)('a' + v % 26);
        vkt__str_printf(&s, "%.4s ", word);
    }
    put(DIR "/words.txt", s.data, s.len);
    vkt__str_finish(&s);
    REQUIRE_OK(vkt_tokenizer_train((const char *const[]) { DIR "/words.txt" }, 1, 270, &t));
    assert_int_equal(vkt_tokenizer_get_info(t)->n_vocab, 270);
    vkt_tokenizer_destroy(&t);
}

static vkt_status count(void *user, const vkt__document *d)
{
    (void)d;
    ++*(int *)user;
    return VKT_OK;
}

/* One turn more than there may be. */
static void turns_are_bounded(void **state)
{
    (void)state;
    vkt__str s = { 0 };
    vkt__jsonl_options o = { .now = NAN };
    int n = 0;
    vkt__str_printf(&s, "{\"messages\":[");
    for (int i = 0; i < 10001; i++)
        vkt__str_printf(&s, "%s{\"role\":\"user\",\"content\":\"x\"}", i ? "," : "");
    vkt__str_printf(&s, "]}\n");
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__jsonl_read(s.data, s.len, "j", NULL, &o, count, &n), VKT_E_FORMAT);
    REQUIRE_LOGGED("it has more than 10000 turns");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    assert_int_equal(n, 0);
    vkt__str_finish(&s);
}

/* A template sees none where nothing is given, not an empty list, as transformers has it. */
static void what_is_not_given_is_none(void **state)
{
    (void)state;
    static const char template[] =
        "{{ tools is none }} {{ documents is none }} {{ messages | length }} "
        "{{ messages[-1].content }} {{ add_generation_prompt }}";
    json_t *settings = json_pack("{s:s}", "chat_template", template),
           *messages = json_pack("[{s:s, s:s}, {s:s, s:s}]", "role", "user", "content", "a", "role",
                                 "assistant", "content", "b"),
           *tools = json_array();
    vkt__chat *c;
    REQUIRE_OK(vkt__chat_create(settings, "test", NULL, 0, NULL, 0, &c));
    for (int with = 0; with < 2; with++)
        for (size_t n = 1; n <= 2; n++) {
            vkt__conversation v = { .messages = messages,
                                    .tools = with ? tools : NULL,
                                    .now = NAN };
            vkt__rendered r = { 0 };
            char want[64];
            snprintf(want, sizeof want, "%s True %zu %s %s", with ? "False" : "True", n,
                     n == 1 ? "a" : "b", n == 1 ? "True" : "False");
            REQUIRE_OK(vkt__chat_render(c, &v, messages, n, n == 1, &r));
            assert_string_equal(r.text.data, want);
            vkt__rendered_finish(&r);
        }
    vkt__chat_destroy(&c);
    json_decref(settings);
    json_decref(messages);
    json_decref(tools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_as_wide_as_they_need),
        cmocka_unit_test(tokens_are_sorted),
        cmocka_unit_test(a_turn_ends_with_its_token),
        cmocka_unit_test(an_end_is_an_added_token),
        cmocka_unit_test(a_letter_makes_another_tokenizer),
        cmocka_unit_test(texts_are_cut_where_words_end),
        cmocka_unit_test(ways_of_splitting_have_whole_names),
        cmocka_unit_test(steps_within_steps),
        cmocka_unit_test(words_are_counted_in_characters),
        cmocka_unit_test(bytes_are_texts_without_fallback),
        cmocka_unit_test(a_prompt_replaces_the_one_before),
        cmocka_unit_test(many_words_are_counted),
        cmocka_unit_test(turns_are_bounded),
        cmocka_unit_test(what_is_not_given_is_none),
    };
    return cmocka_run_group_tests_name("text ends", tests, setup, teardown);
}
