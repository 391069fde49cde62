/* Text from a trained language model: one (vkt_generate), or several side by side (vkt_writer). */
#include <jansson.h>

#include "data/text/tokenizer_chat.h"
#include "data/text/turns.h"
#include "train/language/text_model.h"
#include "train/language/text_stream.h"

/* The prompt as a conversation of one question. */
static vkt_status ask(vkt__text_model *s, const vkt_generate_desc *d)
{
    vkt_status st = VKT_OK;
    vkt__turns turns = { 0 };
    if (d->system) VKT_TRY(vkt__turns_add(&turns, "system", d->system));
    VKT_TRY(vkt__turns_add(&turns, "user", d->prompt ? d->prompt : ""));
    VKT_TRY(vkt__turns_prompt(&turns, s->tokenizer, d->control, &s->tokens));
fail:
    vkt__turns_finish(&turns);
    return st;
}

vkt_status vkt_generate(const vkt_generate_desc *d, vkt_generate_result *out)
{
    vkt_status st = VKT_OK;
    vkt__text_model s = { 0 };
    *out = (vkt_generate_result) { 0 };
    VKT_TRY(vkt__text_model_open(&d->model, &s));
    if (d->chat)
        VKT_TRY(ask(&s, d));
    else
        VKT_TRY(vkt__prompt_tokens(s.tokenizer, d->prompt, d->control, &s.tokens));
    VKT_TRY(vkt__text_model_continue(&s, "prompt", d, out));
fail:
    vkt__text_model_close(&s);
    return st;
}

/* ---- several ---- */

typedef struct {
    vkt_generator *generator;
    vkt_tokens tokens;
    vkt__text stream;
} text;

struct vkt_writer {
    vkt__text_model model; /* whose generator is that of the first text */
    text *text;            /* [info.n_texts] */
    vkt_writer_info info;
};

vkt_status vkt_writer_open(const vkt_text_desc *desc, uint32_t n_texts, vkt_writer **out)
{
    vkt_status st;
    vkt_writer *w = *out = vkt__alloc(sizeof *w);
    w->text = vkt__alloc(n_texts * sizeof *w->text);
    VKT_TRY(vkt__text_model_open(desc, &w->model));
    for (; w->info.n_texts < n_texts; w->info.n_texts++) {
        text *t = &w->text[w->info.n_texts];
        t->generator = w->info.n_texts ? NULL : w->model.generator;
        if (!t->generator) VKT_TRY(vkt__text_model_generator(&w->model, &t->generator));
    }
    vkt_generator_reset(w->model.generator);
    w->info.context = vkt_generator_left(w->model.generator);
    w->info.has_template = vkt__tokenizer_has_template(w->model.tokenizer);
    return VKT_OK;
fail:
    vkt_writer_close(out);
    return st;
}

void vkt_writer_close(vkt_writer **pw)
{
    vkt_writer *w = *pw;
    if (!w) return;
    for (uint32_t i = 0; i < w->info.n_texts; i++) {
        vkt__text_finish(&w->text[i].stream);
        free(w->text[i].tokens.id);
        if (i) vkt_generator_destroy(&w->text[i].generator);
    }
    free(w->text);
    vkt__text_model_close(&w->model);
    free(w);
    *pw = NULL;
}

const vkt_writer_info *vkt_writer_get_info(const vkt_writer *w)
{
    return &w->info;
}

static vkt_status conversation_tokens(vkt_writer *w, const char *messages, bool control,
                                      vkt_tokens *out)
{
    json_error_t e;
    vkt__turns turns = { json_loads(messages, 0, &e) };
    vkt_status st = json_is_array(turns.messages)
                        ? vkt__turns_prompt(&turns, w->model.tokenizer, control, out)
                        : vkt__fail(VKT_E_ARG, "chat", "the messages are no JSON list");
    vkt__turns_finish(&turns);
    return st;
}

vkt_status vkt_writer_begin(vkt_writer *w, uint32_t i, const char *messages,
                            const vkt_generate_desc *desc, uint64_t *n_prompt)
{
    vkt_status st;
    text *t = &w->text[i];
    vkt_generate_desc d = *desc;
    vkt__text_finish(&t->stream);
    t->stream = (vkt__text) { .ended = true };
    t->tokens.n = 0;
    if (messages)
        VKT_TRY(conversation_tokens(w, messages, d.control, &t->tokens));
    else
        VKT_TRY(vkt__prompt_tokens(w->model.tokenizer, d.prompt, d.control, &t->tokens));
    *n_prompt = t->tokens.n;
    if (t->tokens.n >= w->info.context)
        return vkt__fail(VKT_E_ARG, "generate",
                         "the prompt has %zu tokens, the model's context is %u: shorten it",
                         t->tokens.n, w->info.context);
    d.n_tokens = VKT_MIN(d.n_tokens, w->info.context - t->tokens.n);
    vkt__text_begin(&t->stream, t->generator, w->model.tokenizer, &d, &t->tokens);
fail:
    return st;
}

vkt_status vkt_writer_step(vkt_writer *w, uint32_t i, bool *more, bool *complete,
                           vkt_generate_result *out)
{
    vkt__text *s = &w->text[i].stream;
    vkt_status st = vkt__text_step(s);
    if (st != VKT_OK) s->ended = true;
    *more = !s->ended;
    if (complete) *complete = s->complete;
    *out = s->result;
    return st;
}
