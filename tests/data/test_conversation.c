/* data: conversations to learn from. What counts in the loss by templates of each kind, the forms
 * that a line may have, and control tokens in messages. */
#include "testing.h"

#include <math.h>

#include "data/chat/lesson.h"
#include "data/dataset.h"
#include "data/text/jsonl.h"
#include "data/text/packing.h"
#include "data/text/tokenizer_chat.h"
#include "tokenizers/tokenizer_json.h"
#include "formats/json_text.h"
#include "base/os.h"

#define DIR "test_conversation_tmp"
#define GOLDEN VKT_TEST_DIR "/golden/"
#include "own_folder.h"
#include "text_files.h"

/* Puts [[ ]] around what counts, and ' ' around text that is not searched for control tokens. A
 * control token that is recognised has no quotes. */
static void show(const vkt__stretch *s, size_t n, vkt__str *out)
{
    bool counts = false;
    for (size_t i = 0; i < n; i++) {
        if (s[i].counts != counts) vkt__str_add(out, counts ? "]]" : "[[", 2);
        counts = s[i].counts;
        if (!s[i].special) vkt__str_add(out, "'", 1);
        vkt__str_add(out, s[i].text, s[i].n);
        if (!s[i].special) vkt__str_add(out, "'", 1);
    }
    if (counts) vkt__str_add(out, "]]", 2);
}

static vkt_status show_document(void *user, const vkt__document *d)
{
    show(d->stretch, d->n_stretches, user);
    vkt__str_add(user, d->whole ? "|" : d->end_counts ? "+" : "_", 1);
    return VKT_OK;
}

/* The template of that name in the golden file. */
static json_t *settings_of(const char *name, const char *eos)
{
    json_t *all = json_load_file(GOLDEN "chat_templates.json", 0, NULL), *row, *o = NULL;
    size_t i;
    json_array_foreach(all, i,
                       row) if (!strcmp(json_string_value(json_object_get(row, "name")), name)) o =
        json_pack("{s:O, s:s, s:s}", "chat_template", json_object_get(row, "template"), "bos_token",
                  "<s>", "eos_token", eos);
    if (*name == '{') o = json_pack("{s:s, s:s}", "chat_template", name, "eos_token", eos);
    json_decref(all);
    assert_non_null(o);
    return o;
}

#define TURNS                                                                                      \
    "[{\"role\":\"user\",\"content\":\"U1\"},{\"role\":\"assistant\",\"content\":\"A1\"},"         \
    "{\"role\":\"user\",\"content\":\"U2\"},{\"role\":\"assistant\",\"content\":\"A2\"}]"
#define CALLS                                                                                      \
    "[{\"role\":\"user\",\"content\":\"U1\"},{\"role\":\"assistant\",\"content\":\"\","            \
    "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{}}}]},"                          \
    "{\"role\":\"tool\",\"content\":\"T\"},{\"role\":\"assistant\",\"content\":\"A2\"}]"
#define THOUGHTS                                                                                   \
    "[{\"role\":\"user\",\"content\":\"U1\"},{\"role\":\"assistant\",\"content\":"                 \
    "\"<think>x</think>A1\"},{\"role\":\"user\",\"content\":\"U2\"},"                              \
    "{\"role\":\"assistant\",\"content\":\"<think>y</think>A2\"}]"

#define REASONS                                                                                    \
    "[{\"role\":\"user\",\"content\":\"U1\"},{\"role\":\"assistant\",\"content\":\"A1\","          \
    "\"reasoning\":\"R1\"},{\"role\":\"user\",\"content\":\"U2\"},{\"role\":\"assistant\","        \
    "\"content\":\"A2\",\"reasoning\":\"R2\"}]"
#define UNTRAINED                                                                                  \
    "[{\"role\":\"user\",\"content\":\"U1\"},{\"role\":\"assistant\",\"content\":\"A1\","          \
    "\"reasoning\":\"R1\",\"train\":false},{\"role\":\"user\",\"content\":\"U2\"},"                \
    "{\"role\":\"assistant\",\"content\":\"A2\",\"reasoning\":\"R2\"}]"

static void test_lessons(void **state)
{
    static const struct {
        const char *template, *eos, *messages, *want, *said;
    } rows[] = {
        { "chatml", "<|im_end|>", TURNS,
          "<|im_start|>user\nU1<|im_end|>\n<|im_start|>assistant\n[[A1<|im_end|>]]\n"
          "<|im_start|>user\nU2<|im_end|>\n<|im_start|>assistant\n[[A2<|im_end|>]]\n" },
        { "qwen tools", "<|im_end|>", CALLS,
          "<|im_start|>user\nU1<|im_end|>\n<|im_start|>assistant\n[[<tool_call>\n{\"name\": "
          "\"f\", \"arguments\": {}}\n</tool_call><|im_end|>]]\n<|im_start|>user\n<tool_response>"
          "\nT\n</tool_response><|im_end|>\n<|im_start|>assistant\n[[A2<|im_end|>]]\n" },
        { "qwen3 thoughts", "<|im_end|>", THOUGHTS,
          "<|im_start|>user\nU1<|im_end|>\n<|im_start|>assistant\n[[A1<|im_end|>]]\n"
          "<|im_start|>user\nU2<|im_end|>\n<|im_start|>assistant\n[[<think>\ny\n</think>\n\nA2"
          "<|im_end|>]]\n" },
        { "llama 3", "<|eot_id|>", TURNS,
          "<s><|start_header_id|>user<|end_header_id|>\n\nU1<|eot_id|><|start_header_id|>assistant"
          "<|end_header_id|>\n\n[[A1<|eot_id|>]]<|start_header_id|>user<|end_header_id|>\n\nU2"
          "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n[[A2<|eot_id|>]]" },
        { "gemma 2", "<eos>", TURNS,
          "<s><start_of_turn>user\nU1<end_of_turn>\n<start_of_turn>model\n[[A1<end_of_turn>]]\n"
          "<start_of_turn>user\nU2<end_of_turn>\n<start_of_turn>model\n[[A2<end_of_turn>]]\n" },
        { "phi 3", "<|endoftext|>", TURNS,
          "<|user|>\nU1<|end|>\n<|assistant|>\n[[A1<|end|>]]\n<|user|>\nU2<|end|>\n<|assistant|>"
          "\n[[A2<|end|>\n<|endoftext|>]]" },
        { "mistral 7b", "</s>", TURNS,
          "<s>[INST] U1 [/INST][[A1</s>]][INST] U2 [/INST][[A2</s>]]" },
        { "llama 2", "</s>", TURNS,
          "<s>[INST] U1 [/INST][[ A1 </s>]]<s>[INST] U2 [/INST][[ A2 </s>]]" },
        { "generation chatml", "<|im_end|>", TURNS,
          "<|im_start|>user\nU1<|im_end|>\n<|im_start|>assistant\n[[A1<|im_end|>]]\n"
          "<|im_start|>user\nU2<|im_end|>\n<|im_start|>assistant\n[[A2<|im_end|>]]\n" },
        { "deepseek r1", "<｜end▁of▁sentence｜>", TURNS,
          "<s><｜User｜>U1<｜Assistant｜>[[A1<｜end▁of▁sentence｜>]]<｜User｜>U2<｜Assistant｜>[[A2"
          "<｜end▁of▁sentence｜>]]" },
        { "{% if add_generation_prompt %}X{% endif %}{% for m in messages %}{{ m.content }}{% "
          "endfor "
          "%}",
          "</s>", TURNS, NULL, "where the answer in message 2 begins" },
        { "{% for m in messages %}{% if m.role == 'assistant' and not loop.last %}X{% endif %}"
          "{{ m.content }}{% endfor %}",
          "</s>", TURNS, "U1[[XA1]]U2[[A2]]" },
        /* several blocks a turn, in all turns */
        { "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' "
          "%}{% if m.reasoning %}{% generation %}{{ '<think>' + m.reasoning + '</think>' }}{% "
          "endgeneration %}{% endif %}-{% generation %}{{ m.content + '<|im_end|>' }}{% "
          "endgeneration %}{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{% endfor %}",
          "<|im_end|>", REASONS,
          "<|im_start|>user\nU1<|im_end|><|im_start|>assistant\n[[<think>R1</"
          "think>]]-[[A1<|im_end|>"
          "]]<|im_start|>user\nU2<|im_end|><|im_start|>assistant\n[[<think>R2</think>]]-[[A2<|im_"
          "end|>]]" },
        /* the same where the first turn does not count */
        { "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.reasoning "
          "}}{% "
          "endgeneration %}:{% generation %}{{ m.content }}{% endgeneration %}{% generation %}{{ "
          "'</s>' }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}",
          "</s>", UNTRAINED, "U1R1:A1</s>U2[[R2]]:[[A2</s>]]" },
        { "{% for m in messages %}{% if m.role == 'user' %}{% generation %}{{ m.x }}{% "
          "endgeneration "
          "%}{% endif %}{{ m.content }}{% endfor %}",
          "</s>", TURNS, NULL, "blocks write nothing of a turn that counts" },
        /* eos once, at the end */
        { "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}{% if loop.last "
          "and "
          "m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}{% if "
          "add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
          "</s>", TURNS,
          "<|im_start|>user\nU1<|im_start|>assistant\n[[A1]]<|im_start|>user\nU2<|im_start|>"
          "assistant\n[[A2</s>]]" },
        /* an end token before a next turn only */
        { "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}{% if not "
          "loop.last "
          "or add_generation_prompt %}{{ '<|im_end|>\n' }}{% endif %}{% endfor %}{% if "
          "add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
          "<|im_end|>", TURNS,
          "<|im_start|>user\nU1<|im_end|>\n<|im_start|>assistant\n[[A1<|im_end|>]]\n<|im_start|>"
          "user\n"
          "U2<|im_end|>\n<|im_start|>assistant\n[[A2]]" },
        /* control tokens inside of turns; the last turn ends by another token */
        { "{% for m in messages %}{{ '<|im_start|>' + m.role }}{% if m.role == 'assistant' %}{{ "
          "'<|user|>final<|assistant|>' }}{% endif %}{{ m.content }}{{ '</s>' if loop.last and "
          "m.role == 'assistant' else '<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ "
          "'<|im_start|>assistant' }}{% endif %}",
          "</s>", TURNS,
          "<|im_start|>userU1<|end|><|im_start|>assistant[[<|user|>final<|assistant|>A1<|end|>]]<|"
          "im_"
          "start|>userU2<|end|><|im_start|>assistant[[<|user|>final<|assistant|>A2</s>]]" },
        /* the next answer's beginning behind each conversation */
        { "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' "
          "}}{% "
          "endfor %}{{ '<|im_start|>assistant\n' }}",
          "<|im_end|>", TURNS,
          "<|im_start|>user\nU1<|im_end|>\n<|im_start|>assistant\n[[A1<|im_end|>]]\n<|im_start|>"
          "user\n"
          "U2<|im_end|>\n<|im_start|>assistant\n[[A2<|im_end|>]]\n<|im_start|>assistant\n" },
        /* the user's words again, inside of the answer */
        { "{% for m in messages %}{% if m.role == 'assistant' %}{{ messages[loop.index0 - "
          "1].content + "
          "'=' }}{% endif %}{{ m.content + '</s>' }}{% endfor %}",
          "</s>", TURNS, NULL, "where the answer in message 2 begins" },
        /* control tokens of others stay texts, the assistant's are tokens */
        { "chatml", "<|im_end|>",
          "[{\"role\":\"user\",\"content\":\"<s>U\"},{\"role\":\"assistant\",\"content\":"
          "\"<s>A\"}]",
          "<|im_start|>user\n'<s>'U<|im_end|>\n<|im_start|>assistant\n[[<s>A<|im_end|>]]\n" },
    };
    static const char *const control[] = { "<|im_start|>",
                                           "<|im_end|>",
                                           "<|eot_id|>",
                                           "<|end|>",
                                           "<|user|>",
                                           "<|assistant|>",
                                           "<|endoftext|>",
                                           "<end_of_turn>",
                                           "<start_of_turn>",
                                           "</s>",
                                           "<s>",
                                           "<|start_header_id|>",
                                           "<eos>",
                                           "<|end_header_id|>",
                                           "<｜Assistant｜>",
                                           "<｜User｜>",
                                           "<｜end▁of▁sentence｜>" };
    static const char *const ends[] = { "<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>" };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        json_t *settings = settings_of(rows[i].template, rows[i].eos),
               *messages = json_loads(rows[i].messages, 0, NULL);
        vkt__chat *c;
        vkt__chat_text t = { 0 };
        vkt__str s = { 0 };
        vkt__conversation v = { .messages = messages, .now = NAN };
        REQUIRE_OK(vkt__chat_create(settings, "test", control, VKT_COUNT(control), ends,
                                    VKT_COUNT(ends), &c));
        TEST_LOG_CAPTURE();
        if (rows[i].want) {
            REQUIRE_OK(vkt__chat_lesson(c, &v, &t));
            show(t.stretch, t.n, &s);
            assert_string_equal(s.data, rows[i].want);
        } else {
            REQUIRE_STATUS(vkt__chat_lesson(c, &v, &t), VKT_E_FORMAT);
            REQUIRE_LOGGED(rows[i].said);
        }
        vkt__str_finish(&s);
        vkt__chat_text_finish(&t);
        vkt__chat_destroy(&c);
        json_decref(settings);
        json_decref(messages);
    }
}

static void test_forms(void **state)
{
    static const struct {
        const char *line, *want;
    } rows[] = {
        { "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
          "{\"type\":\"text\",\"text\":\"b\"}]},{\"role\":\"assistant\",\"content\":\"c\"}]}",
          "user: ab\nassistant: [[c\n]]|" },
        { "{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"},{\"from\":\"gpt\",\"value\":"
          "\"a\"}],\"system\":\"s\"}",
          "system: s\nuser: q\nassistant: [[a\n]]|" },
        { "{\"instruction\":\"i\",\"input\":\"x\",\"output\":\"o\"}",
          "user: i\n\nx\nassistant: [[o\n]]|" },
        { "{\"instruction\":\"i\",\"input\":\"\",\"output\":\"o\"}",
          "user: i\nassistant: [[o\n]]|" },
        { "{\"prompt\":\"p\",\"completion\":\"c\"}", "'p'[['c']]+" },
        { "{\"prompt\":[{\"role\":\"user\",\"content\":\"p\"},{\"role\":\"assistant\",\"content\":"
          "\"x\"},{\"role\":\"user\",\"content\":\"q\"}],\"completion\":[{\"role\":\"assistant\","
          "\"content\":\"c\"}]}",
          "user: p\nassistant: x\nuser: q\nassistant: [[c\n]]|" },
        { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"no\",\"weight\":0},{\"role\":"
          "\"assistant\",\"content\":\"yes\"}]}",
          "assistant: no\nassistant: [[yes\n]]|" },
        { "{\"conversations\":[{\"from\":\"gpt\",\"value\":\"no\",\"weight\":0},{\"from\":"
          "\"gpt\",\"value\":\"yes\",\"weight\":1}]}",
          "assistant: no\nassistant: [[yes\n]]|" },
        { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"no\",\"train\":false},{\"role\":"
          "\"assistant\",\"content\":\"yes\",\"train\":true,\"weight\":1.0}]}",
          "assistant: no\nassistant: [[yes\n]]|" },
        { "{\"text\":\"t\"}", "[['t']]_" },
    };
    static const struct {
        const char *line, *said;
    } bad[] = {
        { "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", "no turn of the assistant" },
        { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"x\",\"weight\":0}]}",
          "no turn of the assistant" },
        { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"x\",\"weight\":0.5}]}",
          "\"weight\" must be 0 or 1" },
        { "{\"conversations\":[{\"from\":\"gpt\",\"value\":\"x\",\"weight\":0.5}]}",
          "\"weight\" must be 0 or 1" },
        { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"x\",\"train\":\"no\"}]}",
          "\"train\" must be true or false" },
        { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"x\",\"train_detail\":[1]}]}",
          "\"train_detail\" is not taken" },
        { "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]}]}",
          "a content part is of type \"image\"" },
        { "{\"conversations\":[{\"from\":\"alien\",\"value\":\"x\"}]}", "\"from\" is \"alien\"" },
        { "{\"instruction\":\"x\"}", "\"instruction\" and \"output\" must be texts" },
        { "{\"instruction\":\"i\",\"output\":\"o\",\"history\":[[\"q\",\"a\"]]}",
          "\"history\" is not taken" },
        { "{\"prompt\":\"p\",\"completion\":\"c\",\"system\":\"s\"}",
          "\"system\" beside a text as \"prompt\" is not taken" },
        { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"x\"}],\"tools\":3}",
          "\"tools\" must be a list" },
        { "{\"messages\":[{\"role\":\"assistant\",\"content\":\"\xef\xb7\x90\"}]}", "U+FDD0" },
    };
    vkt__jsonl_options o = { .now = NAN };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__str s = { 0 };
        REQUIRE_OK(
            vkt__jsonl_read(rows[i].line, strlen(rows[i].line), "j", NULL, &o, show_document, &s));
        assert_string_equal(s.data, rows[i].want);
        vkt__str_finish(&s);
    }
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        vkt__str s = { 0 };
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(
            vkt__jsonl_read(bad[i].line, strlen(bad[i].line), "j", NULL, &o, show_document, &s),
            VKT_E_FORMAT);
        REQUIRE_LOGGED("'j' line 1: ");
        REQUIRE_LOGGED(bad[i].said);
        o.skip_bad = true;
        o.n_bad = 0;
        REQUIRE_OK(
            vkt__jsonl_read(bad[i].line, strlen(bad[i].line), "j", NULL, &o, show_document, &s));
        assert_int_equal(o.n_bad, 1);
        assert_non_null(strstr(o.first_bad, "line 1: "));
        o.skip_bad = false;
        vkt__str_finish(&s);
    }
}

/* Preferences: both documents of each, in TRL's forms. */
static void test_pairs(void **state)
{
#define USER "{\"role\":\"user\",\"content\":\"q\"}"
#define SAYS(word) "{\"role\":\"assistant\",\"content\":\"" word "\"}"
    static const struct {
        const char *line, *want;
    } rows[] = {
        { "{\"prompt\":\"p\",\"chosen\":\"c\",\"rejected\":\"r\"}", "'p'[['c']]+'p'[['r']]+" },
        { "{\"chosen\":\"it is so\",\"rejected\":\"it is no\"}",
          "'it is'[[' so']]+'it is'[[' no']]+" },
        { "{\"chosen\":\"it is so\",\"rejected\":\"it is sad\"}",
          "'it is s'[['o']]+'it is s'[['ad']]+" },
        { "{\"chosen\":\"\xc3\xa9\",\"rejected\":\"\xc3\xa8\"}",
          "''[['\xc3\xa9']]+''[['\xc3\xa8']]+" },
        { "{\"prompt\":[" USER "],\"chosen\":[" SAYS("c") "],\"rejected\":[" SAYS("r") "]}",
          "user: q\nassistant: [[c\n]]|user: q\nassistant: [[r\n]]|" },
        { "{\"chosen\":[" USER "," SAYS("c") "],\"rejected\":[" USER "," SAYS("r") "]}",
          "user: q\nassistant: [[c\n]]|user: q\nassistant: [[r\n]]|" },
        { "{\"prompt\":\"q\",\"chosen\":[" USER "," SAYS("c") "],\"rejected\":[" USER "," SAYS(
              "r") "],\"messages\":[" USER "," SAYS("c") "]}",
          "user: q\nassistant: [[c\n]]|user: q\nassistant: [[r\n]]|" },
    };
    static const struct {
        const char *line, *said;
    } bad[] = {
        { "{\"prompt\":\"p\",\"chosen\":\"c\"}", "both texts or both lists of turns" },
        { "{\"prompt\":\"p\",\"chosen\":\"c\",\"rejected\":[" SAYS("r") "]}",
          "both texts or both lists of turns" },
        { "{\"prompt\":[" USER "],\"chosen\":\"c\",\"rejected\":\"r\"}",
          "both texts or both lists of turns" },
        { "{\"prompt\":\"p\",\"chosen\":\"c\",\"rejected\":\"c\"}", "are the same" },
        { "{\"chosen\":[" USER "," SAYS("c") "],\"rejected\":[" USER "]}",
          "no turn of the assistant" },
        { "[]", "both texts or both lists of turns" },
    };
    static const char one[] = "{\"prompt\":\"p\",\"chosen\":\"c\",\"rejected\":\"r\"}";
    vkt__jsonl_options o = { .now = NAN, .pairs = true }, plain = { .now = NAN };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__str s = { 0 };
        REQUIRE_OK(
            vkt__jsonl_read(rows[i].line, strlen(rows[i].line), "j", NULL, &o, show_document, &s));
        assert_string_equal(s.data, rows[i].want);
        vkt__str_finish(&s);
    }
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        vkt__str s = { 0 };
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(
            vkt__jsonl_read(bad[i].line, strlen(bad[i].line), "j", NULL, &o, show_document, &s),
            VKT_E_FORMAT);
        REQUIRE_LOGGED(bad[i].said);
        assert_null(s.data); /* neither of the two */
    }
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__jsonl_read(one, strlen(one), "j", NULL, &plain, show_document, NULL),
                   VKT_E_FORMAT);
    REQUIRE_LOGGED("set loss.kind: dpo or simpo");
}

/* One control token is the beginning of another: the whole longer one is text, and none of it ends
 * a turn. */
static void test_longest_control(void **state)
{
    static const char *const control[] = { "<|a", "<|a|>", "</s>" };
    vkt__chat *c;
    vkt__chat_text t = { 0 };
    vkt__str s = { 0 };
    (void)state;
    json_t *settings = settings_of(
               "{% for m in messages %}{{ m.role[0] }}>{{ m.content }}</s>{% endfor %}", "</s>"),
           *messages = json_loads("[{\"role\":\"user\",\"content\":\"x<|a|>y\"},"
                                  "{\"role\":\"assistant\",\"content\":\"b\"}]",
                                  0, NULL);
    vkt__conversation v = { .messages = messages, .now = NAN };
    REQUIRE_OK(vkt__chat_create(settings, "test", control, VKT_COUNT(control), NULL, 0, &c));
    REQUIRE_OK(vkt__chat_lesson(c, &v, &t));
    show(t.stretch, t.n, &s);
    if (!strstr(s.data, "x'<|a|>'y")) fail_msg("%s", s.data);
    vkt__str_finish(&s);
    vkt__chat_text_finish(&t);
    vkt__chat_destroy(&c);
    json_decref(settings);
    json_decref(messages);
}

/* A template of the folder, its special tokens, and control tokens' texts in a message. */
static void test_folder(void **state)
{
    static const char line[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a<|im_end|>\\n<|im_start|>system\"},"
        "{\"role\":\"assistant\",\"content\":\"b\"}]}";
    vkt_tokenizer *t, *kept;
    vkt__str s = { 0 };
    vkt__jsonl_options o = { .now = NAN };
    size_t n;
    (void)state;
    char *json = NULL;
    REQUIRE_OK(vkt__file_read(GOLDEN "smollm2-small.json", 1 << 26, &json, &n));
    put(DIR "/tokenizer.json", json);
    free(json);
    put(DIR "/tokenizer_config.json",
        "{\"bos_token\": {\"content\": \"<|im_start|>\"}, \"eos_token\": \"<|im_end|>\", "
        "\"model_max_length\": 1000000000000000019884624838656, " /* as Python writes 1e30 */
        "\"chat_template\": [{\"name\": \"rag\", \"template\": \"x\"}, {\"name\": \"default\", "
        "\"template\": \"{% for m in messages %}{{ bos_token }}{{ m.role[0] }}>{{ m.content }}"
        "{{ eos_token }}\\n{% endfor %}{% if add_generation_prompt %}{{ bos_token }}a>{% endif "
        "%}\"}]}");
    put(DIR "/generation_config.json", "{\"eos_token_id\": [2, 0, 4]}");
    REQUIRE_OK(vkt_tokenizer_open(DIR, &t));
    REQUIRE_OK(vkt__jsonl_read(line, strlen(line), "j", t, &o, show_document, &s));
    assert_string_equal(s.data, "<|im_start|>u>a'<|im_end|>'\n'<|im_start|>'system<|im_end|>\n"
                                "<|im_start|>a>[[b<|im_end|>]]\n|");
    json = vkt__tokenizer_kept(t);
    REQUIRE_OK(vkt__tokenizer_parse_json(json, strlen(json), "kept", &kept));
    free(json);
    assert_true(vkt__tokenizer_has_template(kept));
    assert_true(vkt__tokenizer_ends(kept, vkt_tokenizer_find(kept, "<|im_end|>")));
    for (uint32_t id = 0; id < 6; id++) /* 4 ends by this list alone */
        assert_int_equal(vkt__tokenizer_ends(kept, id), id == 2 || id == 0 || id == 4);
    json = vkt_tokenizer_json(kept);
    assert_null(strstr(json, "chat_template"));
    free(json);
    vkt__str_finish(&s);
    vkt_tokenizer_destroy(&kept);
    vkt_tokenizer_destroy(&t);
}

/* A template named tool_use is for conversations with tools; texts of added tokens are tokens in
 * the assistant's words and texts in others'; answers that nothing ends are counted. */
static void test_tools_and_added(void **state)
{
    static const char lines[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"<r>q\"},{\"role\":\"assistant\","
        "\"content\":"
        "\"<r>a\"}]}\n"
        "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",\"content\":"
        "\"a\"}],\"tools\":[{\"name\":\"f<r>\"}]}\n";
    static const char config[] =
        "{\"eos_token\": \"<|im_end|>\", \"chat_template\": [{\"name\": \"default\", \"template\": "
        "\"{% for m in messages %}{{ m.role[0] }}>{{ m.content }}{% endfor %}{% if "
        "add_generation_prompt %}a>{% endif %}\"}, {\"name\": \"tool_use\", \"template\": \"{{ "
        "tools[0]."
        "name }}:{% for m in messages %}{{ m.role[0] }}>{{ m.content + eos_token }}{% endfor %}{% "
        "if "
        "add_generation_prompt %}a>{% endif %}\"}]}";
    static const char want[] = "u>'<r>'qa>[[<r>a]]|f'<r>':u>q<|im_end|>a>[[a<|im_end|>]]|";
    vkt_tokenizer *t, *kept;
    vkt__str s = { 0 };
    (void)state;
    put(DIR "/tokenizer_config.json", config);
    REQUIRE_OK(vkt_tokenizer_open(DIR, &t));
    REQUIRE_OK(vkt__tokenizer_extend(&t, "<r>"));
    vkt__jsonl_options o = { .now = NAN };
    REQUIRE_OK(vkt__jsonl_read(lines, strlen(lines), "j", t, &o, show_document, &s));
    assert_string_equal(s.data, want);
    assert_int_equal(o.n_open, 1);
    assert_string_equal(o.first_open, "'j' line 1, message 2");
    char *json = vkt__tokenizer_kept(t);
    REQUIRE_OK(vkt__tokenizer_parse_json(json, strlen(json), "kept", &kept));
    free(json);
    s.len = 0;
    REQUIRE_OK(vkt__jsonl_read(lines, strlen(lines), "j", kept, &o, show_document, &s));
    assert_string_equal(s.data, want);
    vkt__str_finish(&s);
    vkt_tokenizer_destroy(&kept);
    vkt_tokenizer_destroy(&t);
}

/* Integers of more than 64 bits are read; texts, fractions and all other numbers stay. */
static void test_long_integers(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\": 1000000000000000019884624838656, \"b\": [-99999999999999999999,7,-8], "
        "\"c\": \"\\\"10000000000000000000000 \", \"d\": 0.10000000000000000000000, "
        "\"e\": 12345678901234567890e-19, \"f\": 9223372036854775807}";
    json_error_t error;
    json_t *o = vkt__json_parse(text, strlen(text), 0, &error), *b = json_object_get(o, "b");
    assert_non_null(o);
    assert_true(json_real_value(json_object_get(o, "a")) == 1e30);
    assert_true(json_real_value(json_array_get(b, 0)) == -1e20);
    assert_int_equal(json_integer_value(json_array_get(b, 1)), 7);
    assert_int_equal(json_integer_value(json_array_get(b, 2)), -8);
    assert_string_equal(json_string_value(json_object_get(o, "c")), "\"10000000000000000000000 ");
    REQUIRE_NEAR(json_real_value(json_object_get(o, "d")), 0.1, 1e-15);
    REQUIRE_NEAR(json_real_value(json_object_get(o, "e")), 1.2345678901234568, 1e-15);
    json_decref(o);
    assert_null(vkt__json_parse("[1e999]", 7, 0, &error));
    assert_null(vkt__json_parse("[99999999999999999999", 21, 0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_integers),   cmocka_unit_test(test_lessons),
        cmocka_unit_test(test_forms),           cmocka_unit_test(test_folder),
        cmocka_unit_test(test_tools_and_added), cmocka_unit_test(test_longest_control),
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
