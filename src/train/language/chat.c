/* vkt_chat: a conversation with a trained language model. */
#include <jansson.h>

#include "base/words.h"
#include "data/text/turns.h"
#include "train/language/text_model.h"

struct vkt_chat {
    vkt__text_model speaker;
    vkt__turns turns;
    vkt__str answer; /* in progress */
};

vkt_status vkt_chat_open(const vkt_text_desc *desc, vkt_chat **out)
{
    vkt_chat *c = vkt__alloc(sizeof *c);
    vkt_status st = vkt__text_model_open(desc, &c->speaker);
    *out = c;
    if (st != VKT_OK) vkt_chat_close(out);
    return st;
}

void vkt_chat_close(vkt_chat **pc)
{
    vkt_chat *c = *pc;
    if (!c) return;
    vkt__text_model_close(&c->speaker);
    vkt__turns_finish(&c->turns);
    vkt__str_finish(&c->answer);
    free(c);
    *pc = NULL;
}

static bool has_system(const vkt_chat *c)
{
    const char *role =
        json_string_value(json_object_get(json_array_get(c->turns.messages, 0), "role"));
    return role && !strcmp(role, "system");
}

vkt_status vkt_chat_system(vkt_chat *c, const char *text)
{
    vkt__turns now = { 0 };
    vkt_status st = VKT_OK;
    if (*text) st = vkt__turns_add(&now, "system", text);
    if (st != VKT_OK) return st;
    vkt__turns_finish(&c->turns);
    c->turns = now;
    return VKT_OK;
}

void vkt_chat_reset(vkt_chat *c)
{
    size_t keep = has_system(c);
    while (json_array_size(c->turns.messages) > keep) json_array_remove(c->turns.messages, keep);
}

char *vkt_chat_json(const vkt_chat *c)
{
    json_t *o = json_pack("{s:O}", "messages", c->turns.messages ? c->turns.messages : json_null());
    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    VKT_ASSERT(text);
    return text;
}

typedef struct {
    vkt_chat *chat;
    const vkt_generate_desc *desc;
} listener;

static void on_text(void *user, const char *text, size_t n)
{
    listener *l = user;
    vkt__str_add(&l->chat->answer, text, n);
    if (l->desc->fn) l->desc->fn(l->desc->user, text, n);
}

static bool cancelled(void *user)
{
    const listener *l = user;
    return l->desc->cancelled && l->desc->cancelled(l->desc->user);
}

/* What JSON can hold of an answer: a character that was cut ends it. */
static void keep_answer(vkt_chat *c)
{
    size_t n;
    vkt__str_add(&c->answer, "", 0);
    if (!vkt__utf8_ok(c->answer.data, c->answer.len, &n)) c->answer.data[n] = 0;
    VKT_ASSERT(vkt__turns_add(&c->turns, "assistant", c->answer.data) == VKT_OK);
}

vkt_status vkt_chat_answer(vkt_chat *c, const char *message, const vkt_generate_desc *d,
                           vkt_generate_result *out)
{
    vkt_status st;
    listener l = { c, d };
    vkt_generate_desc mine = *d;
    size_t before = json_array_size(c->turns.messages);
    *out = (vkt_generate_result) { 0 };
    mine.fn = on_text;
    mine.cancelled = cancelled;
    mine.user = &l;
    c->answer.len = 0;
    VKT_TRY(vkt__turns_add(&c->turns, "user", message));
    VKT_TRY(vkt__turns_prompt(&c->turns, c->speaker.tokenizer, d->control, &c->speaker.tokens));
    VKT_TRY(vkt__text_model_continue(&c->speaker, "conversation", &mine, out));
    keep_answer(c);
    return VKT_OK;
fail:
    while (json_array_size(c->turns.messages) > before)
        json_array_remove(c->turns.messages, before);
    return st;
}
