/* render.h */
#include <jansson.h>

#include "base/words.h"
#include "data/chat/guard.h"
#include "data/chat/render.h"

const vkt__template *vkt__chat_template(const vkt__chat *c, const vkt__conversation *v)
{
    return v->tools && c->tool_template ? c->tool_template : c->template;
}

vkt_status vkt__chat_render(const vkt__chat *c, const vkt__conversation *v, const json_t *messages,
                            size_t n, bool prompt, vkt__rendered *out)
{
    static const char *const names[] = { "bos_token", "eos_token", "pad_token", "unk_token" };
    json_t *o = json_object(), *some = json_array();
    for (size_t i = 0; i < n; i++) json_array_append(some, json_array_get(messages, i));
    json_object_set_new(o, "messages", some);
    json_object_set_new(o, "tools",
                        v->tools ? json_incref((json_t *)(uintptr_t)v->tools) : json_null());
    json_object_set_new(o, "documents", json_null());
    json_object_set_new(o, "add_generation_prompt", json_boolean(prompt));
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        json_t *token = json_object_get(c->settings, names[i]);
        if (json_is_string(token)) json_object_set(o, names[i], token);
    }
    vkt_status st = vkt__template_render(vkt__chat_template(c, v), o, v->now, out);
    json_decref(o);
    return st;
}

vkt_status vkt__chat_guard(const vkt__chat *c, const vkt__conversation *v, json_t **messages,
                           json_t **tools)
{
    *messages = vkt__guard_messages(c, v->messages);
    *tools = v->tools ? vkt__guard_value(c, v->tools) : NULL;
    if (*messages && (*tools || !v->tools)) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "data",
                     "a message has a noncharacter of U+FDD0 to U+FDD4, or is more than 100 deep");
}

vkt_status vkt__chat_prompt(const vkt__chat *c, const vkt__conversation *v, bool control,
                            vkt__chat_text *out)
{
    vkt_status st = VKT_OK;
    json_t *messages = NULL, *tools = NULL;
    vkt__conversation mine = *v;
    out->n = 0;
    if (control)
        messages = json_incref((json_t *)(uintptr_t)v->messages);
    else
        VKT_TRY(vkt__chat_guard(c, v, &messages, &tools));
    if (tools) mine.tools = tools;
    VKT_TRY(vkt__chat_render(c, &mine, messages, json_array_size(messages), true, &out->rendered));
    vkt__guard_stretches(c, out, 0, out->rendered.text.len, false);
fail:
    json_decref(messages);
    json_decref(tools);
    return st;
}
