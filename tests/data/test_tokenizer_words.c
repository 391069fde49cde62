/* data: WordPiece and Unigram. Golden tokens from Hugging Face's tokenizers
 * (tools/golden/golden_tokenizers.py --words), what is refused, and damaged files. */
#include "testing.h"

#include "base/words.h"
#include "tokenizers/tokenizer_files.h"

#define DIR "test_tokenizer_words_tmp"
#define GOLDEN VKT_TEST_DIR "/golden/"
#include "own_folder.h"
#include "tokenizers.h"

/* WordPiece and Unigram: BERT's, T5's, ALBERT's, with byte fallback, without a cut at white space.
 * Written and read back they are the same. */
static void words_style(void **state)
{
    static const char *const names[] = { "bert",   "bert-cased", "t5",
                                         "albert", "fallback",   "metaspace" };
    json_t *rows = load(GOLDEN "words.json"), *row;
    (void)state;
    for (size_t k = 0; k < VKT_COUNT(names); k++) {
        char path[512];
        size_t i;
        snprintf(path, sizeof path, GOLDEN "words-%s.json", names[k]);
        vkt_tokenizer *t = open_tokenizer(path), *again;
        assert_string_equal(vkt_tokenizer_get_info(t)->kind, k < 2 ? "wordpiece" : "unigram");
        char *json = vkt_tokenizer_json(t);
        REQUIRE_OK(vkt__tokenizer_parse_json(json, strlen(json), "again", &again));
        assert_true(vkt_tokenizer_get_info(t)->hash == vkt_tokenizer_get_info(again)->hash);
        json_array_foreach(rows, i, row)
        {
            const char *text = json_string_value(json_object_get(row, "text"));
            size_t n = json_string_length(json_object_get(row, "text"));
            require_tokens(t, text, n, true, json_object_get(row, names[k]), 0);
        }
        free(json);
        vkt_tokenizer_destroy(&again);
        vkt_tokenizer_destroy(&t);
    }
    json_decref(rows);
}

/* A control token that tokenizer_config.json names, as a text or as an object, is one of its text.
 */
static void settings_name_control_tokens(void **state)
{
    (void)state;
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n<hide>\nsome\nmore\n", *const as[] = {
        "{\"mask_token\": \"<hide>\"}", "{\"mask_token\": {\"content\": \"<hide>\"}}"
    };
    for (size_t i = 0; i < VKT_COUNT(as); i++) {
        vkt_tokenizer *t;
        json_t *want = json_pack("[i, i, i]", 5, 4, 6);
        REQUIRE_OK(
            vkt__tokenizer_parse_vocab(vocab, sizeof vocab - 1, as[i], strlen(as[i]), "v", &t));
        require_tokens(t, "some <hide> more", 16, true, want, 0);
        json_decref(want);
        vkt_tokenizer_destroy(&t);
    }
}

/* ---- what is refused ---- */

static void bad_words(void **state)
{
    static const struct {
        const char *file, *path, *value, *line;
    } rows[] = {
        { "bert", "model.unk_token", "\"[NO]\"", "its unk_token is not in the vocabulary" },
        { "bert", "pre_tokenizer", "null", "without a pre_tokenizer of 'BertPreTokenizer" },
        { "bert", "pre_tokenizer.type", "\"Whitespace\"", "pre_tokenizer 'Whitespace'" },
        { "bert", "normalizer.type", "\"Nmt\"", "normalizer 'Nmt'" },
        { "bert", "model.vocab.a", "-1", "a token's id is not a number" },
        { "bert", "model.vocab.a", "7", "token id 7 is given twice" },
        { "bert", "model.type", "\"WordLevel\"", "BPE, WordPiece and Unigram are supported" },
        { "bert", "added_tokens", "[{\"id\": 1, \"content\": \"[UNK]\", \"normalized\": true}]",
          "a normalized added token that the normalizer changes, '[UNK]'" },
        { "t5", "normalizer.precompiled_charsmap", "\"AAAA\"", "Precompiled with a damaged" },
        { "t5", "normalizer.precompiled_charsmap", "\"BAAAAAAAAABhYg==\"", "Precompiled with a" },
        { "t5", "model.unk_id", "100000", "its unk_id is past the vocabulary" },
        { "t5", "model.vocab", "[[1, 2], [\"a\"], []]", "is not [token, score]" },
        { "t5", "model.vocab", "[]", "its unk_id is past the vocabulary" },
        { "t5", "pre_tokenizer", "{\"type\": \"WhitespaceSplit\"}",
          "pre_tokenizer of 'Metaspace'" },
        { "metaspace", "pre_tokenizer.replacement", "\"_\"", "Metaspace's replacement" },
        { "metaspace", "pre_tokenizer.prepend_scheme", "\"last\"", "Metaspace's prepend_scheme" },
        { "metaspace", "normalizer",
          "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"a+\"}, \"content\": \"\"}",
          "Replace of a regular expression" },
    };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        char file[512];
        snprintf(file, sizeof file, GOLDEN "words-%s.json", rows[i].file);
        refused(file, rows[i].path, rows[i].value, VKT_E_FORMAT, rows[i].line);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fwrite(text, 1, strlen(text), f) == strlen(text) && fclose(f) == 0);
}

/* BERT's vocab.txt is what its tokenizer.json is; tokenizer_config.json says what of case. */
static void vocab_txt(void **state)
{
    (void)state;
    static const char *const names[] = { "bert", "bert-cased" };
    json_t *rows = load(GOLDEN "words.json"), *row;
    for (size_t k = 0; k < VKT_COUNT(names); k++) {
        char path[512];
        const char *key;
        size_t i;
        json_t *v;
        vkt__str lines = { 0 };
        snprintf(path, sizeof path, GOLDEN "words-%s.json", names[k]);
        json_t *file = load(path),
               *vocab = json_object_get(json_object_get(file, "model"), "vocab");
        const char **token = vkt__alloc((json_object_size(vocab) + 1) * sizeof *token);
        json_object_foreach(vocab, key, v) token[json_integer_value(v)] = key;
        for (i = 0; token[i]; i++) vkt__str_printf(&lines, "%s\n", token[i]);
        write_file(DIR "/vocab.txt", lines.data);
        write_file(DIR "/tokenizer_config.json",
                   k ? "{\"do_lower_case\": false, \"model_max_length\": "
                       "1000000000000000019884624838656}"
                     : "{\"do_lower_case\": true, \"unk_token\": "
                       "{\"content\": \"[UNK]\"}}");
        vkt_tokenizer *t = open_tokenizer(DIR);
        json_array_foreach(rows, i, row)
        {
            const json_t *text = json_object_get(row, "text");
            /* The golden file's words may have 40 characters, BERT's 100. */
            if (strstr(json_string_value(text), "aaaaaaaaaa")) continue;
            require_tokens(t, json_string_value(text), json_string_length(text), true,
                           json_object_get(row, names[k]), 0);
        }
        vkt_tokenizer_destroy(&t);
        free(token);
        vkt__str_finish(&lines);
        json_decref(file);
    }
    json_decref(rows);
    write_file(DIR "/tokenizer_config.json", "{\"do_basic_tokenize\": false}");
    vkt_tokenizer *t;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_tokenizer_open(DIR "/vocab.txt", &t), VKT_E_FORMAT);
    REQUIRE_LOGGED("do_basic_tokenize false");
    assert_int_equal(remove(DIR "/tokenizer_config.json"), 0);
    write_file(DIR "/vocab.txt", "[UNK]\na\n\n##b\n");
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_tokenizer_open(DIR "/vocab.txt", &t));
    REQUIRE_LOGGED("says do_lower_case");
    assert_int_equal(vkt_tokenizer_find(t, "b"), 3);
    vkt_tokenizer_destroy(&t);
    write_file(DIR "/vocab.txt", "[UNK]\na\xff\n");
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_tokenizer_open(DIR "/vocab.txt", &t), VKT_E_FORMAT);
    REQUIRE_LOGGED("line 2 is not UTF-8");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* A character that is no token, and no token for such ones. */
static void unigram_without_unknown(void **state)
{
    (void)state;
    static const char file[] =
        "{\"model\": {\"type\": \"Unigram\", \"unk_id\": null, \"vocab\": [[\"\u2581a\", -1.0]]}, "
        "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\u2581\", "
        "\"prepend_scheme\": \"always\"}}";
    vkt_tokenizer *t;
    vkt_tokens tokens = { 0 };
    REQUIRE_OK(vkt__tokenizer_parse_json(file, strlen(file), "u", &t));
    REQUIRE_OK(vkt_tokenizer_encode(t, "a a", 3, false, &tokens));
    assert_int_equal(tokens.n, 2);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_tokenizer_encode(t, "a b", 3, false, &tokens), VKT_E_FORMAT);
    REQUIRE_LOGGED("which has no token for what is unknown");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    free(tokens.id);
    vkt_tokenizer_destroy(&t);
}

/* Tokens of the vocabulary, or an error where it has none for what is unknown. */
static void may_encode(vkt_tokenizer *t, const char *text)
{
    vkt_tokens tokens = { 0 };
    if (vkt_tokenizer_encode(t, text, strlen(text), true, &tokens) == VKT_OK)
        for (size_t i = 0; i < tokens.n; i++)
            assert_true(tokens.id[i] < vkt_tokenizer_get_info(t)->n_vocab);
    free(tokens.id);
}

/* Damaged files: refused or read, never a crash; what is read encodes. */
static void damaged_files(void **state)
{
    (void)state;
    static const char *const seeds[] = { GOLDEN "words-bert.json", GOLDEN "words-albert.json",
                                         GOLDEN "words-fallback.json" };
    TEST_LOG_CAPTURE();
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_ERROR);
    for (uint64_t k = 0; k < 750; k++) {
        char *text = NULL;
        size_t n;
        vkt_tokenizer *t = NULL;
        test_log[0] = 0;
        REQUIRE_OK(vkt__file_read(seeds[k % VKT_COUNT(seeds)], 1 << 20, &text, &n));
        for (uint64_t j = 0; j < 1 + k % 3; j++)
            text[vkt_rand_below(k, VKT_RNG_TEST, 2 * j, (uint32_t)n)] =
                "\"{}[]:,0\\\xff 9"[vkt_rand_below(k, VKT_RNG_TEST, 2 * j + 1, 12)];
        if (k % 5 == 0) n = vkt_rand_below(k, VKT_RNG_TEST, 9, (uint32_t)n);
        vkt_status st = vkt__tokenizer_parse_json(text, n, "damaged", &t);
        assert_true((st == VKT_OK) == (t != NULL));
        if (t) may_encode(t, "Any [MASK] text 12\n  caf\xcc\x81\xff");
        vkt_tokenizer_destroy(&t);
        free(text);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* Two ways have one sum, except for rounding: sums are rounded as tokenizers 0.23 does. */
static void nearly_equal_ways(void **state)
{
    (void)state;
    static const char file[] =
        "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0.0], "
        "[\"\u2581\", "
        "-2.713], [\"r\", -9.362], [\"wr\", -9.029], [\"rw\", -9.029], [\"z\", -10.862]]}, "
        "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\u2581\", "
        "\"prepend_scheme\": \"always\"}}";
    vkt_tokenizer *t;
    json_t *one = json_pack("[i, i, i, i]", 1, 0, 4, 2),
           *two = json_pack("[i, i, i, i]", 1, 0, 2, 3);
    REQUIRE_OK(vkt__tokenizer_parse_json(file, strlen(file), "u", &t));
    require_tokens(t, "grwr", 4, false, one, 0);
    require_tokens(t, "ggrwr", 5, false, two, 0);
    json_decref(one);
    json_decref(two);
    vkt_tokenizer_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_style),
        cmocka_unit_test(settings_name_control_tokens),
        cmocka_unit_test(bad_words),
        cmocka_unit_test(vocab_txt),
        cmocka_unit_test(unigram_without_unknown),
        cmocka_unit_test(nearly_equal_ways),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
