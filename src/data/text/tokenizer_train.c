/* Making a byte-level BPE from text: count the pieces that GPT-2's pattern gives, then merge the
 * most frequent pair again and again; of equals the one of lower ids. A function of the text alone.
 * Source: Sennrich et al. 2016 (arXiv 1508.07909), with counts kept up to date pair by pair. */
#include "base/progress.h"
#include "data/parts/parts.h"
#include "tokenizers/byte_letters.h"
#include "data/text/document.h"
#include "data/text/documents.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/json_field.h"
#include "tokenizers/tokenizer_bpe.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/tokenizer_normal.h"
#include "tokenizers/tokenizer_split.h"
#include "tokenizers/vocabulary.h"

/* ---- pieces and how often each comes ---- */

typedef struct {
    const char *bytes;
    uint32_t n;
    uint64_t count;
    uint32_t *id; /* its tokens so far; n_ids of them */
    uint32_t n_ids;
} word;

typedef struct {
    vkt__arena arena;
    word *word;
    size_t n, cap;
    uint32_t *slot; /* hash -> word + 1 */
    uint64_t mask;
    vkt__splitter *splitter;
} words;

static void word_index(words *w)
{
    uint64_t size = w->mask ? 2 * (w->mask + 1) : 1 << 16;
    free(w->slot);
    w->slot = vkt__alloc(size * sizeof *w->slot);
    w->mask = size - 1;
    for (size_t i = 0; i < w->n; i++) {
        uint64_t at = vkt__hash(w->word[i].bytes, w->word[i].n, 0);
        while (w->slot[at & w->mask]) at++;
        w->slot[at & w->mask] = (uint32_t)i + 1;
    }
}

static vkt_status count_word(void *user, const char *bytes, size_t n)
{
    words *w = user;
    uint64_t at = vkt__hash(bytes, n, 0);
    for (; w->slot[at & w->mask]; at++) {
        word *found = &w->word[w->slot[at & w->mask] - 1];
        if (found->n == n && !memcmp(found->bytes, bytes, n)) {
            found->count++;
            return VKT_OK;
        }
    }
    if (n > 1u << 20 || w->n >= 1u << 30)
        return vkt__fail(VKT_E_FORMAT, "data",
                         n > 1u << 20 ? "a piece of %zu bytes without white space: this is not text"
                                      : "more than %zu different pieces",
                         n > 1u << 20 ? n : w->n);
    char *copy = vkt__arena_alloc(&w->arena, n);
    memcpy(copy, bytes, n);
    w->word = vkt__grow(w->word, w->n, &w->cap, sizeof *w->word);
    w->word[w->n++] = (word) { .bytes = copy, .n = (uint32_t)n, .count = 1 };
    w->slot[at & w->mask] = (uint32_t)w->n;
    if (2 * w->n > w->mask) word_index(w);
    return VKT_OK;
}

static vkt_status count_document(void *user, const vkt__document *d)
{
    words *w = user;
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < d->n_stretches && st == VKT_OK; i++)
        st = vkt__split_text(&w->splitter, 1, d->stretch[i].text, d->stretch[i].n, count_word, w);
    return st;
}

/* ---- pairs, by count ---- */

typedef struct {
    uint32_t left, right;
    int64_t count;
    uint32_t *word; /* those that have or had the pair */
    size_t n_words, words_cap;
} pair;

/* A pair's place in the heap is of the count it had when it was pushed. */
typedef struct {
    int64_t count;
    uint32_t pair;
} entry;

typedef struct {
    pair *pair;
    size_t n, cap;
    uint32_t *slot; /* hash -> pair + 1 */
    uint64_t mask;
    entry *heap;
    size_t n_heap, heap_cap;
} pairs;

static uint64_t pair_hash(uint32_t left, uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static void pair_index(pairs *p)
{
    uint64_t size = p->mask ? 2 * (p->mask + 1) : 1 << 14;
    free(p->slot);
    p->slot = vkt__alloc(size * sizeof *p->slot);
    p->mask = size - 1;
    for (size_t i = 0; i < p->n; i++) {
        uint64_t at = pair_hash(p->pair[i].left, p->pair[i].right);
        while (p->slot[at & p->mask]) at++;
        p->slot[at & p->mask] = (uint32_t)i + 1;
    }
}

static uint32_t pair_at(pairs *p, uint32_t left, uint32_t right)
{
    uint64_t at = pair_hash(left, right);
    for (; p->slot[at & p->mask]; at++) {
        uint32_t i = p->slot[at & p->mask] - 1;
        if (p->pair[i].left == left && p->pair[i].right == right) return i;
    }
    p->pair = vkt__grow(p->pair, p->n, &p->cap, sizeof *p->pair);
    p->pair[p->n] = (pair) { .left = left, .right = right };
    p->slot[at & p->mask] = (uint32_t)++p->n;
    if (2 * p->n > p->mask) pair_index(p);
    return (uint32_t)p->n - 1;
}

static bool before(const pairs *p, const entry *a, const entry *b)
{
    const pair *x = &p->pair[a->pair], *y = &p->pair[b->pair];
    if (a->count != b->count) return a->count > b->count;
    return x->left != y->left ? x->left < y->left : x->right < y->right;
}

static void push(pairs *p, uint32_t i)
{
    entry e = { p->pair[i].count, i };
    if (e.count < 2) return;
    p->heap = vkt__grow(p->heap, p->n_heap, &p->heap_cap, sizeof *p->heap);
    size_t k = p->n_heap++;
    for (; k > 0 && before(p, &e, &p->heap[(k - 1) / 2]); k = (k - 1) / 2)
        p->heap[k] = p->heap[(k - 1) / 2];
    p->heap[k] = e;
}

static entry pop(pairs *p)
{
    entry top = p->heap[0], last = p->heap[--p->n_heap];
    size_t k = 0;
    for (size_t child; (child = 2 * k + 1) < p->n_heap; k = child) {
        if (child + 1 < p->n_heap && before(p, &p->heap[child + 1], &p->heap[child])) child++;
        if (!before(p, &p->heap[child], &last)) break;
        p->heap[k] = p->heap[child];
    }
    p->heap[k] = last;
    return top;
}

/* The pair's count changes by one occurrence in word w. */
static uint32_t count_pair(pairs *p, const words *ws, uint32_t w, uint32_t left, uint32_t right,
                           int sign)
{
    uint32_t i = pair_at(p, left, right);
    pair *q = &p->pair[i];
    q->count += sign * (int64_t)ws->word[w].count;
    if (sign > 0 && (q->n_words == 0 || q->word[q->n_words - 1] != w)) {
        q->word = vkt__grow(q->word, q->n_words, &q->words_cap, sizeof *q->word);
        q->word[q->n_words++] = w;
    }
    return i;
}

/* ---- merging ---- */

static void merge_in_word(pairs *p, words *ws, uint32_t w, uint32_t left, uint32_t right,
                          uint32_t id, vkt_tokens *touched)
{
    word *x = &ws->word[w];
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_ids; i++) {
        if (i + 1 == x->n_ids || x->id[i] != left || x->id[i + 1] != right) {
            x->id[n++] = x->id[i];
            continue;
        }
        if (n > 0) {
            count_pair(p, ws, w, x->id[n - 1], left, -1);
            touched->id[touched->n++] = count_pair(p, ws, w, x->id[n - 1], id, 1);
        }
        if (i + 2 < x->n_ids) {
            count_pair(p, ws, w, right, x->id[i + 2], -1);
            touched->id[touched->n++] = count_pair(p, ws, w, id, x->id[i + 2], 1);
        }
        x->id[n++] = id;
        i++;
    }
    x->n_ids = n;
}

static vkt_status merge_pair(pairs *p, words *ws, uint32_t best, uint32_t id, vkt_tokens *touched)
{
    vkt_status st = VKT_OK;
    const pair q = p->pair[best];
    p->pair[best] = (pair) { .left = q.left, .right = q.right }; /* all its occurrences go */
    touched->n = 0;
    for (size_t i = 0; i < q.n_words; i++) {
        VKT_TRY(vkt__tokens_reserve(touched, 2 * (size_t)ws->word[q.word[i]].n_ids));
        merge_in_word(p, ws, q.word[i], q.left, q.right, id, touched);
    }
    for (size_t i = 0; i < touched->n; i++) push(p, touched->id[i]);
fail:
    free(q.word);
    return st;
}

/* Up to `most` merges; fewer when no pair comes twice any more. */
static vkt_status find_merges(words *ws, uint32_t most, vkt__merge *merges, uint32_t *n)
{
    vkt_status st = VKT_OK;
    pairs p = { 0 };
    vkt_tokens touched = { 0 };
    pair_index(&p);
    for (uint32_t w = 0; w < ws->n; w++)
        for (uint32_t i = 0; i + 1 < ws->word[w].n_ids; i++)
            count_pair(&p, ws, w, ws->word[w].id[i], ws->word[w].id[i + 1], 1);
    for (uint32_t i = 0; i < p.n; i++) push(&p, i);
    vkt__progress progress = vkt__progress_begin("finding the tokens");
    while (*n < most && p.n_heap) {
        vkt__progress_at(&progress, *n, most);
        entry e = pop(&p);
        const pair *q = &p.pair[e.pair];
        if (q->count != e.count) { /* it has changed since: back to its place */
            if (q->count < e.count) push(&p, e.pair);
            continue;
        }
        merges[*n] = (vkt__merge) { q->left, q->right, 256 + *n, *n };
        VKT_TRY(merge_pair(&p, ws, e.pair, 256 + *n, &touched));
        (*n)++;
    }
fail:
    for (size_t i = 0; i < p.n; i++) free(p.pair[i].word);
    free(p.pair);
    free(p.slot);
    free(p.heap);
    free(touched.id);
    return st;
}

/* ---- the tokenizer ---- */

/* Ids of the bytes in GPT-2's order: that of their stand-ins. */
static void byte_order(uint32_t id[256], unsigned char byte[256])
{
    uint32_t n = 0;
    for (int by_itself = 1; by_itself >= 0; by_itself--)
        for (unsigned b = 0; b < 256; b++) {
            vkt__str s = { 0 };
            vkt__stand_ins_write((char[]) { (char)b }, 1, &s);
            const char *at = s.data;
            if ((vkt__utf8_next(&at, s.data + s.len) < 0x100) == by_itself) {
                byte[n] = (unsigned char)b;
                id[b] = n++;
            }
            vkt__str_finish(&s);
        }
}

/* rules: a tokenizer.json with a normalizer; NULL: none. */
static vkt_status build(const vkt__merge *merges, uint32_t n, const unsigned char byte[256],
                        const json_t *rules, vkt_tokenizer **out)
{
    vkt_status st;
    vkt__str bytes = { 0 };
    VKT_TRY(vkt__tokenizer_create("bpe", "trained", 257 + (uint64_t)n, out));
    for (uint32_t i = 0; i < 256; i++)
        VKT_TRY(vkt__tokenizer_set(*out, i, (char[]) { (char)byte[i] }, 1));
    for (uint32_t i = 0; i < n; i++) {
        const vkt__piece *l = &(*out)->piece[merges[i].left], *r = &(*out)->piece[merges[i].right];
        bytes.len = 0;
        vkt__str_add(&bytes, l->bytes, l->n);
        vkt__str_add(&bytes, r->bytes, r->n);
        VKT_TRY(vkt__tokenizer_set(*out, merges[i].id, bytes.data, bytes.len));
    }
    VKT_TRY(vkt__tokenizer_set(*out, 256 + n, "<|endoftext|>", 13));
    VKT_TRY(vkt__tokenizer_add(*out, 256 + n, true));
    if (rules) VKT_TRY(vkt__tokenizer_normalize(*out, rules));
    vkt__tokenizer_pattern(*out, vkt__pattern_gpt2);
    VKT_TRY(vkt__tokenizer_finish(*out, merges, n));
fail:
    vkt__str_finish(&bytes);
    return st;
}

/* The words are counted; *n: how many merges there are, up to `most`. */
static vkt_status merge_words(words *ws, uint32_t most, const json_t *rules, uint32_t *n,
                              vkt_tokenizer **out)
{
    vkt_status st;
    vkt__merge *merges = NULL;
    uint32_t id[256];
    unsigned char byte[256];
    *n = 0;
    byte_order(id, byte);
    for (size_t i = 0; i < ws->n; i++) {
        word *w = &ws->word[i];
        w->n_ids = w->n;
        w->id = vkt__arena_alloc(&ws->arena, w->n * sizeof *w->id);
        for (uint32_t k = 0; k < w->n; k++) w->id[k] = id[(unsigned char)w->bytes[k]];
    }
    VKT_TRY(vkt__alloc_large(most + 1, sizeof *merges, "the merges", &merges));
    VKT_TRY(find_merges(ws, most, merges, n));
    VKT_TRY(build(merges, *n, byte, rules, out));
fail:
    if (st != VKT_OK) vkt_tokenizer_destroy(out);
    free(merges);
    return st;
}

static vkt_status start_words(uint32_t n_vocab, words *ws)
{
    if (n_vocab < 257 || n_vocab > 1u << 20)
        return vkt__fail(VKT_E_ARG, "data",
                         "a vocabulary of %u tokens: it must have from 257 (the bytes and "
                         "<|endoftext|>) to 1048576",
                         n_vocab);
    word_index(ws);
    return vkt__splitter_create(vkt__pattern_gpt2, "GPT-2's pattern", &ws->splitter);
}

static void finish_words(words *ws)
{
    vkt__splitter_destroy(&ws->splitter);
    vkt__arena_finish(&ws->arena);
    free(ws->word);
    free(ws->slot);
}

vkt_status vkt_tokenizer_train(const char *const *paths, size_t n_paths, uint32_t n_vocab,
                               vkt_tokenizer **out)
{
    vkt_status st;
    words ws = { 0 };
    uint32_t n;
    *out = NULL;
    VKT_TRY(start_words(n_vocab, &ws));
    VKT_TRY(vkt__documents_read(&(vkt__source) { .path = paths, .n_paths = n_paths }, NULL,
                                count_document, &ws));
    VKT_TRY(merge_words(&ws, n_vocab - 257, NULL, &n, out));
    if (n < n_vocab - 257)
        vkt_log(VKT_LOG_WARN, "data",
                "the text gives a vocabulary of %u tokens, not %u: no further pair of tokens "
                "occurs twice",
                n + 257, n_vocab);
fail:
    finish_words(&ws);
    return st;
}

/* What a tokenizer.json says of it. */
static const char lowercase_json[] =
    "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Lowercase\"}, "
    "{\"type\": \"Prepend\", \"prepend\": \" \"}]}}";

static vkt_status count_lowercase(const vkt__normalizer *z, const char *text, vkt__str *lower,
                                  words *ws)
{
    lower->len = 0;
    if (!*text) return VKT_OK;
    vkt_status st = vkt__normalizer_apply(z, text, strlen(text), false, lower);
    return st != VKT_OK
               ? st
               : vkt__split_text(&ws->splitter, 1, lower->data, lower->len, count_word, ws);
}

vkt_status vkt__tokenizer_train_texts(const char *const *texts, size_t n_texts, uint32_t n_vocab,
                                      bool lowercase, vkt_tokenizer **out)
{
    vkt_status st;
    words ws = { 0 };
    uint32_t n;
    vkt__str lower = { 0 };
    vkt__normalizer *z = NULL;
    json_t *file = lowercase ? json_loads(lowercase_json, 0, NULL) : NULL;
    *out = NULL;
    VKT_TRY(start_words(n_vocab, &ws));
    if (file) VKT_ASSERT(!vkt__normalizer_read(file, &ws.arena, &z));
    for (size_t i = 0; i < n_texts; i++)
        if (z)
            VKT_TRY(count_lowercase(z, texts[i], &lower, &ws));
        else
            VKT_TRY(vkt__split_text(&ws.splitter, 1, texts[i], strlen(texts[i]), count_word, &ws));
    VKT_TRY(merge_words(&ws, n_vocab - 257, file, &n, out));
fail:
    vkt__str_finish(&lower);
    json_decref(file);
    finish_words(&ws);
    return st;
}
