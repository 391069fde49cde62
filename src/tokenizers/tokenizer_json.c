/* Hugging Face's tokenizer.json: read where it is a BPE, WordPiece or Unigram (or a vocabulary of
 * characters, as vktrain writes it), and written. A file that needs an unsupported part is refused,
 * with the name of the part. */
#include <jansson.h>

#include "base/memory.h"
#include "tokenizers/byte_letters.h"
#include "tokenizers/json_field.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/tokenizer_around.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/tokenizer_normal.h"
#include "tokenizers/tokenizer_spm.h"
#include "tokenizers/tokenizer_unigram.h"
#include "tokenizers/tokenizer_wordpiece.h"
#include "tokenizers/tokenizer_words.h"
#include "tokenizers/vocabulary.h"

static vkt_status unsupported(const vkt_tokenizer *t, const char *what, const char *value)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s': %s '%s' is not supported; byte-level BPE with Split, Digits and "
                     "ByteLevel is (GPT-2, SmolLM2, Llama 3, Qwen2), SentencePiece's (Llama 2, "
                     "Mistral, Gemma), WordPiece (BERT) and Unigram (T5, ALBERT)",
                     vkt__show(t->info.source).s, what, vkt__show(value).s);
}

static vkt_status malformed(const char *name, const char *what)
{
    return vkt__fail(VKT_E_FORMAT, "data", "'%s': not a tokenizer.json: %s", vkt__show(name).s,
                     what);
}

/* In what vktrain keeps beside a tokenizer.json's own keys: vkt__chat.settings. */
#define VKT__CHAT_KEY "vktrain_chat"
/* And how texts become tokens that count: 2, or absent in what earlier versions wrote. */
#define RULES_KEY "vktrain_rules"
enum { RULES = 2 };

/* ---- the vocabulary and its merges ---- */

static vkt_status count_ids(json_t *vocab, const json_t *added, const char *name, uint64_t *n)
{
    const char *key;
    json_t *v;
    size_t i;
    *n = 0;
    json_object_foreach(vocab, key, v)
    {
        json_int_t id = json_integer_value(v);
        if (!json_is_integer(v) || id < 0) return malformed(name, "a token's id is not a number");
        *n = VKT_MAX(*n, (uint64_t)id + 1);
    }
    json_array_foreach(added, i, v)
    {
        const json_t *id = json_object_get(v, "id");
        if (!json_is_integer(id) || json_integer_value(id) < 0)
            return malformed(name, "an added token's id is not a number");
        *n = VKT_MAX(*n, (uint64_t)json_integer_value(id) + 1);
    }
    return VKT_OK;
}

static vkt_status set_added(vkt_tokenizer *t, const json_t *added)
{
    vkt_status st = VKT_OK;
    size_t i;
    json_t *v;
    json_array_foreach(added, i, v)
    {
        uint64_t id = (uint64_t)json_integer_value(json_object_get(v, "id"));
        const json_t *content = json_object_get(v, "content");
        if (!json_is_string(content)) return malformed(t->info.source, "an added token's content");
        VKT_TRY(vkt__tokenizer_set(t, id, json_string_value(content), json_string_length(content)));
        VKT_TRY(vkt__tokenizer_add(t, id, json_is_true(json_object_get(v, "special"))));
        t->piece[id].lstrip = json_is_true(json_object_get(v, "lstrip"));
        t->piece[id].rstrip = json_is_true(json_object_get(v, "rstrip"));
        t->piece[id].single_word = json_is_true(json_object_get(v, "single_word"));
        t->piece[id].normalized = json_is_true(json_object_get(v, "normalized"));
        t->any_normalized = t->any_normalized || t->piece[id].normalized;
    }
fail:
    return st;
}

static vkt_status set_vocabulary(vkt_tokenizer *t, json_t *vocab)
{
    vkt_status st = VKT_OK;
    const char *key;
    json_t *v;
    vkt__str bytes = { 0 };
    json_object_foreach(vocab, key, v)
    {
        uint64_t id = (uint64_t)json_integer_value(v);
        size_t n = strlen(key);
        if (t->piece[id].added) continue;
        if (t->chars) {
            VKT_TRY(vkt__tokenizer_set(t, id, key, n));
            continue;
        }
        bytes.len = 0;
        vkt__str_add(&bytes, key, n);
        if (t->spm) {
            bool byte;
            n = vkt__spm_piece(key, n, bytes.data, &byte);
            VKT_TRY(vkt__tokenizer_set(t, id, bytes.data, n));
            t->piece[id].byte = byte;
            continue;
        }
        int64_t k = vkt__stand_ins_read(key, n, bytes.data);
        if (k < 0) { /* a control token that no list names: never made from text */
            VKT_TRY(vkt__tokenizer_set(t, id, key, n));
            VKT_TRY(vkt__tokenizer_add(t, id, true));
        } else {
            VKT_TRY(vkt__tokenizer_set(t, id, bytes.data, (size_t)k));
        }
    }
fail:
    vkt__str_finish(&bytes);
    return st;
}

vkt_status vkt__tokenizer_from_vocabulary(json_t *vocab, const json_t *added, bool chars,
                                          const char *name, vkt_tokenizer **out)
{
    vkt_status st;
    uint64_t n;
    VKT_TRY(count_ids(vocab, added, name, &n));
    VKT_TRY(vkt__tokenizer_create(chars ? "chars" : "bpe", name, n, out));
    VKT_TRY(set_added(*out, added));
    VKT_TRY(set_vocabulary(*out, vocab));
fail:
    return st;
}

/* Both halves of "left right" or ["left", "right"]. */
static bool halves(const json_t *m, vkt__str *left, vkt__str *right)
{
    left->len = right->len = 0;
    if (json_is_array(m) && json_array_size(m) == 2) {
        const char *l = json_string_value(json_array_get(m, 0)),
                   *r = json_string_value(json_array_get(m, 1));
        if (!l || !r) return false;
        vkt__str_add(left, l, strlen(l));
        vkt__str_add(right, r, strlen(r));
        return left->len && right->len;
    }
    const char *s = json_string_value(m), *space = s ? strchr(s, ' ') : NULL;
    if (!space || space == s || !space[1] || strchr(space + 1, ' ')) return false;
    vkt__str_add(left, s, (size_t)(space - s));
    vkt__str_add(right, space + 1, strlen(space + 1));
    return true;
}

vkt_status vkt__tokenizer_merges(vkt_tokenizer *t, const json_t *vocab, const json_t *list)
{
    vkt_status st = VKT_OK;
    size_t i, n = json_array_size(list);
    json_t *m;
    vkt__merge *merges = NULL;
    vkt__str left = { 0 }, right = { 0 };
    VKT_TRY(vkt__alloc_large(n, sizeof *merges, "the merges", &merges));
    json_array_foreach(list, i, m)
    {
        const json_t *l = NULL, *r = NULL, *both = NULL;
        bool ok = halves(m, &left, &right);
        if (ok) {
            l = json_object_get(vocab, left.data);
            r = json_object_get(vocab, right.data);
            vkt__str_add(&left, right.data, right.len);
            both = json_object_get(vocab, left.data);
        }
        if (!l || !r || !both) {
            st = vkt__fail(VKT_E_FORMAT, "data", "'%s': merge %zu %s", vkt__show(t->info.source).s,
                           i,
                           ok ? "uses or gives something that is not a token"
                              : "is not two tokens with a space between");
            goto fail;
        }
        merges[i] = (vkt__merge) { .left = (uint32_t)json_integer_value(l),
                                   .right = (uint32_t)json_integer_value(r),
                                   .id = (uint32_t)json_integer_value(both),
                                   .rank = (uint32_t)i };
    }
    VKT_TRY(vkt__tokenizer_finish(t, merges, n));
fail:
    free(merges);
    vkt__str_finish(&left);
    vkt__str_finish(&right);
    return st;
}

/* ---- what happens to the text before ---- */

static vkt_status add_split(vkt_tokenizer *t, const json_t *p)
{
    const json_t *pattern = json_object_get(p, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex")),
               *literal = json_string_value(json_object_get(pattern, "String")),
               *behavior = vkt__json_text(p, "behavior");
    bool invert = json_is_true(json_object_get(p, "invert"));
    vkt__str quoted = { 0 };
    /* Inverted, what matches stays and the rest, nothing with these patterns, is dropped. */
    if (strcmp(behavior, "Isolated") != 0 && (strcmp(behavior, "Removed") != 0 || !invert))
        return unsupported(t, "Split of behavior", behavior);
    if (!regex && !literal) return malformed(t->info.source, "a Split without its pattern");
    if (regex && strstr(regex, "&&")) return unsupported(t, "a pattern with", "&&");
    for (const char *c = regex ? "" : literal; *c; c++) {
        if (strchr("\\^$.|?*+()[]{}#-", *c)) vkt__str_add(&quoted, "\\", 1);
        vkt__str_add(&quoted, c, 1);
    }
    vkt__tokenizer_pattern(t, regex ? regex : quoted.data ? quoted.data : "");
    vkt__str_finish(&quoted);
    return VKT_OK;
}

static vkt_status add_pre_tokenizer(vkt_tokenizer *t, const json_t *p, bool *byte_level)
{
    vkt_status st = VKT_OK;
    const char *type = vkt__json_text(p, "type");
    size_t i;
    json_t *v;
    if (*byte_level) return unsupported(t, "after ByteLevel a", type);
    if (!strcmp(type, "Sequence")) {
        json_array_foreach(json_object_get(p, "pretokenizers"), i, v)
            VKT_TRY(add_pre_tokenizer(t, v, byte_level));
    } else if (!strcmp(type, "Split")) {
        return add_split(t, p);
    } else if (!strcmp(type, "Digits")) {
        bool each = json_is_true(json_object_get(p, "individual_digits"));
        vkt__tokenizer_pattern(t, each ? "\\p{N}" : "\\p{N}+");
    } else if (!strcmp(type, "ByteLevel")) {
        if (json_is_true(json_object_get(p, "add_prefix_space")))
            return unsupported(t, "ByteLevel with", "add_prefix_space");
        if (!json_is_false(json_object_get(p, "use_regex")))
            vkt__tokenizer_pattern(t, vkt__pattern_gpt2);
        *byte_level = true;
    } else {
        return unsupported(t, "pre_tokenizer", type);
    }
fail:
    return st;
}

/* Whether one is looked for in the normalised text. */
static bool any_normalized(const json_t *added)
{
    for (size_t i = 0; i < json_array_size(added); i++)
        if (json_is_true(json_object_get(json_array_get(added, i), "normalized"))) return true;
    return false;
}

vkt_status vkt__tokenizer_normalize(vkt_tokenizer *t, const json_t *file)
{
    const json_t *n = json_object_get(file, "normalizer");
    if (!n || json_is_null(n)) return VKT_OK;
    const json_t *one = n, *list;
    while ((list = json_object_get(one, "normalizers")) && json_array_size(list) == 1 &&
           !strcmp(vkt__json_text(one, "type"), "Sequence"))
        one = json_array_get(list, 0);
    t->nfc = !strcmp(vkt__json_text(one, "type"), "NFC");
    if (t->nfc) return VKT_OK;
    const char *wrong = vkt__normalizer_read(file, &t->arena, &t->normalizer);
    if (wrong) return unsupported(t, "normalizer", wrong);
    if (any_normalized(json_object_get(file, "added_tokens")))
        return unsupported(t, "beside BPE's normalizer an added token with", "normalized");
    char *text = json_dumps(n, JSON_COMPACT);
    VKT_ASSERT(text);
    t->rules = vkt__arena_strdup(&t->arena, text);
    free(text);
    return VKT_OK;
}

static vkt_status check_model(const vkt_tokenizer *t, const json_t *model)
{
    static const char *const empty[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    const char *type = vkt__json_text(model, "type");
    if (*type && strcmp(type, "BPE") != 0) return unsupported(t, "model", type);
    for (size_t i = 0; i < VKT_COUNT(empty); i++)
        if (*vkt__json_text(model, empty[i])) return unsupported(t, "model with", empty[i]);
    return VKT_OK;
}

static const char *keep(vkt_tokenizer *t, const char *text, size_t n)
{
    char *copy = vkt__arena_alloc(&t->arena, n + 1);
    memcpy(copy, text, n);
    return copy;
}

/* Reads a byte-pair encoding as SentencePiece has it. The file is kept unchanged, except for what
 * vktrain adds. */
static vkt_status read_spm(json_t *o, json_t *vocab, const json_t *merges, const char *text,
                           size_t n, const char *name, vkt_tokenizer **out)
{
    vkt_status st;
    uint64_t n_ids;
    vkt__prefix prefix;
    const json_t *added = json_object_get(o, "added_tokens");
    const char *wrong = vkt__spm_scheme(o, &prefix);
    VKT_TRY(count_ids(vocab, added, name, &n_ids));
    VKT_TRY(vkt__tokenizer_create("spm", name, n_ids, out));
    vkt_tokenizer *t = *out;
    t->spm = true;
    t->prefix = prefix;
    if (wrong) return unsupported(t, "beside byte_fallback", wrong);
    if (any_normalized(added))
        return unsupported(t, "beside byte_fallback an added token with", "normalized");
    VKT_TRY(set_added(t, added));
    VKT_TRY(set_vocabulary(t, vocab));
    VKT_TRY(vkt__tokenizer_merges(t, vocab, merges));
    t->json = keep(t, text, n);
    VKT_TRY(vkt__around_read(t, json_object_get(o, "post_processor")));
fail:
    return st;
}

/* ---- WordPiece and Unigram ---- */

/* An added token that is looked for in normalised text must be there as it is. */
static vkt_status check_normalized(vkt_tokenizer *t)
{
    vkt_status st = VKT_OK;
    vkt__str s = { 0 };
    for (uint32_t i = 0; i < t->info.n_added; i++) {
        const vkt__piece *p = &t->piece[t->added[i]];
        if (!p->normalized) continue;
        VKT_TRY(vkt__normalizer_apply(t->normalizer, p->bytes, p->n, false, &s));
        if (s.len == p->n && !memcmp(s.data, p->bytes, p->n)) continue;
        st = unsupported(t, "a normalized added token that the normalizer changes,", p->bytes);
        goto fail;
    }
fail:
    vkt__str_finish(&s);
    return st;
}

/* All of the file that decides what text becomes, but the vocabulary. */
static const char *rules_of(vkt__arena *a, const json_t *o, const json_t *model)
{
    json_t *rest = json_copy((json_t *)model);
    json_object_del(rest, "vocab");
    json_t *all = json_pack("[O?, O?, o]", json_object_get(o, "normalizer"),
                            json_object_get(o, "pre_tokenizer"), rest);
    char *text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
    const char *copy = vkt__arena_strdup(a, text);
    free(text);
    json_decref(all);
    return copy;
}

static vkt_status fill_wordpiece(vkt_tokenizer *t, const json_t *model, json_t *vocab)
{
    vkt_status st = VKT_OK;
    const char *unknown = vkt__json_text(model, "unk_token"), *key;
    const json_t *most = json_object_get(model, "max_input_chars_per_word"),
                 *prefix = json_object_get(model, "continuing_subword_prefix");
    json_int_t max_chars = most ? json_integer_value(most) : 100;
    json_t *v;
    vkt__str piece = { 0 };
    t->wordpiece = vkt__arena_alloc(&t->arena, sizeof *t->wordpiece);
    *t->wordpiece = (struct vkt__wordpiece) {
        .prefix = vkt__arena_strdup(
            &t->arena, prefix ? vkt__json_text(model, "continuing_subword_prefix") : "##"),
        .max_chars = (uint32_t)VKT_MIN(VKT_MAX(max_chars, 0), 1 << 30),
        .unknown = (uint32_t)json_integer_value(json_object_get(vocab, unknown))
    };
    if (!json_object_get(vocab, unknown))
        return malformed(t->info.source, "its unk_token is not in the vocabulary");
    if (!vkt__words_without_space(t->words))
        return unsupported(t, "WordPiece without a pre_tokenizer of",
                           "BertPreTokenizer or WhitespaceSplit");
    json_object_foreach(vocab, key, v)
    {
        uint64_t id = (uint64_t)json_integer_value(v);
        if (t->piece[id].added) continue;
        piece.len = 0;
        vkt__wordpiece_piece(key, t->wordpiece->prefix, &piece);
        VKT_TRY(vkt__tokenizer_set(t, id, piece.data, piece.len));
    }
fail:
    vkt__str_finish(&piece);
    return st;
}

static vkt_status fill_unigram(vkt_tokenizer *t, const json_t *model, json_t *vocab)
{
    vkt_status st = VKT_OK;
    size_t i;
    json_t *v;
    vkt__str piece = { 0 };
    const json_t *unknown = json_object_get(model, "unk_id");
    struct vkt__unigram *u = t->unigram = vkt__arena_alloc(&t->arena, sizeof *t->unigram);
    u->score = vkt__arena_alloc(&t->arena, t->info.n_vocab * sizeof *u->score);
    u->byte_fallback = json_is_true(json_object_get(model, "byte_fallback"));
    u->unknown = json_is_integer(unknown) ? (uint32_t)json_integer_value(unknown) : VKT_NO_TOKEN;
    if (json_is_integer(unknown) && (json_integer_value(unknown) < 0 ||
                                     (size_t)json_integer_value(unknown) >= json_array_size(vocab)))
        return malformed(t->info.source, "its unk_id is past the vocabulary");
    if (!vkt__words_with_space(t->words))
        return unsupported(t, "Unigram without a pre_tokenizer of", "Metaspace");
    json_array_foreach(vocab, i, v)
    {
        const json_t *text = json_array_get(v, 0), *score = json_array_get(v, 1);
        bool byte;
        if (!json_is_string(text) || !json_is_number(score)) {
            st = malformed(t->info.source, "an entry of the vocabulary is not [token, score]");
            goto fail;
        }
        u->score[i] = json_number_value(score);
        u->lowest = i ? VKT_MIN(u->lowest, u->score[i]) : u->score[i];
        if (t->piece[i].added) continue;
        piece.len = 0;
        vkt__str_add(&piece, json_string_value(text), json_string_length(text));
        size_t n =
            vkt__spm_piece(json_string_value(text), json_string_length(text), piece.data, &byte);
        bool plain = byte && !u->byte_fallback;
        VKT_TRY(vkt__tokenizer_set(t, i, plain ? json_string_value(text) : piece.data,
                                   plain ? json_string_length(text) : n));
        t->piece[i].byte = byte && !plain;
    }
fail:
    vkt__str_finish(&piece);
    return st;
}

/* The file is kept unchanged, except for what vktrain adds. */
static vkt_status read_words(json_t *o, json_t *model, const char *text, size_t n, const char *name,
                             vkt_tokenizer **out)
{
    vkt_status st;
    json_t *vocab = json_object_get(model, "vocab");
    const json_t *added = json_object_get(o, "added_tokens");
    bool unigram = json_is_array(vocab);
    uint64_t n_ids;
    VKT_TRY(count_ids(vocab, added, name, &n_ids));
    VKT_TRY(vkt__tokenizer_create(unigram ? "unigram" : "wordpiece", name,
                                  VKT_MAX(n_ids, json_array_size(vocab)), out));
    vkt_tokenizer *t = *out;
    const char *wrong = vkt__normalizer_read(o, &t->arena, &t->normalizer);
    if (wrong) return unsupported(t, "normalizer", wrong);
    wrong = vkt__words_read(o, &t->arena, &t->words);
    if (wrong) return unsupported(t, "pre_tokenizer", wrong);
    VKT_TRY(set_added(t, added));
    VKT_TRY(check_normalized(t));
    VKT_TRY(unigram ? fill_unigram(t, model, vocab) : fill_wordpiece(t, model, vocab));
    t->rules = rules_of(&t->arena, o, model);
    t->json = keep(t, text, n);
    VKT_TRY(vkt__around_read(t, json_object_get(o, "post_processor")));
    VKT_TRY(vkt__tokenizer_finish(t, NULL, 0));
fail:
    return st;
}

/* Which kind of words a file's model has; files of before 2021 do not name it. */
static bool is_words(const json_t *model)
{
    const char *type = vkt__json_text(model, "type");
    const json_t *vocab = json_object_get(model, "vocab");
    bool wordpiece = !strcmp(type, "WordPiece") ||
                     (!*type && json_object_get(model, "max_input_chars_per_word"));
    bool unigram = !strcmp(type, "Unigram") || !*type;
    return (wordpiece && json_is_object(vocab)) || (unigram && json_is_array(vocab));
}

vkt_status vkt__tokenizer_parse_json(const char *text, size_t n, const char *name,
                                     vkt_tokenizer **out)
{
    vkt_status st = VKT_OK;
    json_error_t error;
    *out = NULL;
    json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    json_t *model = json_object_get(o, "model"), *vocab = json_object_get(model, "vocab");
    const json_t *merges = json_object_get(model, "merges"),
                 *pre = json_object_get(o, "pre_tokenizer");
    if (!o) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' line %d: %s: it is not JSON", vkt__show(name).s,
                       error.line, vkt__show(error.text).s);
        goto fail;
    }
    if (is_words(model)) {
        VKT_TRY(read_words(o, model, text, n, name, out));
        goto done;
    }
    if (!json_is_object(vocab) || !json_is_array(merges)) {
        const char *type = vkt__json_text(model, "type");
        st = *type && strcmp(type, "BPE") != 0
                 ? vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': a tokenizer of type %s; BPE, WordPiece and Unigram are "
                             "supported",
                             vkt__show(name).s, vkt__show(type).s)
                 : malformed(name, "it has no model with vocab and merges");
        goto fail;
    }
    bool chars = (!pre || json_is_null(pre)) && json_array_size(merges) == 0, byte_level = chars;
    if (vkt__spm_is(o)) {
        VKT_TRY(read_spm(o, vocab, merges, text, n, name, out));
        goto done;
    }
    VKT_TRY(vkt__tokenizer_from_vocabulary(vocab, json_object_get(o, "added_tokens"), chars, name,
                                           out));
    VKT_TRY(check_model(*out, model));
    VKT_TRY(vkt__tokenizer_normalize(*out, o));
    if (!chars && pre && !json_is_null(pre)) VKT_TRY(add_pre_tokenizer(*out, pre, &byte_level));
    if (!byte_level) {
        st = unsupported(*out, "pre_tokenizer", "without ByteLevel");
        goto fail;
    }
    if (!chars && json_array_size(merges) == 0 && (*out)->n_splitters == 0)
        (*out)->info.kind = "bytes";
    (*out)->whole_words = json_is_true(json_object_get(model, "ignore_merges"));
    VKT_TRY(vkt__around_read(*out, json_object_get(o, "post_processor")));
    VKT_TRY(vkt__tokenizer_merges(*out, vocab, merges));
done:
    if (json_is_object(json_object_get(o, VKT__CHAT_KEY)))
        (*out)->chat_settings = json_incref(json_object_get(o, VKT__CHAT_KEY));
fail:
    if (st != VKT_OK) vkt_tokenizer_destroy(out);
    json_decref(o);
    return st;
}

/* ---- writing ---- */

static json_t *added_json(const vkt__piece *p, uint32_t id)
{
    return json_pack("{s:i, s:s%, s:b, s:b, s:b, s:b, s:b}", "id", (int)id, "content", p->bytes,
                     (size_t)p->n, "single_word", (int)p->single_word, "lstrip", (int)p->lstrip,
                     "rstrip", (int)p->rstrip, "normalized", (int)p->normalized, "special",
                     (int)p->special);
}

static const char *piece_text(const vkt_tokenizer *t, uint32_t id, vkt__str *s)
{
    const vkt__piece *p = &t->piece[id];
    s->len = 0;
    if (t->chars || p->added)
        vkt__str_add(s, p->bytes, p->n);
    else
        vkt__stand_ins_write(p->bytes, p->n, s);
    return s->data;
}

static json_t *byte_level_json(void)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                     "trim_offsets", 1, "use_regex", 0);
}

static json_t *pre_tokenizer_json(const vkt_tokenizer *t)
{
    if (t->chars) return json_null();
    json_t *list = json_array();
    for (uint32_t i = 0; i < t->n_splitters; i++)
        json_array_append_new(list, json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split",
                                              "pattern", "Regex", t->pattern[i], "behavior",
                                              "Isolated", "invert", 0));
    json_array_append_new(list, byte_level_json());
    return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", list);
}

static void keep_more(const vkt_tokenizer *t, bool kept, json_t *o)
{
    if (kept) json_object_set_new(o, RULES_KEY, json_integer(RULES));
    if (kept && t->chat_settings) json_object_set(o, VKT__CHAT_KEY, t->chat_settings);
}

bool vkt__tokenizer_kept_earlier(const char *kept)
{
    json_t *o = json_loads(kept, 0, NULL);
    bool earlier = o && json_integer_value(json_object_get(o, RULES_KEY)) < RULES;
    json_decref(o);
    return earlier;
}

/* kept: with what the tokenizer knows of conversations, which no tokenizer.json has. */
static char *print_file(const vkt_tokenizer *t, bool kept)
{
    json_t *o = json_loads(t->json, 0, NULL);
    json_object_del(o, VKT__CHAT_KEY);
    json_object_del(o, RULES_KEY);
    keep_more(t, kept, o);
    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    VKT_ASSERT(text);
    return text;
}

static char *print(const vkt_tokenizer *t, bool kept)
{
    if (t->json) return print_file(t, kept);
    json_t *vocab = json_object(), *merges = json_array(), *added = json_array();
    vkt__str a = { 0 }, b = { 0 };
    for (uint32_t i = 0; i < t->info.n_vocab; i++)
        if (t->piece[i].bytes && (!t->chars || !t->piece[i].added))
            json_object_set_new(vocab, piece_text(t, i, &a), json_integer(i));
    for (uint32_t i = 0; i < t->info.n_merges; i++)
        json_array_append_new(merges, json_pack("[s, s]", piece_text(t, t->merge[i].left, &a),
                                                piece_text(t, t->merge[i].right, &b)));
    for (uint32_t i = 0; i < t->info.n_vocab; i++)
        if (t->piece[i].added) json_array_append_new(added, added_json(&t->piece[i], i));
    json_t *decoder = t->chars ? json_pack("{s:s}", "type", "Fuse") : byte_level_json();
    json_t *model = json_pack(
        "{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout", "unk_token",
        "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
        "ignore_merges", (int)t->whole_words, "vocab", vocab, "merges", merges);
    json_t *normalizer = t->nfc     ? json_pack("{s:s}", "type", "NFC")
                         : t->rules ? json_loads(t->rules, 0, NULL)
                                    : json_null();
    json_t *o = json_pack("{s:s, s:n, s:n, s:o, s:o, s:o, s:o, s:o, s:o}", "version", "1.0",
                          "truncation", "padding", "added_tokens", added, "normalizer", normalizer,
                          "pre_tokenizer", pre_tokenizer_json(t), "post_processor",
                          vkt__around_json(t), "decoder", decoder, "model", model);
    keep_more(t, kept, o);
    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    vkt__str_finish(&a);
    vkt__str_finish(&b);
    VKT_ASSERT(text);
    return text;
}

char *vkt_tokenizer_json(const vkt_tokenizer *t)
{
    return print(t, false);
}

char *vkt__tokenizer_kept(const vkt_tokenizer *t)
{
    return print(t, true);
}
