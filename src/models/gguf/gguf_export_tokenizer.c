/* gguf_export_tokenizer.h: a tokenizer as llama.cpp reads it: byte-level BPE ("gpt2") with its
 * merges, or SentencePiece's ("llama") with scores that say which merge comes first. */
#include "models/gguf/gguf_export_tokenizer.h"

#include <jansson.h>

#include "data/text/tokenizer_chat.h"
#include "tokenizers/tokenizer_pre.h"
#include "tokenizers/vocabulary.h"

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5, BYTE = 6 };

/* llama.cpp selects the splitting of text by a name. Returns the name of our pattern, or warns if
 * it has none. */
static const char *pre_name(const json_t *tokenizer)
{
    const vkt__pre *pre;
    const json_t *list =
        json_object_get(json_object_get(tokenizer, "pre_tokenizer"), "pretokenizers");
    size_t n = json_array_size(list); /* the last is ByteLevel, which splits nothing */
    if (n <= 1) return "gpt-2";       /* without merges nothing depends on it */
    for (size_t i = 0; (pre = vkt__pre_at(i)); i++) {
        size_t n_known = pre->pattern[1] ? 2 : 1, same = 0;
        for (size_t k = 0; k < n_known && k + 1 < n; k++) {
            const char *have = json_string_value(
                json_object_get(json_object_get(json_array_get(list, k), "pattern"), "Regex"));
            same += have && !strcmp(have, pre->pattern[k]);
        }
        if (same == n_known && n == n_known + 1) return pre->name;
    }
    vkt_log(VKT_LOG_WARN, "export",
            "llama.cpp has no name for the way this tokenizer splits text: the file says "
            "\"default\", and llama.cpp may tokenize some texts differently");
    return "default";
}

/* What a token is to llama.cpp. */
typedef struct {
    const char *text;
    uint32_t kind;
    float score;
} entry;

static void put_entries(vkt__gguf_out *o, const entry *e, uint32_t n, bool scores)
{
    vkt__gguf_put_array(o, "tokenizer.ggml.tokens", VKT__GGUF_STRING, n);
    for (uint32_t id = 0; id < n; id++) vkt__gguf_put_text(o, e[id].text, strlen(e[id].text));
    vkt__gguf_put_array(o, "tokenizer.ggml.token_type", VKT__GGUF_I32, n);
    for (uint32_t id = 0; id < n; id++) vkt__gguf_put_number(o, e[id].kind, 4);
    if (!scores) return;
    vkt__gguf_put_array(o, "tokenizer.ggml.scores", VKT__GGUF_F32, n);
    for (uint32_t id = 0; id < n; id++) {
        uint32_t u;
        memcpy(&u, &e[id].score, sizeof u);
        vkt__gguf_put_number(o, u, 4);
    }
}

/* [n] texts as tokenizer.json has them. */
static void take_tokens(vkt__gguf_out *o, json_t *vocab, const json_t *added, const char *unknown,
                        bool spm, entry *e, uint32_t n)
{
    const char *key;
    json_t *v;
    size_t i;
    json_object_foreach(vocab, key, v)
    {
        json_int_t id = json_integer_value(v);
        bool byte = spm && strlen(key) == 6 && !strncmp(key, "<0x", 3) && key[5] == '>';
        if (id >= 0 && id < n) e[id] = (entry) { .text = key, .kind = byte ? BYTE : NORMAL };
    }
    json_array_foreach(added, i, v)
    {
        json_int_t id = json_integer_value(json_object_get(v, "id"));
        if (id < 0 || id >= n) continue;
        e[id].text = json_string_value(json_object_get(v, "content"));
        bool special = json_is_true(json_object_get(v, "special"));
        e[id].kind = !special                                  ? USER_DEFINED
                     : unknown && !strcmp(e[id].text, unknown) ? UNKNOWN
                                                               : CONTROL;
    }
    for (uint32_t id = 0; id < n; id++)
        if (!e[id].text)
            e[id] = (entry) { .text = vkt__arena_printf(&o->arena, "[PAD%u]", id), .kind = UNUSED };
}

static void put_merges(vkt__gguf_out *o, const json_t *merges)
{
    size_t i;
    json_t *v;
    vkt__gguf_put_array(o, "tokenizer.ggml.merges", VKT__GGUF_STRING, json_array_size(merges));
    json_array_foreach(merges, i, v)
    {
        const char *line =
            vkt__arena_printf(&o->arena, "%s %s", json_string_value(json_array_get(v, 0)),
                              json_string_value(json_array_get(v, 1)));
        vkt__gguf_put_text(o, line, strlen(line));
    }
}

/* The first merge that makes a token is the one that counts: the earlier, the higher its score.
 * What no merge makes is below all of them. */
static void take_scores(const vkt_tokenizer *t, entry *e, uint32_t n)
{
    for (uint32_t id = 0; id < n; id++)
        e[id].score = e[id].kind == NORMAL ? -(float)t->info.n_merges - 1 : 0;
    for (uint32_t i = t->info.n_merges; i-- > 0;)
        if (t->merge[i].id < n) e[t->merge[i].id].score = -(float)i;
}

/* The token that the settings name, or `none`. */
static void put_special(vkt__gguf_out *o, const vkt_tokenizer *t, const char *setting,
                        const char *key, uint32_t none)
{
    const char *token = vkt__tokenizer_setting(t, setting);
    uint32_t id = token ? vkt_tokenizer_find(t, token) : none;
    if (id == VKT_NO_TOKEN) id = none;
    if (id != VKT_NO_TOKEN) vkt__gguf_put_u32(o, key, id);
}

/* <s> or </s>, and whether it is put before, or behind, each text. */
static void put_around(vkt__gguf_out *o, const vkt_tokenizer *t, bool behind)
{
    const char *id = behind ? "tokenizer.ggml.eos_token_id" : "tokenizer.ggml.bos_token_id";
    uint32_t n = t->n_around[behind];
    if (n)
        vkt__gguf_put_u32(o, id, t->around[behind][behind ? n - 1 : 0]);
    else
        put_special(o, t, behind ? "eos_token" : "bos_token", id, t->info.end);
    if (n > 1)
        vkt_log(VKT_LOG_WARN, "export",
                "the tokenizer puts %u tokens %s each text, llama.cpp puts one", n,
                behind ? "behind" : "before");
    vkt__gguf_put_bool(o, behind ? "tokenizer.ggml.add_eos_token" : "tokenizer.ggml.add_bos_token",
                       n > 0);
}

static void put_prefix(vkt__gguf_out *o, const vkt_tokenizer *t)
{
    if (t->prefix == VKT__PREFIX_MISSING || t->prefix == VKT__PREFIX_FIRST)
        vkt_log(VKT_LOG_WARN, "export",
                "llama.cpp puts a space before every text, this tokenizer not before each: texts "
                "that begin with a space, or follow a control token, may become other tokens");
    vkt__gguf_put_bool(o, "tokenizer.ggml.add_space_prefix", t->prefix != VKT__PREFIX_NEVER);
}

void vkt__gguf_put_tokenizer(vkt__gguf_out *o, const vkt_tokenizer *t, uint32_t n)
{
    if (t->chars) {
        vkt_log(
            VKT_LOG_WARN, "export",
            "GGUF has no tokenizer of characters: llama.cpp can use this model by token ids only");
        vkt__gguf_put_string(o, "tokenizer.ggml.model", "none");
        return;
    }
    char *text = vkt_tokenizer_json(t);
    json_t *file = json_loads(text, 0, NULL);
    const json_t *model = json_object_get(file, "model");
    entry *e = vkt__alloc(n * sizeof *e);
    VKT_ASSERT(model);
    take_tokens(o, json_object_get(model, "vocab"), json_object_get(file, "added_tokens"),
                json_string_value(json_object_get(model, "unk_token")), t->spm, e, n);
    vkt__gguf_put_string(o, "tokenizer.ggml.model", t->spm ? "llama" : "gpt2");
    vkt__gguf_put_string(o, "tokenizer.ggml.pre", t->spm ? "default" : pre_name(file));
    if (t->normalizer)
        vkt_log(VKT_LOG_WARN, "export",
                "llama.cpp has no place for this tokenizer's normalizer, %s, and will tokenize "
                "texts differently",
                vkt__show(t->rules).s);
    if (t->spm) take_scores(t, e, n);
    put_entries(o, e, n, t->spm);
    if (t->spm)
        put_prefix(o, t);
    else
        put_merges(o, json_object_get(model, "merges"));
    put_around(o, t, false);
    put_around(o, t, true);
    put_special(o, t, "pad_token", "tokenizer.ggml.padding_token_id", VKT_NO_TOKEN);
    put_special(o, t, "unk_token", "tokenizer.ggml.unknown_token_id", VKT_NO_TOKEN);
    const char *chat = vkt__tokenizer_setting(t, "chat_template");
    if (chat) vkt__gguf_put_string(o, "tokenizer.chat_template", chat);
    chat = vkt__tokenizer_setting(t, "tool_use_template");
    if (chat) vkt__gguf_put_string(o, "tokenizer.chat_template.tool_use", chat);
    free(e);
    json_decref(file);
    free(text);
}
