/* data: long texts, which are encoded in parts and written while they are read: the same tokens as
 * of the whole, in as much memory whatever the text's length. */
#include "testing.h"

#include <jansson.h>

#include "data/text/corpus.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_the_tokens_of_the_whole),
        cmocka_unit_test(a_long_text_is_packed_in_parts),
        cmocka_unit_test(a_long_text_is_read_by_way_of_a_file),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
