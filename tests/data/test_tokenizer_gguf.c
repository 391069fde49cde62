/* data: the tokenizer of a GGUF file: what is refused, by files made here value by value. What is
 * read is test_gguf_base's. */
#include "testing.h"

#include <jansson.h>

#include <math.h>

#include "tokenizers/tokenizer_gguf.h"
#include "tokenizers/vocabulary.h"

static vkt__str file;

static void number(uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) vkt__str_add(&file, &(char) { (char)(v >> 8 * i) }, 1);
}

static void text(const char *s, size_t n)
{
    number(n, 8);
    vkt__str_add(&file, s, n);
}

static void key(const char *name, vkt__gguf_type type)
{
    char whole[80];
    snprintf(whole, sizeof whole, "tokenizer.ggml.%s", name);
    text(whole, strlen(whole));
    number(type, 4);
}

static void list(const char *name, vkt__gguf_type of, size_t n)
{
    key(name, VKT__GGUF_ARRAY);
    number(of, 4);
    number(n, 8);
}

/* A vocabulary of 3 tokens; each row of the test changes one thing of it. */
typedef struct made {
    const char *model, *pre, *tokens[3], *words;
    uint32_t type, n_types, n_scores; /* of the last token */
    float score;
    bool empty, without_model, spaces;
} made;

static void put_file(const made *m)
{
    bool spm = m->model && !strcmp(m->model, "llama");
    size_t n = m->empty ? 0 : 3;
    file.len = 0;
    number(VKT__GGUF_MAGIC, 4);
    number(VKT__GGUF_VERSION, 4);
    number(0, 8);
    number(2u + !m->without_model + spm + (m->pre != NULL) + m->spaces, 8);
    if (!m->without_model) {
        key("model", VKT__GGUF_STRING);
        text(m->model, strlen(m->model));
    }
    if (m->pre) {
        key("pre", VKT__GGUF_STRING);
        text(m->pre, strlen(m->pre));
    }
    list("tokens", VKT__GGUF_STRING, n);
    for (size_t i = 0; i < n; i++) text(m->tokens[i], m->tokens[i][0] ? strlen(m->tokens[i]) : 2);
    list("token_type", VKT__GGUF_I32, m->n_types);
    for (uint32_t i = 0; i < m->n_types; i++) number(i < 2 ? 1 : m->type, 4);
    if (spm) {
        uint32_t bits;
        list("scores", VKT__GGUF_F32, m->n_scores);
        memcpy(&bits, &m->score, sizeof bits);
        for (uint32_t i = 0; i < m->n_scores; i++) number(i < 2 ? 0 : bits, 4);
    }
    if (m->spaces) {
        key("remove_extra_whitespaces", VKT__GGUF_BOOL);
        number(1, 1);
    }
}

static void what_is_refused(void **state)
{
    (void)state;
#define TYPES .type = 1, .n_types = 3, .n_scores = 3
#define GPT2 .model = "gpt2", .pre = "gpt-2"
    static const made rows[] = {
        { .without_model = true, .tokens = { "a", "b", "c" }, TYPES, .words = "has no tokenizer" },
        { .model = "bert",
          .tokens = { "a", "b", "c" },
          TYPES,
          .words = "tokenizer.ggml.model is another than gpt2 and llama" },
        { GPT2, .empty = true, TYPES, .words = "tokenizer.ggml.tokens must be a list of texts" },
        { GPT2, .tokens = { "a", "b", "c" }, .type = 1, .n_types = 2,
          .words = "tokenizer.ggml.token_type must have as many numbers" },
        { GPT2, .tokens = { "a", "b", "c" }, .type = 9, .n_types = 3,
          .words = "tokenizer.ggml.token_type has a number that is no type of a token" },
        { GPT2, .tokens = { "a", "b", "\0b" }, TYPES,
          .words = "tokenizer.ggml.tokens has a text with a byte of 0" },
        { GPT2, .tokens = { "a", "b", "a" }, TYPES,
          .words = "token 2 is the text of another token" },
        { GPT2, .tokens = { "a", "b", "\xff" }, TYPES, .words = "token 2 is not UTF-8" },
        { .model = "gpt2",
          .pre = "mine",
          .tokens = { "a", "b", "c" },
          TYPES,
          .words = "tokenizer.ggml.pre names a way to split text that is not known" },
        { .model = "gpt2",
          .tokens = { "a", "b", "c" },
          TYPES,
          .words = "tokenizer.ggml.pre names a way to split text that is not known" },
        { .model = "llama",
          .tokens = { "a", "b", "c" },
          .type = 1,
          .n_types = 3,
          .n_scores = 2,
          .words = "tokenizer.ggml.scores must have as many numbers" },
        { .model = "llama",
          .tokens = { "a", "b", "c" },
          TYPES,
          .score = INFINITY,
          .words = "tokenizer.ggml.scores has a number that is not finite" },
        { .model = "llama",
          .tokens = { "a", "b", "c" },
          TYPES,
          .spaces = true,
          .words = "tokenizer.ggml.remove_extra_whitespaces must be false" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__gguf g = { 0 };
        vkt_tokenizer *t;
        TEST_LOG_CAPTURE();
        put_file(&rows[i]);
        REQUIRE_OK(vkt__gguf_take(file.data, file.len, "t.gguf", &g));
        REQUIRE_STATUS(vkt__tokenizer_parse_gguf(&g, &t), VKT_E_FORMAT);
        assert_null(t);
        REQUIRE_LOGGED(rows[i].words);
        REQUIRE_LOGGED("'t.gguf'");
        vkt__gguf_close(&g);
    }
    vkt__str_finish(&file);
}

/* SentencePiece's, of bytes, with flags that say what is put around a text. */
static void put_flags(const char *name, int bos, int eos)
{
    static const char *const control[] = { "<unk>", "<s>", "</s>", "<R>", "\xe2\x96\x81" };
    enum { N = VKT_COUNT(control) };
    file.len = 0;
    number(VKT__GGUF_MAGIC, 4);
    number(VKT__GGUF_VERSION, 4);
    number(0, 8);
    number(7u + (bos >= 0) + (eos >= 0), 8);
    text("general.name", 12);
    number(VKT__GGUF_STRING, 4);
    text(name, strlen(name));
    key("model", VKT__GGUF_STRING);
    text("llama", 5);
    list("tokens", VKT__GGUF_STRING, N + 256);
    for (size_t i = 0; i < N; i++) text(control[i], strlen(control[i]));
    for (int b = 0; b < 256; b++) {
        char byte[8];
        snprintf(byte, sizeof byte, "<0x%02X>", b);
        text(byte, 6);
    }
    list("token_type", VKT__GGUF_I32, N + 256);
    for (uint32_t i = 0; i < N + 256; i++) number(i == 0 ? 2 : i < 4 ? 3 : i == 4 ? 1 : 6, 4);
    list("scores", VKT__GGUF_F32, N + 256);
    for (uint32_t i = 0; i < N + 256; i++) number(0, 4);
    for (int i = 0; i < 2; i++) {
        key(i ? "eos_token_id" : "bos_token_id", VKT__GGUF_U32);
        number(i ? 2 : 1, 4);
        if ((i ? eos : bos) < 0) continue;
        key(i ? "add_eos_token" : "add_bos_token", VKT__GGUF_BOOL);
        number((uint64_t)(i ? eos : bos), 1);
    }
}

/* add_bos_token, which SentencePiece's have by default, and add_eos_token; Phi-3's control tokens
 * take the white space behind them, by the file's name. */
static void what_is_around_a_text(void **state)
{
    static const struct {
        const char *name;
        int bos, eos;
        uint32_t before, behind, n;
    } rows[] = {
        { "a model", -1, -1, 1, 0, 6 }, { "a model", 0, -1, 0, 0, 6 },
        { "a model", 1, 1, 1, 1, 6 },   { "My Phi-3 mini", 1, 0, 1, 0, 5 },
        { "phi3", -1, -1, 1, 0, 5 },
    };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__gguf g = { 0 };
        vkt_tokenizer *t;
        vkt_tokens out = { 0 };
        put_flags(rows[i].name, rows[i].bos, rows[i].eos);
        REQUIRE_OK(vkt__gguf_take(file.data, file.len, "t.gguf", &g));
        REQUIRE_OK(vkt__tokenizer_parse_gguf(&g, &t));
        assert_int_equal(t->n_around[0], rows[i].before);
        assert_int_equal(t->n_around[1], rows[i].behind);
        if (rows[i].before) assert_int_equal(t->around[0][0], 1);
        if (rows[i].behind) assert_int_equal(t->around[1][0], 2);
        const json_t *ends = json_object_get(t->chat_settings, "eos_ids");
        assert_int_equal(json_array_size(ends), 1); /* as the file names it */
        assert_int_equal(json_integer_value(json_array_get(ends, 0)), 2);
        REQUIRE_OK(vkt_tokenizer_encode(t, "<s> a<R> b", 10, true, &out)); /* <s> leaves it */
        assert_int_equal(out.n, 2 + rows[i].n);
        vkt_free(out.id);
        vkt_tokenizer_destroy(&t);
        vkt__gguf_close(&g);
    }
    vkt__str_finish(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_refused),
                                        cmocka_unit_test(what_is_around_a_text) };
    return cmocka_run_group_tests_name("tokenizer of GGUF", tests, NULL, NULL);
}
