/* Byte-pair encoding of one piece: begin with its bytes, and as long as there is a merge of two
 * neighbours, do the one of lowest rank, the leftmost of equals. A heap holds the candidates, so
 * that a piece of n bytes costs n log n; pieces seen before come from a cache.
 * Source: Sennrich et al. 2016 (arXiv 1508.07909); Radford et al. 2019 for bytes. */
#include "base/words.h"
#include "base/memory.h"
#include "tokenizers/tokenizer_bpe.h"
#include "tokenizers/vocabulary.h"

vkt_status vkt__tokens_reserve(vkt_tokens *t, size_t n)
{
    if (t->cap - t->n >= n) return VKT_OK;
    size_t cap = VKT_MAX(2 * t->cap, t->n + n + 64);
    uint32_t *id = cap < SIZE_MAX / sizeof *id ? realloc(t->id, cap * sizeof *id) : NULL;
    if (!id) return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for %zu tokens", cap);
    t->id = id;
    t->cap = cap;
    return VKT_OK;
}

/* ---- merges and whole tokens by hash ---- */

static uint64_t table_size(uint64_t n)
{
    uint64_t size = 16;
    while (size < 2 * n) size *= 2;
    return size;
}

static uint64_t pair_hash(uint32_t left, uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

const vkt__merge *vkt__merge_find(const vkt_tokenizer *t, uint32_t left, uint32_t right)
{
    for (uint64_t at = pair_hash(left, right);; at++) {
        uint32_t slot = t->merge_slot[at & t->merge_mask];
        if (!slot) return NULL;
        const vkt__merge *m = &t->merge[slot - 1];
        if (m->left == left && m->right == right) return m;
    }
}

/* Indexes the merges. Where a pair is given twice, the first one counts. */
void vkt__merge_index(vkt_tokenizer *t)
{
    t->merge_mask = table_size(t->info.n_merges) - 1;
    t->merge_slot = vkt__arena_alloc(&t->arena, (t->merge_mask + 1) * sizeof *t->merge_slot);
    for (uint32_t i = 0; i < t->info.n_merges; i++) {
        const vkt__merge *m = &t->merge[i];
        if (vkt__merge_find(t, m->left, m->right)) continue;
        uint64_t at = pair_hash(m->left, m->right);
        while (t->merge_slot[at & t->merge_mask]) at++;
        t->merge_slot[at & t->merge_mask] = i + 1;
    }
}

uint32_t vkt__whole_find(const vkt_tokenizer *t, const char *bytes, size_t n)
{
    for (uint64_t at = vkt__hash(bytes, n, 0);; at++) {
        uint32_t slot = t->whole_slot[at & t->whole_mask];
        if (!slot) return VKT_NO_TOKEN;
        const vkt__piece *p = &t->piece[slot - 1];
        if (p->n == n && !memcmp(p->bytes, bytes, n)) return slot - 1;
    }
}

void vkt__whole_index(vkt_tokenizer *t)
{
    t->whole_mask = table_size(t->info.n_vocab) - 1;
    t->whole_slot = vkt__arena_alloc(&t->arena, (t->whole_mask + 1) * sizeof *t->whole_slot);
    for (uint32_t i = 0; i < t->info.n_vocab; i++) {
        const vkt__piece *p = &t->piece[i];
        if (!p->bytes || p->added || p->byte || vkt__whole_find(t, p->bytes, p->n) != VKT_NO_TOKEN)
            continue;
        uint64_t at = vkt__hash(p->bytes, p->n, 0);
        while (t->whole_slot[at & t->whole_mask]) at++;
        t->whole_slot[at & t->whole_mask] = i + 1;
    }
}

/* ---- merging ---- */

/* The tokens of a piece as a list linked by position. A candidate is a merge at a position, stale
 * when the tokens there have changed since. */
typedef struct {
    uint32_t id, previous, next; /* positions; UINT32_MAX: none */
} link;
typedef struct {
    uint32_t rank, at;
    uint32_t left, right, id;
} candidate;
typedef struct {
    const vkt_tokenizer *t;
    link *link;
    candidate *heap;
    size_t n;
} merger;

static bool before(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(merger *m, uint32_t at)
{
    const link *left = &m->link[at];
    if (left->next == UINT32_MAX) return;
    const vkt__merge *merge = vkt__merge_find(m->t, left->id, m->link[left->next].id);
    if (!merge) return;
    candidate c = { merge->rank, at, merge->left, merge->right, merge->id };
    size_t i = m->n++;
    for (; i > 0 && before(&c, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = c;
}

static candidate pop(merger *m)
{
    candidate top = m->heap[0], last = m->heap[--m->n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < m->n; i = child) {
        if (child + 1 < m->n && before(&m->heap[child + 1], &m->heap[child])) child++;
        if (!before(&m->heap[child], &last)) break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = last;
    return top;
}

static void merge_all(merger *m)
{
    while (m->n) {
        candidate c = pop(m);
        link *left = &m->link[c.at];
        if (left->id != c.left || left->next == UINT32_MAX || m->link[left->next].id != c.right)
            continue;
        link *right = &m->link[left->next];
        left->id = c.id;
        left->next = right->next;
        right->id = VKT_NO_TOKEN;
        if (left->next != UINT32_MAX) m->link[left->next].previous = c.at;
        push(m, c.at);
        if (left->previous != UINT32_MAX) push(m, left->previous);
    }
}

static vkt_status lacks_byte(const vkt_tokenizer *t, unsigned char b)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "the text has byte 0x%02X, which is not UTF-8 and which the vocabulary of "
                     "'%s' lacks: convert the text",
                     b, vkt__show(t->info.source).s);
}

/* SentencePiece's first symbols: characters that are tokens, and the bytes of others. */
static uint32_t first_characters(const vkt_tokenizer *t, const char *bytes, size_t n, link *l)
{
    uint32_t k = 0;
    for (const char *at = bytes, *end = bytes + n; at < end;) {
        const char *from = at;
        uint32_t whole = VKT_NO_TOKEN;
        if (vkt__utf8_next(&at, end) >= 0)
            whole = vkt__whole_find(t, from, (size_t)(at - from));
        else
            at = from + 1;
        if (whole != VKT_NO_TOKEN) l[k++].id = whole;
        for (; whole == VKT_NO_TOKEN && from < at; from++)
            l[k++].id = t->byte_id[(unsigned char)*from];
    }
    for (uint32_t i = 0; i < k; i++) {
        l[i].previous = i - 1;
        l[i].next = i + 1 < k ? i + 1 : UINT32_MAX;
    }
    return k;
}

static vkt_status encode_new(const vkt_tokenizer *t, const char *bytes, size_t n, vkt_tokens *out)
{
    enum { SMALL = 64 };
    link small_link[SMALL];
    candidate small_heap[3 * SMALL];
    vkt_status st = VKT_OK;
    merger m = { .t = t, .link = small_link, .heap = small_heap };
    if (n >= UINT32_MAX / 4)
        return vkt__fail(VKT_E_FORMAT, "data", "a piece of %zu bytes can't be split further", n);
    /* Each merge adds two candidates at most, and there are at most n - 1 merges. */
    if (n > SMALL) {
        m.link = NULL;
        m.heap = NULL;
        VKT_TRY(vkt__alloc_large(n, sizeof *m.link, "a piece of text", &m.link));
        VKT_TRY(vkt__alloc_large(n, 3 * sizeof *m.heap, "a piece of text", &m.heap));
    }
    if (t->spm) n = first_characters(t, bytes, n, m.link);
    for (uint32_t i = 0; !t->spm && i < n; i++) {
        uint32_t id = t->byte_id[(unsigned char)bytes[i]];
        if (id == VKT_NO_TOKEN) {
            st = lacks_byte(t, (unsigned char)bytes[i]);
            goto fail;
        }
        m.link[i] = (link) { id, i - 1, i + 1 < n ? i + 1 : UINT32_MAX };
    }
    for (uint32_t i = 0; i < n; i++) push(&m, i);
    merge_all(&m);
    VKT_TRY(vkt__tokens_reserve(out, n));
    for (uint32_t i = 0; i != UINT32_MAX; i = m.link[i].next) out->id[out->n++] = m.link[i].id;
fail:
    if (m.link != small_link) free(m.link);
    if (m.heap != small_heap) free(m.heap);
    return st;
}

/* ---- the cache of pieces ---- */

enum { CACHE_SLOTS = 1 << 16, CACHE_WORDS = CACHE_SLOTS / 2, CACHE_BYTES = 32, CACHE_TOKENS = 8 };

typedef struct {
    uint32_t id[CACHE_TOKENS];
    char bytes[CACHE_BYTES];
    uint8_t n_bytes, n_tokens; /* n_bytes 0: free */
} word;

/* Emptied when half full: what is frequent is soon back. */
struct vkt__word_cache {
    word slot[CACHE_SLOTS];
    uint32_t n;
};

void vkt__word_cache_destroy(vkt__word_cache **c)
{
    free(*c);
    *c = NULL;
}

/* The word's slot, or the free one that it may have. */
static word *cache_at(vkt__word_cache *c, const char *bytes, size_t n)
{
    for (uint64_t at = vkt__hash(bytes, n, 0);; at++) {
        word *w = &c->slot[(at ^ at >> 32) % CACHE_SLOTS];
        if (!w->n_bytes || (w->n_bytes == n && !memcmp(w->bytes, bytes, n))) return w;
    }
}

static vkt_status encode_cached(vkt_tokenizer *t, const char *bytes, size_t n, vkt_tokens *out)
{
    if (!t->cache) t->cache = vkt__alloc(sizeof *t->cache);
    word *w = cache_at(t->cache, bytes, n);
    size_t first = out->n;
    vkt_status st = VKT_OK;
    if (w->n_bytes) {
        VKT_TRY(vkt__tokens_reserve(out, CACHE_TOKENS));
        memcpy(out->id + out->n, w->id, sizeof w->id);
        out->n += w->n_tokens;
        return VKT_OK;
    }
    VKT_TRY(encode_new(t, bytes, n, out));
    if (out->n - first > CACHE_TOKENS) return VKT_OK;
    if (t->cache->n == CACHE_WORDS) {
        memset(t->cache, 0, sizeof *t->cache);
        w = cache_at(t->cache, bytes, n);
    }
    t->cache->n++;
    w->n_bytes = (uint8_t)n;
    w->n_tokens = (uint8_t)(out->n - first);
    memcpy(w->bytes, bytes, n);
    memcpy(w->id, out->id + first, (out->n - first) * sizeof *w->id);
fail:
    return st;
}

vkt_status vkt__bpe_encode(vkt_tokenizer *t, const char *bytes, size_t n, vkt_tokens *out)
{
    vkt_status st = VKT_OK;
    if (!t->info.n_merges && !t->spm) { /* bytes: nothing to search */
        VKT_TRY(vkt__tokens_reserve(out, n));
        for (size_t i = 0; i < n; i++) {
            uint32_t id = t->byte_id[(unsigned char)bytes[i]];
            if (id == VKT_NO_TOKEN) return lacks_byte(t, (unsigned char)bytes[i]);
            out->id[out->n++] = id;
        }
        return VKT_OK;
    }
    uint32_t whole = t->whole_words ? vkt__whole_find(t, bytes, n) : VKT_NO_TOKEN;
    if (whole != VKT_NO_TOKEN) {
        VKT_TRY(vkt__tokens_reserve(out, 1));
        out->id[out->n++] = whole;
        return VKT_OK;
    }
    return n <= CACHE_BYTES ? encode_cached(t, bytes, n, out) : encode_new(t, bytes, n, out);
fail:
    return st;
}
