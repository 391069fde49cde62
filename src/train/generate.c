/* vkt_generate: text from a trained language model. */
#include "data/text/turns.h"
#include "train/text_model.h"
#include "train/text_stream.h"

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
    VKT_TRY(vkt__text_model_open(&d->gpu, d->checkpoint, &s));
    if (d->chat)
        VKT_TRY(ask(&s, d));
    else
        VKT_TRY(vkt__prompt_tokens(s.tokenizer, d->prompt, d->control, &s.tokens));
    VKT_TRY(vkt__text_model_continue(&s, "prompt", d, out));
fail:
    vkt__text_model_close(&s);
    return st;
}
