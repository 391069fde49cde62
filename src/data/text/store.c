/* Documents as tokens, appended one after another, each closed by the end token. */
#include "base/words.h"
#include "data/text/document.h"
#include "data/text/store.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/tokenizer_around.h"
#include "tokenizers/vocabulary.h"
#include "tokenizers/tokenizer_bpe.h"
#include "tokenizers/tokenizer_cut.h"

/* Bytes of a text that are encoded at once, where it may be cut. */
enum { PART = 1 << 20 };

void vkt__store_finish(vkt__store *s)
{
    free(s->tokens.id);
    free(s->document);
    free(s->uncounted);
    *s = (vkt__store) { 0 };
}

uint64_t vkt__store_count(const vkt__store *s)
{
    return s->n_out + s->tokens.n;
}

/* The last one stays: what comes next may ask for it. */
static vkt_status hand_over(vkt__store *s, size_t kept)
{
    vkt_status st = VKT_OK;
    vkt_tokens *t = &s->tokens;
    if (t->n <= kept) return VKT_OK;
    size_t n = t->n - kept;
    VKT_TRY(s->out(s->user, t->id, n));
    memmove(t->id, t->id + n, kept * sizeof *t->id);
    t->n = kept;
    s->n_out += n;
fail:
    return st;
}

vkt_status vkt__store_hand_over(vkt__store *s)
{
    return hand_over(s, 0);
}

/* Marks tokens from `first` on as not counted. */
static vkt_status mark_uncounted(vkt__store *s, uint64_t first)
{
    uint64_t n = vkt__store_count(s);
    size_t need = n / 8 + 1;
    if (need > s->uncounted_cap) {
        size_t cap = VKT_MAX(2 * s->uncounted_cap, need + 4096);
        uint8_t *grown = realloc(s->uncounted, cap);
        if (!grown) return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for %zu tokens", cap);
        memset(grown + s->uncounted_cap, 0, cap - s->uncounted_cap);
        s->uncounted = grown;
        s->uncounted_cap = cap;
    }
    for (uint64_t i = first; i < n; i++) s->uncounted[i / 8] |= (uint8_t)(1u << i % 8);
    return VKT_OK;
}

/* What the tokens since `begin` leave the next stretch behind. */
static vkt__behind behind(const vkt__store *s, const vkt_tokenizer *t, uint64_t begin)
{
    return vkt__tokenizer_behind(t, &s->tokens, begin > s->n_out ? (size_t)(begin - s->n_out) : 0);
}

/* In parts, where the tokens of those are the whole's. */
static vkt_status encode(vkt__store *s, vkt_tokenizer *t, const vkt__document *d,
                         const vkt__stretch *p, uint64_t begin)
{
    vkt_status st = VKT_OK;
    for (size_t at = 0, n = 0; st == VKT_OK && (at < p->n || !p->n); at += n) {
        n = p->special ? p->n : vkt__tokenizer_cut(t, p->text + at, p->n - at, PART);
        st = vkt__tokenizer_encode_stretch(t, p->text + at, n, p->special, behind(s, t, begin),
                                           &s->tokens);
        if (st == VKT_OK && s->out && s->tokens.n > s->most) st = hand_over(s, 1);
        if (d->map) {
            size_t from = (size_t)(p->text - (const char *)d->map->data) + at;
            vkt__map_release(d->map, from, from + n);
        }
        if (!p->n) break;
    }
    return st;
}

vkt_status vkt__store_add(vkt__store *s, vkt_tokenizer *t, const vkt__document *d)
{
    vkt_status st = VKT_OK;
    bool all = true;
    s->document = vkt__grow(s->document, s->n_documents, &s->documents_cap, sizeof *s->document);
    s->document[s->n_documents++] = vkt__store_count(s);
    if (!d->whole) {
        uint64_t first = vkt__store_count(s);
        VKT_TRY(vkt__around_add(t, false, &s->tokens));
        if (d->n_stretches && !d->stretch[0].counts) VKT_TRY(mark_uncounted(s, first));
    }
    uint64_t begin = vkt__store_count(s);
    for (size_t i = 0; i < d->n_stretches; i++) {
        const vkt__stretch *p = &d->stretch[i];
        uint64_t first = vkt__store_count(s);
        st = encode(s, t, d, p, begin);
        if (st == VKT_E_OOM_HOST || st == VKT_E_IO) return st; /* which has been told */
        if (st != VKT_OK)
            return vkt__fail(st, "data", "'%s' can't be encoded by the tokenizer '%s'",
                             vkt__show(d->name).s, vkt__show(t->info.source).s);
        s->n_bytes += p->n;
        all = all && p->counts;
        if (!p->counts) VKT_TRY(mark_uncounted(s, first));
    }
    if ((t->info.end != VKT_NO_TOKEN || t->n_around[1]) && !d->whole) {
        uint64_t end = vkt__store_count(s);
        VKT_TRY(vkt__around_add(t, true, &s->tokens));
        VKT_TRY(vkt__tokens_reserve(&s->tokens, 1));
        if (!t->n_around[1]) s->tokens.id[s->tokens.n++] = t->info.end;
        if (!all && !d->end_counts) VKT_TRY(mark_uncounted(s, end)); /* nobody has said it */
    }
    if (s->uncounted) VKT_TRY(mark_uncounted(s, vkt__store_count(s))); /* long enough for all */
    if (s->out && s->tokens.n > s->most) VKT_TRY(hand_over(s, 1));
fail:
    return st;
}
