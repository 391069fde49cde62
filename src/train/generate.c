/* vkt_generate: text from a trained language model, token by token, given out in whole UTF-8
 * characters. */
#include "base/os.h"
#include "train/options.h"
#include "train/session.h"
#include "train/trained.h"

/* Text that is not given out yet: part of a character, or what may become a stop string. */
typedef struct {
    const vkt_generate_desc *desc;
    vkt__str held;
    bool stopped;
} writer;

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

static void give(writer *w, size_t n)
{
    if (n) w->desc->fn(w->desc->user, w->held.data, n);
    memmove(w->held.data, w->held.data + n, w->held.len - n);
    w->held.len -= n;
}

static void write_token(writer *w, const char *bytes, size_t n)
{
    vkt__str_add(&w->held, bytes, n);
    const char *text = w->held.data;
    size_t len = w->held.len, keep = unfinished(text, len), first = len;
    for (size_t i = 0; i < w->desc->n_stop; i++) {
        const char *stop = w->desc->stop[i];
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

typedef struct {
    vkt__trained trained;
    vkt_tokenizer *tokenizer;
    vkt_gpu *gpu;
    vkt_model *model;
    vkt_generator *generator;
    vkt_tokens tokens; /* prompt and what was generated */
} speaker;

static vkt_status speaker_open(const vkt_generate_desc *d, speaker *s)
{
    vkt_status st = VKT_OK;
    vkt__weights w = { 0 };
    vkt_gpu_desc gpu = d->gpu;
    VKT_TRY(vkt__trained_open(d->checkpoint, &s->trained));
    const vkt_config *c = s->trained.config;
    VKT_TRY(vkt_tokenizer_from_schema(s->trained.ckpt->state.schema, &s->tokenizer));
    if (!gpu.device) gpu.device = c->device;
    VKT_TRY(vkt_gpu_create(&gpu, &s->gpu));
    vkt_model_desc model = { .layers = c->layers,
                             .n_layers = c->n_layers,
                             .input = vkt_shape1(c->data.context),
                             .n_outputs = vkt__trained_n_vocab(&s->trained, s->tokenizer),
                             .source = s->trained.ckpt->dir };
    VKT_TRY(vkt_model_create(s->gpu, &model, &s->model));
    VKT_TRY(vkt__weights_create(s->model, NULL, &w));
    VKT_TRY(vkt__trained_fill(&s->trained, w.model, w.n_model, false));
    VKT_TRY(vkt__weights_upload(s->gpu, s->model, NULL, &w));
    VKT_TRY(vkt_generator_create(s->model, &s->generator));
fail:
    vkt__weights_finish(&w);
    return st;
}

static void speaker_close(speaker *s)
{
    vkt_generator_destroy(&s->generator);
    vkt_model_destroy(&s->model);
    vkt_gpu_destroy(&s->gpu);
    vkt_tokenizer_destroy(&s->tokenizer);
    vkt__trained_close(&s->trained);
    free(s->tokens.id);
}

/* Without a prompt a text begins as after the end of another, or on a new line. */
static vkt_status take_prompt(const vkt_generate_desc *d, speaker *s)
{
    vkt_status st;
    const char *prompt = d->prompt && d->prompt[0] ? d->prompt : NULL;
    uint32_t end = vkt_tokenizer_get_info(s->tokenizer)->end,
             most = vkt_generator_left(s->generator);
    if (!prompt && end != VKT_NO_TOKEN) {
        s->tokens.id = vkt__alloc(sizeof *s->tokens.id);
        s->tokens.id[0] = end;
        s->tokens.n = s->tokens.cap = 1;
        return VKT_OK;
    }
    if (!prompt) prompt = "\n";
    VKT_TRY(vkt_tokenizer_encode(s->tokenizer, prompt, strlen(prompt), false, &s->tokens));
    if (s->tokens.n > most)
        return vkt__fail(VKT_ARG, "generate",
                         "the prompt has %zu tokens, the model's context is %u: shorten it",
                         s->tokens.n, most);
fail:
    return st;
}

/* The scores after all tokens. Where no position is left, the caches begin anew with the later half
 * of what was there. */
static vkt_status next_scores(speaker *s, uint32_t n_new, const float **scores)
{
    vkt_tokens *t = &s->tokens;
    if (vkt_generator_left(s->generator) < n_new) {
        vkt_generator_reset(s->generator);
        n_new = (uint32_t)VKT_MIN(t->n, VKT_MAX(vkt_generator_left(s->generator) / 2, 1));
    }
    return vkt_generator_feed(s->generator, t->id + t->n - n_new, n_new, scores);
}

vkt_status vkt_generate(const vkt_generate_desc *d, vkt_generate_result *out)
{
    vkt_status st = VKT_OK;
    speaker s = { 0 };
    writer w = { .desc = d };
    *out = (vkt_generate_result) { 0 };
    VKT_TRY(speaker_open(d, &s));
    VKT_TRY(take_prompt(d, &s));
    uint32_t n_new = (uint32_t)s.tokens.n, end = vkt_tokenizer_get_info(s.tokenizer)->end;
    for (uint64_t i = 0; i < d->n_tokens && !w.stopped; i++) {
        const float *scores;
        double before = vkt__now();
        VKT_TRY(next_scores(&s, n_new, &scores));
        uint32_t token =
            vkt_sample(&d->sampler, scores, vkt_tokenizer_get_info(s.tokenizer)->n_vocab,
                       s.tokens.id, (uint32_t)s.tokens.n, i);
        *(i ? &out->tokens_s : &out->prompt_s) += vkt__now() - before;
        if (token == end) break;
        out->n_tokens++;
        n_new = 1;
        s.tokens.id = vkt__grow(s.tokens.id, s.tokens.n, &s.tokens.cap, sizeof *s.tokens.id);
        s.tokens.id[s.tokens.n++] = token;
        size_t n;
        const char *bytes = vkt_tokenizer_bytes(s.tokenizer, token, &n);
        write_token(&w, bytes, n);
    }
    if (!w.stopped) give(&w, w.held.len);
fail:
    vkt__str_finish(&w.held);
    speaker_close(&s);
    return st;
}
