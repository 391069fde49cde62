/* text_stream.h */
#include "base/os.h"
#include "tokenizers/tokenizer_around.h"
#include "data/text/tokenizer_chat.h"
#include "train/language/text_stream.h"

/* Bytes at the end that are the beginning of a character and not all of it. */
static size_t unfinished(const char *text, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)text[n - back];
        if ((c & 0xc0) == 0x80) continue;
        size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return whole > back ? back : 0;
    }
    return 0;
}

/* Bytes at the end with which `stop` begins. */
static size_t begun(const char *text, size_t n, const char *stop)
{
    for (size_t k = VKT_MIN(n, strlen(stop)); k > 0; k--)
        if (!memcmp(text + n - k, stop, k)) return k;
    return 0;
}

static void give(vkt__text *w, size_t n)
{
    if (!n) return; /* nothing may be held yet: then there is no data to move */
    w->desc.fn(w->desc.user, w->held.data, n);
    memmove(w->held.data, w->held.data + n, w->held.len - n);
    w->held.len -= n;
}

static void write_token(vkt__text *w, const char *bytes, size_t n)
{
    vkt__str_add(&w->held, bytes, n);
    const char *text = w->held.data;
    size_t len = w->held.len, keep = unfinished(text, len), first = len;
    for (size_t i = 0; i < w->desc.n_stop; i++) {
        const char *stop = w->desc.stop[i];
        for (size_t at = 0, k = strlen(stop); k && at + k <= len; at++)
            if (!memcmp(text + at, stop, k)) {
                first = VKT_MIN(first, at);
                w->stopped = true;
                break;
            }
        keep = VKT_MAX(keep, begun(text, len, stop));
    }
    give(w, w->stopped ? first : len - keep);
}

/* Without a prompt, and where the tokenizer puts no token before it, a text begins as after the end
 * of another, or on a new line; or, where the vocabulary has neither, with its first token: of
 * characters the lowest, mostly white space. */
static uint32_t first_token(const vkt_tokenizer *t)
{
    uint32_t end = vkt_tokenizer_get_info(t)->end, line = vkt_tokenizer_find(t, "\n");
    return end != VKT_NO_TOKEN ? end : line != VKT_NO_TOKEN ? line : 0;
}

vkt_status vkt__prompt_tokens(vkt_tokenizer *t, const char *prompt, bool control, vkt_tokens *out)
{
    if (prompt && *prompt) return vkt__around_encode(t, prompt, strlen(prompt), control, out);
    if (t->n_around[0]) return vkt__around_add(t, false, out);
    out->id = vkt__grow(out->id, out->n, &out->cap, sizeof *out->id);
    out->id[out->n++] = first_token(t);
    return VKT_OK;
}

/* The logits after all tokens. If no position is left, the caches are rebuilt from the later half
 * of the tokens. */
static vkt_status next_scores(vkt_generator *g, const vkt_tokens *t, uint32_t n_new,
                              const float **scores)
{
    if (vkt_generator_left(g) < n_new) {
        vkt_generator_reset(g);
        n_new = (uint32_t)VKT_MIN(t->n, VKT_MAX(vkt_generator_left(g) / 2, 1));
    }
    return vkt_generator_feed(g, t->id + t->n - n_new, n_new, scores);
}

void vkt__text_begin(vkt__text *s, vkt_generator *g, const vkt_tokenizer *tokenizer,
                     const vkt_generate_desc *desc, vkt_tokens *tokens)
{
    *s = (vkt__text) { .generator = g,
                       .tokenizer = tokenizer,
                       .desc = *desc,
                       .tokens = tokens,
                       .n_new = (uint32_t)tokens->n };
    vkt_generator_reset(g);
}

static void end(vkt__text *s, bool complete)
{
    if (!s->stopped) give(s, s->held.len);
    s->ended = true;
    s->complete = complete;
}

vkt_status vkt__text_step(vkt__text *s)
{
    const vkt_generate_desc *d = &s->desc;
    vkt_tokens *t = s->tokens;
    uint64_t i = s->result.n_tokens;
    const float *scores;
    if (s->ended) return VKT_OK;
    if (i == d->n_tokens || s->stopped || (d->cancelled && d->cancelled(d->user))) {
        end(s, s->stopped);
        return VKT_OK;
    }
    double before = vkt__now();
    vkt_status st = next_scores(s->generator, t, s->n_new, &scores);
    if (st != VKT_OK) return st;
    uint32_t n_vocab = vkt_tokenizer_get_info(s->tokenizer)->n_vocab;
    uint32_t token = vkt_sample(&d->sampler, scores, n_vocab, t->id, (uint32_t)t->n, i);
    *(i ? &s->result.tokens_s : &s->result.prompt_s) += vkt__now() - before;
    if (vkt__tokenizer_ends(s->tokenizer, token)) {
        end(s, true);
        return VKT_OK;
    }
    s->result.n_tokens++;
    s->n_new = 1;
    t->id = vkt__grow(t->id, t->n, &t->cap, sizeof *t->id);
    t->id[t->n++] = token;
    size_t n;
    const char *bytes = vkt_tokenizer_bytes(s->tokenizer, token, &n);
    write_token(s, bytes, n);
    return VKT_OK;
}

void vkt__text_finish(vkt__text *s)
{
    vkt__str_finish(&s->held);
}

vkt_status vkt__text_stream(vkt_generator *g, const vkt_tokenizer *tokenizer,
                            const vkt_generate_desc *d, vkt_tokens *t, vkt_generate_result *out)
{
    vkt_status st = VKT_OK;
    vkt__text s;
    vkt__text_begin(&s, g, tokenizer, d, t);
    while (st == VKT_OK && !s.ended) st = vkt__text_step(&s);
    *out = s.result;
    vkt__text_finish(&s);
    return st;
}
