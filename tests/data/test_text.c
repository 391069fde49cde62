/* data: text. Tokenizers against golden tokens and round trips; the corpus's splits and windows;
 * the loader's batches of tokens. */
#include "testing.h"

#include "data/text/corpus.h"
#include "tokenizers/tokenizer_json.h"

#define DIR "test_text_tmp"
#include "text_files.h"

/* Encodes, requires the bytes back, gives the tokens (caller frees id). */
static vkt_tokens round_trip(vkt_tokenizer *t, const char *text, size_t n, bool special)
{
    vkt_tokens tokens = { 0 };
    size_t at = 0;
    REQUIRE_OK(vkt_tokenizer_encode(t, text, n, special, &tokens));
    for (size_t i = 0; i < tokens.n; i++) {
        size_t k;
        const char *bytes = vkt_tokenizer_bytes(t, tokens.id[i], &k);
        assert_true(bytes && at + k <= n);
        assert_memory_equal(bytes, text + at, k);
        at += k;
    }
    assert_int_equal(at, n);
    return tokens;
}

/* Written as tokenizer.json and read back it is the same. */
static void require_same_again(const vkt_tokenizer *t)
{
    vkt_tokenizer *again;
    char *json = vkt_tokenizer_json(t);
    REQUIRE_OK(vkt__tokenizer_parse_json(json, strlen(json), "again", &again));
    assert_true(vkt_tokenizer_get_info(again)->hash == vkt_tokenizer_get_info(t)->hash);
    assert_string_equal(vkt_tokenizer_get_info(again)->kind, vkt_tokenizer_get_info(t)->kind);
    assert_int_equal(vkt_tokenizer_get_info(again)->end, vkt_tokenizer_get_info(t)->end);
    vkt_tokenizer_destroy(&again);
    free(json);
}

/* ---- bytes and characters ---- */

static void bytes_are_their_values(void **state)
{
    (void)state;
    vkt_tokenizer *t;
    char all[512];
    for (int i = 0; i < 512; i++) all[i] = (char)(i % 256);
    REQUIRE_OK(vkt_tokenizer_open("bytes", &t));
    assert_int_equal(vkt_tokenizer_get_info(t)->n_vocab, 257);
    assert_int_equal(vkt_tokenizer_get_info(t)->end, 256);
    vkt_tokens tokens = round_trip(t, all, sizeof all, false);
    assert_int_equal(tokens.n, 512);
    for (unsigned i = 0; i < 512; i++) assert_int_equal(tokens.id[i], i % 256);
    tokens.n = 0;
    REQUIRE_OK(vkt_tokenizer_encode(t, "a<|endoftext|>b", 15, true, &tokens));
    assert_int_equal(tokens.n, 3);
    assert_int_equal(tokens.id[1], 256);
    free(tokens.id);
    tokens = round_trip(t, "a<|endoftext|>b", 15, false); /* not asked for: it is text */
    assert_int_equal(tokens.n, 15);
    free(tokens.id);
    require_same_again(t);
    vkt_tokenizer_destroy(&t);
}

static void chars_rise_by_code_point(void **state)
{
    (void)state;
    vkt_tokenizer *t;
    const char *text = "b\xc3\xa9"
                       "a\xf0\x9f\x99\x82"
                       "b\xe6\x97\xa5";
    REQUIRE_OK(vkt_tokenizer_chars(text, strlen(text), false, &t));
    assert_int_equal(vkt_tokenizer_get_info(t)->n_vocab, 5);
    assert_int_equal(vkt_tokenizer_get_info(t)->end, VKT_NO_TOKEN);
    vkt_tokens tokens = round_trip(t, text, strlen(text), false);
    const uint32_t want[] = { 1, 2, 0, 4, 1, 3 };
    assert_int_equal(tokens.n, 6);
    assert_memory_equal(tokens.id, want, sizeof want);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_tokenizer_encode(t, "abc", 3, false, &tokens), VKT_E_FORMAT);
    REQUIRE_LOGGED("byte 2 of the text begins a character, 'c', that the vocabulary of 5");
    REQUIRE_STATUS(vkt_tokenizer_encode(t, "ab\xff", 3, false, &tokens), VKT_E_FORMAT);
    REQUIRE_LOGGED("byte 2 of the text is not UTF-8");
    free(tokens.id);
    require_same_again(t);
    vkt_tokenizer_destroy(&t);
    REQUIRE_OK(vkt_tokenizer_chars("ab", 2, true, &t));
    assert_int_equal(vkt_tokenizer_get_info(t)->end, 2);
    require_same_again(t);
    vkt_tokenizer_destroy(&t);
    REQUIRE_STATUS(vkt_tokenizer_chars("a\xc0\x80", 3, false, &t), VKT_E_FORMAT);
    REQUIRE_LOGGED("byte 1 of the text is not UTF-8");
    REQUIRE_STATUS(vkt_tokenizer_chars("", 0, false, &t), VKT_E_FORMAT);
    REQUIRE_LOGGED("the text is empty");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* ---- the corpus ---- */

/* 100 bytes 0..99: a token is its place in the text. */
static void one_document_is_cut(void **state)
{
    (void)state;
    char text[100];
    uint32_t x[8], y[8];
    for (int i = 0; i < 100; i++) text[i] = (char)i;
    REQUIRE_OK(vkt__file_replace(DIR "/one", text, sizeof text));
    vkt_dataset *ds = open_text(DIR "/one", "bytes", 8, 0.2, 0.1);
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    /* 101 tokens with the end: 10 test, 18 valid, 73 train. */
    assert_int_equal(info->n_tokens[VKT_SPLIT_TEST], 10);
    assert_int_equal(info->n_tokens[VKT_SPLIT_VALID], 18);
    assert_int_equal(info->n_tokens[VKT_SPLIT_TRAIN], 73);
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], 8);
    assert_int_equal(info->n[VKT_SPLIT_VALID], 3);
    assert_int_equal(info->n[VKT_SPLIT_TEST], 2);
    assert_int_equal(info->n_outputs, 257);
    vkt_dataset_window(ds, VKT_SPLIT_VALID, 1, x, y);
    for (uint32_t k = 0; k < 8; k++) {
        assert_int_equal(x[k], 73 + 8 + k);
        assert_int_equal(y[k], 73 + 8 + k + 1);
    }
    vkt_dataset_window(ds, VKT_SPLIT_VALID, 2, x, y); /* one target is left: 90 after 89 */
    assert_int_equal(x[0], 89);
    assert_int_equal(y[0], 90);
    assert_int_equal(y[1], VKT_NO_TOKEN);
    vkt_dataset_window(ds, VKT_SPLIT_TEST, 1, x, y);
    assert_int_equal(x[0], 99);
    assert_int_equal(y[0], 256); /* the end of the document */
    vkt_dataset_destroy(&ds);
}

/* Documents of one letter each: no letter is in two splits, each is whole in its own. */
static void documents_stay_whole(void **state)
{
    (void)state;
    uint64_t n[VKT_N_SPLITS] = { 0 };
    int split_of[26];
    REQUIRE_OK(vkt__mkdirs(DIR "/docs"));
    for (int i = 0; i < 26; i++) {
        char path[64], text[41] = { 0 };
        memset(text, 'a' + i, 40);
        snprintf(path, sizeof path, DIR "/docs/%c.txt", 'a' + i);
        put(path, text);
        split_of[i] = -1;
    }
    vkt_dataset *ds = open_text(DIR "/docs", "chars", 7, 0.2, 0.2);
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n_outputs, 27); /* the letters and the end */
    for (int s = 0; s < VKT_N_SPLITS; s++) {
        assert_int_equal(info->n_tokens[s] % 41, 0);
        for (uint64_t i = 0; i < info->n[s]; i++) {
            uint32_t x[7], y[7];
            vkt_dataset_window(ds, (vkt_split)s, i, x, y);
            for (int k = 0; k < 7 && y[k] != VKT_NO_TOKEN; k++) {
                if (x[k] == 26) continue;
                assert_true(split_of[x[k]] < 0 || split_of[x[k]] == s);
                split_of[x[k]] = s;
            }
        }
        n[s] = info->n_tokens[s] / 41;
    }
    assert_int_equal(n[VKT_SPLIT_TEST], 5);
    assert_int_equal(n[VKT_SPLIT_VALID], 4);
    assert_int_equal(n[VKT_SPLIT_TRAIN], 17);
    vkt_dataset_destroy(&ds);
}

static void text_too_short_or_bad(void **state)
{
    (void)state;
    put(DIR "/short", "forty bytes of text, that is not enough.");
    put(DIR "/empty", "");
    put(DIR "/latin1", "caf\xe9 au lait");
    refused(DIR "/short", "bytes", 64, VKT_E_FORMAT,
            "the train split has 37 tokens, at least 65 are needed (data.context and one more): "
            "give more text, or lower data.context");
    refused(DIR "/empty", "bytes", 8, VKT_E_FORMAT, "test_text_tmp/empty' is empty");
    refused(DIR "/absent", "bytes", 8, VKT_E_IO, "can't open 'test_text_tmp/absent': ");
    refused(DIR "/latin1", "chars", 2, VKT_E_FORMAT, "byte 3 of the text is not UTF-8");
    refused(DIR "/short", DIR "/latin1", 2, VKT_E_FORMAT, "latin1' line 1");
    refused(DIR "/short", DIR "/absent.json", 2, VKT_E_IO,
            "there is no tokenizer 'test_text_tmp/absent.json': data.tokenizer");
    refused(DIR "/short", "bytes", 0, VKT_E_ARG, "data.context must be 1 or more");
    put(DIR "/list.json", "[\n  {\"instruction\": \"add\", \"output\": \"2\"}\n]\n");
    refused(DIR "/list.json", "bytes", 2, VKT_E_FORMAT,
            "list.json' is a JSON list, not JSON lines");
    vkt_dataset *ds = open_text(DIR "/latin1", "bytes", 2, 0, 0); /* any bytes will do */
    vkt_dataset_destroy(&ds);
}

/* A language model's data set says once that classes beside its texts are not learned, and says
 * nothing of other fields. */
static void labels_beside_texts_are_told(void **state)
{
    (void)state;
    put(DIR "/classes.jsonl", "{\"text\":\"a good film\",\"id\":7}\n"
                              "{\"text\":\"a bad film\",\"label\":0}\n"
                              "{\"text\":\"a long film\",\"label\":1}\n");
    put(DIR "/texts.jsonl", "{\"text\":\"a good film\",\"id\":7,\"source\":\"web\"}\n"
                            "{\"text\":\"a bad film\"}\n");
    TEST_LOG_CAPTURE();
    vkt_dataset *ds = open_text(DIR "/texts.jsonl", "chars", 2, 0, 0);
    vkt_dataset_destroy(&ds);
    assert_null(strstr(test_log, "is not learned"));
    ds = open_text(DIR "/classes.jsonl", "chars", 2, 0, 0);
    vkt_dataset_destroy(&ds);
    static const char what[] = "classes.jsonl' line 2: \"label\" is not learned";
    const char *told = strstr(test_log, what);
    assert_non_null(told);
    assert_null(strstr(told + sizeof what, "is not learned"));
}

#define CHAT                                                                                       \
    "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},"                                        \
    "{\"role\":\"assistant\",\"content\":\"a\"}]}\n"
#define PAIRS .packing = VKT_PACKING_PAIRS

static void of_what_is_asked(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        vkt_data_desc d;
        vkt_status st;
        const char *words;
    } rows[] = {
        { "one",
          "one document",
          { .context = 1, PAIRS },
          VKT_E_ARG,
          "data.context must be 2 or more tokens of preferences" },
        { "one",
          "one document",
          { .context = 2, .today = "yesterday" },
          VKT_E_ARG,
          "data.today must be a day such as 2026-01-31, not 'yesterday'" },
        { "one",
          "one document",
          { .context = 2, .today = "2026-02-30" },
          VKT_E_ARG,
          "not '2026-02-30'" },
        { "one",
          "one document",
          { .context = 2, .document_mask = true },
          VKT_E_ARG,
          "one is one document, so there is nothing to mask" },
        { "one",
          "one document",
          { .context = 2, .vocab = 100 },
          VKT_E_ARG,
          "the tokenizer 'bytes' has 257 tokens, the model (data.vocab) 100: use the model's own" },
        { "chat.jsonl",
          CHAT CHAT,
          { .context = 64, .valid_fraction = 0.01 },
          VKT_E_FORMAT,
          "split has no conversation: give more, or set data.valid_fraction to another share" },
        { "one",
          "12345678901234567890",
          { .context = 2, .test_fraction = 0.05 },
          VKT_E_FORMAT,
          "the test split has 1 tokens, at least 2 are needed: give more text, or raise, or set to "
          "0, data.test_fraction" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        char path[64];
        vkt_data_desc d = rows[i].d;
        vkt_dataset *ds;
        snprintf(path, sizeof path, DIR "/%s", rows[i].name);
        put(path, rows[i].text);
        d.source = "text";
        d.path = path;
        d.tokenizer = "bytes";
        TEST_LOG_CAPTURE();
        vkt_status st = vkt_dataset_open(&d, &ds);
        if (st != rows[i].st) print_error("wants '%s': %s\n", rows[i].words, test_log);
        assert_int_equal(st, rows[i].st);
        REQUIRE_LOGGED(rows[i].words);
        assert_int_equal(strchr(test_log, '\n')[1], 0);
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    }
    /* One token has none that follows it. */
    put(DIR "/letter", "1");
    vkt_dataset *ds = open_text(DIR "/one", "chars", 2, 0, 0), *other;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/letter", &other),
                   VKT_E_FORMAT);
    REQUIRE_LOGGED("letter' has 1 tokens: at least 2 are needed");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

/* What a checkpoint's schema opens encodes as the run did. */
static void schema_keeps_the_tokenizer(void **state)
{
    (void)state;
    uint32_t x[4], y[4];
    put(DIR "/abc", "abcabcabcabcabcabcabcabc");
    put(DIR "/cab", "cab");
    put(DIR "/xyz", "xyz");
    vkt_dataset *ds = open_text(DIR "/abc", "chars", 4, 0.2, 0.2), *other;
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/cab", &other));
    const vkt_dataset_info *info = vkt_dataset_get_info(other);
    assert_int_equal(info->n[VKT_SPLIT_TEST], 1);
    assert_int_equal(info->n_tokens[VKT_SPLIT_TEST], 3);
    assert_int_equal(info->context, 4);
    assert_string_equal(vkt_dataset_schema(ds), vkt_dataset_schema(other));
    vkt_dataset_window(other, VKT_SPLIT_TEST, 0, x, y);
    assert_true(x[0] == 2 && y[0] == 0 && y[1] == 1 && y[2] == VKT_NO_TOKEN);
    vkt_dataset_destroy(&other);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/xyz", &other),
                   VKT_E_FORMAT);
    REQUIRE_LOGGED("'x', that the vocabulary of 3 characters lacks");
    vkt_tokenizer *t;
    REQUIRE_OK(vkt_tokenizer_from_schema(vkt_dataset_schema(ds), &t));
    assert_int_equal(vkt_tokenizer_find(t, "b"), 1);
    vkt_tokenizer_destroy(&t);
    REQUIRE_STATUS(vkt_tokenizer_from_schema("{\"version\":1}", &t), VKT_E_FORMAT);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

/* ---- the loader ---- */

enum { SLOTS = 3, BATCH = 4, CONTEXT = 16 };
typedef struct {
    uint32_t tokens[SLOTS][BATCH * CONTEXT], targets[SLOTS][BATCH * CONTEXT],
        documents[SLOTS][BATCH * CONTEXT];
    float w[SLOTS][BATCH * CONTEXT];
    vkt_batch slot[SLOTS];
} ring;

static vkt_loader *start(const vkt_dataset *ds, ring *r, bool shuffle, uint64_t from)
{
    vkt_loader *l;
    for (int i = 0; i < SLOTS; i++)
        r->slot[i] = (vkt_batch) { .tokens = r->tokens[i],
                                   .targets = r->targets[i],
                                   .documents = r->documents[i],
                                   .w = r->w[i] };
    REQUIRE_OK(
        vkt_loader_create(&(vkt_loader_desc) { .data = ds,
                                               .split = shuffle ? VKT_SPLIT_TRAIN : VKT_SPLIT_VALID,
                                               .batch = BATCH,
                                               .shuffle = shuffle,
                                               .seed = 5,
                                               .start = from,
                                               .n_slots = SLOTS,
                                               .slots = r->slot,
                                               .n_threads = 2 },
                          &l));
    return l;
}

/* The novel: an epoch gives no token twice, the next one from another place; and a loader that
 * starts in the middle goes on with the same bits. */
static void epochs_without_replacement(void **state)
{
    (void)state;
    static ring r, again;
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "novel",
                                                   .tokenizer = "chars",
                                                   .context = CONTEXT,
                                                   .valid_fraction = 0.97,
                                                   .seed = 1 },
                                &ds));
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    uint64_t n = info->n[VKT_SPLIT_TRAIN], n_tokens = info->n_tokens[VKT_SPLIT_TRAIN];
    uint32_t *text = malloc((size_t)(n_tokens + CONTEXT) * 4), unused[CONTEXT];
    uint8_t *seen = calloc((size_t)n_tokens, 1);
    assert_true(text && seen);
    /* The whole stream, from unshifted windows; up to the last few tokens. */
    uint64_t n_read = (n_tokens - 1) / CONTEXT * CONTEXT;
    for (uint64_t i = 0; i < n_read / CONTEXT; i++)
        vkt__corpus_window(ds->corpus, VKT_SPLIT_TRAIN, i, 0, text + i * CONTEXT, unused, NULL);
    vkt_loader *l = start(ds, &r, true, 0);
    uint64_t shift[2] = { vkt__corpus_shift(ds->corpus, VKT_SPLIT_TRAIN, 5, 0),
                          vkt__corpus_shift(ds->corpus, VKT_SPLIT_TRAIN, 5, 1) };
    assert_true(shift[0] < CONTEXT && shift[1] < CONTEXT && shift[0] != shift[1]);
    for (uint64_t k = 0; k < (n + BATCH) / BATCH + 3; k++) {
        uint32_t slot;
        REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
        const vkt_batch *b = &r.slot[slot];
        assert_int_equal(b->n_counted, BATCH * CONTEXT);
        REQUIRE_NEAR(b->w[0], 1.0 / (BATCH * CONTEXT), 1e-9);
        for (uint32_t i = 0; i < BATCH; i++) {
            uint64_t position = k * BATCH + i, at = b->index[i] * CONTEXT + shift[position >= n];
            for (uint32_t j = 0; j < CONTEXT; j++) {
                if (at + j + 2 > n_read) continue;
                assert_int_equal(b->tokens[i * CONTEXT + j], text[at + j]);
                assert_int_equal(b->targets[i * CONTEXT + j], text[at + j + 1]);
                if (position < n) assert_int_equal(seen[at + j]++, 0);
            }
        }
        if (k == n / BATCH) { /* across the end of the epoch */
            uint32_t other;
            vkt_loader *m = start(ds, &again, true, k);
            REQUIRE_OK(vkt_loader_next(m, &other, NULL));
            assert_memory_equal(again.tokens[other], r.tokens[slot], sizeof r.tokens[slot]);
            assert_memory_equal(again.targets[other], r.targets[slot], sizeof r.targets[slot]);
            assert_memory_equal(again.documents[other], r.documents[slot],
                                sizeof r.documents[slot]);
            vkt_loader_destroy(&m);
        }
        vkt_loader_release(l, slot);
    }
    uint64_t missed = 0;
    for (uint64_t i = 0; i < n_tokens; i++) missed += !seen[i];
    assert_true(missed <= 3 * CONTEXT);
    vkt_loader_destroy(&l);
    free(text);
    free(seen);
    vkt_dataset_destroy(&ds);
}

/* A token begins a document after an end token, which closes the one before; of llm.c's shards it
 * is one. Text, shards of ours in windows across two of them, and llm.c's; two epochs, so windows
 * are shifted. */
static void documents_begin_after_an_end(void **state)
{
    (void)state;
    static ring r;
    static const struct {
        const char *path, *tokenizer;
        bool llmc;
    } sources[] = { { DIR "/many", "chars", false },
                    { DIR "/packed", NULL, false },
                    { DIR "/llmc12.bin", "bytes", true } };
    vkt_pack_result packed;
    put_many(DIR "/many");
    pack(DIR "/many/*.txt", "chars", DIR "/packed", &packed);
    put_llmc(DIR "/llmc12.bin", 120);
    for (size_t s = 0; s < VKT_COUNT(sources); s++) {
        vkt_dataset *ds = open_text(sources[s].path, sources[s].tokenizer, CONTEXT, 0.2, 0);
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        uint32_t end = vkt_tokenizer_get_info(info->tokenizer)->end, n_begun = 0;
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            vkt_loader *l = start(ds, &r, shuffle, 0);
            uint32_t slot, n = (uint32_t)(2 * info->n[VKT_SPLIT_TRAIN] / BATCH);
            for (uint32_t k = 0; k < n; k++) {
                REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
                if (slot == UINT32_MAX) break;
                for (uint32_t i = 0; i < r.slot[slot].n_valid; i++) {
                    const uint32_t *x = r.tokens[slot] + i * CONTEXT,
                                   *y = r.targets[slot] + i * CONTEXT;
                    for (uint32_t j = 0, begin = 0; j < CONTEXT && y[j] != VKT_NO_TOKEN; j++) {
                        if (j > 0 && x[sources[s].llmc ? j : j - 1] == end) begin = j, n_begun++;
                        assert_int_equal(r.documents[slot][i * CONTEXT + j], begin);
                    }
                }
                vkt_loader_release(l, slot);
            }
            vkt_loader_destroy(&l);
        }
        assert_true(n_begun > 10);
        vkt_dataset_destroy(&ds);
    }
}

static void last_batch_is_padded(void **state)
{
    (void)state;
    static ring r;
    uint32_t slot;
    char text[400];
    for (int i = 0; i < 400; i++) text[i] = (char)('a' + i % 20);
    REQUIRE_OK(vkt__file_replace(DIR "/padded", text, sizeof text));
    vkt_dataset *ds = open_text(DIR "/padded", "chars", CONTEXT, 0.25, 0);
    vkt_loader *l = start(ds, &r, false, 0);
    /* 100 tokens, 99 targets: 7 windows, 2 batches; 64 count in the first, 35 in the second. */
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    assert_int_equal(r.slot[slot].n_counted, 64);
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    const vkt_batch *b = &r.slot[slot];
    assert_int_equal(b->n_valid, 3);
    assert_int_equal(b->n_counted, 35);
    REQUIRE_NEAR(b->weight, 35, 0);
    for (uint32_t i = 0; i < BATCH * CONTEXT; i++) {
        assert_int_equal(b->targets[i] == VKT_NO_TOKEN, i >= 35);
        assert_true((b->w[i] > 0) == (i < 35));
        assert_true(b->tokens[i] < 20);
    }
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    assert_int_equal(slot, UINT32_MAX);
    vkt_loader_destroy(&l);
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_their_values),
        cmocka_unit_test(chars_rise_by_code_point),
        cmocka_unit_test(one_document_is_cut),
        cmocka_unit_test(documents_stay_whole),
        cmocka_unit_test(text_too_short_or_bad),
        cmocka_unit_test(labels_beside_texts_are_told),
        cmocka_unit_test(of_what_is_asked),
        cmocka_unit_test(schema_keeps_the_tokenizer),
        cmocka_unit_test(epochs_without_replacement),
        cmocka_unit_test(documents_begin_after_an_end),
        cmocka_unit_test(last_batch_is_padded),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
