/* JSON lines as documents: plain texts, prompts with completions, and conversations in the forms
 * that are about, which all become messages. */
#include <stdio.h>

#include "base/words.h"
#include "data/chat/lesson.h"
#include "data/text/jsonl.h"
#include "data/text/tokenizer_chat.h"
#include "formats/json_text.h"

enum { MAX_TURNS = 10000 };

/* The longest line: parsing takes several times its bytes, which must stay small beside a model. A
 * context of 2^20 tokens, the longest, has about an eighth of it. */
#define LINE_LIMIT (32ull << 20)
enum { GIVE_BACK = 1 << 20 }; /* bytes of a map, at least, at a time */

typedef struct {
    vkt_tokenizer *tokenizer;
    const vkt__chat *chat; /* at the first conversation */
    vkt__chat *own;        /* of no tokenizer */
    vkt_status failed;     /* not the line's fault */
    vkt__chat_text text;
    vkt__stretch plain[2];
    vkt__document document;
    const char *label; /* beside a text, and not learned; NULL: there was none */
    uint64_t n_open;   /* counted turns without an end token */
    size_t first_open; /* the message of the first */
    char wrong[200];   /* with the line, where it is not a failure's own words */
} reader;

/* ---- the forms of a line ---- */

static bool wrong(reader *r, const char *fmt, ...) VKT_PRINTF(2, 3);
static bool wrong(reader *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->wrong, sizeof r->wrong, fmt, ap);
    va_end(ap);
    return false;
}

/* The texts of content parts as one; NULL: one is no text. */
static json_t *joined_parts(reader *r, const json_t *parts)
{
    vkt__str s = { 0 };
    size_t i;
    json_t *p, *out = NULL;
    vkt__str_add(&s, "", 0);
    json_array_foreach(parts, i, p)
    {
        const json_t *text = json_is_string(p) ? p : json_object_get(p, "text");
        const char *type = json_string_value(json_object_get(p, "type"));
        if (!json_is_string(text) || (type && strcmp(type, "text") != 0)) {
            wrong(r, "a content part is of type \"%s\": only \"text\" is taken",
                  vkt__show(type ? type : "?").s);
            goto done;
        }
        vkt__str_add(&s, json_string_value(text), json_string_length(text));
    }
    out = json_stringn(s.data, s.len);
done:
    vkt__str_finish(&s);
    return out;
}

/* A turn with its content as a text. */
static bool add_turn(reader *r, json_t *to, const json_t *m)
{
    const char *role = json_string_value(json_object_get(m, "role"));
    json_t *content = json_object_get(m, "content"), *copy;
    bool calls = json_is_array(json_object_get(m, "tool_calls"));
    if (!role || !*role || !(json_is_string(content) || json_is_array(content) || calls))
        return wrong(r, "a turn must be {\"role\": \"..\", \"content\": \"..\"}");
    if (json_array_size(to) >= MAX_TURNS) return wrong(r, "it has more than %d turns", MAX_TURNS);
    if (vkt__is_assistant(m) && vkt__weight_wrong(m)) return wrong(r, "%s", vkt__weight_wrong(m));
    copy = json_copy((json_t *)m);
    if (json_is_array(content)) {
        content = joined_parts(r, content);
        if (!content) {
            json_decref(copy);
            return false;
        }
        json_object_set_new(copy, "content", content);
    } else if (!content) {
        json_object_set_new(copy, "content", json_null());
    }
    json_array_append_new(to, copy);
    return true;
}

static bool add_turns(reader *r, json_t *to, const json_t *list)
{
    size_t i;
    json_t *m;
    json_array_foreach(list, i, m) if (!add_turn(r, to, m)) return false;
    return true;
}

static void add_text_turn(json_t *to, const char *role, json_t *content)
{
    json_array_append_new(to, json_pack("{s:s, s:O}", "role", role, "content", content));
}

/* ShareGPT's [{"from", "value"}]; its lists may have roles as messages have. */
static bool add_sharegpt(reader *r, json_t *to, const json_t *list)
{
    static const struct {
        const char *from, *role;
    } roles[] = { { "human", "user" },
                  { "user", "user" },
                  { "gpt", "assistant" },
                  { "assistant", "assistant" },
                  { "chatgpt", "assistant" },
                  { "model", "assistant" },
                  { "bot", "assistant" },
                  { "system", "system" },
                  { "tool", "tool" },
                  { "observation", "tool" },
                  { "function_response", "tool" } };
    static const char *const counts[] = { "weight", "train" };
    size_t i;
    json_t *m;
    json_array_foreach(list, i, m)
    {
        const char *from = json_string_value(json_object_get(m, "from")), *role = NULL;
        json_t *value = json_object_get(m, "value");
        if (!from && json_object_get(m, "role")) {
            if (!add_turn(r, to, m)) return false;
            continue;
        }
        for (size_t k = 0; from && k < VKT_COUNT(roles); k++)
            if (!strcmp(from, roles[k].from)) role = roles[k].role;
        if (!role || !json_is_string(value))
            return wrong(r,
                         "a turn's \"from\" is \"%s\": human, gpt, system and tool are taken, "
                         "with a text as \"value\"",
                         vkt__show(from ? from : "?").s);
        add_text_turn(to, role, value);
        for (size_t k = 0; k < VKT_COUNT(counts); k++)
            if (json_object_get(m, counts[k]))
                json_object_set(json_array_get(to, json_array_size(to) - 1), counts[k],
                                json_object_get(m, counts[k]));
        if (vkt__weight_wrong(m)) return wrong(r, "%s", vkt__weight_wrong(m));
    }
    return true;
}

static bool add_alpaca(reader *r, json_t *to, const json_t *o)
{
    json_t *instruction = json_object_get(o, "instruction"), *input = json_object_get(o, "input"),
           *output = json_object_get(o, "output"), *user;
    if (!json_is_string(instruction) || !json_is_string(output))
        return wrong(r, "\"instruction\" and \"output\" must be texts");
    if (json_array_size(json_object_get(o, "history")))
        return wrong(r, "\"history\" is not taken: give all turns as \"messages\"");
    if (json_is_string(input) && json_string_length(input)) {
        vkt__str s = { 0 };
        vkt__str_add(&s, json_string_value(instruction), json_string_length(instruction));
        vkt__str_add(&s, "\n\n", 2);
        vkt__str_add(&s, json_string_value(input), json_string_length(input));
        user = json_stringn(s.data, s.len);
        vkt__str_finish(&s);
    } else {
        user = json_incref(instruction);
    }
    add_text_turn(to, "user", user);
    json_decref(user);
    add_text_turn(to, "assistant", output);
    return true;
}

/* The line's turns; *n_given: those that do not count. */
static bool take_turns(reader *r, const json_t *o, json_t *to, size_t *n_given)
{
    json_t *system = json_object_get(o, "system"), *list = json_object_get(o, "messages");
    if (!list) list = json_object_get(o, "conversations");
    if (!list) list = json_object_get(o, "conversation");
    *n_given = 0;
    if (json_is_string(system) && json_string_length(system)) add_text_turn(to, "system", system);
    if (list) {
        if (json_array_size(list) == 0) return wrong(r, "\"messages\" must be a list of turns");
        return json_object_get(o, "messages") ? add_turns(r, to, list) : add_sharegpt(r, to, list);
    }
    const json_t *prompt = json_object_get(o, "prompt"),
                 *completion = json_object_get(o, "completion");
    if (json_is_array(prompt) && json_is_array(completion)) {
        if (!add_turns(r, to, prompt)) return false;
        *n_given = json_array_size(to);
        return add_turns(r, to, completion);
    }
    if (json_object_get(o, "instruction")) return add_alpaca(r, to, o);
    return wrong(r, "neither \"text\", \"messages\" nor \"prompt\" and \"completion\", nor "
                    "\"conversations\", nor \"instruction\" and \"output\"; a row of a table has "
                    "texts and numbers alone");
}

/* ---- preferences ---- */

/* What both answers begin with, less a space at its end: what TRL takes for the prompt. */
static size_t common_text(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n]) n++;
    while (n && ((unsigned char)a[n] & 0xc0) == 0x80) n--; /* whole characters */
    return n && a[n - 1] == ' ' ? n - 1 : n;
}

static size_t common_turns(const json_t *a, const json_t *b)
{
    size_t n = 0;
    while (n < json_array_size(a) && json_equal(json_array_get(a, n), json_array_get(b, n))) n++;
    return n;
}

static json_t *turns_from(const json_t *list, size_t first, size_t end)
{
    json_t *out = json_array();
    for (size_t i = first; i < end; i++) json_array_append(out, json_array_get(list, i));
    return out;
}

/* The line as two of a prompt and its completion. */
static bool take_sides(reader *r, const json_t *o, json_t *sides[2])
{
    json_t *answer[2] = { json_object_get(o, "chosen"), json_object_get(o, "rejected") },
           *prompt = json_object_get(o, "prompt");
    bool texts = json_is_string(answer[0]) && json_is_string(answer[1]),
         lists = json_is_array(answer[0]) && json_is_array(answer[1]);
    if (!(texts || lists) || (texts && prompt && !json_is_string(prompt)))
        return wrong(r, "a preference has \"chosen\" and \"rejected\", both texts or both lists of "
                        "turns, and may have a \"prompt\" of their kind");
    size_t same = texts ? common_text(json_string_value(answer[0]), json_string_value(answer[1]))
                        : common_turns(answer[0], answer[1]);
    bool given = texts ? prompt != NULL : json_is_array(prompt);
    if (json_equal(answer[0], answer[1]))
        return wrong(
            r, "\"chosen\" and \"rejected\" are the same, so that there is nothing to prefer");
    for (int i = 0; i < 2; i++) {
        json_t *p = prompt, *a = answer[i];
        if (given)
            json_incref(p), json_incref(a);
        else if (texts)
            p = json_stringn(json_string_value(a), same),
            a = json_string(json_string_value(a) + same);
        else
            p = turns_from(a, 0, same), a = turns_from(a, same, json_array_size(a));
        sides[i] = json_copy((json_t *)(uintptr_t)o);
        json_object_set_new(sides[i], "prompt", p);
        json_object_set_new(sides[i], "completion", a);
        json_object_del(sides[i], "messages");
        json_object_del(sides[i], "text");
    }
    return true;
}

static bool learns(const vkt__conversation *v)
{
    for (size_t k = 0; k < json_array_size(v->messages); k++)
        if (vkt__turn_counts(v, v->messages, k)) return true;
    return false;
}

/* "tools" may be a list, or its JSON as a text. */
static bool take_tools(reader *r, const json_t *o, json_t **out)
{
    json_t *tools = json_object_get(o, "tools");
    *out = NULL;
    if (json_is_string(tools))
        *out = json_string_length(tools) ? json_loads(json_string_value(tools), 0, NULL) : NULL;
    else if (tools && !json_is_null(tools))
        *out = json_incref(tools);
    if (json_is_array(*out) || !tools || json_is_null(tools) ||
        (json_is_string(tools) && !json_string_length(tools)))
        return true;
    return wrong(r, "\"tools\" must be a list");
}

static bool open_chat(reader *r)
{
    if (r->chat) return true;
    r->failed =
        r->tokenizer ? vkt__tokenizer_chat(r->tokenizer, &r->chat) : vkt__chat_plain(&r->own);
    if (r->own) r->chat = r->own;
    return r->failed == VKT_OK;
}

static bool conversation(reader *r, const json_t *o, double now)
{
    json_t *messages = json_array(), *tools = NULL;
    vkt__conversation v = { .messages = messages, .now = now };
    bool ok = take_turns(r, o, messages, &v.n_given) && take_tools(r, o, &tools);
    v.tools = tools;
    ok = ok && open_chat(r);
    if (ok && !learns(&v))
        ok = wrong(
            r,
            "no turn of the assistant is in it, or none counts, so that there is nothing to learn");
    if (ok) {
        vkt__log_quiet(true);
        vkt_status st = vkt__chat_lesson(r->chat, &v, &r->text);
        vkt__log_quiet(false);
        if (st != VKT_OK) ok = wrong(r, "%s", vkt__last_failure());
    }
    if (ok)
        r->document =
            (vkt__document) { .stretch = r->text.stretch, .n_stretches = r->text.n, .whole = true };
    if (ok && !r->n_open) r->first_open = r->text.first_open;
    if (ok) r->n_open += r->text.n_open;
    json_decref(messages);
    json_decref(tools);
    return ok;
}

static vkt__stretch stretch_of(const json_t *text, bool counts)
{
    return (vkt__stretch) { json_string_value(text), json_string_length(text), counts, false };
}

/* What classifiers learn of a text, under the names that data sets give it. */
static const char *label_of(const json_t *o)
{
    static const char *const names[] = { "label",    "labels",    "class",  "target",
                                         "category", "sentiment", "rating", "score" };
    for (size_t i = 0; i < VKT_COUNT(names); i++)
        if (json_object_get(o, names[i])) return names[i];
    return NULL;
}

/* r->document of the line; false: r->wrong. */
static bool read_line(reader *r, const json_t *o, double now)
{
    const json_t *text = json_object_get(o, "text"), *prompt = json_object_get(o, "prompt"),
                 *completion = json_object_get(o, "completion");
    r->document = (vkt__document) { .stretch = r->plain };
    if (json_is_string(text)) {
        r->plain[0] = stretch_of(text, true);
        r->document.n_stretches = r->plain[0].n > 0;
        if (!r->label) r->label = label_of(o);
        return true;
    }
    if (json_is_string(prompt) && json_is_string(completion)) {
        if (json_string_length(json_object_get(o, "system")))
            return wrong(r, "\"system\" beside a text as \"prompt\" is not taken: give "
                            "\"messages\", or write it into \"prompt\"");
        r->plain[0] = stretch_of(prompt, false);
        r->plain[1] = stretch_of(completion, true);
        r->document.n_stretches = 2;
        r->document.end_counts = true;
        return true;
    }
    if (json_object_get(o, "chosen") && json_object_get(o, "rejected") && !completion)
        return wrong(r,
                     "\"chosen\" and \"rejected\" are a preference: set loss.kind: dpo or simpo");
    return conversation(r, o, now);
}

/* ---- lines ---- */

/* A line that can't be read: an error, or counted. */
static vkt_status bad_line(const reader *r, bool skip, vkt__jsonl_options *options,
                           const char *where)
{
    if (!skip) return vkt__fail(VKT_E_FORMAT, "data", "%s: %s", where, r->wrong);
    if (!options->n_bad++)
        snprintf(options->first_bad, sizeof options->first_bad, "%.60s: %.130s", where, r->wrong);
    return VKT_OK;
}

/* It is not parsed. */
static vkt_status long_line(reader *r, size_t n, vkt__jsonl_options *options, const char *where)
{
    wrong(r,
          "it has %.1f MiB, a line may have %llu: cut it up, or leave it out (data.too_long: skip)",
          (double)n / (1 << 20), LINE_LIMIT >> 20);
    return bad_line(r, options->skip_bad || options->skip_long, options, where);
}

/* A preference: both documents, or none. */
static vkt_status one_pair(reader r[2], const json_t *o, const char *where,
                           vkt__jsonl_options *options, vkt__document_fn fn, void *user)
{
    json_t *sides[2] = { NULL, NULL };
    vkt_status st = VKT_OK;
    bool ok = take_sides(&r[0], o, sides);
    for (int i = 0; i < 2 && ok; i++) {
        ok = read_line(&r[i], sides[i], options->now);
        if (!ok && i) memcpy(r[0].wrong, r[1].wrong, sizeof r[0].wrong);
        if (!ok) r[0].failed = r[i].failed;
    }
    if (!ok)
        st = r[0].failed != VKT_OK ? r[0].failed
                                   : bad_line(&r[0], options->skip_bad, options, where);
    options->n_read += ok;
    for (int i = 0; i < 2 && ok && st == VKT_OK; i++) {
        r[i].document.name = where;
        st = fn(user, &r[i].document);
    }
    json_decref(sides[0]);
    json_decref(sides[1]);
    return st;
}

static vkt_status one_line(reader *r, const char *line, size_t n, const char *where,
                           vkt__jsonl_options *options, vkt__document_fn fn, void *user)
{
    json_error_t error = { 0 };
    json_t *o = vkt__json_parse(line, n, 0, &error);
    vkt_status st = VKT_OK;
    if (o && options->pairs) {
        st = one_pair(r, o, where, options, fn, user);
    } else if (o ? !read_line(r, o, options->now) : !wrong(r, "%s", vkt__show(error.text).s)) {
        st = r->failed != VKT_OK ? r->failed : bad_line(r, options->skip_bad, options, where);
    } else if (r->document.n_stretches) {
        options->n_read++;
        r->document.name = where;
        st = fn(user, &r->document);
    }
    json_decref(o);
    return st;
}

vkt_status vkt__jsonl_read(const char *text, size_t n, const char *name, vkt_tokenizer *tokenizer,
                           vkt__jsonl_options *options, vkt__document_fn fn, void *user)
{
    vkt_status st = VKT_OK;
    reader r[2] = { { .tokenizer = tokenizer }, { .tokenizer = tokenizer } };
    uint64_t number = 0;
    size_t given_back = 0;
    for (const char *at = text, *end = text + n; at < end && st == VKT_OK;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *line = at;
        size_t length = (size_t)((stop ? stop : end) - at);
        char where[160];
        at += length + (stop != NULL);
        number++;
        while (length && strchr(" \t\r", line[length - 1])) length--;
        if (length == 0) continue;
        snprintf(where, sizeof where, "'%s' line %llu", vkt__show(name).s,
                 (unsigned long long)number);
        st = length > LINE_LIMIT ? long_line(r, length, options, where)
                                 : one_line(r, line, length, where, options, fn, user);
        if (r[0].label && !options->label) {
            options->label = r[0].label;
            snprintf(options->first_label, sizeof options->first_label, "%s", where);
        }
        if (r[0].n_open && !options->n_open)
            snprintf(options->first_open, sizeof options->first_open, "%s, message %zu", where,
                     r[0].first_open);
        options->n_open += r[0].n_open;
        r[0].n_open = 0;
        size_t taken = (size_t)(at - text);
        if (options->map && taken - given_back >= GIVE_BACK) {
            vkt__map_release(options->map, given_back, taken);
            given_back = taken;
        }
    }
    for (int i = 0; i < 2; i++) {
        vkt__chat_destroy(&r[i].own);
        vkt__chat_text_finish(&r[i].text);
    }
    return st;
}
