/* vktrain serve: a trained model behind HTTP on this machine. */
#include "cli.h"

#ifdef VKT_HTTP
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "http_refusal.h"
#include "http_words.h"
#include "serve_predictor.h"
#include "serve_text.h"
#endif

typedef struct serve_options {
    cli_options common;
    int cache;
    uint32_t port, top, body_mib, read_s, texts, context;
    const char *token;
} serve_options;

#define AT(field) offsetof(serve_options, field)
static const cli_flag flags[] = {
    { "--port", CLI_UINT, AT(port), "P", "8080", "port on 127.0.0.1; 0: a free one" },
    { "--top", CLI_UINT, AT(top), "K", "5", "number of classes in an answer, likeliest first" },
    { "--texts", CLI_UINT, AT(texts), "N", "2",
      "language models: texts written at a time, each with keys and values in device memory" },
    { "--kv-cache", CLI_CHOICE, AT(cache), CLI_CACHE_TYPES, "f32",
      "language models: " CLI_CACHE_HELP },
    { "--context", CLI_UINT, AT(context), "N", "0", "language models: " CLI_CONTEXT_HELP },
    { "--max-body", CLI_UINT, AT(body_mib), "MIB", "16",
      "largest request in MiB; JSON at most 2 MiB" },
    { "--timeout", CLI_UINT, AT(read_s), "S", "20",
      "seconds in which a request must have come in" },
    { "--token", CLI_TEXT, AT(token), "TEXT", "VKT_SERVE_TOKEN",
      "refuse requests without this secret (Authorization: Bearer TEXT); set the variable instead, "
      "so that the list of processes does not show it" },
    { 0 },
};

#ifdef VKT_HTTP
enum { CONNECTIONS = 256, MOST_S = 86400, MOST_MIB = 256 };

/* The model of either kind: the other is NULL. */
typedef struct served {
    serve_predictor *predictor;
    serve_text *text;
} served;

static vkt_status answer(served *m, http_server *http)
{
    if (m->text) return serve_text_step(m->text, http);
    http_request *r = http_next(http, 0.2);
    return r ? serve_predictor_answer(m->predictor, http, r) : VKT_OK;
}

static const char *why_not(void *token, const http_request *r)
{
    const char *given = http_bearer(r->authorization);
    return given && http_is_secret(token, given, strlen(given)) ? NULL : http_no_bearer;
}

/* What can be sent in a header, and can't be guessed. */
static bool is_token(const char *s)
{
    enum { LEAST = 16, MOST = 512 };
    size_t n = strlen(s), visible = 0;
    while (s[visible] > 32 && s[visible] < 127) visible++;
    if (n >= LEAST && n <= MOST && visible == n) return true;
    cli_error(
        "serve: a token has %d to %d characters of ASCII without blanks: this one is shorter, "
        "longer or has other characters",
        LEAST, MOST);
    return false;
}

static int serve(const serve_options *o, served *m)
{
    char *why;
    http_server *http;
    size_t body = (size_t)o->body_mib << 20;
    http_limits limits = { .json_bytes = body < (2 << 20) ? body : 2 << 20,
                           .body_bytes = body,
                           .held_bytes = 4 * body + (32 << 20),
                           .connections = CONNECTIONS,
                           .read_s = o->read_s,
                           .why_not = o->token ? why_not : NULL,
                           .user = (void *)(uintptr_t)o->token };
    vkt_status st = VKT_OK;
    if (!http_open((uint16_t)o->port, &limits, &http, &why)) {
        cli_error("serve: can't listen on 127.0.0.1:%u: %s; give another --port", o->port,
                  why ? why : "no memory");
        free(why);
        return CLI_DATA;
    }
    if (m->text)
        serve_text_pages(m->text, http);
    else
        serve_predictor_pages(m->predictor, http);
    printf("http://127.0.0.1:%u/ answers%s; Ctrl-C ends\n", http_port(http),
           o->token ? " requests that have the token" : "");
    fflush(stdout);
    cli_log_open(true, false); /* requests are many: of them only warnings are logged */
    while (st != VKT_E_DEVICE && !cli_interrupted(false)) st = answer(m, http);
    if (m->text) serve_text_end(m->text);
    http_close(&http);
    return st == VKT_E_DEVICE ? CLI_LOST : CLI_INTERRUPTED;
}

static vkt_status open_model(const serve_options *o, served *m)
{
    const vkt_gpu_desc *gpu = &o->common.gpu;
    const char *path = o->common.args[0];
    const vkt_text_desc text = {
        .gpu = *gpu, .checkpoint = path, .context = o->context, .cache = (vkt_dtype)o->cache
    };
    vkt_data_kind kind;
    vkt_status st = vkt_checkpoint_kind(path, &kind);
    if (st != VKT_OK) return st;
    return kind == VKT_DATA_KIND_TEXT ? serve_text_open(&text, o->texts, &m->text)
                                      : serve_predictor_open(gpu, path, o->top, &m->predictor);
}

static bool within(const char *option, uint32_t value, uint32_t least, uint32_t most)
{
    if (value >= least && value <= most) return true;
    cli_error("serve: %s is %u, must be from %u to %u", option, value, least, most);
    return false;
}

static int run(void *options)
{
    serve_options *o = options;
    served m = { 0 };
    if (!within("--port", o->port, 0, 65535) || !within("--max-body", o->body_mib, 1, MOST_MIB) ||
        !within("--timeout", o->read_s, 1, MOST_S) || !within("--texts", o->texts, 1, SERVE_TEXTS))
        return CLI_USAGE;
    if (!o->token) o->token = getenv("VKT_SERVE_TOKEN");
    if (o->token && !is_token(o->token)) return CLI_USAGE;
    if (!o->top) o->top = 1;
    cli_catch_interrupts(NULL);
    vkt_status st = open_model(o, &m);
    int rc = st == VKT_OK ? serve(o, &m) : cli_exit_code(st);
    serve_predictor_close(&m.predictor);
    serve_text_close(&m.text);
    return rc;
}
#else
static int run(void *options)
{
    (void)options;
    cli_error("serve: this vktrain was built without libmicrohttpd: install libmicrohttpd-dev "
              "(Debian's name) and build it again");
    return CLI_NO_DEVICE;
}
#endif

const cli_command cmd_serve = {
    .name = "serve",
    .args = "RUN|CHECKPOINT|FOLDER|GGUF",
    .summary = "answer requests by HTTP on this machine, and show a page to try the model",
    .details =
        "Listens on 127.0.0.1 alone. The page at / takes a picture that is dropped on it, or a "
        "form "
        "of the columns. POST /predict takes a PNG, JPEG, BMP, GIF or WebP file, or rows as JSON: "
        "an object "
        "of "
        "columns' names, or a list of such. GET /model describes the model. Requests that wait are "
        "answered together. Language models speak OpenAI's API: /v1/chat/completions and "
        "/v1/completions, streams too, and /v1/models. Ctrl-C ends it, with exit code 130.\n"
        "example: curl --data-binary @cat.jpg http://127.0.0.1:8080/predict\n"
        "example: curl --json '[{\"sepal_length\": 5.1, \"petal_width\": 0.2}]' "
        "http://127.0.0.1:8080/predict",
    .min_args = 1,
    .max_args = 1,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(serve_options),
    .run = run,
};
