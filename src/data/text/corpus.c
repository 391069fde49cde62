/* The corpus: tokens dealt to the splits by whole documents, and each split as windows. Training
 * windows of an epoch do not overlap, so an epoch sees a token at most once; where they begin
 * shifts from epoch to epoch, so that a token does not always stand at the same place of its
 * window. */
#include <stdio.h>

#include "data/parts/parts.h"
#include "data/text/corpus.h"
#include "data/text/document.h"
#include "data/text/documents.h"
#include "data/text/shard.h"
#include "data/text/store.h"
#include "data/text/tokenizer_chat.h"
#include "tokenizers/vocabulary.h"
#include "tokenizers/tokenizer_json.h"

void vkt__corpus_destroy(vkt__corpus **pc)
{
    vkt__corpus *c = *pc;
    if (!c) return;
    vkt_tokenizer_destroy(&c->tokenizer);
    vkt__store_finish(&c->store);
    vkt__spill_finish(&c->spill);
    for (uint32_t i = 0; i < c->n_shards; i++) vkt__shard_close(&c->shard[i]);
    free(c->shard);
    for (int i = 0; i < VKT_N_SPLITS; i++) free(c->dealt.span[i]), free(c->window[i]);
    free(c);
    *pc = NULL;
}

/* ---- windows ---- */

/* The first of the shard's documents that begins after its token `at`. */
static uint64_t document_after(const vkt__shard *s, uint64_t at)
{
    uint64_t low = 0, high = s->n_documents;
    while (low < high) {
        uint64_t mid = (low + high) / 2;
        if (s->document[mid] <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Where the documents of a split begin in its stream, and its end: [*n + 1]. */
static uint64_t *list_begins(const vkt__corpus *c, vkt_split split, size_t *n)
{
    uint64_t *begin = NULL;
    size_t cap = 0;
    *n = 0;
    for (size_t i = 0; i < c->dealt.n_spans[split]; i++) {
        const vkt__span *span = &c->dealt.span[split][i];
        const vkt__shard *s = &c->shard[span->shard];
        begin = vkt__grow(begin, *n, &cap, sizeof *begin);
        begin[(*n)++] = span->at;
        for (uint64_t k = document_after(s, span->first);
             k < s->n_documents && s->document[k] < span->first + span->n; k++) {
            begin = vkt__grow(begin, *n, &cap, sizeof *begin);
            begin[(*n)++] = span->at + s->document[k] - span->first;
        }
    }
    begin = vkt__grow(begin, *n, &cap, sizeof *begin);
    begin[*n] = c->dealt.n_tokens[split];
    return begin;
}

/* Whether windows hold whole documents: if requested, and of conversations. */
static bool packs_whole(const vkt__corpus *c, vkt_packing packing)
{
    bool whole = packing == VKT_PACKING_WHOLE || c->pairs;
    for (uint32_t i = 0; i < c->n_shards && packing == VKT_PACKING_AUTO; i++)
        whole = whole || c->shard[i].uncounted;
    return whole;
}

static vkt_status make_windows(vkt__corpus *c, vkt_too_long too_long, const char *name)
{
    vkt_status st = VKT_OK;
    for (int split = 0; split < VKT_N_SPLITS && c->whole && st == VKT_OK; split++) {
        size_t n;
        uint64_t *begin = list_begins(c, (vkt_split)split, &n);
        st = (c->pairs ? vkt__pack_pairs : vkt__pack_windows)(begin, n, c->context, too_long,
                                                              vkt__show(name).s, &c->window[split],
                                                              &c->n_windows[split]);
        free(begin);
    }
    return st;
}

/* Training windows leave a context's length to shift in, where there is more than one. */
static uint64_t count_windows(const vkt__corpus *c, vkt_split split)
{
    uint64_t n = c->dealt.n_tokens[split];
    if (c->whole) return c->n_windows[split];
    if (n < 2) return 0;
    if (split != VKT_SPLIT_TRAIN) return (n - 1 + c->context - 1) / c->context;
    return n - 1 < c->context ? 0 : VKT_MAX(n / c->context, 2) - 1;
}

uint64_t vkt__corpus_shift(const vkt__corpus *c, vkt_split split, uint64_t seed, uint64_t epoch)
{
    uint64_t used = count_windows(c, split) * c->context + 1, n = c->dealt.n_tokens[split];
    if (c->whole) return 0;
    if (split != VKT_SPLIT_TRAIN || used >= n) return 0;
    uint64_t room = VKT_MIN(n - used + 1, c->context);
    return vkt_rand_below(seed, VKT_RNG_SAMPLE, epoch, (uint32_t)room);
}

/* The span that holds token `at` of the split's stream. */
static const vkt__span *span_of(const vkt__corpus *c, vkt_split split, uint64_t at)
{
    const vkt__span *span = c->dealt.span[split];
    size_t low = 0, high = c->dealt.n_spans[split];
    while (high - low > 1) {
        size_t mid = (low + high) / 2;
        if (span[mid].at <= at)
            low = mid;
        else
            high = mid;
    }
    return span + low;
}

/* Tokens [at, at + n) of the split's stream; `counts` (may be NULL) which of them do. */
static void copy_tokens(const vkt__corpus *c, vkt_split split, uint64_t at, uint64_t n,
                        uint32_t *out, bool *counts)
{
    const vkt__span *span = span_of(c, split, at);
    for (uint64_t k = 0; k < n; span++) {
        const vkt__shard *s = &c->shard[span->shard];
        uint64_t skip = at + k - span->at, here = VKT_MIN(span->n - skip, n - k),
                 from = span->first + skip;
        for (uint64_t i = 0; i < here; i++) {
            uint64_t p = from + i;
            out[k + i] =
                s->width == 2 ? ((const uint16_t *)s->tokens)[p] : ((const uint32_t *)s->tokens)[p];
            if (counts) counts[k + i] = !s->uncounted || !(s->uncounted[p / 8] >> p % 8 & 1);
        }
        k += here;
    }
}

uint32_t vkt__corpus_first(const vkt__corpus *c, vkt_split split, uint32_t most, uint32_t *tokens,
                           bool *counts)
{
    if (!c->dealt.n_tokens[split]) return 0;
    const vkt__span *span = c->dealt.span[split];
    const vkt__shard *s = &c->shard[span->shard];
    uint64_t k = document_after(s, span->first),
             end = k < s->n_documents ? s->document[k] : span->first + span->n,
             n = VKT_MIN(VKT_MIN(end - span->first, span->n), most);
    copy_tokens(c, split, 0, n, tokens, counts);
    return (uint32_t)n;
}

bool vkt__corpus_counts_all(const vkt__corpus *c)
{
    bool all = !c->pairs;
    for (uint32_t i = 0; i < c->n_shards; i++) all = all && !c->shard[i].uncounted;
    return all;
}

/* Where the documents of tokens [at, at + n) begin, counted from `at`. Spans hold whole documents,
 * so each one's first token begins one, or the window does. */
static void find_documents(const vkt__corpus *c, vkt_split split, uint64_t at, uint32_t n,
                           uint32_t *out)
{
    const vkt__span *span = span_of(c, split, at);
    for (uint32_t k = 0; k < n; span++) {
        const vkt__shard *s = &c->shard[span->shard];
        uint64_t skip = at + k - span->at, from = span->first + skip,
                 next = document_after(s, from);
        uint32_t here = (uint32_t)VKT_MIN(span->n - skip, n - k), begin = k;
        for (uint32_t end = k + here; k < end; k++, from++) {
            for (; next < s->n_documents && s->document[next] <= from; next++) begin = k;
            out[k] = begin;
        }
    }
}

/* Fills tokens and targets [context] from the stream at `at`, which has `left` tokens more; the
 * first *n are the stream's, the rest is padding. Returns how many targets count. */
static uint32_t take_window(const vkt__corpus *c, vkt_split split, uint64_t at, uint64_t left,
                            uint32_t context, uint32_t *tokens, uint32_t *targets, uint32_t *n)
{
    uint32_t n_counted = 0;
    *n = (uint32_t)VKT_MIN(left - 1, context);
    bool stack[1024], *counts = *n <= VKT_COUNT(stack) ? stack : vkt__alloc(*n);
    copy_tokens(c, split, at, *n, tokens, NULL);
    copy_tokens(c, split, at + 1, *n, targets, counts);
    for (uint32_t k = 0; k < *n; k++) {
        if (!counts[k]) targets[k] = VKT_NO_TOKEN;
        n_counted += counts[k];
    }
    for (uint32_t k = *n; k < context; k++) tokens[k] = 0, targets[k] = VKT_NO_TOKEN;
    if (counts != stack) free(counts);
    return n_counted;
}

/* One after the other, each with places of its own. */
static uint32_t take_pair(const vkt__corpus *c, vkt_split split, const vkt__window *w,
                          uint32_t *tokens, uint32_t *targets, uint32_t *documents)
{
    uint32_t n_counted = 0, n;
    for (uint32_t side = 0, first = 0; side < 2; side++, first += c->context) {
        n_counted += take_window(c, split, w[side].at, w[side].n, c->context, tokens + first,
                                 targets + first, &n);
        for (uint32_t k = 0; documents && k < c->context; k++) documents[first + k] = k < n ? 0 : n;
    }
    return n_counted;
}

uint32_t vkt__corpus_window(const vkt__corpus *c, vkt_split split, uint64_t i, uint64_t shift,
                            uint32_t *tokens, uint32_t *targets, uint32_t *documents)
{
    if (c->pairs) return take_pair(c, split, &c->window[split][2 * i], tokens, targets, documents);
    const vkt__window *w = c->whole ? &c->window[split][i] : NULL;
    uint64_t at = w ? w->at : i * c->context + shift;
    uint32_t n, n_counted = take_window(c, split, at, w ? w->n : c->dealt.n_tokens[split] - at,
                                        c->context, tokens, targets, &n);
    if (documents) {
        find_documents(c, split, at, n, documents);
        for (uint32_t k = n; k < c->context; k++) documents[k] = n; /* the padding's own */
    }
    return n_counted;
}

/* ---- text ---- */

static vkt_status add_document(void *user, const vkt__document *d)
{
    vkt__corpus *c = user;
    return vkt__store_add(&c->store, c->tokenizer, d);
}

/* Tokens of a text that are kept in memory; more are in a file of the cache's. */
enum { MOST_IN_MEMORY = 1 << 24 };

static vkt_status encode_source(vkt__corpus *c, const vkt__source *s)
{
    vkt_status st;
    vkt__store *p = &c->store;
    p->out = vkt__spill_put;
    p->user = &c->spill;
    p->most = MOST_IN_MEMORY;
    vkt__spill_init(&c->spill, c->tokenizer->info.n_vocab);
    VKT_TRY(vkt__documents_read(s, c->tokenizer, add_document, c));
    for (uint64_t i = 0; i < p->n_documents && c->pairs; i++) {
        uint64_t end = i + 1 < p->n_documents ? p->document[i + 1] : vkt__store_count(p);
        if (end > p->document[i]) continue;
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s': an answer of preference %llu has no tokens",
                       vkt__show(s->name).s, (unsigned long long)i / 2 + 1);
        goto fail;
    }
    bool spilled = p->n_out > 0;
    if (spilled) {
        VKT_TRY(vkt__store_hand_over(p));
        VKT_TRY(vkt__spill_end(&c->spill));
        free(p->tokens.id);
        p->tokens = (vkt_tokens) { 0 };
    }
    c->hash =
        spilled ? c->spill.hash : vkt__hash(p->tokens.id, p->tokens.n * sizeof *p->tokens.id, 0);
    c->shard = vkt__alloc(sizeof *c->shard);
    c->n_shards = 1;
    c->shard[0] = (vkt__shard) { .tokens = spilled ? c->spill.map.data : p->tokens.id,
                                 .width = spilled ? c->spill.width : 4,
                                 .n = vkt__store_count(p),
                                 .document = p->document,
                                 .n_documents = p->n_documents,
                                 .uncounted = p->uncounted };
    if (p->uncounted) c->hash = vkt__hash(p->uncounted, (c->shard[0].n + 7) / 8, c->hash);
fail:
    return st;
}

/* ---- shards on disk ---- */

/* The requested tokenizer, or the shard's own; if there are both, they must be equal. */
static vkt_status shard_tokenizer(vkt__corpus *c, const vkt__shard *s, const char *path,
                                  const char *spec, const vkt__source *from)
{
    vkt_status st = VKT_OK;
    if (!spec && !s->tokenizer)
        return vkt__fail(
            VKT_E_ARG, "data",
            "'%s' is a shard of llm.c, which does not name its tokenizer: set data.tokenizer",
            vkt__show(path).s);
    bool fresh = !c->tokenizer;
    if (spec && fresh) VKT_TRY(vkt_tokenizer_open(spec, &c->tokenizer));
    if (!c->tokenizer)
        VKT_TRY(
            vkt__tokenizer_parse_json(s->tokenizer, (size_t)s->n_tokenizer, path, &c->tokenizer));
    if (fresh && from->added) VKT_TRY(vkt__tokenizer_extend(&c->tokenizer, from->added));
    if (s->tokenizer && s->tokenizer_hash != c->tokenizer->info.hash)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' was packed with another tokenizer than %s: pack it again, or leave "
                         "out data.tokenizer",
                         vkt__show(path).s,
                         spec          ? vkt__show(spec).s
                         : c->n_shards ? "the shards before it"
                                       : "the model was trained with");
fail:
    return st;
}

static vkt_status open_shards(vkt__corpus *c, const char *const *path, uint32_t n, const char *spec,
                              const vkt__source *from)
{
    vkt_status st = VKT_OK;
    c->shard = vkt__alloc(n * sizeof *c->shard);
    for (; c->n_shards < n; c->n_shards++) {
        vkt__shard *s = &c->shard[c->n_shards];
        const char *name = path[c->n_shards];
        VKT_TRY(vkt__shard_open(name, s));
        st = shard_tokenizer(c, s, name, spec, from);
        if (st == VKT_OK) st = vkt__shard_check(s, name, c->tokenizer->info.n_vocab);
        if (st == VKT_OK && !s->document) st = vkt__shard_find_documents(s, c->tokenizer->info.end);
        if (st != VKT_OK) {
            vkt__shard_close(s);
            goto fail;
        }
        c->hash = vkt__hash(&s->content_hash, sizeof s->content_hash, c->hash);
    }
fail:
    return st;
}

/* ---- opening ---- */

/* Reads the source's tokens: those of shards, else of text by `spec`, or by the tokenizer that is
 * there. */
static vkt_status read_tokens(vkt__corpus *c, const vkt__source *s, const char *spec)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    const char **shards = NULL;
    uint32_t n = 0;
    if (!s->text) VKT_TRY(vkt__shards_list(s->path[0], &a, &shards, &n));
    if (n && c->pairs) {
        st = vkt__fail(VKT_E_ARG, "data",
                       "'%s' is packed, but pairs of answers are read from JSON lines", s->name);
    } else if (n) {
        VKT_TRY(open_shards(c, shards, n, spec, s));
    } else {
        if (!c->tokenizer) {
            VKT_TRY(vkt__documents_tokenizer(s, spec ? spec : "bytes", &c->tokenizer));
            if (s->added) VKT_TRY(vkt__tokenizer_extend(&c->tokenizer, s->added));
        }
        if (s->template) VKT_TRY(vkt__tokenizer_take_template(c->tokenizer, s->template));
        VKT_TRY(encode_source(c, s));
    }
fail:
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt__text_schema(const vkt_tokenizer *t, uint32_t context, uint32_t vocab,
                            vkt__arena *arena, vkt__schema *out)
{
    if (vocab && vocab < t->info.n_vocab)
        return vkt__fail(VKT_E_ARG, "data",
                         "the tokenizer '%s' has %u tokens, the model (data.vocab) %u: use the "
                         "model's own tokenizer",
                         vkt__show(t->info.source).s, t->info.n_vocab, vocab);
    *out = (vkt__schema) {
        .kind = VKT_DATA_KIND_TEXT, .task = VKT_TASK_CLASSIFY, .context = context, .input_rank = 1
    };
    out->input_shape[0] = out->n_inputs = context;
    out->n_outputs = out->vocab = VKT_MAX(t->info.n_vocab, vocab);
    char *json = vkt__tokenizer_kept(t);
    out->tokenizer = vkt__arena_strdup(arena, json);
    free(json);
    return VKT_OK;
}

/* What the data set says of it. */
static void describe(vkt_dataset *ds, const char *name)
{
    const vkt__corpus *c = ds->corpus;
    const vkt_tokenizer_info *t = &c->tokenizer->info;
    uint64_t n_documents = vkt__count_documents(c->shard, c->n_shards), n_tokens = 0;
    for (uint32_t i = 0; i < c->n_shards; i++) n_tokens += c->shard[i].n;
    ds->info.context = ds->info.n_targets = c->context;
    ds->info.pairs = c->pairs;
    ds->info.tokenizer = c->tokenizer;
    for (int i = 0; i < VKT_N_SPLITS; i++) {
        ds->info.n_tokens[i] = c->dealt.n_tokens[i];
        ds->info.n[i] = count_windows(c, (vkt_split)i);
    }
    ds->info.source = vkt__arena_printf(
        &ds->arena, "text %s: %llu document%s, %llu tokens of '%s' (%u in the vocabulary)", name,
        (unsigned long long)n_documents, n_documents == 1 ? "" : "s", (unsigned long long)n_tokens,
        vkt__show(t->source).s, t->n_vocab);
}

static vkt_status check_sizes(const vkt__corpus *c, const vkt_data_desc *desc, const char *name)
{
    const struct {
        vkt_split split;
        const char *key;
        double fraction;
        uint64_t need;
    } rows[] = { { VKT_SPLIT_TRAIN, "valid_fraction", 1, (uint64_t)c->context + 1 },
                 { VKT_SPLIT_VALID, "valid_fraction", desc->valid_fraction, 2 },
                 { VKT_SPLIT_TEST, "test_fraction", desc->test_fraction, 2 } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        uint64_t have = c->dealt.n_tokens[rows[i].split];
        if (c->whole && rows[i].fraction > 0 && !c->n_windows[rows[i].split])
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': the %s split has no conversation: give more, or set data.%s to "
                             "another share",
                             vkt__show(name).s, vkt_split_name(rows[i].split), rows[i].key);
        if (!c->whole && rows[i].fraction > 0 && have < rows[i].need)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': the %s split has %llu tokens, at least %llu are needed%s: give "
                             "more text, or %s "
                             "data.%s",
                             vkt__show(name).s, vkt_split_name(rows[i].split),
                             (unsigned long long)have, (unsigned long long)rows[i].need,
                             i == 0 ? " (data.context and one more)" : "",
                             i == 0 ? "lower data.context or" : "raise, or set to 0,", rows[i].key);
        if (count_windows(c, rows[i].split) > UINT32_MAX)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': the %s split has more than 2^32 windows of %u tokens: raise "
                             "data.context",
                             vkt__show(name).s, vkt_split_name(rows[i].split), c->context);
    }
    return VKT_OK;
}

/* How conversations are read. */
static vkt_status set_chat(vkt__source *s, const vkt_data_desc *desc)
{
    s->pairs = desc->packing == VKT_PACKING_PAIRS;
    s->skip_bad = desc->skip_bad_lines;
    s->skip_long = desc->too_long == VKT_TOO_LONG_SKIP;
    s->template = desc->chat_template;
    s->added = desc->added_tokens;
    s->dated = desc->today != NULL;
    if (s->dated && !vkt__day_seconds(desc->today, &s->now))
        return vkt__fail(VKT_E_ARG, "data", "data.today must be a day such as 2026-01-31, not '%s'",
                         vkt__show(desc->today).s);
    return VKT_OK;
}

static vkt_status open_source(vkt_dataset *ds, const vkt_data_desc *desc, vkt__source s)
{
    vkt_status st;
    vkt__corpus *c = ds->corpus = vkt__alloc(sizeof *c);
    if (desc->context == 0)
        return vkt__fail(VKT_E_ARG, "data", "data.context must be 1 or more tokens");
    c->context = desc->context;
    c->pairs = desc->packing == VKT_PACKING_PAIRS;
    if (c->pairs && c->context < 2)
        return vkt__fail(VKT_E_ARG, "data", "data.context must be 2 or more tokens of preferences");
    VKT_TRY(set_chat(&s, desc));
    VKT_TRY(read_tokens(c, &s, desc->tokenizer));
    VKT_TRY(vkt__text_schema(c->tokenizer, c->context, desc->vocab, &ds->arena, &ds->schema));
    if (desc->document_mask && vkt__count_documents(c->shard, c->n_shards) < 2) {
        st = vkt__fail(VKT_E_ARG, "data",
                       "data.document_mask: %s is one document, so there is nothing to mask: leave "
                       "it out, or give a folder of files, JSON lines or shards",
                       vkt__show(s.name).s);
        goto fail;
    }
    c->whole = packs_whole(c, desc->packing);
    VKT_TRY(vkt__deal(c->shard, c->n_shards, c->pairs, c->whole, desc, &c->dealt));
    VKT_TRY(make_windows(c, desc->too_long, s.name));
    VKT_TRY(check_sizes(c, desc, s.name));
    describe(ds, s.name);
fail:
    return st;
}

vkt_status vkt__corpus_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    return open_source(ds, desc,
                       (vkt__source) { .path = &desc->path, .n_paths = 1, .name = desc->path });
}

vkt_status vkt__novel_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt__source s = { .name = "novel (Pride and Prejudice)" };
    s.text = vkt_embedded("pride-and-prejudice.txt", &s.n_text);
    return open_source(ds, desc, s);
}

/* Any folder may hold texts. */
vkt_likeness vkt__corpus_is(const char *path)
{
    static const char *const ends[] = { ".txt", ".md", ".text", ".jsonl", ".ndjson" };
    if (vkt__shard_at(path)) return VKT_LIKE_CONTENT;
    bool named = vkt__is_dir(path) || vkt__bytes_named(path, ends, VKT_COUNT(ends));
    return named ? VKT_LIKE_NAME : VKT_LIKE_NONE;
}

vkt_status vkt__corpus_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    vkt_status st;
    vkt__corpus *c = ds->corpus = vkt__alloc(sizeof *c);
    ds->info.has_labels = true;
    c->context = ds->schema.context;
    VKT_TRY(vkt__tokenizer_parse_json(ds->schema.tokenizer, strlen(ds->schema.tokenizer),
                                      "the checkpoint's tokenizer", &c->tokenizer));
    VKT_TRY(read_tokens(c, &(vkt__source) { .path = paths, .n_paths = n }, NULL));
    VKT_TRY(vkt__alloc_large(c->n_shards, sizeof(vkt__span), "the split",
                             &c->dealt.span[VKT_SPLIT_TEST]));
    for (uint32_t i = 0; i < c->n_shards; i++) {
        c->dealt.span[VKT_SPLIT_TEST][i] =
            (vkt__span) { .at = c->dealt.n_tokens[VKT_SPLIT_TEST], .n = c->shard[i].n, .shard = i };
        c->dealt.n_tokens[VKT_SPLIT_TEST] += c->shard[i].n;
    }
    c->dealt.n_spans[VKT_SPLIT_TEST] = c->n_shards;
    if (c->dealt.n_tokens[VKT_SPLIT_TEST] < 2) {
        st =
            vkt__fail(VKT_E_FORMAT, "data", "'%s' has %llu tokens: at least 2 are needed",
                      vkt__show(paths[0]).s, (unsigned long long)c->dealt.n_tokens[VKT_SPLIT_TEST]);
        goto fail;
    }
    c->whole = packs_whole(c, VKT_PACKING_AUTO);
    VKT_TRY(make_windows(c, VKT_TOO_LONG_LEFT, paths[0]));
    VKT_TRY(vkt__text_schema(c->tokenizer, c->context, ds->schema.vocab, &ds->arena, &ds->schema));
    describe(ds, paths[0]);
fail:
    return st;
}
