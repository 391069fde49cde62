/* conversation.h */
#include <jansson.h>

#include "base/words.h"
#include "data/chat/conversation.h"

static vkt_status parse(json_t *settings, const char *key, const char *name, vkt__template **out)
{
    const json_t *text = json_object_get(settings, key);
    if (!json_is_string(text)) return VKT_OK;
    return vkt__template_parse(json_string_value(text), json_string_length(text), name, out);
}

static char *copy_of(const char *text)
{
    return strcpy(vkt__alloc(strlen(text) + 1), text);
}

vkt_status vkt__chat_create(json_t *settings, const char *name, const char *const *control,
                            size_t n_control, const char *const *ends, size_t n_ends,
                            vkt__chat **out)
{
    vkt_status st;
    vkt__chat *c = *out = vkt__alloc(sizeof *c);
    VKT_ASSERT(json_is_string(json_object_get(settings, "chat_template")));
    VKT_TRY(parse(settings, "chat_template", name, &c->template));
    VKT_TRY(parse(settings, "tool_use_template", name, &c->tool_template));
    c->settings = json_incref(settings);
    c->control = vkt__alloc((n_control + 1) * sizeof *c->control);
    for (size_t i = 0; i < n_control; i++) {
        if (!*control[i]) continue;
        c->control[c->n_control++] = copy_of(control[i]);
        c->begins[(unsigned char)*control[i]] = true;
    }
    c->end = vkt__alloc((n_ends + 2) * sizeof *c->end);
    for (size_t i = 0; i < n_ends; i++)
        if (*ends[i]) c->end[c->n_ends++] = copy_of(ends[i]);
    const char *eos = json_string_value(json_object_get(settings, "eos_token"));
    if (eos && *eos) c->end[c->n_ends++] = copy_of(eos);
    return VKT_OK;
fail:
    vkt__chat_destroy(out);
    return st;
}

void vkt__chat_destroy(vkt__chat **pc)
{
    vkt__chat *c = *pc;
    if (!c) return;
    vkt__template_destroy(&c->template);
    vkt__template_destroy(&c->tool_template);
    json_decref(c->settings);
    for (size_t i = 0; i < c->n_control; i++) free((char *)c->control[i]);
    for (size_t i = 0; i < c->n_ends; i++) free((char *)c->end[i]);
    free(c->control);
    free(c->end);
    free(c);
    *pc = NULL;
}

void vkt__chat_text_finish(vkt__chat_text *t)
{
    vkt__rendered_finish(&t->rendered);
    free(t->stretch);
    *t = (vkt__chat_text) { 0 };
}

bool vkt__is_assistant(const json_t *message)
{
    const char *role = json_string_value(json_object_get(message, "role"));
    return role && !strcmp(role, "assistant");
}
