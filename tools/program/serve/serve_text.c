/* serve_text.h */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openai_request.h"
#include "print.h"
#include "serve_text.h"
#include "vktrain/report.h"

/* A text that is being written. r NULL: none is. */
typedef struct job {
    serve_text *s;
    http_request *r;
    openai_request q;
    bool chat, reads; /* reads: the client is there, as far as is known */
    char id[40];
    json_int_t created;
    uint64_t n_prompt, n_made;
    char *text; /* [n] what is not streamed */
    size_t n, cap;
} job;

struct serve_text {
    vkt_writer *model;
    const vkt_writer_info *info;
    const char *name;
    char *facts, *models, *page;
    uint64_t n_asked;
    job jobs[SERVE_TEXTS];
};

/* ---- opening ---- */

/* The last part of a path, which clients call the model by. */
static const char *base_name(const char *path)
{
    const char *last = path;
    for (const char *p = path; *p; p++)
        if (*p == '/' && p[1]) last = p + 1;
    return last;
}

static void describe(serve_text *s)
{
    json_t *o = json_pack("{s:s, s:s, s:b, s:I}", "model", s->name, "kind", "text", "chat",
                          s->info->has_template, "context", (json_int_t)s->info->context);
    s->facts = json_dumps(o, JSON_INDENT(1));
    json_decref(o);
    o = json_pack("{s:s, s:[{s:s, s:s, s:I, s:s, s:I}]}", "object", "list", "data", "id", s->name,
                  "object", "model", "created", (json_int_t)time(NULL), "owned_by", "vktrain",
                  "context_length", (json_int_t)s->info->context);
    s->models = json_dumps(o, JSON_INDENT(1));
    json_decref(o);
    s->page = vkt_report_served(s->name, s->facts);
}

vkt_status serve_text_open(const vkt_text_desc *model, uint32_t n_texts, serve_text **out)
{
    serve_text *s = *out = cli_zeros(1, sizeof *s);
    vkt_status st = vkt_writer_open(model, n_texts, &s->model);
    if (st != VKT_OK) {
        serve_text_close(out);
        return st;
    }
    s->info = vkt_writer_get_info(s->model);
    s->name = base_name(model->checkpoint);
    describe(s);
    return VKT_OK;
}

void serve_text_close(serve_text **ps)
{
    serve_text *s = *ps;
    if (!s) return;
    vkt_writer_close(&s->model);
    free(s->facts);
    free(s->models);
    vkt_free(s->page);
    free(s);
    *ps = NULL;
}

const char *serve_text_facts(const serve_text *s)
{
    return s->facts;
}

void serve_text_pages(const serve_text *s, http_server *http)
{
    http_page(http, "/", "text/html; charset=utf-8", s->page);
    http_page(http, "/model", "application/json", s->facts);
    http_page(http, "/v1/models", "application/json", s->models);
}

/* ---- answers ---- */

/* Text as JSON: what is no UTF-8 becomes U+FFFD. */
static json_t *text_json(const char *text, size_t n)
{
    json_t *whole = json_stringn(text, n);
    if (whole) return whole;
    char *clean = cli_grow(NULL, 3 * n + 1), *to = clean;
    for (size_t i = 0, k; i < n; i += k) {
        for (k = 1; k <= 4 && i + k <= n; k++) {
            json_t *one = json_stringn(text + i, k);
            json_decref(one);
            if (one) break;
        }
        bool ok = k <= 4 && i + k <= n;
        if (!ok) k = 1;
        memcpy(to, ok ? text + i : "\xef\xbf\xbd", ok ? k : 3);
        to += ok ? k : 3;
    }
    whole = json_stringn(clean, (size_t)(to - clean));
    free(clean);
    return whole;
}

static json_t *usage(const job *j)
{
    return json_pack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)j->n_prompt,
                     "completion_tokens", (json_int_t)j->n_made, "total_tokens",
                     (json_int_t)(j->n_prompt + j->n_made));
}

/* What an answer and each part of a stream begin with; choice NULL: without any. */
static json_t *frame(const job *j, bool part, json_t *choice)
{
    static const char *const kinds[2][2] = { { "text_completion", "text_completion" },
                                             { "chat.completion", "chat.completion.chunk" } };
    json_t *choices = json_array();
    if (choice) json_array_append_new(choices, choice);
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "id", j->id, "object", kinds[j->chat][part],
                     "created", j->created, "model", j->s->name, "choices", choices);
}

static void send_part(job *j, json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    if (!text || !j->reads) {
        free(text);
        return;
    }
    j->reads = http_write(j->r, "data: ", 6) && http_write(j->r, text, strlen(text)) &&
               http_write(j->r, "\n\n", 2);
    free(text);
}

/* A part of a stream: text that comes, or NULL at its end for this reason. */
static void send_text(job *j, json_t *text, const char *reason)
{
    json_t *why = reason ? json_string(reason) : json_null();
    json_t *choice = json_pack("{s:i, s:o, s:n}", "index", 0, "finish_reason", why, "logprobs");
    if (j->chat)
        json_object_set_new(choice, "delta",
                            text ? json_pack("{s:o}", "content", text) : json_object());
    else
        json_object_set_new(choice, "text", text ? text : json_string(""));
    send_part(j, frame(j, true, choice));
}

static void on_text(void *user, const char *text, size_t n)
{
    job *j = user;
    if (j->q.stream) {
        send_text(j, text_json(text, n), NULL);
        return;
    }
    if (j->n + n > j->cap) j->text = cli_grow(j->text, j->cap = 2 * (j->n + n));
    memcpy(j->text + j->n, text, n);
    j->n += n;
}

static bool cancelled(void *user)
{
    job *j = user;
    j->reads = j->reads && !http_gone(j->r);
    return !j->reads;
}

static void answer_whole(job *j, const char *reason)
{
    json_t *text = text_json(j->text ? j->text : "", j->n);
    json_t *choice = json_pack("{s:i, s:s, s:n}", "index", 0, "finish_reason", reason, "logprobs");
    if (j->chat)
        json_object_set_new(choice, "message",
                            json_pack("{s:s, s:o}", "role", "assistant", "content", text));
    else
        json_object_set_new(choice, "text", text);
    json_t *o = frame(j, false, choice);
    json_object_set_new(o, "usage", usage(j));
    char *body = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    http_answer(j->r, 200, "application/json", body, body ? strlen(body) : 0);
}

static void finish(job *j, const char *reason)
{
    if (!j->q.stream) {
        answer_whole(j, reason);
    } else {
        send_text(j, NULL, reason);
        if (j->q.usage) {
            json_t *o = frame(j, true, NULL);
            json_object_set_new(o, "usage", usage(j));
            send_part(j, o);
        }
        if (j->reads) http_write(j->r, "data: [DONE]\n\n", 14);
        http_end(j->r);
    }
    openai_request_finish(&j->q);
    free(j->text);
    *j = (job) { .s = j->s };
}

/* ---- requests ---- */

/* What the request asks for; false: it is refused. */
static bool parse(serve_text *s, job *j)
{
    char why[512];
    j->chat = !strcmp(j->r->path, "/v1/chat/completions");
    if (!j->chat && strcmp(j->r->path, "/v1/completions") != 0) {
        http_refuse(j->r, 404, "POST goes to /v1/chat/completions or /v1/completions");
        return false;
    }
    if (!openai_request_parse(j->r->body, j->r->n, j->chat, &j->q, why, sizeof why)) {
        http_refuse(j->r, 400, "%s", why);
        return false;
    }
    if (j->q.model && strcmp(j->q.model, s->name) != 0) {
        http_refuse(j->r, 404,
                    "the model '%.100s' is not here: it is '%.100s', or leave 'model' out",
                    j->q.model, s->name);
        return false;
    }
    return true;
}

static void said_to_the_client(void *user, vkt_log_level level, const char *area, const char *line)
{
    (void)user, (void)level, (void)area, (void)line;
}

/* Begins the text; false: the request has its answer already. */
static bool begin(serve_text *s, uint32_t i, http_request *r)
{
    job *j = &s->jobs[i];
    *j = (job) { .s = s, .r = r, .reads = true, .created = (json_int_t)time(NULL) };
    uint64_t number = ++s->n_asked;
    if (!parse(s, j)) goto refused;
    vkt_generate_desc d = {
        .n_tokens = j->q.max_tokens,
        .prompt = j->q.prompt,
        .sampler = { .temperature = (float)j->q.temperature,
                     .top_k = j->q.top_k,
                     .top_p = (float)j->q.top_p,
                     .repetition_penalty = (float)j->q.repetition_penalty,
                     .seed = j->q.has_seed ? j->q.seed : (uint64_t)j->created << 24 ^ number },
        .stop = j->q.stop,
        .n_stop = j->q.n_stop,
        .fn = on_text,
        .cancelled = cancelled,
        .user = j
    };
    cli_log_keep(said_to_the_client, NULL);
    vkt_status st = vkt_writer_begin(s->model, i, j->q.messages, &d, &j->n_prompt);
    cli_log_keep(NULL, NULL);
    if (st != VKT_OK) {
        http_refuse(r, st == VKT_E_ARG || st == VKT_E_FORMAT ? 400 : 500, "%s", vkt_last_error());
        goto refused;
    }
    snprintf(j->id, sizeof j->id, "%s-%llu-%llu", j->chat ? "chatcmpl" : "cmpl",
             (unsigned long long)j->created, (unsigned long long)number);
    if (j->q.stream) http_begin(r, "text/event-stream");
    if (j->q.stream && j->chat) {
        json_t *delta = json_pack("{s:s, s:s}", "role", "assistant", "content", "");
        send_part(j, frame(j, true,
                           json_pack("{s:i, s:o, s:n, s:n}", "index", 0, "delta", delta,
                                     "finish_reason", "logprobs")));
    }
    if (j->q.echo) on_text(j, j->q.prompt, strlen(j->q.prompt));
    return true;
refused:
    openai_request_finish(&j->q);
    *j = (job) { .s = s };
    return false;
}

static vkt_status step(serve_text *s, uint32_t i)
{
    job *j = &s->jobs[i];
    bool more, complete;
    vkt_generate_result made;
    vkt_status st = vkt_writer_step(s->model, i, &more, &complete, &made);
    j->n_made = made.n_tokens;
    if (st != VKT_OK || !more) finish(j, st == VKT_OK && complete ? "stop" : "length");
    return st;
}

bool serve_text_writes(const serve_text *s)
{
    bool writing = false;
    for (uint32_t i = 0; i < s->info->n_texts; i++) writing |= s->jobs[i].r != NULL;
    return writing;
}

bool serve_text_take(serve_text *s, http_request *r)
{
    for (uint32_t i = 0; i < s->info->n_texts; i++) {
        if (s->jobs[i].r) continue;
        begin(s, i, r);
        return true;
    }
    return false;
}

vkt_status serve_text_step(serve_text *s, http_server *http)
{
    bool writing = serve_text_writes(s);
    for (uint32_t i = 0; i < s->info->n_texts && http; i++) {
        if (s->jobs[i].r) continue;
        http_request *r = http_next(http, writing ? 0 : 0.2);
        if (!r) break;
        writing |= begin(s, i, r);
    }
    if (http) http_tend(http);
    vkt_status st = VKT_OK;
    for (uint32_t i = 0; i < s->info->n_texts; i++) {
        if (!s->jobs[i].r) continue;
        vkt_status one = step(s, i);
        if (one != VKT_OK) st = one;
    }
    return st;
}

void serve_text_end(serve_text *s)
{
    for (uint32_t i = 0; i < s->info->n_texts; i++)
        if (s->jobs[i].r) finish(&s->jobs[i], "length");
}
