/* Tokens that a base's tokenizer lacks: their ids, the rows that they get, and that a run of an
 * adapter, its exported folder and the adapter's folder are one model. transformers on the same:
 * by hand, in the lab. */
#include "recipe_run.h"

#include "data/text/tokenizer_chat.h"
#include "tokenizers/tokenizer_json.h"
#include "models/import.h"
#include "models/language.h"
#include "vktrain/models.h"

#define DIR "test_new_tokens_tmp"
#define WORDS "<|im_start|>, <|im_end|>, <|im_start|>"

static int setup(void **state)
{
    (void)state;
    REQUIRE_OK(vkt__remove_tree(DIR));
    return vkt__mkdirs(DIR);
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

static void require_ids(vkt_tokenizer *t, const char *text, const uint32_t *want, size_t n)
{
    vkt_tokens got = { 0 };
    REQUIRE_OK(vkt_tokenizer_encode(t, text, strlen(text), true, &got));
    assert_int_equal(got.n, n);
    for (size_t i = 0; i < n; i++) assert_int_equal(got.id[i], want[i]);
    vkt_free(got.id);
}

/* In every kind of tokenizer the new ids follow all others, also when it is read back; plain text
 * keeps its ids. */
static void ids_are_behind_the_others(void **state)
{
    (void)state;
    static const char *const specs[] = { "bytes",      "gpt2-small", "llama3-small",
                                         "spm-llama2", "words-bert", "words-t5" };
    for (size_t i = 0; i < VKT_COUNT(specs); i++) {
        char path[300];
        vkt_tokenizer *t, *again;
        vkt_tokens plain = { 0 };
        snprintf(path, sizeof path, "%s/golden/%s.json", test_dir(), specs[i]);
        REQUIRE_OK(vkt_tokenizer_open(i ? path : specs[i], &t));
        uint32_t n = vkt_tokenizer_get_info(t)->n_vocab;
        uint64_t hash = vkt_tokenizer_get_info(t)->hash;
        REQUIRE_OK(vkt_tokenizer_encode(t, "the house", 9, false, &plain));
        REQUIRE_OK(vkt__tokenizer_extend(&t, WORDS));
        assert_int_equal(vkt_tokenizer_get_info(t)->n_vocab, n + 2);
        assert_true(vkt_tokenizer_get_info(t)->hash != hash);
        char *kept = vkt__tokenizer_kept(t);
        REQUIRE_OK(vkt__tokenizer_parse_json(kept, strlen(kept), "kept", &again));
        vkt_free(kept);
        assert_int_equal(vkt_tokenizer_get_info(again)->hash, vkt_tokenizer_get_info(t)->hash);
        require_ids(again, "<|im_end|><|im_start|>", (uint32_t[]) { n + 1, n }, 2);
        require_ids(again, "the house", plain.id, plain.n);
        REQUIRE_OK(vkt__tokenizer_extend(&again, WORDS)); /* it has them */
        assert_int_equal(vkt_tokenizer_get_info(again)->n_vocab, n + 2);
        vkt_free(plain.id);
        vkt_tokenizer_destroy(&t);
        vkt_tokenizer_destroy(&again);
    }
}

/* A token that merges make keeps its id, and is now found before they are. */
static void a_plain_token_becomes_a_control_token(void **state)
{
    (void)state;
    vkt_tokenizer *t;
    REQUIRE_OK(vkt_tokenizer_open(test_file("golden/gpt2-small.json"), &t));
    uint32_t n = vkt_tokenizer_get_info(t)->n_vocab, in = vkt_tokenizer_find(t, "in");
    REQUIRE_OK(vkt__tokenizer_extend(&t, "in"));
    assert_int_equal(vkt_tokenizer_get_info(t)->n_vocab, n);
    assert_int_equal(vkt_tokenizer_find(t, "in"), in);
    require_ids(t, "inin", (uint32_t[]) { in, in }, 2);
    vkt_tokenizer_destroy(&t);
}

/* The end of a turn in a recipe's template counts, though the tokenizer has it as no eos_token. */
static void a_template_s_turn_ends_an_answer(void **state)
{
    (void)state;
    static const char template[] = "{{ messages[0].content }}<|im_end|>";
    vkt_tokenizer *t;
    REQUIRE_OK(vkt__file_replace(DIR "/chat.jinja", template, strlen(template)));
    REQUIRE_OK(vkt_tokenizer_open(test_file("golden/gpt2-small.json"), &t));
    REQUIRE_OK(vkt__tokenizer_extend(&t, WORDS));
    uint32_t end = vkt_tokenizer_find(t, "<|im_end|>");
    assert_false(vkt__tokenizer_ends(t, end));
    REQUIRE_OK(vkt__tokenizer_take_template(t, DIR "/chat.jinja"));
    assert_true(vkt__tokenizer_ends(t, end));
    assert_false(vkt__tokenizer_ends(t, vkt_tokenizer_find(t, "<|im_start|>")));
    vkt_tokenizer_destroy(&t);
}

static void new_rows_are_the_mean(void **state)
{
    (void)state;
    static float have[3 * 2] = { 1, 10, 2, 20, 6, 60 };
    float want[5 * 2] = { 1, 10, 2, 20, 6, 60, 3, 30, 3, 30 }, got[5 * 2];
    static const char *const names[] = { "model.embed_tokens.weight", "lm_head.weight",
                                         "model.norm.weight" };
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        vkt__st_tensor t = { .name = names[i], .dtype = "F32", .rank = 2, .shape = { 3, 2 } };
        t.data = have;
        REQUIRE_OK(vkt__safetensors_write(DIR "/model.safetensors", &t, 1, NULL, 0, NULL));
        t.shape[0] = 5;
        t.data = got;
        for (uint32_t rows = 0; rows <= 2; rows++) {
            vkt__import_how how = { .all = true, .new_rows = rows };
            vkt_status st = vkt__import_files(DIR "/model.safetensors", &t, 1, how);
            assert_int_equal(st, rows == 2 && i < 2 ? VKT_OK : VKT_E_FORMAT);
        }
        if (i < 2) assert_memory_equal(got, want, sizeof want);
    }
}

#define TEXT                                                                                       \
    "data: {source: text, path: " DIR "/text.txt, tokenizer: " DIR "/tok, context: 32, "           \
    "valid_fraction: 0.2, test_fraction: 0}\n"
#define CHATS(more)                                                                                \
    "data: {source: text, path: " DIR "/chats.jsonl, context: 32, valid_fraction: 0.2, "           \
    "test_fraction: 0, added_tokens: [<|im_start|>, <|im_end|>]" more "}\n"
#define MODEL(tie)                                                                                 \
    "model: [{transformer: {layers: 1, heads: 2, width: 16, names: llama, positions: rope, "       \
    "norm: rmsnorm, activation: swiglu, bias: false, tie: " tie "}}]\n"
#define TUNE "optim: {rule: adamw, lr: 0.02}\ntrain: {steps: 4, batch: 4}\neval: {every: 2}\n"

static vkt_status train(const char *recipe, const char *dir, vkt_train_result *r)
{
    vkt_train_desc desc = { .run_dir = dir };
    return train_recipe(recipe, NULL, &desc, r);
}

static void write_data(void)
{
    vkt__str text = { 0 }, chats = { 0 };
    char *json;
    size_t n;
    for (int i = 0; i < 100; i++)
        vkt__str_printf(&text, "%d times %d is %d.\n", i % 7, i % 11, i % 7 * (i % 11));
    for (int i = 0; i < 20; i++)
        vkt__str_printf(&chats, "{\"prompt\": \"%d?\", \"completion\": \"%d\"}\n", i, i % 3);
    REQUIRE_OK(vkt__file_read(test_file("golden/gpt2-small.json"), 1 << 26, &json, &n));
    REQUIRE_OK(vkt__mkdirs(DIR "/tok"));
    REQUIRE_OK(vkt__file_replace(DIR "/tok/tokenizer.json", json, n));
    REQUIRE_OK(vkt__file_replace(DIR "/text.txt", text.data, text.len));
    vkt__str_finish(&chats);
    for (int i = 0; i < 20; i++)
        vkt__str_printf(&chats,
                        "{\"messages\": [{\"role\": \"user\", \"content\": \"%d?\"}, "
                        "{\"role\": \"assistant\", \"content\": \"%d\"}]}\n",
                        i, i % 3);
    REQUIRE_OK(vkt__file_replace(DIR "/chats.jsonl", chats.data, chats.len));
    vkt__str_finish(&text);
    vkt__str_finish(&chats);
    free(json);
}

static void require_same_model(const char *a, const char *b)
{
    vkt__language x, y;
    REQUIRE_OK(vkt__language_open(a, &x));
    REQUIRE_OK(vkt__language_open(b, &y));
    assert_int_equal(x.config.vocab, 702);
    assert_int_equal(vkt_tokenizer_get_info(x.tokenizer)->hash,
                     vkt_tokenizer_get_info(y.tokenizer)->hash);
    assert_int_equal(x.weights.n_model, y.weights.n_model);
    for (size_t i = 0; i < x.weights.n_model; i++) {
        const vkt__st_tensor *t = &x.weights.model[i], *u = &y.weights.model[i];
        assert_string_equal(t->name, u->name);
        assert_int_equal(t->shape[0], u->shape[0]);
        assert_memory_equal(t->data, u->data, t->shape[0] * VKT_MAX(t->shape[1], 1) * 4);
    }
    vkt__language_close(&x);
    vkt__language_close(&y);
}

/* A base that says of itself one row more than it has: the adapter's new tokens do not make up for
 * it. */
static void a_base_without_a_row_is_refused(void)
{
    char *config, *at;
    size_t n;
    vkt__language x;
    REQUIRE_OK(vkt__file_read(DIR "/hf/config.json", 1 << 20, &config, &n));
    at = strstr(config, "\"vocab_size\": 700");
    assert_non_null(at);
    at[strlen("\"vocab_size\": 70")] = '1';
    REQUIRE_OK(vkt__file_replace(DIR "/hf/config.json", config, n));
    assert_int_equal(vkt__language_open(DIR "/peft", &x), VKT_E_FORMAT);
    at[strlen("\"vocab_size\": 70")] = '0';
    REQUIRE_OK(vkt__file_replace(DIR "/hf/config.json", config, n));
    free(config);
}

/* Both models' tokenizers give the same ids to the same texts. */
static void require_same_tokens(const char *a, const char *b)
{
    vkt__language x, y;
    REQUIRE_OK(vkt__language_open(a, &x));
    REQUIRE_OK(vkt__language_open(b, &y));
    assert_int_equal(vkt_tokenizer_get_info(x.tokenizer)->n_vocab,
                     vkt_tokenizer_get_info(y.tokenizer)->n_vocab);
    assert_int_equal(vkt_tokenizer_get_info(x.tokenizer)->hash,
                     vkt_tokenizer_get_info(y.tokenizer)->hash);
    vkt__language_close(&x);
    vkt__language_close(&y);
}

/* One more token than an adapter's run has: of its tables all rows are kept, the new one is their
 * mean. */
static void an_adapters_run_gets_a_row(void)
{
    vkt_train_result r;
    vkt__language x, y;
    REQUIRE_OK(train("data: {source: text, path: " DIR "/chats.jsonl, context: 32, valid_fraction: "
                     "0.2, test_fraction: 0, added_tokens: [<|tool|>]}\noptim: {lr: 1e-12}\n"
                     "train: {steps: 1, batch: 4}\neval: {every: 1}\ninit: " DIR "/run\n",
                     DIR "/more", &r));
    REQUIRE_OK(vkt__language_open(DIR "/run", &x));
    REQUIRE_OK(vkt__language_open(DIR "/more", &y));
    assert_int_equal(vkt_tokenizer_find(y.tokenizer, "<|im_end|>"), 701);
    assert_int_equal(vkt_tokenizer_find(y.tokenizer, "<|tool|>"), 702);
    unsigned n_tables = 0;
    for (size_t i = 0; i < x.weights.n_model; i++) {
        const vkt__st_tensor *t = &x.weights.model[i], *u = &y.weights.model[i];
        const float *a = t->data, *b = u->data;
        uint64_t n = t->shape[0] * (t->rank > 1 ? t->shape[1] : 1);
        for (uint64_t k = 0; k < n; k++) REQUIRE_NEAR(a[k], b[k], 1e-6);
        if (u->shape[0] == t->shape[0]) continue;
        assert_int_equal(u->shape[0], 703);
        for (uint64_t c = 0; c < t->shape[1]; c++) {
            double sum = 0;
            for (uint64_t k = c; k < n; k += t->shape[1]) sum += (double)a[k];
            REQUIRE_NEAR(b[n + c], sum / 702, 1e-6);
        }
        n_tables++;
    }
    assert_true(n_tables > 0);
    vkt__language_close(&x);
    vkt__language_close(&y);
    REQUIRE_OK(vkt__remove_tree(DIR "/more"));
}

/* A run from a run with tokens of its own, and one more: theirs keep their ids. */
static void more_tokens_come_last(void)
{
    vkt_train_result r;
    vkt__language x;
    REQUIRE_OK(train(CHATS("") TUNE "init: " DIR "/hf\n", DIR "/full", &r));
    REQUIRE_OK(train("data: {source: text, path: " DIR "/chats.jsonl, context: 32, valid_fraction: "
                     "0.2, test_fraction: 0, added_tokens: [<|tool|>]}\n" TUNE "init: " DIR
                     "/full\n",
                     DIR "/more", &r));
    REQUIRE_OK(vkt__language_open(DIR "/more", &x));
    assert_int_equal(vkt_tokenizer_find(x.tokenizer, "<|im_start|>"), 700);
    assert_int_equal(vkt_tokenizer_find(x.tokenizer, "<|im_end|>"), 701);
    assert_int_equal(vkt_tokenizer_find(x.tokenizer, "<|tool|>"), 702);
    vkt__language_close(&x);
    REQUIRE_OK(vkt__remove_tree(DIR "/full"));
    REQUIRE_OK(vkt__remove_tree(DIR "/more"));
}

/* Rows of a base that the new tokens have no part in are the base's, where they are not trained. */
static void runs_and_folders_are_one_model(void **state)
{
    (void)state;
    vkt_train_result r;
    static const struct {
        const char *base, *modules;
    } rows[] = { { TEXT MODEL("true") TUNE, "\"modules_to_save\":[\"embed_tokens\",\"lm_head\"]" },
                 { TEXT MODEL("false") TUNE,
                   "\"modules_to_save\":[\"embed_tokens\",\"lm_head\"]" } };
    write_data();
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        char *config;
        size_t n, at = 0;
        REQUIRE_OK(train(rows[i].base, DIR "/base", &r));
        REQUIRE_OK(vkt_export_hf(DIR "/base", DIR "/hf", VKT_EXPORT_F32));
        REQUIRE_OK(train(CHATS("") TUNE "init: " DIR "/hf\nlora: {rank: 2}\n", DIR "/run", &r));
        assert_true(isfinite(r.valid_loss));
        REQUIRE_OK(vkt_export_hf(DIR "/run", DIR "/out", VKT_EXPORT_F32));
        REQUIRE_OK(vkt_export_adapter(DIR "/run", DIR "/peft"));
        require_same_model(DIR "/run", DIR "/out");
        require_same_model(DIR "/run", DIR "/peft");
        a_base_without_a_row_is_refused();
        REQUIRE_OK(vkt__file_read(DIR "/peft/adapter_config.json", 1 << 20, &config, &n));
        for (size_t k = 0; k < n; k++)
            if (!strchr(" \n", config[k])) config[at++] = config[k];
        config[at] = 0;
        assert_non_null(strstr(config, rows[i].modules));
        free(config);
        /* From the run on: its tokens are there. */
        REQUIRE_OK(train("data: {source: text, path: " DIR "/chats.jsonl, context: 32, "
                         "valid_fraction: 0.2, test_fraction: 0}\n" TUNE "init: " DIR "/run\n",
                         DIR "/next", &r));
        require_same_tokens(DIR "/run", DIR "/next");
        an_adapters_run_gets_a_row();
        if (i == 0) more_tokens_come_last();
        REQUIRE_OK(vkt_export_gguf(DIR "/next", DIR "/next.gguf", VKT_EXPORT_F32));
        require_same_model(DIR "/next", DIR "/next.gguf");
        /* DPO has no reference with other tables. */
        assert_int_equal(train(CHATS("") TUNE "init: " DIR "/hf\nlora: {rank: 2}\n"
                                              "loss: {kind: dpo}\n",
                               DIR "/dpo", &r),
                         VKT_E_ARG);
        static const char *const made[] = { "base", "hf", "run", "out", "peft", "next" };
        for (size_t k = 0; k < VKT_COUNT(made); k++) {
            char path[100];
            snprintf(path, sizeof path, DIR "/%s", made[k]);
            REQUIRE_OK(vkt__remove_tree(path));
        }
        REQUIRE_OK(vkt__remove_tree(DIR "/next.gguf"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_behind_the_others),
        cmocka_unit_test(a_plain_token_becomes_a_control_token),
        cmocka_unit_test(a_template_s_turn_ends_an_answer),
        cmocka_unit_test(new_rows_are_the_mean),
        cmocka_unit_test(runs_and_folders_are_one_model),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
