/* The tokenizer: how one is put together and checked, text to ids, ids to bytes. Knows no file
 * format. */
#include <jansson.h>
#include <stdio.h>

#include "tokenizers/tokenizer.h"
#include "tokenizers/tokenizer_bpe.h"
#include "tokenizers/tokenizer_nfc.h"
#include "tokenizers/tokenizer_normal.h"
#include "tokenizers/tokenizer_points.h"
#include "tokenizers/tokenizer_split.h"
#include "tokenizers/tokenizer_spm.h"
#include "tokenizers/tokenizer_unigram.h"
#include "tokenizers/tokenizer_wordpiece.h"
#include "tokenizers/tokenizer_words.h"
#include "tokenizers/vocabulary.h"

enum { MAX_ADDED = 16384 };

/* ---- putting together ---- */

vkt_status vkt__tokenizer_create(const char *kind, const char *source, uint64_t n,
                                 vkt_tokenizer **out)
{
    *out = NULL;
    if (n == 0 || n > 1u << 24)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': a vocabulary of %llu tokens; it must have 1 to 16777216",
                         vkt__show(source).s, (unsigned long long)n);
    vkt_tokenizer *t = vkt__alloc(sizeof *t);
    t->info = (vkt_tokenizer_info) { .kind = kind,
                                     .source = vkt__arena_strdup(&t->arena, source),
                                     .n_vocab = (uint32_t)n,
                                     .end = VKT_NO_TOKEN };
    t->chars = !strcmp(kind, "chars");
    t->piece = vkt__arena_alloc(&t->arena, n * sizeof *t->piece);
    *out = t;
    return VKT_OK;
}

vkt_status vkt__tokenizer_set(vkt_tokenizer *t, uint64_t id, const char *bytes, size_t n)
{
    if (id >= t->info.n_vocab || t->piece[id].bytes)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s': token id %llu is %s",
                         vkt__show(t->info.source).s, (unsigned long long)id,
                         id < t->info.n_vocab ? "given twice" : "past the vocabulary");
    char *copy = vkt__arena_alloc(&t->arena, n + 1);
    memcpy(copy, bytes, n);
    t->piece[id] = (vkt__piece) { .bytes = copy, .n = (uint32_t)n };
    return VKT_OK;
}

void vkt__tokenizer_byte_vocabulary(vkt_tokenizer *t)
{
    for (unsigned i = 0; i < 256; i++)
        VKT_ASSERT(vkt__tokenizer_set(t, i, (char[]) { (char)i }, 1) == VKT_OK);
}

vkt_status vkt__tokenizer_add(vkt_tokenizer *t, uint64_t id, bool special)
{
    VKT_ASSERT(id < t->info.n_vocab && t->piece[id].bytes);
    vkt__piece *p = &t->piece[id];
    if (p->n == 0 || p->added || t->info.n_added == MAX_ADDED)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s': the added token %llu %s",
                         vkt__show(t->info.source).s, (unsigned long long)id,
                         p->n == 0  ? "has no text"
                         : p->added ? "is given twice"
                                    : "is too many: at most 16384 are supported");
    if (!t->added) t->added = vkt__arena_alloc(&t->arena, MAX_ADDED * sizeof *t->added);
    uint32_t at = t->info.n_added++;
    for (; at > 0 && t->piece[t->added[at - 1]].n < p->n; at--) t->added[at] = t->added[at - 1];
    t->added[at] = (uint32_t)id;
    t->added_first[(unsigned char)p->bytes[0]] = p->added = true;
    p->special = special;
    return VKT_OK;
}

void vkt__tokenizer_pattern(vkt_tokenizer *t, const char *pattern)
{
    const char **grown = vkt__arena_alloc(&t->arena, (t->n_splitters + 1) * sizeof *grown);
    for (uint32_t i = 0; i < t->n_splitters; i++) grown[i] = t->pattern[i];
    grown[t->n_splitters++] = vkt__arena_strdup(&t->arena, pattern);
    t->pattern = grown;
}

static vkt_status index_bytes(vkt_tokenizer *t)
{
    memset(t->byte_id, 0xff, sizeof t->byte_id);
    for (uint32_t i = 0; i < t->info.n_vocab; i++) {
        const vkt__piece *p = &t->piece[i];
        if (p->bytes && p->n == 1 && !p->added) t->byte_id[(unsigned char)p->bytes[0]] = i;
    }
    for (unsigned b = 0; b < 256; b++)
        if (t->byte_id[b] == VKT_NO_TOKEN && b != 0xC0 && b != 0xC1 && b < 0xF5)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': the vocabulary lacks byte 0x%02X, so that not all text can be "
                             "encoded: it must have a token for each byte",
                             vkt__show(t->info.source).s, b);
    return VKT_OK;
}

static vkt_status index_points(vkt_tokenizer *t)
{
    t->point = vkt__arena_alloc(&t->arena, t->info.n_vocab * sizeof *t->point);
    t->point_id = vkt__arena_alloc(&t->arena, t->info.n_vocab * sizeof *t->point_id);
    for (uint32_t i = 0; i < t->info.n_vocab; i++) {
        const vkt__piece *p = &t->piece[i];
        if (!p->bytes || p->added) continue;
        const char *at = p->bytes;
        int32_t c = vkt__utf8_next(&at, p->bytes + p->n);
        if (c < 0 || at != p->bytes + p->n || (t->n_points && t->point[t->n_points - 1] >= c))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': token %u of a vocabulary of characters is not one character, "
                             "rising from the token before",
                             vkt__show(t->info.source).s, i);
        t->point[t->n_points] = c;
        t->point_id[t->n_points++] = i;
    }
    return VKT_OK;
}

static uint64_t hash_all(const vkt_tokenizer *t)
{
    uint64_t h = vkt__hash(t->info.kind, strlen(t->info.kind), t->whole_words);
    if (t->spm) h = vkt__hash(&t->prefix, sizeof t->prefix, h);
    if (t->rules) h = vkt__hash(t->rules, strlen(t->rules), h);
    if (t->unigram) h = vkt__hash(t->unigram->score, t->info.n_vocab * sizeof(double), h);
    for (uint32_t i = 0; i < t->n_splitters; i++)
        h = vkt__hash(t->pattern[i], strlen(t->pattern[i]) + 1, h);
    for (uint32_t i = 0; i < t->info.n_vocab; i++) {
        const vkt__piece *p = &t->piece[i];
        uint32_t takes = t->words ? 0 : 4u * p->lstrip + 8u * p->rstrip, /* theirs are newer */
            what[2] = { p->n, p->added + 2u * p->special + takes + 16u * p->single_word };
        h = vkt__hash(what, sizeof what, h);
        if (p->n) h = vkt__hash(p->bytes, p->n, h);
    }
    for (uint32_t i = 0; i < t->info.n_merges; i++) {
        uint32_t m[3] = { t->merge[i].left, t->merge[i].right, t->merge[i].id };
        h = vkt__hash(m, sizeof m, h);
    }
    return h;
}

/* What separates documents in the vocabularies that are about. */
static uint32_t find_end(const vkt_tokenizer *t)
{
    static const char *const names[] = { VKT__END_TEXT, "<|end_of_text|>", "</s>", "<eos>",
                                         "[SEP]" };
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        uint32_t id = vkt_tokenizer_find(t, names[i]);
        if (id != VKT_NO_TOKEN && t->piece[id].added) return id;
    }
    return VKT_NO_TOKEN;
}

vkt_status vkt__tokenizer_finish(vkt_tokenizer *t, const vkt__merge *merges, size_t n_merges)
{
    vkt_status st = VKT_OK;
    VKT_ASSERT(n_merges < 1u << 30);
    if (n_merges) {
        t->merge = vkt__arena_alloc(&t->arena, n_merges * sizeof *t->merge);
        memcpy(t->merge, merges, n_merges * sizeof *t->merge);
    }
    t->info.n_merges = (uint32_t)n_merges;
    if (t->chars) {
        VKT_TRY(index_points(t));
    } else if (t->wordpiece) {
        vkt__wordpiece_index(t);
    } else if (t->unigram) {
        vkt__unigram_index(t);
    } else if (t->spm) {
        unsigned lacks;
        vkt__merge_index(t);
        if (!vkt__spm_index(t, &lacks)) {
            st = vkt__fail(VKT_E_FORMAT, "data", "'%s': the vocabulary lacks the token <0x%02X>",
                           vkt__show(t->info.source).s, lacks);
            goto fail;
        }
    } else {
        VKT_TRY(index_bytes(t));
        vkt__merge_index(t);
        if (t->whole_words && !t->whole_slot) vkt__whole_index(t);
    }
    t->splitter = vkt__arena_alloc(&t->arena, t->n_splitters * sizeof(vkt__splitter *));
    for (uint32_t i = 0; i < t->n_splitters; i++)
        VKT_TRY(vkt__splitter_create(t->pattern[i], t->info.source, &t->splitter[i]));
    t->info.end = find_end(t);
    t->info.hash = hash_all(t);
fail:
    return st;
}

void vkt_tokenizer_destroy(vkt_tokenizer **pt)
{
    vkt_tokenizer *t = *pt;
    if (!t) return;
    for (uint32_t i = 0; t->splitter && i < t->n_splitters; i++)
        vkt__splitter_destroy(&t->splitter[i]);
    vkt__word_cache_destroy(&t->cache);
    if (t->chat_destroy) t->chat_destroy(&t->chat);
    json_decref(t->chat_settings);
    vkt__arena_finish(&t->arena);
    free(t);
    *pt = NULL;
}

/* ---- encoding ---- */

static vkt_status chars_encode(const vkt_tokenizer *t, const char *text, size_t n, vkt_tokens *out)
{
    vkt_status st = vkt__tokens_reserve(out, n);
    for (const char *at = text, *end = text + n; st == VKT_OK && at < end;) {
        const char *start = at;
        int32_t c = vkt__utf8_next(&at, end);
        uint32_t low = 0, high = t->n_points;
        while (low < high) {
            uint32_t mid = (low + high) / 2;
            if (t->point[mid] < c)
                low = mid + 1;
            else
                high = mid;
        }
        if (low == t->n_points || t->point[low] != c)
            return vkt__fail(VKT_E_FORMAT, "data",
                             c < 0 ? "byte %zu of the text is not UTF-8, which a vocabulary of "
                                     "characters can't hold"
                                   : "byte %zu of the text begins a character, '%.*s', that the "
                                     "vocabulary of %u characters lacks",
                             (size_t)(start - text), (int)(at - start), start, t->n_points);
        out->id[out->n++] = t->point_id[low];
    }
    return st;
}

typedef struct {
    vkt_tokenizer *t;
    vkt_tokens *out;
} encoder;

static vkt_status encode_piece(void *user, const char *bytes, size_t n)
{
    encoder *e = user;
    if (e->t->wordpiece) return vkt__wordpiece_encode(e->t, bytes, n, e->out);
    if (e->t->unigram) return vkt__unigram_encode(e->t, bytes, n, e->out);
    return vkt__bpe_encode(e->t, bytes, n, e->out);
}

/* Text without added tokens; of words it is normalised already. */
static vkt_status encode_plain(vkt_tokenizer *t, const char *text, size_t n, vkt__behind behind,
                               vkt_tokens *out)
{
    vkt_status st;
    vkt__str composed = { 0 };
    bool changed = false;
    encoder e = { t, out };
    bool first = behind == VKT__BEHIND_NOTHING;
    if (t->spm) return vkt__spm_encode(t, text, n, first, behind == VKT__BEHIND_TEXT, out);
    if (t->words) return vkt__words_cut(t->words, text, n, first, encode_piece, &e);
    bool goes_on = behind == VKT__BEHIND_TEXT;
    if (t->normalizer && n && goes_on && vkt__normalizer_strips(t->normalizer))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': the normalizer 'Strip' takes the ends of a whole text, and this "
                         "one comes in parts, as a chat's: take a tokenizer without it",
                         vkt__show(t->info.source).s);
    if (t->normalizer && n)
        VKT_TRY(vkt__normalizer_apply(t->normalizer, text, n, goes_on, &composed));
    if (t->nfc) VKT_TRY(vkt__nfc(text, n, &composed, &changed));
    changed |= t->normalizer && n;
    if (changed) {
        text = composed.data;
        n = composed.len;
    }
    st = t->chars ? chars_encode(t, text, n, out)
                  : vkt__split_text(t->splitter, t->n_splitters, text, n, encode_piece, &e);
fail:
    vkt__str_finish(&composed);
    return st;
}

/* Which added tokens are looked for. */
typedef struct {
    bool special, normalized;
} wanted;

/* Whether a word's character ends at `at`, or begins there. */
static bool word_before(const char *text, const char *at)
{
    const char *c = at;
    if (at == text) return false;
    do c--;
    while (c > text && ((unsigned char)*c & 0xC0) == 0x80);
    return vkt__is_word(vkt__utf8_next(&c, at));
}

static bool word_after(const char *at, const char *end)
{
    return at < end && vkt__is_word(vkt__utf8_next(&at, end));
}

/* The added token at `at`, the longest first; VKT_NO_TOKEN: none. */
static uint32_t added_at(const vkt_tokenizer *t, const char *text, const char *at, const char *end,
                         wanted w)
{
    if (!t->added_first[(unsigned char)*at]) return VKT_NO_TOKEN;
    for (uint32_t i = 0; i < t->info.n_added; i++) {
        const vkt__piece *p = &t->piece[t->added[i]];
        if ((w.special || !p->special) && p->normalized == w.normalized &&
            p->n <= (size_t)(end - at) && !memcmp(at, p->bytes, p->n))
            return p->single_word && (word_before(text, at) || word_after(at + p->n, end))
                       ? VKT_NO_TOKEN
                       : t->added[i];
    }
    return VKT_NO_TOKEN;
}

/* Where the white space begins with which a text ends. */
static const char *white_end(const char *text, const char *end)
{
    while (end > text) {
        const char *at = end - 1;
        while (at > text && ((unsigned char)*at & 0xC0) == 0x80) at--;
        const char *c = at;
        if (!vkt__is_white(vkt__utf8_next(&c, end))) break;
        end = at;
    }
    return end;
}

/* Where the white space ends with which a text begins. */
static const char *white_start(const char *text, const char *end)
{
    for (const char *at = text; at < end; text = at)
        if (!vkt__is_white(vkt__utf8_next(&at, end))) break;
    return text;
}

static vkt_status encode_stretch(vkt_tokenizer *t, const char *text, size_t n, vkt__behind behind,
                                 wanted w, vkt_tokens *out);

/* The added tokens of a text, and what lies between them. */
static vkt_status encode_added(vkt_tokenizer *t, const char *text, size_t n, vkt__behind behind,
                               wanted w, vkt_tokens *out)
{
    vkt_status st = VKT_OK;
    const char *start = text, *end = text + n;
    for (const char *at = text; t->info.n_added && at < end;) {
        uint32_t id = added_at(t, text, at, end, w);
        if (id == VKT_NO_TOKEN) {
            at++;
            continue;
        }
        const char *stop = t->piece[id].lstrip ? white_end(start, at) : at;
        VKT_TRY(encode_stretch(t, start, (size_t)(stop - start), behind, w, out));
        VKT_TRY(vkt__tokens_reserve(out, 1));
        out->id[out->n++] = id;
        at += t->piece[id].n;
        start = at = t->piece[id].rstrip ? white_start(at, end) : at;
        behind = VKT__BEHIND_TOKEN;
    }
    VKT_TRY(encode_stretch(t, start, (size_t)(end - start), behind, w, out));
fail:
    return st;
}

/* What lies between added tokens: of words it is normalised, and those are looked for that are
 * found then. */
static vkt_status encode_stretch(vkt_tokenizer *t, const char *text, size_t n, vkt__behind behind,
                                 wanted w, vkt_tokens *out)
{
    vkt_status st;
    vkt__str normal = { 0 };
    bool changed = true;
    if ((!t->words && !t->any_normalized) || w.normalized || !n)
        return encode_plain(t, text, n, behind, out);
    if (t->words)
        VKT_TRY(vkt__normalizer_apply(t->normalizer, text, n, false, &normal));
    else if (t->nfc)
        VKT_TRY(vkt__nfc(text, n, &normal, &changed));
    w.normalized = true;
    if (!t->words && !(t->nfc && changed))
        VKT_TRY(encode_added(t, text, n, behind, w, out));
    else if (normal.len)
        VKT_TRY(encode_added(t, normal.data, normal.len, behind, w, out));
fail:
    vkt__str_finish(&normal);
    return st;
}

vkt_status vkt_tokenizer_encode(vkt_tokenizer *t, const char *text, size_t n, bool special,
                                vkt_tokens *out)
{
    return vkt__tokenizer_encode_stretch(t, text, n, special, VKT__BEHIND_NOTHING, out);
}

vkt_status vkt__tokenizer_encode_stretch(vkt_tokenizer *t, const char *text, size_t n, bool special,
                                         vkt__behind behind, vkt_tokens *out)
{
    return encode_added(t, text, n, behind, (wanted) { .special = special }, out);
}

vkt__behind vkt__tokenizer_behind(const vkt_tokenizer *t, const vkt_tokens *out, size_t first)
{
    if (out->n == first) return VKT__BEHIND_NOTHING;
    return t->piece[out->id[out->n - 1]].added ? VKT__BEHIND_TOKEN : VKT__BEHIND_TEXT;
}

/* ---- asking ---- */

const vkt_tokenizer_info *vkt_tokenizer_get_info(const vkt_tokenizer *t)
{
    return &t->info;
}

const char *vkt_tokenizer_bytes(const vkt_tokenizer *t, uint32_t id, size_t *n)
{
    *n = id < t->info.n_vocab ? t->piece[id].n : 0;
    return id < t->info.n_vocab ? t->piece[id].bytes : NULL;
}

uint32_t vkt_tokenizer_find(const vkt_tokenizer *t, const char *text)
{
    size_t n = strlen(text);
    for (uint32_t i = 0; i < t->info.n_vocab; i++)
        if (t->piece[i].bytes && t->piece[i].n == n && !memcmp(t->piece[i].bytes, text, n))
            return i;
    return VKT_NO_TOKEN;
}
