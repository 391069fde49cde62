/* Tokenizer files other than tokenizer.json: OpenAI's encoder.json with vocab.bpe (vocab.json with
 * merges.txt are the same), BERT's vocab.txt, and tiktoken's rank files. */
#include "base/memory.h"
#include "tokenizers/byte_letters.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/tokenizer_bpe.h"
#include "tokenizers/tokenizer_charsmap.h"
#include "tokenizers/tokenizer_files.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/vocabulary.h"
#include "formats/json_text.h"

/* Of tiktoken's openai_public.py. */
static const char pattern_cl100k[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
#define O200K_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K_ENDING "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
static const char pattern_o200k[] =
    "[^\\r\\n\\p{L}\\p{N}]?" O200K_UPPER "*" O200K_LOWER "+" O200K_ENDING "|"
    "[^\\r\\n\\p{L}\\p{N}]?" O200K_UPPER "+" O200K_LOWER "*" O200K_ENDING "|"
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/* ---- encoder.json and vocab.bpe ---- */

/* The next line without its end; false when there is none. */
static bool next_line(const char **at, const char *end, const char **line, size_t *n)
{
    if (*at >= end) return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *n = (size_t)((stop ? stop : end) - *at);
    *at = stop ? stop + 1 : end;
    if (*n && (*line)[*n - 1] == '\r') (*n)--;
    return true;
}

vkt_status vkt__tokenizer_parse_gpt2(const char *vocab, size_t n_vocab, const char *merges,
                                     size_t n_merges, const char *name, vkt_tokenizer **out)
{
    vkt_status st = VKT_OK;
    json_error_t error;
    json_t *v = json_loadb(vocab, n_vocab, 0, &error), *list = json_array();
    const char *at = merges, *end = merges + n_merges, *line;
    *out = NULL;
    if (!json_is_object(v)) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' is not a JSON object of tokens and ids",
                       vkt__show(name).s);
        goto fail;
    }
    for (size_t n, number = 1; next_line(&at, end, &line, &n); number++) {
        if (n == 0 || (number == 1 && n >= 8 && !memcmp(line, "#version", 8))) continue;
        if (json_array_append_new(list, json_stringn(line, n)) != 0) {
            st = vkt__fail(VKT_E_FORMAT, "data", "line %zu of the merges of '%s' is not UTF-8",
                           number, vkt__show(name).s);
            goto fail;
        }
    }
    VKT_TRY(vkt__tokenizer_from_vocabulary(v, NULL, false, name, out));
    vkt__tokenizer_pattern(*out, vkt__pattern_gpt2);
    json_t *eot = json_object_get(v, "<|endoftext|>");
    if (eot) VKT_TRY(vkt__tokenizer_add(*out, (uint64_t)json_integer_value(eot), true));
    VKT_TRY(vkt__tokenizer_merges(*out, v, list));
fail:
    if (st != VKT_OK) vkt_tokenizer_destroy(out);
    json_decref(v);
    json_decref(list);
    return st;
}

/* ---- vocab.txt: a token on each line ---- */

/* {token: line}. */
static vkt_status read_lines(const char *text, size_t n, const char *name, json_t *vocab)
{
    const char *at = text, *end = text + n, *line;
    json_int_t id = 0;
    for (size_t k; next_line(&at, end, &line, &k); id++) {
        json_t *token = json_stringn(line, k);
        if (!token || memchr(line, 0, k)) {
            json_decref(token);
            return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %lld is not UTF-8", vkt__show(name).s,
                             (long long)id + 1);
        }
        if (k) json_object_set_new(vocab, json_string_value(token), json_integer(id));
        json_decref(token);
    }
    return VKT_OK;
}

/* A control token by its setting, a text or {"content": text}. */
static const char *control(const json_t *settings, const char *key, const char *usual)
{
    const json_t *v = json_object_get(settings, key);
    if (json_is_object(v)) v = json_object_get(v, "content");
    return json_is_string(v) ? json_string_value(v) : usual;
}

static json_t *control_tokens(const json_t *settings, const json_t *vocab)
{
    static const char *const names[][2] = { { "pad_token", "[PAD]" },
                                            { "unk_token", "[UNK]" },
                                            { "cls_token", "[CLS]" },
                                            { "sep_token", "[SEP]" },
                                            { "mask_token", "[MASK]" } };
    json_t *list = json_array();
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        const char *token = control(settings, names[i][0], names[i][1]);
        json_t *id = json_object_get(vocab, token);
        if (id)
            json_array_append_new(
                list, json_pack("{s:O, s:s, s:b}", "id", id, "content", token, "special", 1));
    }
    return list;
}

vkt_status vkt__tokenizer_parse_vocab(const char *text, size_t n, const char *settings_text,
                                      size_t n_settings, const char *name, vkt_tokenizer **out)
{
    vkt_status st;
    json_t *settings = settings_text ? vkt__json_parse(settings_text, n_settings, 0, NULL) : NULL,
           *vocab = json_object();
    const json_t *lower = json_object_get(settings, "do_lower_case"),
                 *ideographs = json_object_get(settings, "tokenize_chinese_chars");
    json_t *accents = json_object_get(settings, "strip_accents");
    *out = NULL;
    VKT_TRY(read_lines(text, n, name, vocab));
    if (json_is_false(json_object_get(settings, "do_basic_tokenize"))) {
        st =
            vkt__fail(VKT_E_FORMAT, "data",
                      "'%s': tokenizer_config.json beside it has do_basic_tokenize false, which is "
                      "not supported: give tokenizer.json",
                      vkt__show(name).s);
        goto fail;
    }
    if (!json_is_boolean(lower))
        vkt_log(
            VKT_LOG_WARN, "data",
            "'%s': no tokenizer_config.json beside it says do_lower_case: text is read in lower "
            "case, as BERT's uncased models have it",
            vkt__show(name).s);
    json_t *file = json_pack(
        "{s:o, s:{s:s, s:b, s:b, s:O?, s:b}, s:{s:s}, s:{s:s, s:s, s:s, s:i, s:O}}", "added_tokens",
        control_tokens(settings, vocab), "normalizer", "type", "BertNormalizer", "clean_text", 1,
        "handle_chinese_chars", !json_is_false(ideographs), "strip_accents", accents, "lowercase",
        !json_is_false(lower), "pre_tokenizer", "type", "BertPreTokenizer", "model", "type",
        "WordPiece", "unk_token", control(settings, "unk_token", "[UNK]"),
        "continuing_subword_prefix", "##", "max_input_chars_per_word", 100, "vocab", vocab);
    char *json = json_dumps(file, JSON_COMPACT);
    json_decref(file);
    VKT_ASSERT(json);
    st = vkt__tokenizer_parse_json(json, strlen(json), name, out);
    free(json);
fail:
    json_decref(vocab);
    json_decref(settings);
    return st;
}

/* ---- tiktoken's ranks: a line "base64 rank" each ---- */

/* What a rank file does not say; known by its number of tokens. */
typedef struct {
    const char *name;
    uint32_t n_ranks;
    const char *pattern;
    struct {
        uint32_t id;
        const char *text;
    } special[6];
} encoding;
static const encoding encodings[] = {
    { "r50k_base", 50256, vkt__pattern_gpt2, { { 50256, "<|endoftext|>" } } },
    { "p50k_base", 50280, vkt__pattern_gpt2, { { 50256, "<|endoftext|>" } } },
    { "cl100k_base",
      100256,
      pattern_cl100k,
      { { 100257, "<|endoftext|>" },
        { 100258, "<|fim_prefix|>" },
        { 100259, "<|fim_middle|>" },
        { 100260, "<|fim_suffix|>" },
        { 100276, "<|endofprompt|>" } } },
    { "o200k_base",
      199998,
      pattern_o200k,
      { { 199999, "<|endoftext|>" }, { 200018, "<|endofprompt|>" } } },
    { "Llama 3",
      128000,
      pattern_cl100k,
      { { 128000, "<|begin_of_text|>" },
        { 128001, "<|end_of_text|>" },
        { 128006, "<|start_header_id|>" },
        { 128007, "<|end_header_id|>" },
        { 128009, "<|eot_id|>" } } },
};

typedef struct {
    const char *name;
    uint32_t n, largest; /* tokens; the largest rank */
    vkt_tokenizer *t;    /* NULL: only counted */
} ranks;

static vkt_status read_ranks(ranks *r, const char *text, size_t n_text)
{
    vkt_status st = VKT_OK;
    const char *at = text, *line;
    for (size_t n, number = 1; next_line(&at, text + n_text, &line, &n); number++) {
        char bytes[768];
        if (n == 0) continue;
        const char *space = memchr(line, ' ', n);
        size_t digits = space ? (size_t)(space - line) : 0, k = digits + 1;
        uint64_t rank = 0;
        int64_t n_bytes = digits && digits <= 1024 ? vkt__base64_read(line, digits, bytes) : -1;
        for (; n_bytes > 0 && k < n && line[k] >= '0' && line[k] <= '9' && rank < 1u << 24; k++)
            rank = 10 * rank + (uint64_t)(line[k] - '0');
        if (n_bytes <= 0 || k != n || k == digits + 1 || rank >= 1u << 24)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %zu is not `base64 rank`: not a tiktoken file "
                             "(SentencePiece models are not read: give tokenizer.json)",
                             vkt__show(r->name).s, number);
        r->n++;
        r->largest = VKT_MAX(r->largest, (uint32_t)rank);
        if (r->t) VKT_TRY(vkt__tokenizer_set(r->t, rank, bytes, (size_t)n_bytes));
    }
fail:
    return st;
}

/* Every split of a token into two tokens is a merge of the token's rank: tiktoken merges whatever
 * gives a token. */
static vkt_status splits_as_merges(vkt_tokenizer *t, vkt__merge **out, size_t *n)
{
    vkt_status st = VKT_OK;
    uint64_t most = 0;
    for (uint32_t i = 0; i < t->info.n_vocab; i++) most += t->piece[i].n;
    VKT_TRY(vkt__alloc_large(most, sizeof **out, "the merges", out));
    vkt__whole_index(t);
    for (uint32_t id = 0; id < t->info.n_vocab; id++) {
        const vkt__piece *p = &t->piece[id];
        for (uint32_t k = 1; k < p->n && !p->added; k++) {
            uint32_t left = vkt__whole_find(t, p->bytes, k),
                     right = vkt__whole_find(t, p->bytes + k, p->n - k);
            if (left != VKT_NO_TOKEN && right != VKT_NO_TOKEN)
                (*out)[(*n)++] = (vkt__merge) { left, right, id, id };
        }
    }
fail:
    return st;
}

vkt_status vkt__tokenizer_parse_ranks(const char *text, size_t n, const char *name,
                                      vkt_tokenizer **out)
{
    vkt_status st = VKT_OK;
    vkt__merge *merges = NULL;
    size_t n_merges = 0;
    ranks r = { .name = name };
    *out = NULL;
    VKT_TRY(read_ranks(&r, text, n));
    if (r.n == 0) return vkt__fail(VKT_E_FORMAT, "data", "'%s' is empty", vkt__show(name).s);
    const encoding *e = encodings;
    while (e < encodings + VKT_COUNT(encodings) && e->n_ranks != r.n) e++;
    bool known = e < encodings + VKT_COUNT(encodings);
    uint64_t n_vocab = (uint64_t)r.largest + (r.n > 0);
    for (size_t i = 0; known && i < VKT_COUNT(e->special) && e->special[i].text; i++)
        n_vocab = VKT_MAX(n_vocab, e->special[i].id + 1);
    VKT_TRY(vkt__tokenizer_create("bpe", name, n_vocab + !known, out));
    r.t = *out;
    r.n = 0;
    VKT_TRY(read_ranks(&r, text, n));
    vkt__tokenizer_pattern(*out, known ? e->pattern : vkt__pattern_gpt2);
    if (!known) {
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': no published encoding has %u tokens: it is read with GPT-2's splitting and "
                "<|endoftext|> as token %llu",
                vkt__show(name).s, r.n, (unsigned long long)n_vocab);
        VKT_TRY(vkt__tokenizer_set(*out, n_vocab, "<|endoftext|>", 13));
        VKT_TRY(vkt__tokenizer_add(*out, n_vocab, true));
    }
    for (size_t i = 0; known && i < VKT_COUNT(e->special) && e->special[i].text; i++) {
        uint32_t id = e->special[i].id;
        VKT_TRY(vkt__tokenizer_set(*out, id, e->special[i].text, strlen(e->special[i].text)));
        VKT_TRY(vkt__tokenizer_add(*out, id, true));
    }
    (*out)->whole_words = true;
    VKT_TRY(splits_as_merges(*out, &merges, &n_merges));
    VKT_TRY(vkt__tokenizer_finish(*out, merges, n_merges));
fail:
    if (st != VKT_OK) vkt_tokenizer_destroy(out);
    free(merges);
    return st;
}
