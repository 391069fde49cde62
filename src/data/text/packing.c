/* Packing of conversations: a window holds whole ones, so that none is cut where it happens to end.
 */
#include "base/memory.h"
#include "data/text/packing.h"
#include "data/parts/parts.h"

typedef struct {
    vkt__window *window;
    size_t n, cap;
} windows;

static void add(windows *w, uint64_t at, uint64_t n)
{
    w->window = vkt__grow(w->window, w->n, &w->cap, sizeof *w->window);
    w->window[w->n++] = (vkt__window) { at, (uint32_t)n };
}

static vkt_status say_long(const char *name, uint32_t context, vkt_too_long how, size_t n_long,
                           size_t n, uint64_t longest)
{
    if (!n_long) return VKT_OK;
    if (how == VKT_TOO_LONG_STOP)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': %zu of %zu conversations are longer than data.context (%u tokens "
                         "and one more; the longest has %llu): raise data.context, or set "
                         "data.too_long: left (their last tokens are kept) or skip",
                         name, n_long, n, context, (unsigned long long)longest);
    vkt_log(VKT_LOG_WARN, "data",
            "'%s': %zu of %zu conversations are longer than data.context (the longest has %llu "
            "tokens) and are %s",
            name, n_long, n, (unsigned long long)longest,
            how == VKT_TOO_LONG_LEFT ? "cut at the left" : "left out");
    return VKT_OK;
}

vkt_status vkt__pack_windows(const uint64_t *begin, size_t n, uint32_t context,
                             vkt_too_long too_long, const char *name, vkt__window **out,
                             size_t *n_out)
{
    const uint64_t most = (uint64_t)context + 1;
    windows w = { 0 };
    size_t n_long = 0;
    uint64_t from = n ? begin[0] : 0, longest = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t length = begin[i + 1] - begin[i];
        longest = VKT_MAX(longest, length);
        if (length > most) {
            n_long++;
            if (begin[i] > from) add(&w, from, begin[i] - from);
            if (too_long == VKT_TOO_LONG_LEFT) add(&w, begin[i + 1] - most, most);
            from = begin[i + 1];
        } else if (begin[i + 1] - from > most) {
            add(&w, from, begin[i] - from);
            from = begin[i];
        }
    }
    if (n && begin[n] > from) add(&w, from, begin[n] - from);
    *out = w.window;
    *n_out = w.n;
    return say_long(name, context, too_long, n_long, n, longest);
}

vkt_status vkt__pack_pairs(const uint64_t *begin, size_t n, uint32_t context, vkt_too_long too_long,
                           const char *name, vkt__window **out, size_t *n_out)
{
    const uint64_t most = (uint64_t)context + 1;
    windows w = { 0 };
    size_t n_long = 0;
    uint64_t longest = 0;
    for (size_t i = 0; i + 1 < n; i += 2) {
        uint64_t length[2] = { begin[i + 1] - begin[i], begin[i + 2] - begin[i + 1] };
        bool too = length[0] > most || length[1] > most;
        longest = VKT_MAX(longest, VKT_MAX(length[0], length[1]));
        n_long += too;
        for (size_t k = 0; k < 2 && (!too || too_long == VKT_TOO_LONG_LEFT); k++) {
            uint64_t kept = VKT_MIN(length[k], most);
            add(&w, begin[i + k + 1] - kept, kept);
        }
    }
    *out = w.window;
    *n_out = w.n / 2;
    return say_long(name, context, too_long, n_long, n / 2, longest);
}

/* ---- dealing ---- */

/* One document of all shards. */
typedef struct {
    uint32_t shard;
    uint64_t first, n, kept; /* kept: of its tokens, in windows; 0: it has none */
    uint8_t split;
} piece;

uint64_t vkt__count_documents(const vkt__shard *shard, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += shard[i].n_documents;
    return sum;
}

static uint64_t document_end(const vkt__shard *s, uint64_t k)
{
    return k + 1 < s->n_documents ? s->document[k + 1] : s->n;
}

/* Of documents [k, end), which stay together: as vkt__pack_windows and vkt__pack_pairs do. */
static uint64_t tokens_kept(const vkt__shard *s, uint64_t k, uint64_t end, uint64_t most,
                            vkt_too_long too_long)
{
    uint64_t sum = 0;
    for (; k < end; k++) {
        uint64_t length = document_end(s, k) - s->document[k];
        if (length > most && too_long == VKT_TOO_LONG_SKIP) return 0;
        sum += VKT_MIN(length, most);
    }
    return sum;
}

/* In groups of `each`, of whose documents windows keep up to `most` tokens. */
static vkt_status list_documents(const vkt__shard *shard, uint32_t n_shards, uint64_t each,
                                 uint64_t most, vkt_too_long too_long, piece **out, size_t *n)
{
    vkt_status st;
    VKT_TRY(vkt__alloc_large(vkt__count_documents(shard, n_shards), sizeof **out, "the documents",
                             out));
    for (uint32_t i = 0; i < n_shards; i++) {
        const vkt__shard *s = &shard[i];
        for (uint64_t k = 0; k < s->n_documents; k += each) {
            uint64_t last = VKT_MIN(k + each, s->n_documents);
            (*out)[(*n)++] =
                (piece) { i, s->document[k], document_end(s, last - 1) - s->document[k],
                          tokens_kept(s, k, last, most, too_long), VKT_SPLIT_TRAIN };
        }
    }
fail:
    return st;
}

/* Gives the split documents of the order until it has its share of the tokens; one that would go
 * too far is passed over, and one of no window. Never the last that is left to train on. */
static void deal(piece *p, const uint32_t *order, size_t n, vkt_split split, double share,
                 uint64_t total, size_t *n_train)
{
    double want = share * (double)total, have = 0;
    for (size_t i = 0; *n_train > 1 && i < n; i++) {
        piece *d = &p[order[i]];
        if (d->split != VKT_SPLIT_TRAIN || !d->kept || have + (double)d->kept / 2 > want) continue;
        d->split = (uint8_t)split;
        have += (double)d->kept;
        (*n_train)--;
    }
}

static vkt_status deal_documents(piece *p, size_t n, const vkt_data_desc *desc)
{
    vkt_status st;
    uint32_t *order = NULL;
    uint64_t total = 0;
    size_t n_train = 0;
    VKT_TRY(vkt__alloc_large(n, sizeof *order, "the documents", &order));
    for (size_t i = 0; i < n; i++) {
        uint32_t j = vkt_rand_below(desc->seed, VKT_RNG_SPLIT, i, (uint32_t)i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
        total += p[i].kept;
        n_train += p[i].kept > 0;
    }
    deal(p, order, n, VKT_SPLIT_TEST, desc->test_fraction, total, &n_train);
    deal(p, order, n, VKT_SPLIT_VALID, desc->valid_fraction * (1 - desc->test_fraction), total,
         &n_train);
fail:
    free(order);
    return st;
}

/* A single document is cut into training, validation and test text, in this order. */
static size_t cut_document(piece p[3], const vkt_data_desc *desc)
{
    const piece whole = p[0];
    uint64_t n_test = (uint64_t)((double)whole.n * desc->test_fraction),
             n_valid = (uint64_t)((double)(whole.n - n_test) * desc->valid_fraction),
             n_train = whole.n - n_test - n_valid;
    p[0] = (piece) { whole.shard, whole.first, n_train, n_train, VKT_SPLIT_TRAIN };
    p[1] = (piece) { whole.shard, whole.first + n_train, n_valid, n_valid, VKT_SPLIT_VALID };
    p[2] = (piece) { whole.shard, whole.first + n_train + n_valid, n_test, n_test, VKT_SPLIT_TEST };
    return 3;
}

/* Runs of neighbouring documents of a split become one span. */
static vkt_status collect(vkt__dealt *c, const piece *p, size_t n, vkt_split split)
{
    vkt_status st;
    size_t n_spans = 0;
    const piece *last = NULL;
    for (size_t i = 0; i < n; i++) n_spans += p[i].split == split;
    VKT_TRY(vkt__alloc_large(n_spans, sizeof(vkt__span), "the split", &c->span[split]));
    for (size_t i = 0; i < n; i++) {
        if (p[i].split != split || p[i].n == 0) continue;
        if (last && last->shard == p[i].shard && last->first + last->n == p[i].first)
            c->span[split][c->n_spans[split] - 1].n += p[i].n;
        else
            c->span[split][c->n_spans[split]++] =
                (vkt__span) { c->n_tokens[split], p[i].first, p[i].n, p[i].shard };
        c->n_tokens[split] += p[i].n;
        last = &p[i];
    }
fail:
    return st;
}

vkt_status vkt__deal(const vkt__shard *shard, uint32_t n_shards, bool pairs, bool whole,
                     const vkt_data_desc *desc, vkt__dealt *out)
{
    vkt_status st;
    const uint64_t each = pairs ? 2 : 1; /* the two of a pair stay together */
    const uint64_t most = whole ? (uint64_t)desc->context + 1 : UINT64_MAX;
    piece *p = NULL, cut[3];
    const piece *dealt = NULL;
    size_t n = 0;
    VKT_TRY(list_documents(shard, n_shards, each, most, desc->too_long, &p, &n));
    if (n >= UINT32_MAX) {
        st = vkt__fail(VKT_E_FORMAT, "data", "%zu documents are too many: at most 2^32 can be read",
                       n);
        goto fail;
    }
    if (n == 1 && !whole) {
        cut[0] = p[0];
        n = cut_document(cut, desc);
        dealt = cut;
    } else {
        VKT_TRY(deal_documents(p, n, desc));
        dealt = p;
    }
    for (int s = 0; s < VKT_N_SPLITS; s++) VKT_TRY(collect(out, dealt, n, (vkt_split)s));
fail:
    free(p);
    return st;
}
