/* guard.h */
#include <jansson.h>

#include "base/words.h"
#include "data/chat/guard.h"

/* U+FDD0, the number of a control token, U+FDD1; U+FDD2 or U+FDD3, the number of a message, and
 * U+FDD4 where its text begins or ends. */
#define GUARD "\xef\xb7\x90"
#define GUARD_END "\xef\xb7\x91"
#define BEGIN "\xef\xb7\x92"
#define END "\xef\xb7\x93"
#define MARK_END "\xef\xb7\x94"
enum { MAX_DEPTH = 100 };

static const char white[] = " \t\r\n";

int vkt__control_at(const vkt__chat *c, const char *s, const char *end)
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

/* ---- control tokens ---- */

/* 1: it has a control token's text; -1: it has one of our noncharacters itself. */
static int has_control(const vkt__chat *c, const char *s, size_t n)
{
    int has = 0;
    for (const char *at = s, *end = s + n; at < end; at++) {
        if ((unsigned char)*at == 0xef && end - at >= 3 && !memcmp(at, GUARD, 2) &&
            (unsigned char)at[2] >= 0x90 && (unsigned char)at[2] <= 0x94)
            return -1;
        if (!has && vkt__control_at(c, at, end) >= 0) has = 1;
    }
    return has;
}

static json_t *guarded_text(const vkt__chat *c, const char *s, size_t n)
{
    vkt__str out = { 0 };
    const char *plain = s, *end = s + n;
    for (const char *at = s; at < end;) {
        int k = vkt__control_at(c, at, end);
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

/* The same value with its texts guarded: itself where none has a control token's, or where they are
 * the assistant's `own`. */
static json_t *guarded(const vkt__chat *c, json_t *o, bool own, int depth)
{
    size_t i;
    json_t *v, *copy;
    const char *key;
    if (depth > MAX_DEPTH) return NULL;
    if (json_is_string(o)) {
        int has = has_control(c, json_string_value(o), json_string_length(o));
        if (has < 0) return NULL;
        return has && !own ? guarded_text(c, json_string_value(o), json_string_length(o))
                           : json_incref(o);
    }
    if (!json_is_array(o) && !json_is_object(o)) return json_incref(o);
    copy = json_is_array(o) ? json_array() : json_object();
    json_array_foreach(json_is_array(o) ? o : NULL, i,
                       v) if (json_array_append_new(copy, guarded(c, v, own, depth + 1)) !=
                              0) goto fail;
    json_object_foreach(json_is_object(o) ? o : NULL, key,
                        v) if (json_object_set_new(copy, key, guarded(c, v, own, depth + 1)) !=
                               0) goto fail;
    return copy;
fail:
    json_decref(copy);
    return NULL;
}

json_t *vkt__guard_messages(const vkt__chat *c, const json_t *messages)
{
    json_t *out = json_array(), *m;
    size_t k;
    json_array_foreach(messages, k, m)
    {
        if (json_array_append_new(out, guarded(c, m, vkt__is_assistant(m), 1)) == 0) continue;
        json_decref(out);
        return NULL;
    }
    return out;
}

json_t *vkt__guard_value(const vkt__chat *c, const json_t *o)
{
    return guarded(c, (json_t *)(uintptr_t)o, false, 0);
}

static void add(vkt__chat_text *t, const char *text, size_t n, bool counts, bool special)
{
    if (!n) return;
    vkt__stretch *last = t->n ? &t->stretch[t->n - 1] : NULL;
    if (last && last->text + last->n == text && last->counts == counts && special &&
        last->special) { /* blocks side by side: their text is one */
        last->n += n;
        return;
    }
    t->stretch = vkt__grow(t->stretch, t->n, &t->cap, sizeof *t->stretch);
    t->stretch[t->n++] = (vkt__stretch) { text, n, counts, special };
}

void vkt__guard_stretches(const vkt__chat *c, vkt__chat_text *t, size_t first, size_t end,
                          bool counts)
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

/* ---- marks ---- */

/* Inside of the white space around it, which templates take off. */
static json_t *marked_text(const json_t *text, size_t k, bool begin, bool end, bool empty)
{
    const char *s = json_string_value(text), *stop = s + json_string_length(text), *last = stop;
    vkt__str out = { 0 };
    const char *first = s;
    while (first < stop && *first && strchr(white, *first)) first++;
    if (first == stop && !empty) return json_incref((json_t *)(uintptr_t)text);
    if (first == stop) first = last = s;
    while (last > first && last[-1] && strchr(white, last[-1])) last--;
    vkt__str_add(&out, s, (size_t)(first - s));
    if (begin) vkt__str_printf(&out, BEGIN "%zu" MARK_END, k);
    vkt__str_add(&out, first, (size_t)(last - first));
    if (end) vkt__str_printf(&out, END "%zu" MARK_END, k);
    vkt__str_add(&out, last, (size_t)(stop - last));
    json_t *v = json_stringn(out.data, out.len);
    vkt__str_finish(&out);
    return v;
}

/* A call's arguments: the ends of all texts in them. */
static json_t *marked_leaves(json_t *o, size_t k)
{
    json_t *copy, *v;
    const char *key;
    size_t i;
    if (json_is_string(o)) return marked_text(o, k, false, true, false);
    if (!json_is_array(o) && !json_is_object(o)) return json_incref(o);
    copy = json_is_array(o) ? json_array() : json_object();
    json_array_foreach(json_is_array(o) ? o : NULL, i, v)
        json_array_append_new(copy, marked_leaves(v, k));
    json_object_foreach(json_is_object(o) ? o : NULL, key, v)
        json_object_set_new(copy, key, marked_leaves(v, k));
    return copy;
}

static bool has_leaves(const json_t *o)
{
    size_t i;
    json_t *v;
    const char *key;
    if (json_is_string(o)) return json_string_length(o) > 0;
    if (json_is_array(o)) json_array_foreach(o, i, v) if (has_leaves(v)) return true;
    if (json_is_object(o))
        json_object_foreach((json_t *)(uintptr_t)o, key, v) if (has_leaves(v)) return true;
    return false;
}

/* The call with marks behind the texts of its arguments; behind its name, which a tool's answer may
 * have again, where there are none. */
static json_t *marked_call(const json_t *call, size_t k)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)call), *f = json_object_get(copy, "function"),
           *owner = copy;
    if (json_is_object(f)) {
        json_object_set_new(copy, "function", json_copy(f));
        owner = json_object_get(copy, "function");
    }
    const char *key = has_leaves(json_object_get(owner, "arguments")) ? "arguments" : "name";
    json_t *v = json_object_get(owner, key);
    if (v) json_object_set_new(owner, key, marked_leaves(v, k));
    return copy;
}

json_t *vkt__mark_messages(const json_t *messages, vkt__marking how, size_t only)
{
    static const char *const thoughts[] = { "reasoning", "reasoning_content", "thinking" };
    json_t *out = json_array(), *m, *call;
    size_t k, i;
    json_array_foreach(messages, k, m)
    {
        bool own = vkt__is_assistant(m), empty = how == VKT__MARK_EMPTY,
             all = empty || how == VKT__MARK_ALL,
             begin = how == VKT__MARK_BEGIN ? k == only : all && !own,
             end = how == VKT__MARK_BEGIN ? false : all || own;
        json_t *copy = json_copy(m), *content = json_object_get(m, "content"),
               *calls = json_object_get(m, "tool_calls");
        if (json_is_string(content) && (begin || end))
            json_object_set_new(copy, "content", marked_text(content, k, begin, end, empty));
        for (i = 0; own && all && i < VKT_COUNT(thoughts); i++) {
            json_t *v = json_object_get(m, thoughts[i]);
            if (json_is_string(v))
                json_object_set_new(copy, thoughts[i], marked_text(v, k, false, true, false));
        }
        if (own && all && json_array_size(calls)) {
            json_t *list = json_array();
            json_array_foreach(calls, i, call) json_array_append_new(list, marked_call(call, k));
            json_object_set_new(copy, "tool_calls", list);
        }
        json_array_append_new(out, copy);
    }
    return out;
}

/* The mark at s; NULL: none. Else what follows it. */
static const char *mark_at(const char *s, const char *end, vkt__mark *out)
{
    char *behind;
    if ((unsigned char)*s != 0xef || end - s < 7) return NULL;
    out->begin = !memcmp(s, BEGIN, 3);
    if (!out->begin && memcmp(s, END, 3) != 0) return NULL;
    if (s[3] < '0' || s[3] > '9') return NULL;
    out->message = (size_t)strtoul(s + 3, &behind, 10);
    return end - behind >= 3 && !memcmp(behind, MARK_END, 3) ? behind + 3 : NULL;
}

bool vkt__marks_read(const vkt__str *marked, const vkt__str *text, vkt__marks *out)
{
    const char *s = marked->data, *end = s + marked->len;
    size_t at = 0;
    vkt__mark mark;
    out->n = 0;
    while (s < end) {
        const char *behind = mark_at(s, end, &mark);
        if (!behind) {
            if (at == text->len || *s != text->data[at]) return false;
            s++, at++;
            continue;
        }
        mark.at = at;
        out->mark = vkt__grow(out->mark, out->n, &out->cap, sizeof *out->mark);
        out->mark[out->n++] = mark;
        s = behind;
    }
    return at == text->len;
}
