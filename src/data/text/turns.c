/* turns.h */
#include <jansson.h>

#include "base/os.h"
#include "data/chat/render.h"
#include "data/text/tokenizer_chat.h"
#include "data/text/turns.h"

vkt_status vkt__turns_add(vkt__turns *t, const char *role, const char *content)
{
    json_t *m = json_pack("{s:s, s:o*}", "role", role, "content", json_string(content));
    if (!json_object_get(m, "content")) {
        json_decref(m);
        return vkt__fail(VKT_E_ARG, "chat", "the message is not UTF-8");
    }
    if (!t->messages) t->messages = json_array();
    json_array_append_new(t->messages, m);
    return VKT_OK;
}

void vkt__turns_finish(vkt__turns *t)
{
    json_decref(t->messages);
    t->messages = NULL;
}

vkt_status vkt__turns_prompt(const vkt__turns *t, vkt_tokenizer *tokenizer, bool control,
                             vkt_tokens *out)
{
    vkt_status st;
    const vkt__chat *chat;
    vkt__chat_text text = { 0 };
    vkt__conversation v = { .messages = t->messages, .now = vkt__time_unix() };
    if (!vkt__tokenizer_has_template(tokenizer))
        vkt_log(VKT_LOG_WARN, "chat",
                "the model has no chat template: one is taken that suits its control tokens");
    VKT_TRY(vkt__tokenizer_chat(tokenizer, &chat));
    VKT_TRY(vkt__chat_prompt(chat, &v, control, &text));
    out->n = 0;
    VKT_TRY(vkt__tokenizer_encode_chat(tokenizer, &text, out));
fail:
    vkt__chat_text_finish(&text);
    return st;
}
