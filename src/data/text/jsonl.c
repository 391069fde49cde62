/* JSON lines as documents: plain texts, and chats, which are written in the tokenizer's own control
 * tokens where it has them (ChatML's, Llama 3's), else as "role: content" lines. */
#include <jansson.h>
#include <stdio.h>

#include "base/words.h"
#include "data/text/document.h"
#include "data/text/jsonl.h"

typedef enum { PLAIN, CHATML, LLAMA3 } form;

typedef struct {
    vkt__arena arena;
    vkt__stretch *stretch;
    size_t n, cap;
} chat;

static void add(chat *c, const char *text, size_t n, bool counts, bool special)
{
    c->stretch = vkt__grow(c->stretch, c->n, &c->cap, sizeof *c->stretch);
    c->stretch[c->n++] = (vkt__stretch) { text, n, counts, special };
}

static void add_text(chat *c, const char *text, bool counts, bool special)
{
    add(c, text, strlen(text), counts, special);
}

static form form_of(const vkt_tokenizer *t)
{
    if (t && vkt_tokenizer_find(t, "<|im_start|>") != VKT_NO_TOKEN &&
        vkt_tokenizer_find(t, "<|im_end|>") != VKT_NO_TOKEN)
        return CHATML;
    if (t && vkt_tokenizer_find(t, "<|start_header_id|>") != VKT_NO_TOKEN &&
        vkt_tokenizer_find(t, "<|end_header_id|>") != VKT_NO_TOKEN &&
        vkt_tokenizer_find(t, "<|eot_id|>") != VKT_NO_TOKEN)
        return LLAMA3;
    return PLAIN;
}

/* Of an assistant's turn its content and what ends it count: how it begins is given. */
static void add_turn(chat *c, form f, const char *role, const char *content, size_t n)
{
    static const char *const begin[] = { "", "<|im_start|>", "<|start_header_id|>" },
                             *const headed[] = { ": ", "\n", "<|end_header_id|>" },
                             *const end[] = { "\n", "<|im_end|>", "<|eot_id|>" };
    bool counts = !strcmp(role, "assistant");
    if (*begin[f]) add_text(c, begin[f], false, true);
    add_text(c, vkt__arena_printf(&c->arena, "%s%s", role, f == LLAMA3 ? "" : headed[f]), false,
             false);
    if (f == LLAMA3) {
        add_text(c, headed[f], false, true);
        add_text(c, "\n\n", false, false);
    }
    add(c, content, n, counts, false);
    add_text(c, end[f], counts, f != PLAIN);
    if (f == CHATML) add_text(c, "\n", false, false);
}

static const char *add_messages(chat *c, form f, const json_t *messages)
{
    size_t i;
    json_t *m;
    if (json_array_size(messages) == 0) return "\"messages\" must be a list of turns";
    if (f == LLAMA3) add_text(c, "<|begin_of_text|>", false, true);
    json_array_foreach(messages, i, m)
    {
        const char *role = json_string_value(json_object_get(m, "role"));
        const json_t *content = json_object_get(m, "content");
        if (!role || !*role || !json_is_string(content))
            return "a turn must be {\"role\": \"..\", \"content\": \"..\"}";
        add_turn(c, f, role, json_string_value(content), json_string_length(content));
    }
    return NULL;
}

/* What is wrong with the line, or NULL. */
static const char *read_line(chat *c, form f, const json_t *o)
{
    const json_t *text = json_object_get(o, "text"), *messages = json_object_get(o, "messages"),
                 *prompt = json_object_get(o, "prompt"),
                 *completion = json_object_get(o, "completion");
    if (json_is_string(text)) {
        if (json_string_length(text))
            add(c, json_string_value(text), json_string_length(text), true, false);
        return NULL;
    }
    if (messages) return add_messages(c, f, messages);
    if (!json_is_string(prompt) || !json_is_string(completion))
        return "neither \"text\", \"messages\" nor \"prompt\" and \"completion\"";
    add(c, json_string_value(prompt), json_string_length(prompt), false, false);
    add(c, json_string_value(completion), json_string_length(completion), true, false);
    return NULL;
}

vkt_status vkt__jsonl_read(const char *text, size_t n, const char *name,
                           const vkt_tokenizer *tokenizer, vkt__document_fn fn, void *user)
{
    vkt_status st = VKT_OK;
    chat c = { 0 };
    json_t *o = NULL;
    form f = form_of(tokenizer);
    uint64_t number = 0;
    for (const char *at = text, *end = text + n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        json_error_t error = { 0 };
        const char *line = at, *wrong;
        at += length + (stop != NULL);
        number++;
        while (length && strchr(" \t\r", line[length - 1])) length--;
        if (length == 0) continue;
        c.n = 0;
        o = json_loadb(line, length, 0, &error);
        wrong = o ? read_line(&c, f, o) : vkt__show(error.text).s;
        if (wrong) {
            st = vkt__fail(VKT_E_FORMAT, "data", "'%s' line %llu: %s", vkt__show(name).s,
                           (unsigned long long)number, wrong);
            goto fail;
        }
        char where[160];
        snprintf(where, sizeof where, "%s line %llu", vkt__show(name).s,
                 (unsigned long long)number);
        if (c.n) VKT_TRY(fn(user, &(vkt__document) { where, c.stretch, c.n }));
        json_decref(o);
        o = NULL;
        vkt__arena_finish(&c.arena);
    }
fail:
    json_decref(o);
    vkt__arena_finish(&c.arena);
    free(c.stretch);
    return st;
}
