/* tokenizer_gguf.h: the file's vocabulary as the tokenizer.json that the model had, which
 * tokenizer_json.c then reads as any other. Source: github.com/ggml-org/llama.cpp,
 * src/llama-vocab.cpp; merges of scores as transformers' convert_slow_tokenizer.py makes them. */
#include <jansson.h>
#include <math.h>

#include "tokenizers/tokenizer_around.h"
#include "tokenizers/tokenizer_gguf.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/tokenizer_pre.h"

/* tokenizer.ggml.token_type */
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5, BYTE = 6 };
enum { MAX_VOCAB = 1 << 24, MAX_PIECE = 4096 };
#define SPACE "\xe2\x96\x81" /* U+2581 */

typedef struct {
    const char *text;
    size_t n;
    int type;
    float score;
} token;

typedef struct {
    const vkt__gguf *g;
    vkt__arena arena;
    token *tokens;
    uint32_t n;
    bool spm, phi3;
    json_t *vocab, *added;
} reader;

static const vkt__gguf_value *find(const reader *r, const char *key)
{
    vkt__arena a = { 0 };
    const vkt__gguf_value *v =
        vkt__gguf_find(r->g, vkt__arena_printf(&a, "tokenizer.ggml.%s", key));
    vkt__arena_finish(&a);
    return v;
}

static vkt_status refuse(const reader *r, const char *key, const char *what)
{
    return vkt__fail(VKT_E_FORMAT, "data", "'%s': tokenizer.ggml.%s %s", vkt__show(r->g->name).s,
                     key, what);
}

static bool is_flag(const reader *r, const char *key, bool without)
{
    double v = vkt__gguf_number(find(r, key), 0);
    return isfinite(v) ? v > 0 : without;
}

/* ---- tokens ---- */

static vkt_status read_tokens(reader *r)
{
    const vkt__gguf_value *texts = find(r, "tokens"), *types = find(r, "token_type"),
                          *scores = find(r, "scores");
    const unsigned char *at = NULL;
    uint64_t i;
    const char *text;
    size_t n;
    if (!texts || texts->type != VKT__GGUF_ARRAY || texts->of != VKT__GGUF_STRING || !texts->n ||
        texts->n > MAX_VOCAB)
        return refuse(r, "tokens", "must be a list of texts");
    if (types && types->n != texts->n)
        return refuse(r, "token_type", "must have as many numbers as there are tokens");
    if (r->spm && (!scores || scores->n != texts->n))
        return refuse(r, "scores", "must have as many numbers as there are tokens");
    r->tokens = vkt__arena_alloc(&r->arena, texts->n * sizeof *r->tokens);
    r->n = (uint32_t)texts->n;
    while (vkt__gguf_next_text(texts, &at, &i, &text, &n)) {
        token *t = &r->tokens[i - 1];
        double type = types ? vkt__gguf_number(types, i - 1) : NORMAL,
               score = r->spm ? vkt__gguf_number(scores, i - 1) : 0;
        *t = (token) { .text = text, .n = n, .score = (float)score };
        t->type = type >= NORMAL && type <= BYTE ? (int)type : 0;
        if (!t->type) return refuse(r, "token_type", "has a number that is no type of a token");
        if (!isfinite(score)) return refuse(r, "scores", "has a number that is not finite");
        if (memchr(text, 0, n)) return refuse(r, "tokens", "has a text with a byte of 0");
    }
    return VKT_OK;
}

/* Spaces alone: SentencePiece's own, which Gemma's file lists as found before text is split. */
static bool is_space(const token *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->text[i] != ' ') return false;
    return t->n > 0;
}

/* Those of Phi-3 that leave the white space behind them, which its other control tokens take. */
static const char *const phi3_plain[] = { "<unk>", "<s>", "<|endoftext|>", NULL };

static bool among(const token *t, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == t->n && !memcmp(*names, t->text, t->n)) return true;
    return false;
}

/* Whether the file's name has it, as llama.cpp looks. */
static bool is_phi3(const reader *r)
{
    const vkt__gguf_value *v = vkt__gguf_find(r->g, "general.name");
    char name[256];
    size_t n = v && v->type == VKT__GGUF_STRING ? VKT_MIN(v->n, sizeof name - 1) : 0;
    for (size_t i = 0; i < n; i++) {
        char c = ((const char *)v->data)[i];
        name[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    name[n] = 0;
    return strstr(name, "phi-3") || strstr(name, "phi3");
}

static vkt_status add_token(reader *r, uint32_t id)
{
    const token *t = &r->tokens[id];
    bool added = t->type == CONTROL || t->type == UNKNOWN || t->type == USER_DEFINED;
    if (t->type == UNUSED || !t->n) return VKT_OK;
    vkt__str key = { 0 };
    if (r->spm && t->type == USER_DEFINED && is_space(t)) {
        for (size_t i = 0; i < t->n; i++) vkt__str_add(&key, SPACE, 3);
        added = false;
    } else {
        vkt__str_add(&key, t->text, t->n);
    }
    json_t *content = json_stringn(key.data, key.len);
    bool takes = r->phi3 && t->type != USER_DEFINED && !among(&r->tokens[id], phi3_plain);
    bool twice = json_object_get(r->vocab, key.data), ok = content && !twice;
    if (ok) json_object_set_new(r->vocab, key.data, json_integer(id));
    if (ok && added)
        json_array_append_new(r->added, json_pack("{s:i, s:O, s:b, s:b, s:b, s:b, s:b}", "id",
                                                  (int)id, "content", content, "single_word", 0,
                                                  "lstrip", 0, "rstrip", (int)takes, "normalized",
                                                  0, "special", t->type != USER_DEFINED));
    json_decref(content);
    vkt__str_finish(&key);
    if (ok) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "data", "'%s': token %u is %s", vkt__show(r->g->name).s, id,
                     twice ? "the text of another token, too" : "not UTF-8");
}

static vkt_status make_vocabulary(reader *r)
{
    vkt_status st = VKT_OK;
    r->vocab = json_object();
    r->added = json_array();
    for (uint32_t id = 0; id < r->n; id++) VKT_TRY(add_token(r, id));
fail:
    return st;
}

/* ---- SentencePiece's merges ---- */

typedef struct {
    uint32_t left, right; /* tokens */
    float score;          /* of what they make */
    uint32_t n_left, n_right;
} pair;

/* The best first; among equal ones the longer halves, as sorted there in reverse. */
static int by_score(const void *va, const void *vb)
{
    const pair *a = va, *b = vb;
    if (a->score != b->score) return a->score < b->score ? 1 : -1;
    if (a->n_left != b->n_left) return a->n_left < b->n_left ? 1 : -1;
    if (a->n_right != b->n_right) return a->n_right < b->n_right ? 1 : -1;
    if (a->left != b->left) return a->left < b->left ? -1 : 1;
    return a->right < b->right ? -1 : a->right > b->right;
}

/* Halves of a text that are tokens, at each place between two characters. */
static void add_pairs(const reader *r, const char *text, size_t n, float score, pair **list,
                      size_t *n_list, size_t *cap)
{
    char part[MAX_PIECE + 1];
    if (n > MAX_PIECE) return;
    for (size_t cut = 1; cut < n; cut++) {
        if (((unsigned char)text[cut] & 0xC0) == 0x80) continue;
        memcpy(part, text, cut);
        part[cut] = 0;
        const json_t *left = json_object_get(r->vocab, part),
                     *right = left ? json_object_get(r->vocab, text + cut) : NULL;
        if (!right) continue;
        *list = vkt__grow(*list, *n_list, cap, sizeof **list);
        (*list)[(*n_list)++] = (pair) { .left = (uint32_t)json_integer_value(left),
                                        .right = (uint32_t)json_integer_value(right),
                                        .score = score,
                                        .n_left = (uint32_t)cut,
                                        .n_right = (uint32_t)(n - cut) };
    }
}

static const char *text_of(const reader *r, const char **key, uint32_t id)
{
    return key[id] ? key[id] : r->tokens[id].text;
}

/* Every pair of tokens that makes a token; its score says when. */
static json_t *merges_of_scores(reader *r)
{
    json_t *list = json_array(), *v;
    pair *pairs = NULL;
    size_t n = 0, cap = 0;
    const char *text, **key = vkt__alloc(r->n * sizeof *key);
    json_object_foreach(r->vocab, text, v)
    {
        uint32_t id = (uint32_t)json_integer_value(v);
        const token *t = &r->tokens[id];
        key[id] = text;
        if (t->type == NORMAL || (t->type == USER_DEFINED && is_space(t)))
            add_pairs(r, text, strlen(text), t->score, &pairs, &n, &cap);
    }
    if (n) qsort(pairs, n, sizeof *pairs, by_score);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("[s, s]", text_of(r, key, pairs[i].left),
                                              text_of(r, key, pairs[i].right)));
    free(pairs);
    free(key);
    return list;
}

static json_t *spm_file(reader *r)
{
    bool prefix = is_flag(r, "add_space_prefix", true);
    json_t *replace = json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "String", " ",
                                "content", SPACE),
           *before = json_pack("{s:s, s:s}", "type", "Prepend", "prepend", SPACE),
           *normalizer = prefix ? json_pack("{s:s, s:[o, o]}", "type", "Sequence", "normalizers",
                                            before, replace)
                                : replace,
           *decoders =
               json_pack("[{s:s, s:{s:s}, s:s}, {s:s}, {s:s}]", "type", "Replace", "pattern",
                         "String", SPACE, "content", " ", "type", "ByteFallback", "type", "Fuse"),
           *unknown = json_null();
    if (!prefix) json_decref(before);
    if (prefix)
        json_array_append_new(decoders, json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip",
                                                  "content", " ", "start", 1, "stop", 0));
    for (uint32_t id = 0; id < r->n && json_is_null(unknown); id++)
        if (r->tokens[id].type == UNKNOWN)
            unknown = json_stringn(r->tokens[id].text, r->tokens[id].n);
    return json_pack("{s:s, s:n, s:n, s:O, s:o, s:n, s:n, s:{s:s, s:o}, s:{s:s, s:n, s:o, s:n, "
                     "s:n, s:b, s:b, s:b, s:O, s:o}}",
                     "version", "1.0", "truncation", "padding", "added_tokens", r->added,
                     "normalizer", normalizer, "pre_tokenizer", "post_processor", "decoder", "type",
                     "Sequence", "decoders", decoders, "model", "type", "BPE", "dropout",
                     "unk_token", unknown, "continuing_subword_prefix", "end_of_word_suffix",
                     "fuse_unk", 1, "byte_fallback", 1, "ignore_merges", 0, "vocab", r->vocab,
                     "merges", merges_of_scores(r));
}

/* ---- byte-level ---- */

static json_t *split_json(const char *pattern)
{
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", pattern,
                     "behavior", "Isolated", "invert", 0);
}

static vkt_status bpe_file(reader *r, json_t **out)
{
    const vkt__gguf_value *pre = find(r, "pre"), *lines = find(r, "merges");
    const unsigned char *at = NULL;
    const char *text;
    size_t n;
    uint64_t i;
    const vkt__pre *p = pre && pre->type == VKT__GGUF_STRING
                            ? vkt__pre_find((const char *)pre->data, pre->n)
                            : NULL;
    if (!p)
        return refuse(
            r, "pre",
            "names a way to split text that is not known; gpt-2, smollm, llama-bpe, qwen2, "
            "gpt-4o and others are: set data.tokenizer to the model's tokenizer.json");
    json_t *split = json_array(), *merges = json_array();
    for (size_t k = 0; k < VKT_COUNT(p->pattern) && p->pattern[k]; k++)
        json_array_append_new(split, split_json(p->pattern[k]));
    json_array_append_new(split,
                          json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                                    0, "trim_offsets", 1, "use_regex", 0));
    while (vkt__gguf_next_text(lines, &at, &i, &text, &n)) {
        json_t *line = json_stringn(text, n);
        json_array_append_new(merges, line ? line : json_null());
    }
    json_t *normalizer = p->nfc ? json_pack("{s:s}", "type", "NFC") : json_null();
    *out = json_pack("{s:s, s:O, s:o, s:{s:s, s:o}, s:{s:s, s:b, s:O, s:o}}", "version", "1.0",
                     "added_tokens", r->added, "normalizer", normalizer, "pre_tokenizer", "type",
                     "Sequence", "pretokenizers", split, "model", "type", "BPE", "ignore_merges",
                     (int)p->whole_words, "vocab", r->vocab, "merges", merges);
    return VKT_OK;
}

/* ---- conversations ---- */

/* The token that a key names; VKT_NO_TOKEN: none. */
static uint32_t special(const reader *r, const char *key)
{
    double id = vkt__gguf_number(find(r, key), 0);
    return id >= 0 && id < r->n ? (uint32_t)id : VKT_NO_TOKEN;
}

/* What no token is can end no text: a file whose end is not there would go on for ever, unseen. All
 * bits set stand for none. */
static void tell_beyond(const reader *r)
{
    static const char *const keys[] = { "bos_token_id",     "eos_token_id", "padding_token_id",
                                        "unknown_token_id", "eot_token_id", "eom_token_id" };
    for (size_t i = 0; i < VKT_COUNT(keys); i++) {
        double id = vkt__gguf_number(find(r, keys[i]), 0);
        if (id >= (double)r->n && id < UINT32_MAX)
            vkt_log(VKT_LOG_WARN, "data",
                    "'%s': tokenizer.ggml.%s is %.0f, but there are %zu tokens: it is left out",
                    vkt__show(r->g->name).s, keys[i], id, (size_t)r->n);
    }
}

/* What ends a turn, as llama.cpp looks for it where no key says it. */
static bool ends_turn(const token *t)
{
    static const char *const names[] = { "<|eot_id|>",    "<|im_end|>",    "<|end|>",
                                         "<end_of_turn>", "<|endoftext|>", "<|eom_id|>" };
    if (t->type != CONTROL && t->type != USER_DEFINED) return false;
    for (size_t i = 0; i < VKT_COUNT(names); i++)
        if (strlen(names[i]) == t->n && !memcmp(names[i], t->text, t->n)) return true;
    return false;
}

/* What llama.cpp puts around a text; by default <s> where the file's kind or way of splitting has
 * it so. */
static json_t *around(const reader *r)
{
    const vkt__gguf_value *v = find(r, "pre");
    const vkt__pre *pre = v && v->type == VKT__GGUF_STRING && !r->spm
                              ? vkt__pre_find((const char *)v->data, v->n)
                              : NULL;
    uint32_t id[2] = { VKT_NO_TOKEN, VKT_NO_TOKEN };
    if (is_flag(r, "add_bos_token", r->spm || (pre && pre->whole_words)))
        id[0] = special(r, "bos_token_id");
    if (is_flag(r, "add_eos_token", false)) id[1] = special(r, "eos_token_id");
    if (id[0] == VKT_NO_TOKEN && id[1] == VKT_NO_TOKEN) return json_null();
    return vkt__around_part(id[0] == VKT_NO_TOKEN ? "" : r->tokens[id[0]].text, id[0],
                            id[1] == VKT_NO_TOKEN ? "" : r->tokens[id[1]].text, id[1]);
}

static json_t *chat_settings(const reader *r)
{
    static const char *const tokens[][2] = { { "bos_token", "bos_token_id" },
                                             { "eos_token", "eos_token_id" },
                                             { "pad_token", "padding_token_id" },
                                             { "unk_token", "unknown_token_id" } };
    static const char *const ends[] = { "eos_token_id", "eot_token_id", "eom_token_id" };
    static const char *const templates[][2] = { { "chat_template", "tokenizer.chat_template" },
                                                { "tool_use_template",
                                                  "tokenizer.chat_template.tool_use" } };
    json_t *o = json_object(), *ids = json_array();
    for (size_t i = 0; i < VKT_COUNT(tokens); i++) {
        uint32_t id = special(r, tokens[i][1]);
        if (id != VKT_NO_TOKEN)
            json_object_set_new(o, tokens[i][0], json_stringn(r->tokens[id].text, r->tokens[id].n));
    }
    for (uint32_t id = 0; id < r->n; id++) {
        bool named = ends_turn(&r->tokens[id]);
        for (size_t k = 0; k < VKT_COUNT(ends); k++) named = named || special(r, ends[k]) == id;
        if (named) json_array_append_new(ids, json_integer(id));
    }
    json_object_set_new(o, "eos_ids", ids);
    for (size_t i = 0; i < VKT_COUNT(templates); i++) {
        const vkt__gguf_value *v = vkt__gguf_find(r->g, templates[i][1]);
        json_t *text =
            v && v->type == VKT__GGUF_STRING ? json_stringn((const char *)v->data, v->n) : NULL;
        if (text) json_object_set_new(o, templates[i][0], text);
    }
    return o;
}

vkt_status vkt__tokenizer_parse_gguf(const vkt__gguf *g, vkt_tokenizer **out)
{
    vkt_status st;
    reader r = { .g = g };
    json_t *file = NULL;
    char *text = NULL;
    *out = NULL;
    const vkt__gguf_value *v = find(&r, "model");
    bool is_text = v && v->type == VKT__GGUF_STRING;
    r.spm = is_text && v->n == 5 && !memcmp(v->data, "llama", 5);
    if (!r.spm && !(is_text && v->n == 4 && !memcmp(v->data, "gpt2", 4))) {
        st = v ? refuse(&r, "model", "is another than gpt2 and llama, which are supported")
               : vkt__fail(VKT_E_FORMAT, "data", "'%s' has no tokenizer", vkt__show(g->name).s);
        goto fail;
    }
    VKT_TRY(read_tokens(&r));
    r.phi3 = is_phi3(&r);
    VKT_TRY(make_vocabulary(&r));
    if (r.spm && is_flag(&r, "remove_extra_whitespaces", false)) {
        st = refuse(&r, "remove_extra_whitespaces", "must be false");
        goto fail;
    }
    if (r.spm)
        file = spm_file(&r);
    else
        VKT_TRY(bpe_file(&r, &file));
    json_object_set_new(file, "post_processor", around(&r));
    text = json_dumps(file, JSON_COMPACT);
    VKT_ASSERT(text);
    VKT_TRY(vkt__tokenizer_parse_json(text, strlen(text), g->name, out));
    (*out)->chat_settings = chat_settings(&r);
    tell_beyond(&r);
fail:
    json_decref(file);
    json_decref(r.vocab);
    json_decref(r.added);
    free(text);
    vkt__arena_finish(&r.arena);
    return st;
}
