/* Tokens in memory: documents appended one after another, each closed by the end token. */
#include "base/words.h"
#include "data/text/document.h"
#include "data/text/store.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/tokenizer_around.h"
#include "tokenizers/vocabulary.h"
#include "tokenizers/tokenizer_bpe.h"

void vkt__store_finish(vkt__store *s)
{
    free(s->tokens.id);
    free(s->document);
    free(s->uncounted);
    *s = (vkt__store) { 0 };
}

/* Marks tokens [first, s->tokens.n) as not counted. */
static vkt_status mark_uncounted(vkt__store *s, size_t first)
{
    size_t need = s->tokens.n / 8 + 1;
    if (need > s->uncounted_cap) {
        size_t cap = VKT_MAX(2 * s->uncounted_cap, need + 4096);
        uint8_t *grown = realloc(s->uncounted, cap);
        if (!grown) return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for %zu tokens", cap);
        memset(grown + s->uncounted_cap, 0, cap - s->uncounted_cap);
        s->uncounted = grown;
        s->uncounted_cap = cap;
    }
    for (size_t i = first; i < s->tokens.n; i++) s->uncounted[i / 8] |= (uint8_t)(1u << i % 8);
    return VKT_OK;
}

vkt_status vkt__store_add(vkt__store *s, vkt_tokenizer *t, const vkt__document *d)
{
    vkt_status st = VKT_OK;
    bool all = true;
    s->document = vkt__grow(s->document, s->n_documents, &s->documents_cap, sizeof *s->document);
    s->document[s->n_documents++] = s->tokens.n;
    if (!d->whole) {
        size_t first = s->tokens.n;
        VKT_TRY(vkt__around_add(t, false, &s->tokens));
        if (d->n_stretches && !d->stretch[0].counts) VKT_TRY(mark_uncounted(s, first));
    }
    size_t begin = s->tokens.n;
    for (size_t i = 0; i < d->n_stretches; i++) {
        const vkt__stretch *p = &d->stretch[i];
        size_t first = s->tokens.n;
        st = vkt__tokenizer_encode_stretch(t, p->text, p->n, p->special,
                                           vkt__tokenizer_behind(t, &s->tokens, begin), &s->tokens);
        if (st == VKT_E_OOM_HOST) return st; /* which has been told */
        if (st != VKT_OK)
            return vkt__fail(st, "data", "'%s' can't be encoded by the tokenizer '%s'",
                             vkt__show(d->name).s, vkt__show(t->info.source).s);
        s->n_bytes += p->n;
        all = all && p->counts;
        if (!p->counts) VKT_TRY(mark_uncounted(s, first));
    }
    if ((t->info.end != VKT_NO_TOKEN || t->n_around[1]) && !d->whole) {
        size_t end = s->tokens.n;
        VKT_TRY(vkt__around_add(t, true, &s->tokens));
        VKT_TRY(vkt__tokens_reserve(&s->tokens, 1));
        if (!t->n_around[1]) s->tokens.id[s->tokens.n++] = t->info.end;
        if (!all && !d->end_counts) VKT_TRY(mark_uncounted(s, end)); /* nobody has said it */
    }
    if (s->uncounted) VKT_TRY(mark_uncounted(s, s->tokens.n)); /* long enough for all */
fail:
    return st;
}
