/* Endpoints that ask a trained model: the same code as `vktrain serve` in this process, which opens
 * the device while a model is open, and only then. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "serve_predictor.h"
#include "serve_text.h"
#include "ui.h"
#include "ui_os.h"
#include "ui_use.h"

enum { TOP = 5, TEXTS = 2 };
static const double idle_s = 900; /* after which a model that nobody asks is closed */

/* A model that is opened in a thread, since that may take a minute. It is the thread's until that
 * has ended; r is the main thread's all the time. */
static struct {
    ui_task *task;   /* NULL: none is opened */
    http_request *r; /* waits for it; NULL: it was closed meanwhile */
    char *path, *device;
    serve_predictor *predictor;
    serve_text *text;
    vkt_status st;
    char why[512];
} opens;

/* The newest request for another model, while one that was closed is still being opened. */
static struct {
    http_request *r; /* NULL: none */
    char *path, *device;
} next;

static struct {
    serve_predictor *predictor; /* or */
    serve_text *text;
    char *path; /* NULL: none is open */
    double asked;
} model;

bool ui_use_opens(void)
{
    return opens.task != NULL;
}

static void close_model(void)
{
    if (model.text) serve_text_end(model.text);
    serve_predictor_close(&model.predictor);
    serve_text_close(&model.text);
    free(model.path);
    model.path = NULL;
}

static void answer_facts(ui *u, http_request *r)
{
    const char *facts =
        model.text ? serve_text_facts(model.text) : serve_predictor_facts(model.predictor);
    json_t *j = json_loads(facts, 0, NULL);
    json_object_set_new(j, "path", ui_json_path(model.path));
    const char *const argv[] = { "vktrain", "serve", ui_short(u, model.path), NULL };
    json_object_set_new(j, "command", ui_json_command(argv));
    ui_answer(r, j);
}

/* ---- opening ---- */

static void open_now(void *unused)
{
    const vkt_gpu_desc gpu = { .device = opens.device };
    const vkt_text_desc text = { .gpu = gpu, .checkpoint = opens.path };
    vkt_data_kind kind;
    (void)unused;
    opens.st = vkt_checkpoint_kind(opens.path, &kind);
    if (opens.st == VKT_OK)
        opens.st = kind == VKT_DATA_KIND_TEXT
                       ? serve_text_open(&text, TEXTS, &opens.text)
                       : serve_predictor_open(&gpu, opens.path, TOP, &opens.predictor);
    if (opens.st != VKT_OK) snprintf(opens.why, sizeof opens.why, "%s", vkt_last_error());
}

static void take_over(ui *u);

/* Takes path and device. */
static void begin(ui *u, http_request *r, char *path, char *device)
{
    close_model();
    opens.r = r;
    opens.path = path;
    opens.device = device;
    json_object_seed(0); /* jansson wants this before it is used by several threads */
    if (ui_task_start(open_now, NULL, &opens.task)) return;
    open_now(NULL);
    take_over(u);
}

/* The thread has ended: what it opened is the model, unless it was closed. */
static void take_over(ui *u)
{
    ui_task_join(&opens.task);
    model.predictor = opens.predictor;
    model.text = opens.text;
    model.path = opens.path;
    model.asked = cli_now();
    opens.predictor = NULL;
    opens.text = NULL;
    opens.path = NULL;
    free(opens.device);
    if (opens.st == VKT_OK && opens.r)
        answer_facts(u, opens.r);
    else if (opens.r)
        http_refuse(opens.r, 422, "%s", opens.why);
    if (opens.st != VKT_OK || !opens.r) close_model();
    opens.r = NULL;
    http_request *r = next.r;
    next.r = NULL;
    if (r) begin(u, r, next.path, next.device);
}

static void give_up(const char *why)
{
    if (opens.r) http_refuse(opens.r, 409, "%s", why);
    opens.r = NULL;
    if (!next.r) return;
    http_refuse(next.r, 409, "%s", why);
    next.r = NULL;
    free(next.path);
    free(next.device);
}

void ui_use_close(void)
{
    give_up("the server is ending");
    if (opens.task) take_over(NULL);
    close_model();
}

bool ui_use_step(ui *u)
{
    if (opens.task && ui_task_ended(opens.task)) take_over(u);
    if (!model.path) return false;
    bool writes = model.text && serve_text_writes(model.text);
    if (writes) {
        model.asked = cli_now();
        if (serve_text_step(model.text, NULL) == VKT_E_DEVICE) close_model();
    } else if (cli_now() - model.asked > idle_s) {
        close_model();
    }
    return writes;
}

/* A run, a checkpoint, a folder of Hugging Face or a GGUF file. */
static void open_model(ui *u, http_request *r, const json_t *in)
{
    char *path = ui_path(u, r, in, "model");
    const char *device = ui_text(r, in, "device");
    if (!path) return;
    const char *there = opens.task ? opens.path : model.path;
    bool same = there && !strcmp(there, path);
    char *by = device && *device ? strcpy(cli_grow(NULL, strlen(device) + 1), device) : NULL;
    if (!opens.task && !same) {
        begin(u, r, path, by);
        return;
    }
    if (opens.task && !same && !opens.r) { /* that one was closed */
        give_up("another model was asked for");
        next.r = r;
        next.path = path;
        next.device = by;
        return;
    }
    free(path);
    free(by);
    if (!opens.task) {
        answer_facts(u, r);
    } else if (same) { /* a page that was loaded again */
        give_up("it was asked for again");
        opens.r = r;
    } else {
        http_refuse(r, 409, "another model is being opened: wait for it, or close it");
    }
}

/* What is being opened is closed as soon as it is open. */
static void close_asked(ui *u, http_request *r, const json_t *in)
{
    (void)u;
    (void)in;
    give_up("it was closed before it was open");
    close_model();
    ui_answer(r, json_object());
}

/* ---- asking ---- */

static void predict(ui *u, http_request *r, const json_t *in)
{
    (void)u;
    (void)in;
    model.asked = cli_now();
    if (!model.predictor)
        http_refuse(r, 409, "no model of pictures or tables is open");
    else if (serve_predictor_answer(model.predictor, NULL, r) == VKT_E_DEVICE)
        close_model();
}

static void write_text(ui *u, http_request *r, const json_t *in)
{
    (void)u;
    (void)in;
    model.asked = cli_now();
    if (!model.text)
        http_refuse(r, 409, "no language model is open");
    else if (!serve_text_take(model.text, r))
        http_refuse(r, 503, "it writes as many texts as it can at a time: wait for one");
}

const ui_route ui_use_routes[] = {
    { "/api/use/open", UI_JSON, open_model },   { "/api/use/close", UI_JSON, close_asked },
    { "/predict", UI_BYTES, predict },          { "/v1/chat/completions", UI_JSON, write_text },
    { "/v1/completions", UI_JSON, write_text }, { 0 },
};
