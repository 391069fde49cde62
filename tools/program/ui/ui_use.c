/* Endpoints that ask a trained model: the same code as `vktrain serve` in this process, which opens
 * the device while a model is open, and only then. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "serve_predictor.h"
#include "serve_text.h"
#include "ui.h"
#include "ui_use.h"

enum { TOP = 5, TEXTS = 2 };
static const double idle_s = 900; /* after which a model that nobody asks is closed */

static struct {
    serve_predictor *predictor; /* or */
    serve_text *text;
    char *path; /* NULL: none is open */
    double asked;
} model;

void ui_use_close(void)
{
    if (model.text) serve_text_end(model.text);
    serve_predictor_close(&model.predictor);
    serve_text_close(&model.text);
    free(model.path);
    model.path = NULL;
}

bool ui_use_step(void)
{
    if (!model.path) return false;
    bool writes = model.text && serve_text_writes(model.text);
    if (writes) {
        model.asked = cli_now();
        if (serve_text_step(model.text, NULL) == VKT_E_DEVICE) ui_use_close();
    } else if (cli_now() - model.asked > idle_s) {
        ui_use_close();
    }
    return writes;
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

/* A run, a checkpoint, a folder of Hugging Face or a GGUF file. */
static void open_model(ui *u, http_request *r, const json_t *in)
{
    char *path = ui_path(u, r, in, "model");
    const char *device = ui_text(r, in, "device");
    vkt_data_kind kind;
    if (!path) return;
    if (model.path && !strcmp(model.path, path)) {
        free(path);
        answer_facts(u, r);
        return;
    }
    ui_use_close();
    model.path = path;
    model.asked = cli_now();
    const vkt_gpu_desc gpu = { .device = device && *device ? device : NULL };
    const vkt_text_desc text = { .gpu = gpu, .checkpoint = path };
    vkt_status st = vkt_checkpoint_kind(path, &kind);
    if (st == VKT_OK)
        st = kind == VKT_DATA_KIND_TEXT ? serve_text_open(&text, TEXTS, &model.text)
                                        : serve_predictor_open(&gpu, path, TOP, &model.predictor);
    if (st == VKT_OK) {
        answer_facts(u, r);
        return;
    }
    http_refuse(r, 422, "%s", vkt_last_error());
    ui_use_close();
}

static void close_model(ui *u, http_request *r, const json_t *in)
{
    (void)u;
    (void)in;
    ui_use_close();
    ui_answer(r, json_object());
}

static void predict(ui *u, http_request *r, const json_t *in)
{
    (void)u;
    (void)in;
    model.asked = cli_now();
    if (!model.predictor)
        http_refuse(r, 409, "no model of pictures or tables is open");
    else if (serve_predictor_answer(model.predictor, NULL, r) == VKT_E_DEVICE)
        ui_use_close();
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
    { "/api/use/open", UI_JSON, open_model },   { "/api/use/close", UI_JSON, close_model },
    { "/predict", UI_BYTES, predict },          { "/v1/chat/completions", UI_JSON, write_text },
    { "/v1/completions", UI_JSON, write_text }, { 0 },
};
