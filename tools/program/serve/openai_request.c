/* openai_request.h */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openai_request.h"
#include "vktrain/base.h"

typedef struct reader {
    openai_request *r;
    char *why;
    size_t cap;
} reader;

static bool wrong(const reader *p, const char *fmt, ...) VKT_PRINTF(2, 3);
static bool wrong(const reader *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p->why, p->cap, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- kinds of values ---- */

static bool number(const reader *p, const char *key, const json_t *v, double min, double max,
                   double *out)
{
    double x = json_number_value(v);
    if (!json_is_number(v) || !(x >= min && x <= max))
        return wrong(p, "'%s' must be a number from %g to %g", key, min, max);
    *out = x;
    return true;
}

static bool whole(const reader *p, const char *key, const json_t *v, json_int_t min, json_int_t max,
                  uint64_t *out)
{
    json_int_t x = json_integer_value(v);
    if (!json_is_integer(v) || x < min || x > max)
        return wrong(p, "'%s' must be a whole number from %lld to %lld", key, (long long)min,
                     (long long)max);
    *out = (uint64_t)x;
    return true;
}

static bool yes_no(const reader *p, const char *key, const json_t *v, bool *out)
{
    if (!json_is_boolean(v)) return wrong(p, "'%s' must be true or false", key);
    *out = json_is_true(v);
    return true;
}

/* A text without a NUL in it. */
static const char *plain(const json_t *v)
{
    const char *s = json_string_value(v);
    return s && strlen(s) == json_string_length(v) ? s : NULL;
}

static bool stops(const reader *p, const json_t *v)
{
    openai_request *r = p->r;
    size_t n = json_is_array(v) ? json_array_size(v) : 1;
    if (n > OPENAI_STOPS) return wrong(p, "'stop' has more than %d texts", OPENAI_STOPS);
    for (size_t i = 0; i < n; i++) {
        const char *s = plain(json_is_array(v) ? json_array_get(v, i) : v);
        if (!s || !*s || strlen(s) > 256)
            return wrong(p, "'stop' must be a text of 1 to 256 bytes, or a list of such");
        r->stop[r->n_stop++] = s;
    }
    return true;
}

static bool prompt(const reader *p, const json_t *v)
{
    if (json_is_array(v) && json_array_size(v) == 1) v = json_array_get(v, 0);
    p->r->prompt = plain(v);
    return p->r->prompt || wrong(p, "'prompt' must be one text without a NUL");
}

static bool stream_options(const reader *p, const json_t *v)
{
    const char *key;
    json_t *x;
    if (!json_is_object(v)) return wrong(p, "'stream_options' must be an object");
    json_object_foreach((json_t *)v, key, x)
    {
        if (strcmp(key, "include_usage") != 0)
            return wrong(p, "'stream_options.%.40s' is not known here", key);
        if (!yes_no(p, key, x, &p->r->usage)) return false;
    }
    return true;
}

/* ---- messages ---- */

/* Returns a text itself, or joins parts that are all texts. NULL: v is neither. */
static json_t *content(const json_t *v)
{
    size_t i, n = 0;
    const json_t *part;
    if (json_is_string(v)) return plain(v) ? json_incref((json_t *)v) : NULL;
    if (!json_is_array(v)) return NULL;
    json_array_foreach((json_t *)v, i, part)
    {
        const char *type = json_string_value(json_object_get(part, "type"));
        const char *text = plain(json_object_get(part, "text"));
        if (!type || strcmp(type, "text") != 0 || !text) return NULL;
        n += strlen(text);
    }
    char *all = calloc(n + 1, 1), *to = all;
    if (!all) return NULL;
    json_array_foreach((json_t *)v, i, part)
    {
        const char *text = plain(json_object_get(part, "text"));
        memcpy(to, text, strlen(text));
        to += strlen(text);
    }
    json_t *out = json_string(all);
    free(all);
    return out;
}

static bool message(const reader *p, size_t i, const json_t *v, json_t *to)
{
    static const char *const roles[] = { "system", "developer", "user", "assistant" };
    const char *role = plain(json_object_get(v, "role")), *key;
    json_t *x;
    size_t k = 0, n = sizeof roles / sizeof *roles;
    json_object_foreach((json_t *)v, key, x)
    {
        bool known = !strcmp(key, "role") || !strcmp(key, "content") || json_is_null(x) ||
                     !strcmp(key, "name") ||
                     (json_is_array(x) && !json_array_size(x)); /* "tool_calls": [] */
        if (!known)
            return wrong(p, "messages[%zu]: '%.40s' is not known here (no tools, no sounds)", i,
                         key);
    }
    while (role && k < n && strcmp(role, roles[k]) != 0) k++;
    if (!role || k == n)
        return wrong(p, "messages[%zu]: 'role' must be system, developer, user or assistant", i);
    json_t *text = content(json_object_get(v, "content"));
    if (!text)
        return wrong(p,
                     "messages[%zu]: 'content' must be a text without a NUL, or a list of "
                     "{\"type\": \"text\"} parts (no pictures)",
                     i);
    json_array_append_new(
        to, json_pack("{s:s, s:o}", "role", k == 1 ? "system" : role, "content", text));
    return true;
}

static bool messages(const reader *p, const json_t *v)
{
    size_t i;
    const json_t *one;
    if (!json_is_array(v) || !json_array_size(v))
        return wrong(p, "'messages' must be a list of at least one message");
    json_t *all = json_array();
    bool ok = true;
    json_array_foreach((json_t *)v, i, one) if (ok) ok = message(p, i, one, all);
    if (ok) p->r->messages = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return ok && (p->r->messages || wrong(p, "there is no memory for 'messages'"));
}

/* ---- fields ---- */

typedef enum field {
    MODEL,
    PROMPT,
    MESSAGES,
    MAX_TOKENS,
    TEMPERATURE,
    TOP_P,
    TOP_K,
    PENALTY,
    SEED,
    STOP,
    STREAM,
    STREAM_OPTIONS,
    ECHO,
    ONE,     /* 1 alone */
    ZERO,    /* 0 alone */
    NOTHING, /* false, null, an empty text, list or object alone */
    TEXT,    /* {"type": "text"} alone */
    FREE,    /* changes nothing here */
} field;

enum { CHAT = 1, COMPLETIONS = 2, BOTH = 3 };
static const struct {
    const char *name;
    field field;
    int of;
} fields[] = {
    { "model", MODEL, BOTH },
    { "prompt", PROMPT, COMPLETIONS },
    { "messages", MESSAGES, CHAT },
    { "max_tokens", MAX_TOKENS, BOTH },
    { "max_completion_tokens", MAX_TOKENS, CHAT },
    { "temperature", TEMPERATURE, BOTH },
    { "top_p", TOP_P, BOTH },
    { "top_k", TOP_K, BOTH },
    { "repetition_penalty", PENALTY, BOTH },
    { "seed", SEED, BOTH },
    { "stop", STOP, BOTH },
    { "stream", STREAM, BOTH },
    { "stream_options", STREAM_OPTIONS, BOTH },
    { "echo", ECHO, COMPLETIONS },
    { "n", ONE, BOTH },
    { "best_of", ONE, COMPLETIONS },
    { "presence_penalty", ZERO, BOTH },
    { "frequency_penalty", ZERO, BOTH },
    { "logit_bias", NOTHING, BOTH },
    { "logprobs", NOTHING, BOTH },
    { "top_logprobs", ZERO, CHAT },
    { "suffix", NOTHING, COMPLETIONS },
    { "tools", NOTHING, CHAT },
    { "functions", NOTHING, CHAT },
    { "tool_choice", FREE, CHAT },
    { "function_call", FREE, CHAT },
    { "parallel_tool_calls", FREE, CHAT },
    { "response_format", TEXT, CHAT },
    { "audio", NOTHING, CHAT },
    { "prediction", NOTHING, CHAT },
    { "reasoning_effort", NOTHING, CHAT },
    { "modalities", FREE, CHAT },
    { "user", FREE, BOTH },
    { "metadata", FREE, BOTH },
    { "store", FREE, BOTH },
    { "service_tier", FREE, BOTH },
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static bool is_nothing(const json_t *v)
{
    return json_is_false(v) || json_is_null(v) || (json_is_array(v) && !json_array_size(v)) ||
           (json_is_object(v) && !json_object_size(v)) ||
           (json_is_string(v) && !json_string_length(v));
}

static bool read_sampling(const reader *p, field f, const char *key, const json_t *v)
{
    openai_request *r = p->r;
    uint64_t k = 0;
    if (f == TEMPERATURE) return number(p, key, v, 0, 100, &r->temperature);
    if (f == TOP_P) return number(p, key, v, 0, 1, &r->top_p);
    if (f == PENALTY) return number(p, key, v, 0, 100, &r->repetition_penalty);
    if (f == TOP_K) {
        if (!whole(p, key, v, 0, INT32_MAX, &k)) return false;
        r->top_k = (uint32_t)k;
        return true;
    }
    r->has_seed = true;
    return whole(p, key, v, INT64_MIN, INT64_MAX, &r->seed);
}

static bool read_field(const reader *p, field f, const char *key, const json_t *v)
{
    openai_request *r = p->r;
    const char *type = json_string_value(json_object_get(v, "type"));
    switch (f) {
    case MODEL:
        r->model = plain(v);
        return r->model || wrong(p, "'model' must be a text");
    case PROMPT:
        return prompt(p, v);
    case MESSAGES:
        return messages(p, v);
    case MAX_TOKENS:
        return whole(p, key, v, 1, INT64_MAX, &r->max_tokens);
    case STOP:
        return stops(p, v);
    case STREAM:
        return yes_no(p, key, v, &r->stream);
    case STREAM_OPTIONS:
        return stream_options(p, v);
    case ECHO:
        return yes_no(p, key, v, &r->echo);
    case ONE:
        return (json_is_integer(v) && json_integer_value(v) == 1) ||
               wrong(p, "'%s' can only be 1 here", key);
    case ZERO:
        return (json_is_number(v) && json_number_value(v) == 0) ||
               wrong(p, "'%s' can only be 0 here", key);
    case NOTHING:
        return is_nothing(v) || wrong(p, "'%s' is not supported here: leave it out", key);
    case TEXT:
        return (type && !strcmp(type, "text")) || wrong(p, "'%s' can only be text here", key);
    case FREE:
        return true;
    case TEMPERATURE:
    case TOP_P:
    case TOP_K:
    case PENALTY:
    case SEED:
        break;
    }
    return read_sampling(p, f, key, v);
}

static bool unknown(const reader *p, const char *key, int of)
{
    const char *names[N_FIELDS];
    size_t n = 0;
    for (size_t i = 0; i < N_FIELDS; i++)
        if (fields[i].of & of) names[n++] = fields[i].name;
    return wrong(p, "'%.60s' is not known here%s", key, vkt_did_you_mean(key, names, n).text);
}

static bool read_all(const reader *p, int of)
{
    const char *key;
    json_t *v;
    json_object_foreach(p->r->body, key, v)
    {
        size_t i = 0;
        while (i < N_FIELDS && (strcmp(fields[i].name, key) != 0 || !(fields[i].of & of))) i++;
        if (i == N_FIELDS) return unknown(p, key, of);
        if (!json_is_null(v) && !read_field(p, fields[i].field, key, v)) return false;
    }
    if (of == CHAT && !p->r->messages) return wrong(p, "'messages' is missing");
    if (of == COMPLETIONS && !p->r->prompt) p->r->prompt = "";
    return true;
}

bool openai_request_parse(const char *text, size_t n, bool chat, openai_request *out, char *why,
                          size_t cap)
{
    json_error_t e;
    reader p = { out, why, cap };
    *out = (openai_request) {
        .temperature = 1, .top_p = 1, .repetition_penalty = 1, .max_tokens = UINT64_MAX
    };
    out->body = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!out->body) return wrong(&p, "the body is not JSON: %s (line %d)", e.text, e.line);
    if (!json_is_object(out->body)) return wrong(&p, "the body must be a JSON object");
    return read_all(&p, chat ? CHAT : COMPLETIONS);
}

void openai_request_finish(openai_request *r)
{
    json_decref(r->body);
    free(r->messages);
    *r = (openai_request) { 0 };
}
