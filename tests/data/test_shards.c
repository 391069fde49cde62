/* Texts in other files: shards of tokens, JSON lines and chats. */
#include "testing.h"

#include <math.h>

#include "data/text/jsonl.h"
#include "data/text/shard.h"

#define DIR "test_shards_tmp"
#include "text_files.h"

/* ---- shards ---- */

/* Packed and read as text: the same windows, over several shards. */
static void shards_hold_the_same(void **state)
{
    (void)state;
    vkt_pack_result r;
    vkt_shard_info info;
    put_many(DIR "/many");
    pack(DIR "/many/*.txt", "chars", DIR "/packed", &r);
    assert_int_equal(r.n_documents, 40);
    assert_true(r.n_shards > 3);
    REQUIRE_OK(vkt_shard_info_read(DIR "/packed/shard-00000.tok", &info));
    assert_true(info.width == 2 && info.n_vocab == 27 && info.counts_all && !info.llmc);
    assert_true(info.tokenizer_hash == r.tokenizer_hash);
    vkt_dataset *a = open_text(DIR "/many", "chars", 16, 0.2, 0.2),
                *b = open_text(DIR "/packed", NULL, 16, 0.2, 0.2);
    for (int s = 0; s < VKT_N_SPLITS; s++) {
        const vkt_dataset_info *x = vkt_dataset_get_info(a), *y = vkt_dataset_get_info(b);
        assert_int_equal(x->n_tokens[s], y->n_tokens[s]);
        for (uint64_t i = 0; i < x->n[s]; i++) {
            uint32_t p[2][32];
            vkt_dataset_window(a, (vkt_split)s, i, p[0], p[0] + 16);
            vkt_dataset_window(b, (vkt_split)s, i, p[1], p[1] + 16);
            assert_memory_equal(p[0], p[1], sizeof p[0]);
        }
    }
    vkt_dataset_destroy(&a);
    vkt_dataset_destroy(&b);
    refused(DIR "/packed", "bytes", 16, VKT_E_FORMAT,
            "shard-00000.tok' was packed with another tokenizer than bytes: pack it again");
    vkt_dataset *pairs;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open(&(vkt_data_desc) { .source = "text",
                                                       .path = DIR "/packed",
                                                       .context = 16,
                                                       .packing = VKT_PACKING_PAIRS },
                                    &pairs),
                   VKT_E_ARG);
    REQUIRE_LOGGED("packed' is packed, but pairs of answers are read from JSON lines");
    TEST_LOG_CAPTURE();
    const char *input = DIR "/many";
    REQUIRE_STATUS(vkt_pack(&(vkt_pack_desc) { &input, 1, "bytes", DIR "/packed", 0 }, &r),
                   VKT_E_ARG);
    REQUIRE_LOGGED("packed' already exists");
    input = DIR "/many/*.nothing";
    REQUIRE_STATUS(vkt_pack(&(vkt_pack_desc) { &input, 1, "bytes", DIR "/none", 0 }, &r),
                   VKT_E_FORMAT);
    REQUIRE_LOGGED("nothing': there is no file with such a name");
    assert_false(vkt__file_exists(DIR "/none"));
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* A shard with every header byte changed in turn, and cut at every length: refused or read, never a
 * crash, never a token beyond the vocabulary. */
static void damaged_shards(void **state)
{
    (void)state;
    char *bytes = NULL;
    size_t n;
    vkt_pack_result r;
    vkt__shard s;
    uint64_t copy[512];
    put(DIR "/small", "a small text");
    pack(DIR "/small", "chars", DIR "/small-packed", &r);
    REQUIRE_OK(vkt__file_read(DIR "/small-packed/shard-00000.tok", 1 << 20, &bytes, &n));
    assert_true(n < sizeof copy);
    TEST_LOG_CAPTURE();
    memcpy(copy, bytes, n);
    REQUIRE_OK(vkt__shard_parse(copy, n, "whole", &s));
    size_t end = (size_t)(s.tokenizer - (const char *)copy) + s.n_tokenizer; /* then zeros, to 8 */
    assert_true(end + 8 > n);
    for (size_t cut = 0; cut < end; cut++) {
        memcpy(copy, bytes, n);
        assert_int_not_equal(vkt__shard_parse(copy, cut, "cut", &s), VKT_OK);
    }
    REQUIRE_LOGGED("'cut' is cut off or damaged");
    for (size_t i = 0; i < 128 + 12 * 2 + 8; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, bytes, n);
            ((uint8_t *)copy)[i] ^= (uint8_t)(1 << bit);
            test_log[0] = 0;
            vkt_status st = vkt__shard_parse(copy, n, "flipped", &s);
            if (st == VKT_OK) st = vkt__shard_check(&s, "flipped", 8);
            /* Only what fills the header up to 128 bytes may be anything. */
            if ((st == VKT_OK) != (i >= 120 && i < 128)) fail_msg("bit %d of byte %zu", bit, i);
        }
    memcpy(copy, bytes, n);
    ((uint16_t *)copy)[64 + 3] = 9;
    REQUIRE_OK(vkt__shard_parse(copy, n, "beyond", &s));
    REQUIRE_STATUS(vkt__shard_check(&s, "beyond", r.n_vocab), VKT_E_FORMAT);
    REQUIRE_LOGGED("'beyond': token 3 of");
    REQUIRE_LOGGED("has id 9, the tokenizer's vocabulary has only 7");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    /* One whose head is damaged is not a text, also not as the first of a folder. */
    bytes[4] ^= 1;
    REQUIRE_OK(vkt__file_replace(DIR "/small-packed/shard-00000.tok", bytes, n));
    refused(DIR "/small-packed", NULL, 4, VKT_E_FORMAT,
            "shard-00000.tok' is not a shard of tokens");
    refused(DIR "/small-packed/shard-00000.tok", NULL, 4, VKT_E_FORMAT, "is not a shard of tokens");
    free(bytes);
}

static void llmc_shards(void **state)
{
    (void)state;
    put_llmc(DIR "/llmc.bin", 120);
    vkt_dataset *ds = open_text(DIR "/llmc.bin", "bytes", 4, 0.2, 0.2);
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n_tokens[VKT_SPLIT_TEST], 20);
    assert_int_equal(info->n_tokens[VKT_SPLIT_VALID], 20);
    assert_int_equal(info->n_tokens[VKT_SPLIT_TRAIN], 80);
    vkt_dataset_destroy(&ds);
    refused(DIR "/llmc.bin", NULL, 4, VKT_E_ARG,
            "is a shard of llm.c, which does not name its tokenizer");
    put_llmc(DIR "/llmc.bin", 121);
    refused(DIR "/llmc.bin", "bytes", 4, VKT_E_FORMAT, "promises 1266 bytes, it has 1264");
}

/* ---- JSON lines and chats ---- */

/* Writes a document with what counts in upper case, and leaves the rest unchanged. */
static vkt_status shout(void *user, const vkt__document *d)
{
    vkt__str *s = user;
    for (size_t i = 0; i < d->n_stretches; i++)
        for (size_t k = 0; k < d->stretch[i].n; k++) {
            char c = d->stretch[i].text[k];
            vkt__str_printf(s, "%c", d->stretch[i].counts && c >= 'a' && c <= 'z' ? c - 32 : c);
        }
    vkt__str_printf(s, "|");
    return VKT_OK;
}

static const char chat_line[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"hi <|im_end|>\"}, "
    "{\"role\": \"assistant\", \"content\": \"yes\"}]}\n";

static void json_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } good[] = { { "{\"text\": \"one\"}\r\n\n{\"text\": \"two\", \"id\": 3}", "ONE|TWO|" },
                 { "{\"prompt\": \"ask\", \"completion\": \"answer\"}\n", "askANSWER|" },
                 { chat_line, "user: hi <|im_end|>\nassistant: YES\n|" },
                 { "{\"text\": \"\"}\n{\"text\": \"x\"}\n", "X|" } };
    static const struct {
        const char *text, *line;
    } bad[] = { { "{\"text\": \"a\"}\n{\"text\": ", "'j' line 2: " },
                { "{\"text\": \"\xff\"}", "'j' line 1: unable to decode byte 0xff" },
                { "{\"title\": \"a\"}", "'j' line 1: neither \"text\", \"messages\" nor" },
                { "[1]", "'j' line 1: neither" },
                { "{\"messages\": []}", "'j' line 1: \"messages\" must be a list of turns" },
                { "{\"messages\": [{\"role\": \"user\"}]}", "'j' line 1: a turn must be" } };
    for (size_t i = 0; i < VKT_COUNT(good); i++) {
        vkt__str s = { 0 };
        REQUIRE_OK(vkt__jsonl_read(good[i].text, strlen(good[i].text), "j", NULL,
                                   &(vkt__jsonl_options) { .now = NAN }, shout, &s));
        assert_string_equal(s.data, good[i].what);
        vkt__str_finish(&s);
    }
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        vkt__str s = { 0 };
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__jsonl_read(bad[i].text, strlen(bad[i].text), "j", NULL,
                                       &(vkt__jsonl_options) { .now = NAN }, shout, &s),
                       VKT_E_FORMAT);
        REQUIRE_LOGGED(bad[i].line);
        vkt__str_finish(&s);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* ChatML by a tokenizer that has its tokens; loss on the answer and its end alone, in the text and
 * in the shard; control tokens written in a message are text. */
static void chats_count_the_assistant(void **state)
{
    (void)state;
    static const char tokenizer[] = VKT_TEST_DIR "/golden/smollm2-small.json";
    vkt_tokenizer *t;
    vkt_pack_result r;
    vkt_shard_info info;
    vkt_tokens want = { 0 }, answer = { 0 };
    REQUIRE_OK(vkt_tokenizer_open(tokenizer, &t));
    static const char first[] = "<|im_start|>user\nhi ",
                      second[] = "<|im_end|>\n<|im_start|>assistant\n";
    REQUIRE_OK(vkt_tokenizer_encode(t, first, strlen(first), true, &want));
    REQUIRE_OK(vkt_tokenizer_encode(t, "<|im_end|>", 10, false, &want));
    REQUIRE_OK(vkt_tokenizer_encode(t, second, strlen(second), true, &want));
    size_t from = want.n;
    REQUIRE_OK(vkt_tokenizer_encode(t, "yes<|im_end|>", 13, true, &want));
    REQUIRE_OK(vkt_tokenizer_encode(t, "yes<|im_end|>", 13, true, &answer));
    put(DIR "/chat.jsonl", chat_line);
    pack(DIR "/chat.jsonl", tokenizer, DIR "/chat", &r);
    REQUIRE_OK(vkt_shard_info_read(DIR "/chat/shard-00000.tok", &info));
    assert_int_equal(info.n_tokens - info.n_uncounted, answer.n);
    for (int packed = 0; packed < 2; packed++) {
        uint32_t x[128], y[128];
        vkt_dataset *ds = open_text(packed ? DIR "/chat" : DIR "/chat.jsonl",
                                    packed ? NULL : tokenizer, (uint32_t)want.n, 0, 0);
        vkt_dataset_window(ds, VKT_SPLIT_TRAIN, 0, x, y);
        assert_memory_equal(x, want.id, want.n * sizeof *x);
        for (size_t i = 0; i < want.n; i++) {
            bool counts = i + 1 >= from && i + 1 < from + answer.n;
            assert_int_equal(y[i], counts ? want.id[i + 1] : VKT_NO_TOKEN);
        }
        vkt_dataset_destroy(&ds);
    }
    free(want.id);
    free(answer.id);
    vkt_tokenizer_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_hold_the_same),
        cmocka_unit_test(damaged_shards),
        cmocka_unit_test(llmc_shards),
        cmocka_unit_test(json_lines),
        cmocka_unit_test(chats_count_the_assistant),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
