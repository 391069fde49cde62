/* data: long texts, which are encoded in parts and written while they are read: the same tokens as
 * of the whole, in as much memory whatever the text's length. And the steps before a byte-level
 * BPE, which see a text as a whole. */
#include "testing.h"

#include <jansson.h>

#include "data/text/corpus.h"
#include "data/text/store.h"
#include "data/text/tokenizer_chat.h"
#include "models/gguf/gguf_export_tokenizer.h"
#include "tokenizers/tokenizer_cut.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/tokenizer_pre.h"

#define DIR "test_long_text_tmp"
#define GOLDEN VKT_TEST_DIR "/golden/"
#include "text_files.h"

/* gpt2-small with these patterns, or its own; with NFC; with an added token (or NULL). */
static vkt_tokenizer *tokenizer_of(const vkt__pre *pre, bool nfc, const char *added, bool word,
                                   bool rstrip)
{
    vkt_tokenizer *t;
    json_t *o = json_load_file(GOLDEN "gpt2-small.json", 0, NULL), *steps = json_array();
    for (size_t k = 0; pre && k < 2 && pre->pattern[k]; k++)
        json_array_append_new(steps, json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split",
                                               "pattern", "Regex", pre->pattern[k], "behavior",
                                               "Isolated", "invert", 0));
    json_array_append_new(steps, json_pack("{s:s, s:b, s:b}", "type", "ByteLevel",
                                           "add_prefix_space", 0, "use_regex", 0));
    if (pre)
        json_object_set_new(
            o, "pre_tokenizer",
            json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", json_incref(steps)));
    json_decref(steps);
    if (nfc) json_object_set_new(o, "normalizer", json_pack("{s:s}", "type", "NFC"));
    size_t id = json_object_size(json_object_get(json_object_get(o, "model"), "vocab")) +
                json_array_size(json_object_get(o, "added_tokens"));
    if (added)
        json_array_append_new(json_object_get(o, "added_tokens"),
                              json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)id,
                                        "content", added, "special", 0, "lstrip", 1, "rstrip",
                                        rstrip, "normalized", nfc, "single_word", word));
    char *json = json_dumps(o, JSON_COMPACT);
    REQUIRE_OK(vkt__tokenizer_parse_json(json, strlen(json), "made here", &t));
    free(json);
    json_decref(o);
    return t;
}

/* What patterns look at: letters, digits, signs, white space of all kinds, marks that NFC moves,
 * half characters, an added token. */
static size_t draw_text(uint64_t i, char *out, size_t most)
{
    static const char *const parts[] = { "a",
                                         "Bc",
                                         "'s",
                                         "'LL",
                                         "1",
                                         "23",
                                         ".",
                                         "...",
                                         "/",
                                         "\n",
                                         "\r\n",
                                         "\t",
                                         " ",
                                         "  ",
                                         "e\xcc\x81",
                                         "\xcc\x81",
                                         "\xc3\xa9",
                                         "\xe6\x97\xa5",
                                         "\xc2\xa0",
                                         "\xff",
                                         "\xe6\x97",
                                         "<x>",
                                         "\xe3\x80\x80",
                                         "_",
                                         "\xd0\x96" };
    size_t n = 0;
    for (uint64_t k = 0; k < 24; k++) {
        const char *p = parts[vkt_rand_below(7, VKT_RNG_TEST, i * 32 + k, VKT_COUNT(parts))];
        if (n + strlen(p) < most) memcpy(out + n, p, strlen(p)), n += strlen(p);
    }
    return n;
}

static vkt_tokens encoded(vkt_tokenizer *t, const char *text, size_t n, size_t cut)
{
    vkt_tokens out = { 0 };
    REQUIRE_OK(vkt_tokenizer_encode(t, text, cut, false, &out));
    REQUIRE_OK(vkt_tokenizer_encode(t, text + cut, n - cut, false, &out));
    return out;
}

/* How many places were taken. */
static unsigned require_same_in_parts(vkt_tokenizer *t, unsigned n_texts)
{
    unsigned taken = 0;
    char text[160];
    for (unsigned i = 0; i < n_texts; i++) {
        size_t n = draw_text(i, text, sizeof text), last = 0;
        vkt_tokens whole = encoded(t, text, n, n);
        for (size_t want = 1; want < n; want++) {
            size_t cut = vkt__tokenizer_cut(t, text, n, want);
            assert_true(cut > 0 && cut <= n);
            if (cut == n || cut == last) continue;
            vkt_tokens two = encoded(t, text, n, cut);
            if (two.n != whole.n || memcmp(two.id, whole.id, two.n * sizeof *two.id) != 0) {
                print_error("other tokens if '%.*s' is cut at %zu\n", (int)n, text, cut);
                fail();
            }
            free(two.id);
            last = cut;
            taken++;
        }
        free(whole.id);
    }
    vkt_tokenizer_destroy(&t);
    return taken;
}

static void parts_have_the_tokens_of_the_whole(void **state)
{
    (void)state;
    enum { N = 300 };
    vkt_tokenizer *t;
    for (size_t i = 0; vkt__pre_at(i); i++)
        assert_true(require_same_in_parts(tokenizer_of(vkt__pre_at(i), i % 2, NULL, 0, 0), N) > N);
    assert_true(require_same_in_parts(tokenizer_of(NULL, false, "<x>", 0, 0), N) > N);
    assert_true(require_same_in_parts(tokenizer_of(NULL, true, "<x>", 1, 0), N) > N);
    assert_true(require_same_in_parts(tokenizer_of(NULL, false, "  ", 0, 0), N) > N);
    REQUIRE_OK(vkt_tokenizer_open("bytes", &t));
    assert_true(require_same_in_parts(t, N) > 20 * N);
    /* Of these nothing is known: a token that may lie across each place, any other pattern. */
    assert_int_equal(require_same_in_parts(tokenizer_of(NULL, false, "a b", 0, 0), N), 0);
    assert_int_equal(require_same_in_parts(tokenizer_of(NULL, false, "  ", 1, 0), N), 0);
    assert_int_equal(require_same_in_parts(tokenizer_of(NULL, false, "<x>", 0, 1), N), 0);
    static const vkt__pre other = { .pattern = { "\\p{L} \\p{L}|\\S+|\\s" } };
    assert_int_equal(require_same_in_parts(tokenizer_of(&other, false, NULL, 0, 0), N), 0);
    REQUIRE_OK(vkt_tokenizer_open(GOLDEN "smollm2-small.json", &t));
    assert_true(require_same_in_parts(t, N) > N);
    REQUIRE_OK(vkt_tokenizer_chars("ab", 2, false, &t));
    assert_int_equal(vkt__tokenizer_cut(t, "ab ab", 5, 2), 5);
    vkt_tokenizer_destroy(&t);
}

/* ---- files ---- */

/* Words of a text of n bytes, written some at a time; *head its first 4 MiB. */
static void put_long(const char *path, size_t n, char *head)
{
    enum { SOME = 1 << 20 };
    FILE *f;
    REQUIRE_OK(vkt__file_create(path, &f));
    char *some = vkt__alloc(SOME);
    for (size_t at = 0; at < n; at += SOME) {
        for (size_t i = 0; i < SOME; i++)
            some[i] = (at + i) % 6 == 5
                          ? ' '
                          : (char)('a' + vkt_rand_below(1, VKT_RNG_TEST, (at + i) / 9 % 50021, 26));
        assert_int_equal(fwrite(some, 1, SOME, f), SOME);
        if (head && at < 4 << 20) memcpy(head + at, some, SOME);
    }
    free(some);
    REQUIRE_OK(vkt__file_finish(path, &f));
}

/* Packed in parts: the tokens that the whole text has. */
static void a_long_text_is_packed_in_parts(void **state)
{
    (void)state;
    enum { N = 4 << 20 };
    vkt_pack_result r;
    vkt__shard s;
    char *text = vkt__alloc(N);
    put_long(DIR "/four", N, text);
    vkt_tokenizer *t = tokenizer_of(NULL, false, NULL, 0, 0);
    char *json = vkt__tokenizer_kept(t);
    put(DIR "/t.json", json);
    pack(DIR "/four", DIR "/t.json", DIR "/packed", &r);
    REQUIRE_OK(vkt__shard_open(DIR "/packed/shard-00000.tok", &s));
    REQUIRE_OK(vkt__shard_check(&s, "packed", t->info.n_vocab));
    vkt_tokens whole = encoded(t, text, N, N);
    assert_int_equal(r.n_shards, 1);
    assert_int_equal(r.n_bytes, N);
    assert_int_equal(s.n, whole.n + 1); /* the end token */
    for (size_t i = 0; i < whole.n; i++)
        if (((const uint16_t *)s.tokens)[i] != whole.id[i]) fail_msg("token %zu differs", i);
    assert_int_equal(((const uint16_t *)s.tokens)[whole.n], t->info.end);
    vkt__shard_close(&s);
    vkt_tokenizer_destroy(&t);
    free(whole.id);
    free(json);
    free(text);
}

/* Tokens of more than 64 MiB lie in a file of the cache's, which is gone with the data set. */
static void a_long_text_is_read_by_way_of_a_file(void **state)
{
    (void)state;
    enum { N = 17 << 20, HEAD = 4 << 20 };
    uint32_t x[64], y[64];
    char **names = NULL, *head = vkt__alloc(HEAD);
    size_t n_names = 0;
    put_long(DIR "/long", N, head);
    vkt__str cache = { 0 }; /* absolute, or it does not count */
    char *here = vkt__folder_here();
    vkt__str_printf(&cache, "%s/" DIR "/cache", here);
#ifdef _WIN32
    REQUIRE_OK(vkt__mkdirs(DIR "/cache"));
    vkt__setenv("LOCALAPPDATA", cache.data);
#else
    vkt__setenv("XDG_CACHE_HOME", cache.data);
#endif
    vkt_dataset *ds = open_text(DIR "/long", "bytes", 64, 0.1, 0.1);
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n_tokens[VKT_SPLIT_TRAIN] + info->n_tokens[VKT_SPLIT_VALID] +
                         info->n_tokens[VKT_SPLIT_TEST],
                     N + 1);
    for (uint64_t i = 0; i < HEAD / 64 - 1; i += 997) {
        vkt_dataset_window(ds, VKT_SPLIT_TRAIN, i, x, y);
        for (int k = 0; k < 64; k++) {
            assert_int_equal(x[k], head[64 * i + (uint64_t)k]);
            assert_int_equal(y[k], head[64 * i + (uint64_t)k + 1]);
        }
    }
    for (int k = 0; k < 2; k++) { /* where the system can, the file has no name any more */
        if (k) vkt_dataset_destroy(&ds);
#ifdef _WIN32
        if (!k) continue;
#endif
        REQUIRE_OK(vkt__list_dir(DIR "/cache/vktrain", &names, &n_names));
        assert_int_equal(n_names, 0);
        vkt__names_free(names, n_names);
    }
    vkt__str_finish(&cache);
    free(here);
    free(head);
}

/* ---- steps before a BPE ---- */

#define LOWERCASE "{\"type\": \"Lowercase\"}"
#define PREPEND "{\"type\": \"Prepend\", \"prepend\": \" \"}"
#define STRIP "{\"type\": \"Strip\"}"

/* gpt2-small with this normalizer, or NULL; of bytes alone, without merges or patterns; its token
 * <|endoftext|> found in normalised text. */
static vkt_tokenizer *steps_before(const char *normalizer, bool bytes, bool normalized)
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
        vkt_tokenizer *t = steps_before(rows[k].normalizer, rows[k].bytes, false);
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
    vkt_tokenizer *t = steps_before(PREPEND, false, false),
                  *plain = steps_before(NULL, false, false);
    vkt_tokens a = { 0 }, b = { 0 };
    REQUIRE_OK(encode(t, parts, 4, &a));
    REQUIRE_OK(encode(plain, as, 4, &b));
    require_same(&a, &b);
    vkt_tokenizer_destroy(&t);
    t = steps_before(STRIP, false, false);
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
        vkt_tokenizer *t = steps_before(has ? LOWERCASE : NULL, false, false);
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
    vkt_tokenizer *t = steps_before(
        "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}]}", false, true);
    assert_true(t->nfc && !t->normalizer);
    vkt_tokenizer_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_the_tokens_of_the_whole),
        cmocka_unit_test(a_long_text_is_packed_in_parts),
        cmocka_unit_test(a_long_text_is_read_by_way_of_a_file),
        cmocka_unit_test(a_long_text_is_normalised_whole),
        cmocka_unit_test(stretches_go_on),
        cmocka_unit_test(gguf_has_no_steps),
        cmocka_unit_test(nfc_in_a_list),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
