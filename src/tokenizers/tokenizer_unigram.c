/* tokenizer_unigram.h: Viterbi's algorithm over the places of a word; the tokens that begin at a
 * place are found by narrowing a range of the sorted vocabulary byte by byte. A character that no
 * token is costs 10 more than the rarest token. Source: Kudo 2018 (arXiv 1804.10959). */
#include "tokenizers/tokenizer_unigram.h"

#include "base/memory.h"
#include "tokenizers/tokenizer_bpe.h"

static const double unknown_penalty = 10;

typedef struct {
    const char *bytes;
    uint32_t n, id;
} entry;

/* By bytes; of equal ones the last of the file first. */
static int by_bytes(const void *pa, const void *pb)
{
    const entry *a = pa, *b = pb;
    int c = memcmp(a->bytes, b->bytes, VKT_MIN(a->n, b->n));
    if (c) return c;
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    return a->id > b->id ? -1 : 1;
}

void vkt__unigram_index(vkt_tokenizer *t)
{
    struct vkt__unigram *u = t->unigram;
    uint32_t n = 0, at = 0;
    entry *e = vkt__alloc(t->info.n_vocab * sizeof *e);
    memset(t->byte_id, 0xff, sizeof t->byte_id);
    for (uint32_t i = 0; i < t->info.n_vocab; i++) {
        const vkt__piece *p = &t->piece[i];
        if (!p->bytes || !p->n || p->added) continue;
        if (p->byte)
            t->byte_id[(unsigned char)p->bytes[0]] = i;
        else
            e[n++] = (entry) { p->bytes, p->n, i };
    }
    qsort(e, n, sizeof *e, by_bytes);
    u->n = n;
    u->order = vkt__arena_alloc(&t->arena, (n + 1) * sizeof *u->order);
    for (uint32_t i = 0; i < n; i++) u->order[i] = e[i].id;
    for (unsigned b = 0; b <= 256; b++) {
        while (at < n && (unsigned char)e[at].bytes[0] < b) at++;
        u->begin[b] = at;
    }
    free(e);
}

/* The first of order[low..high) whose byte `depth` is at least `byte`; all are longer than that. */
static uint32_t lower(const vkt_tokenizer *t, uint32_t low, uint32_t high, size_t depth,
                      unsigned byte)
{
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if ((unsigned char)t->piece[t->unigram->order[mid]].bytes[depth] < byte)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The best way to a place: its score, and its last token. */
typedef struct {
    double score;
    size_t from;
    uint32_t id;
    bool reached;
} place;

static void offer(place *to, double score, size_t from, uint32_t id)
{
    if (to->reached && score <= to->score) return;
    *to = (place) { score, from, id, true };
}

/* Offers each token at word[at] to the place behind it. True: one is the character there. */
static bool offer_tokens(const vkt_tokenizer *t, const char *word, size_t n, size_t at,
                         size_t n_char, place *to)
{
    const struct vkt__unigram *u = t->unigram;
    unsigned first = (unsigned char)word[at];
    uint32_t low = u->begin[first], high = u->begin[first + 1];
    bool single = false;
    for (size_t k = 1; low < high; k++) {
        uint32_t id = u->order[low];
        if (t->piece[id].n == k) {
            offer(&to[at + k], to[at].score + u->score[id], at, id);
            single = single || k == n_char;
            while (low < high && t->piece[u->order[low]].n == k) low++;
        }
        if (at + k == n) break;
        unsigned byte = (unsigned char)word[at + k];
        low = lower(t, low, high, k, byte);
        high = lower(t, low, high, k, byte + 1);
    }
    return single;
}

static vkt_status put_unknown(vkt_tokenizer *t, const char *text, size_t n, vkt_tokens *out)
{
    bool bytes = t->unigram->byte_fallback;
    for (size_t i = 0; i < n && bytes; i++)
        bytes = t->byte_id[(unsigned char)text[i]] != VKT_NO_TOKEN;
    if (!bytes && t->unigram->unknown == VKT_NO_TOKEN)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is not in the vocabulary, which has no token for what is unknown",
                         vkt__show(text).s);
    if (!bytes) out->id[out->n++] = t->unigram->unknown;
    for (size_t i = 0; i < n && bytes; i++) out->id[out->n++] = t->byte_id[(unsigned char)text[i]];
    return VKT_OK;
}

/* The way to the end, from its end: tokens are appended in reverse, unknown characters that follow
 * each other as one, then all are turned around. */
static vkt_status put_way(vkt_tokenizer *t, const char *word, size_t n, const place *p,
                          vkt_tokens *out)
{
    vkt_status st = VKT_OK;
    size_t n_steps = 0;
    for (size_t at = n; at; at = p[at].from) n_steps++;
    size_t *ends;
    VKT_TRY(vkt__alloc_large(n_steps, sizeof *ends, "the tokens of a word", &ends));
    for (size_t at = n, k = n_steps; at; at = p[at].from) ends[--k] = at;
    for (size_t k = 0; k < n_steps && st == VKT_OK;) {
        size_t from = p[ends[k]].from, to = ends[k];
        uint32_t id = p[to].id;
        for (k++; id == VKT_NO_TOKEN && k < n_steps && p[ends[k]].id == VKT_NO_TOKEN; k++)
            to = ends[k];
        if (id == VKT_NO_TOKEN)
            st = put_unknown(t, word + from, to - from, out);
        else
            out->id[out->n++] = id;
    }
    free(ends);
fail:
    return st;
}

vkt_status vkt__unigram_encode(vkt_tokenizer *t, const char *word, size_t n, vkt_tokens *out)
{
    vkt_status st = VKT_OK;
    place *p = NULL;
    double unknown_score = t->unigram->lowest - unknown_penalty;
    VKT_TRY(vkt__tokens_reserve(out, n));
    VKT_TRY(vkt__alloc_large(n + 1, sizeof *p, "the places of a word", &p));
    for (size_t i = 0; i <= n; i++) p[i] = (place) { 0 };
    for (size_t at = 0, next; at < n; at = next) {
        for (next = at + 1; next < n && ((unsigned char)word[next] & 0xC0) == 0x80;) next++;
        if (!offer_tokens(t, word, n, at, next - at, p))
            offer(&p[next], p[at].score + unknown_score, at, VKT_NO_TOKEN);
    }
    VKT_TRY(put_way(t, word, n, p, out));
fail:
    free(p);
    return st;
}
