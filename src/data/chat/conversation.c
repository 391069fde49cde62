/* Conversations by a template. Where the assistant's turns lie in the text is found from further
 * renderings: of the messages before a turn, with the prompt to answer, which ends where the turn
 * begins, and of those up to it; or as the template's {% generation %} marks them. Control tokens'
 * texts in messages are replaced by noncharacters while the template runs, so that nobody can end a
 * turn from inside of one. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/words.h"
#include "data/chat/conversation.h"

#define GUARD "\xef\xb7\x90" /* U+FDD0, then the number of a control token, then U+FDD1 */
#define GUARD_END "\xef\xb7\x91"
enum { MAX_DEPTH = 100 };

vkt_status vkt__chat_create(json_t *settings, const char *name, const char *const *control,
                            size_t n_control, vkt__chat **out)
{
    vkt_status st;
    const json_t *text = json_object_get(settings, "chat_template");
    vkt__chat *c = vkt__alloc(sizeof *c);
    *out = NULL;
    VKT_ASSERT(json_is_string(text));
    VKT_TRY(
        vkt__template_parse(json_string_value(text), json_string_length(text), name, &c->template));
    c->settings = json_incref(settings);
    c->control = vkt__alloc((n_control + 1) * sizeof *c->control);
    for (size_t i = 0; i < n_control; i++) {
        vkt__str s = { 0 };
        vkt__str_add(&s, control[i], strlen(control[i]));
        c->control[c->n_control++] = s.data;
        c->begins[(unsigned char)*control[i]] = true;
    }
    *out = c;
    return VKT_OK;
fail:
    free(c);
    return st;
}

void vkt__chat_destroy(vkt__chat **pc)
{
    vkt__chat *c = *pc;
    if (!c) return;
    vkt__template_destroy(&c->template);
    json_decref(c->settings);
    for (size_t i = 0; i < c->n_control; i++) free((char *)c->control[i]);
    free(c->control);
    free(c);
    *pc = NULL;
}

void vkt__chat_text_finish(vkt__chat_text *t)
{
    vkt__rendered_finish(&t->rendered);
    free(t->stretch);
    *t = (vkt__chat_text) { 0 };
}

/* ---- control tokens in messages ---- */

/* The control token at s, the longest; -1: none. */
static int control_at(const vkt__chat *c, const char *s, const char *end)
{
    int best = -1;
    size_t most = 0;
    if (!c->begins[(unsigned char)*s]) return -1;
    for (size_t i = 0; i < c->n_control; i++) {
        size_t n = strlen(c->control[i]);
        if (n > most && n <= (size_t)(end - s) && !memcmp(s, c->control[i], n)) {
            most = n;
            best = (int)i;
        }
    }
    return best;
}

/* 1: it has a control token's text; -1: it has the guard itself. */
static int has_control(const vkt__chat *c, const char *s, size_t n)
{
    for (const char *at = s, *end = s + n; at < end; at++) {
        if ((unsigned char)*at == 0xef && end - at >= 3 && !memcmp(at, GUARD, 3)) return -1;
        if (control_at(c, at, end) >= 0) return 1;
    }
    return 0;
}

static json_t *guarded_text(const vkt__chat *c, const char *s, size_t n)
{
    vkt__str out = { 0 };
    const char *plain = s, *end = s + n;
    for (const char *at = s; at < end;) {
        int k = control_at(c, at, end);
        if (k < 0) {
            at++;
            continue;
        }
        vkt__str_add(&out, plain, (size_t)(at - plain));
        vkt__str_printf(&out, GUARD "%d" GUARD_END, k);
        plain = at += strlen(c->control[k]);
    }
    vkt__str_add(&out, plain, (size_t)(end - plain));
    json_t *text = json_stringn(out.data, out.len);
    vkt__str_finish(&out);
    return text;
}

/* The same value with its texts guarded: itself where none has a control token's. NULL: a text has
 * the guard, or it is too deep. The caller has a reference. */
static json_t *guarded(const vkt__chat *c, json_t *o, int depth)
{
    size_t i;
    json_t *v, *copy;
    const char *key;
    if (depth > MAX_DEPTH) return NULL;
    if (json_is_string(o)) {
        int has = has_control(c, json_string_value(o), json_string_length(o));
        if (has < 0) return NULL;
        return has ? guarded_text(c, json_string_value(o), json_string_length(o)) : json_incref(o);
    }
    if (!json_is_array(o) && !json_is_object(o)) return json_incref(o);
    copy = json_is_array(o) ? json_array() : json_object();
    json_array_foreach(json_is_array(o) ? o : NULL, i,
                       v) if (json_array_append_new(copy, guarded(c, v, depth + 1)) != 0) goto fail;
    json_object_foreach(json_is_object(o) ? o : NULL, key,
                        v) if (json_object_set_new(copy, key, guarded(c, v, depth + 1)) !=
                               0) goto fail;
    return copy;
fail:
    json_decref(copy);
    return NULL;
}

static void add(vkt__chat_text *t, const char *text, size_t n, bool counts, bool special)
{
    if (!n) return;
    t->stretch = vkt__grow(t->stretch, t->n, &t->cap, sizeof *t->stretch);
    t->stretch[t->n++] = (vkt__stretch) { text, n, counts, special };
}

/* Bytes [first, end) of the text as stretches, guards as the texts that they stand for. */
static void add_bytes(const vkt__chat *c, vkt__chat_text *t, size_t first, size_t end, bool counts)
{
    const char *at = t->rendered.text.data + first, *stop = t->rendered.text.data + end,
               *plain = at;
    while (at < stop) {
        char *behind;
        if ((unsigned char)*at != 0xef || stop - at < 7 || memcmp(at, GUARD, 3) != 0) {
            at++;
            continue;
        }
        unsigned long k = strtoul(at + 3, &behind, 10);
        if (k >= c->n_control || stop - behind < 3 || memcmp(behind, GUARD_END, 3) != 0) {
            at++;
            continue;
        }
        add(t, plain, (size_t)(at - plain), counts, true);
        add(t, c->control[k], strlen(c->control[k]), counts, false);
        plain = at = behind + 3;
    }
    add(t, plain, (size_t)(stop - plain), counts, true);
}

/* ---- rendering ---- */

/* The first n messages; `prompt`: and the beginning of an answer. */
static vkt_status render(const vkt__chat *c, const vkt__conversation *v, const json_t *messages,
                         size_t n, bool prompt, vkt__rendered *out)
{
    static const char *const names[] = { "bos_token", "eos_token", "pad_token", "unk_token" };
    json_t *o = json_object(), *some = json_array();
    for (size_t i = 0; i < n; i++) json_array_append(some, json_array_get(messages, i));
    json_object_set_new(o, "messages", some);
    json_object_set_new(o, "tools", v->tools ? json_incref((json_t *)v->tools) : json_null());
    json_object_set_new(o, "documents", json_null());
    json_object_set_new(o, "add_generation_prompt", json_boolean(prompt));
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        json_t *token = json_object_get(c->settings, names[i]);
        if (json_is_string(token)) json_object_set(o, names[i], token);
    }
    vkt_status st = vkt__template_render(c->template, o, v->now, out);
    json_decref(o);
    return st;
}

static bool begins_with(const vkt__str *text, const vkt__str *head)
{
    return head->len <= text->len && !memcmp(text->data, head->data, head->len);
}

static size_t common(const vkt__str *a, const vkt__str *b)
{
    size_t n = 0;
    while (n < a->len && n < b->len && a->data[n] == b->data[n]) n++;
    return n;
}

/* Where the last control token ends that lies in [first, end); first: there is none. */
static size_t last_control(const vkt__chat *c, const char *text, size_t first, size_t end)
{
    for (size_t at = end; at > first; at--) {
        int k = control_at(c, text + at - 1, text + end);
        if (k >= 0) return at - 1 + strlen(c->control[k]);
    }
    return first;
}

/* Where the first end of a turn lies at or after `first`: behind eos_token. 0: nowhere. */
static size_t first_end(const vkt__chat *c, const vkt__str *text, size_t first)
{
    const json_t *eos = json_object_get(c->settings, "eos_token");
    const char *at =
        json_is_string(eos) ? strstr(text->data + first, json_string_value(eos)) : NULL;
    return at ? (size_t)(at - text->data) + json_string_length(eos) : 0;
}

/* The turn ends behind its end token: white space that follows belongs to no one. */
static size_t without_space(const vkt__chat *c, const char *text, size_t first, size_t end)
{
    size_t stop = end;
    while (stop > first && strchr(" \t\r\n", text[stop - 1]) && text[stop - 1]) stop--;
    return last_control(c, text, first, stop) == stop ? stop : end;
}

typedef struct {
    const vkt__chat *c;
    const vkt__conversation *v;
    const json_t *messages; /* guarded */
    const vkt__str *text;   /* all of them */
    vkt__rendered part;
} finder;

/* Where turn k begins, when the prompt to answer it goes on in another way than the text does (with
 * "<think>"): behind the last control token that both have. 0: there is none. */
static vkt_status find_begin(finder *f, size_t k, size_t *out)
{
    size_t n = common(f->text, &f->part.text);
    vkt_status st = render(f->c, f->v, f->messages, k, false, &f->part);
    *out = 0;
    if (st != VKT_OK || !begins_with(f->text, &f->part.text) || n <= f->part.text.len) return st;
    *out = last_control(f->c, f->text->data, f->part.text.len, n);
    if (*out == f->part.text.len) *out = 0;
    return st;
}

static vkt_status say_unknown(const char *what, size_t k)
{
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "it can't be told where the answer in message %zu %s in what the chat "
        "template writes: put {%% generation %%} .. {%% endgeneration %%} around it in "
        "the template (data.chat_template)",
        k + 1, what);
}

/* Bytes of the text that turn k is. */
static vkt_status find_turn(finder *f, size_t k, vkt__text_span *out)
{
    vkt_status st;
    VKT_TRY(render(f->c, f->v, f->messages, k, true, &f->part));
    bool found = begins_with(f->text, &f->part.text);
    out->first = f->part.text.len;
    if (!found) VKT_TRY(find_begin(f, k, &out->first));
    if (!found && !out->first) return say_unknown("begins", k);
    VKT_TRY(render(f->c, f->v, f->messages, k + 1, false, &f->part));
    size_t n = common(f->text, &f->part.text);
    if (n == f->part.text.len && n >= out->first) {
        out->end = without_space(f->c, f->text->data, out->first, n);
        return VKT_OK;
    }
    out->end = n > out->first ? last_control(f->c, f->text->data, out->first, n) : out->first;
    if (out->end <= out->first) out->end = first_end(f->c, f->text, out->first);
    if (!out->end) st = say_unknown("ends", k);
fail:
    return st;
}

bool vkt__turn_counts(const vkt__conversation *v, const json_t *messages, size_t k)
{
    const json_t *m = json_array_get(messages, k), *weight = json_object_get(m, "weight");
    const char *role = json_string_value(json_object_get(m, "role"));
    return k >= v->n_given && role && !strcmp(role, "assistant") &&
           !(json_is_number(weight) && json_number_value(weight) == 0);
}

static vkt_status find_turns(finder *f, vkt__chat_text *t)
{
    vkt_status st = VKT_OK;
    size_t at = 0, marked = 0, n = t->rendered.n_generated;
    for (size_t k = 0; k < json_array_size(f->messages); k++) {
        const char *role =
            json_string_value(json_object_get(json_array_get(f->messages, k), "role"));
        vkt__text_span span = { 0 };
        bool is_marked = n && role && !strcmp(role, "assistant");
        if (is_marked && marked == n) break;
        if (is_marked) span = t->rendered.generated[marked++];
        if (!vkt__turn_counts(f->v, f->messages, k)) continue;
        if (!is_marked) VKT_TRY(find_turn(f, k, &span));
        if (span.first < at) span.first = at;
        add_bytes(f->c, t, at, span.first, false);
        add_bytes(f->c, t, span.first, VKT_MAX(span.end, span.first), true);
        at = VKT_MAX(span.end, span.first);
    }
    add_bytes(f->c, t, at, t->rendered.text.len, false);
fail:
    return st;
}

static vkt_status guard(const vkt__chat *c, const vkt__conversation *v, json_t **out)
{
    *out = guarded(c, (json_t *)v->messages, 0);
    return *out ? VKT_OK
                : vkt__fail(VKT_E_FORMAT, "data",
                            "a message has the noncharacter U+FDD0, or is more than %d deep",
                            MAX_DEPTH);
}

vkt_status vkt__chat_lesson(const vkt__chat *c, const vkt__conversation *v, vkt__chat_text *out)
{
    vkt_status st;
    finder f = { .c = c, .v = v, .text = &out->rendered.text };
    json_t *messages = NULL;
    out->n = 0;
    VKT_TRY(guard(c, v, &messages));
    f.messages = messages;
    VKT_TRY(render(c, v, messages, json_array_size(messages), false, &out->rendered));
    VKT_TRY(find_turns(&f, out));
fail:
    vkt__rendered_finish(&f.part);
    json_decref(messages);
    return st;
}

vkt_status vkt__chat_prompt(const vkt__chat *c, const vkt__conversation *v, bool control,
                            vkt__chat_text *out)
{
    vkt_status st = VKT_OK;
    json_t *messages = NULL;
    out->n = 0;
    if (control)
        messages = json_incref((json_t *)v->messages);
    else
        VKT_TRY(guard(c, v, &messages));
    VKT_TRY(render(c, v, messages, json_array_size(messages), true, &out->rendered));
    add_bytes(c, out, 0, out->rendered.text.len, false);
fail:
    json_decref(messages);
    return st;
}
