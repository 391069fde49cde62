/* serve_predictor.h */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "prediction.h"
#include "rows_body.h"
#include "serve_predictor.h"
#include "vktrain/report.h"

/* Examples that go through the model at a time, and requests that are read for it. */
enum { BATCH = 32, MOST_REQUESTS = 32 };

struct serve_predictor {
    vkt_predictor *model;
    const vkt_predictor_info *info;
    uint32_t top;
    const char **names; /* [n_names] the table's columns */
    size_t n_names;
    bool named;
    char *facts, *page;
};

/* A request that was read. */
typedef struct asked {
    http_request *r;
    vkt_inputs in;
    json_t *warnings;
} asked;

/* ---- opening ---- */

static json_t *texts(const char *const *s, uint32_t n)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < n; i++) json_array_append_new(a, json_string(s[i]));
    return a;
}

static json_t *columns_json(serve_predictor *p)
{
    json_t *all = json_array();
    vkt_data_column c;
    for (uint32_t i = 0; vkt_predictor_get_column(p->model, i, &c, &p->named); i++) {
        json_t *o = json_pack("{s:s}", "name", c.name);
        p->names = cli_grow(p->names, (p->n_names + 1) * sizeof *p->names);
        p->names[p->n_names++] = c.name;
        if (c.n_values)
            json_object_set_new(o, "values", texts(c.values, c.n_values));
        else if (c.sentence)
            json_object_set_new(o, "sentence", json_true());
        else if (c.date)
            json_object_set_new(o, "date", json_true());
        else
            json_object_set_new(o, "usual", cli_json_number(c.usual));
        json_array_append_new(all, o);
    }
    return all;
}

/* What GET /model gives, and the page's form is made from. */
static json_t *facts(serve_predictor *p, const char *checkpoint)
{
    const vkt_predictor_info *m = p->info;
    json_t *o = json_pack("{s:s, s:s, s:s}", "model", checkpoint, "kind",
                          m->kind == VKT_DATA_KIND_TABLE ? "table" : "pictures", "task",
                          m->task == VKT_TASK_CLASSIFY    ? "classify"
                          : m->task == VKT_TASK_REGRESS   ? "regress"
                          : m->task == VKT_TASK_SEGMENT   ? "segment"
                          : m->task == VKT_TASK_DETECT    ? "detect"
                          : m->task == VKT_TASK_POINTS    ? "points"
                          : m->task == VKT_TASK_INSTANCES ? "instances"
                                                          : "multilabel");
    if (m->class_names) json_object_set_new(o, "classes", texts(m->class_names, m->n_outputs));
    if (m->kind == VKT_DATA_KIND_TABLE) {
        json_object_set_new(o, "columns", columns_json(p));
        json_object_set_new(o, "named", json_boolean(p->named));
    } else {
        json_t *shape = json_array();
        for (uint32_t i = 0; i < m->input_rank; i++)
            json_array_append_new(shape, json_integer(m->input_shape[i]));
        json_object_set_new(o, "input_shape", shape);
    }
    return o;
}

vkt_status serve_predictor_open(const vkt_gpu_desc *gpu, const char *checkpoint, uint32_t top,
                                serve_predictor **out)
{
    serve_predictor *p = cli_zeros(1, sizeof *p);
    *out = p;
    vkt_status st = vkt_predictor_open_batch(gpu, checkpoint, BATCH, &p->model);
    if (st != VKT_OK) {
        serve_predictor_close(out);
        return st;
    }
    p->info = vkt_predictor_get_info(p->model);
    p->top = top;
    json_t *o = facts(p, checkpoint);
    p->facts = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(o);
    p->page = vkt_report_served(checkpoint, p->facts);
    return VKT_OK;
}

void serve_predictor_close(serve_predictor **pp)
{
    serve_predictor *p = *pp;
    if (!p) return;
    vkt_predictor_close(&p->model);
    free(p->names);
    free(p->facts);
    vkt_free(p->page);
    free(p);
    *pp = NULL;
}

const char *serve_predictor_facts(const serve_predictor *p)
{
    return p->facts;
}

void serve_predictor_pages(const serve_predictor *p, http_server *http)
{
    http_page(http, "/", "text/html; charset=utf-8", p->page);
    http_page(http, "/model", "application/json", p->facts);
}

/* ---- a request ---- */

static void keep_warning(void *list, vkt_log_level level, const char *area, const char *line)
{
    (void)area;
    if (level == VKT_LOG_WARN && json_array_size(list) < 20)
        json_array_append_new(list, json_string(line));
}

static vkt_status read_rows(serve_predictor *p, asked *a)
{
    char why[512];
    char *text =
        rows_body_text(a->r->body, a->r->n, p->names, p->n_names, p->named, why, sizeof why);
    if (!text) {
        http_refuse(a->r, 400, "%s", why);
        return VKT_E_FAILED;
    }
    vkt_status st = vkt_predictor_read_rows(p->model, text, strlen(text), "request", &a->in);
    free(text);
    return st;
}

/* false: it has its answer already. */
static bool read_request(serve_predictor *p, asked *a)
{
    vkt_status st;
    if (strcmp(a->r->path, "/predict") != 0) {
        http_refuse(a->r, 404, "POST goes to /predict");
        return false;
    }
    if (!strncmp(a->r->type, "multipart/", 10)) {
        http_refuse(a->r, 415,
                    "send the picture itself as the body (curl --data-binary @FILE), or "
                    "rows as application/json: forms are not read");
        return false;
    }
    a->warnings = json_array();
    cli_log_keep(keep_warning, a->warnings);
    if (p->info->kind == VKT_DATA_KIND_TABLE)
        st = read_rows(p, a);
    else
        st = vkt_predictor_read_picture(p->model, a->r->body, a->r->n, "request", &a->in);
    cli_log_keep(NULL, NULL);
    if (st == VKT_OK && a->in.n) return true;
    if (st == VKT_OK)
        http_refuse(a->r, 400, "there are no rows");
    else if (st != VKT_E_FAILED)
        http_refuse(a->r, st == VKT_E_FORMAT ? 400 : 500, "%s", vkt_last_error());
    json_decref(a->warnings);
    vkt_free(a->in.data);
    return false;
}

/* What the predictions of a request are, with its warnings. */
static void send(asked *a, json_t *all, int digits)
{
    json_t *o = json_object();
    json_object_set_new(o, "predictions", all);
    if (json_array_size(a->warnings)) json_object_set(o, "warnings", a->warnings);
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION((size_t)digits));
    json_decref(o);
    if (text)
        http_answer(a->r, 200, "application/json", text, strlen(text));
    else
        http_refuse(a->r, 500, "no memory for the answer");
}

static void answer(const serve_predictor *p, asked *a, const float *out, const double *number)
{
    int digits = 6;
    json_t *all = json_array();
    for (uint64_t i = 0; i < a->in.n; i++) {
        json_t *one = json_object();
        vkt_prediction of = vkt_predictor_prediction(p->model, out + i * p->info->n_outputs);
        if (!of.class_names) of.number = number + i * p->info->n_outputs;
        int own = prediction_digits(&of);
        if (own > digits) digits = own;
        prediction_json(one, &of, p->top);
        json_array_append_new(all, one);
    }
    send(a, all, digits);
}

/* A detector's: boxes in pixels of the picture that was sent. */
static vkt_status run_boxes(serve_predictor *p, asked *a, size_t n)
{
    vkt_inputs in[MOST_REQUESTS];
    vkt_found_boxes found[MOST_REQUESTS];
    for (size_t i = 0; i < n; i++) in[i] = a[i].in;
    vkt_status st = vkt_predictor_find(p->model, in, n, found);
    for (size_t i = 0; i < n; i++) {
        if (st == VKT_OK) {
            json_t *one =
                json_pack("{s:i, s:i}", "width", (int)in[i].width, "height", (int)in[i].height);
            vkt_prediction of = { .class_names = p->info->class_names,
                                  .boxes = found[i].box,
                                  .n_boxes = found[i].n };
            prediction_json(one, &of, p->top);
            send(&a[i], json_pack("[o]", one), 6);
        } else {
            http_refuse(a[i].r, 500, "%s", vkt_last_error());
        }
        vkt_free(found[i].box);
        json_decref(a[i].warnings);
        vkt_free(a[i].in.data);
    }
    return st;
}

/* Points, the same. */
static vkt_status run_points(serve_predictor *p, asked *a, size_t n)
{
    vkt_inputs in[MOST_REQUESTS];
    uint32_t each = p->info->n_outputs;
    for (size_t i = 0; i < n; i++) in[i] = a[i].in;
    vkt_found_point *found = malloc(n * each * sizeof *found);
    vkt_status st = found ? vkt_predictor_locate(p->model, in, n, found) : VKT_E_OOM_HOST;
    for (size_t i = 0; i < n; i++) {
        if (st == VKT_OK) {
            json_t *one =
                json_pack("{s:i, s:i}", "width", (int)in[i].width, "height", (int)in[i].height);
            vkt_prediction of = { .class_names = p->info->class_names,
                                  .points = found + i * each,
                                  .n_points = each,
                                  .limbs = p->info->limbs,
                                  .n_limbs = p->info->n_limbs };
            prediction_json(one, &of, p->top);
            send(&a[i], json_pack("[o]", one), 6);
        } else {
            http_refuse(a[i].r, 500, "%s", found ? vkt_last_error() : "there is no memory for it");
        }
        json_decref(a[i].warnings);
        vkt_free(a[i].in.data);
    }
    free(found);
    return st;
}

static vkt_status run(serve_predictor *p, asked *a, size_t n)
{
    vkt_inputs in[MOST_REQUESTS];
    uint64_t total = 0;
    if (p->info->task == VKT_TASK_DETECT || p->info->task == VKT_TASK_INSTANCES)
        return run_boxes(p, a, n);
    if (p->info->task == VKT_TASK_POINTS) return run_points(p, a, n);
    for (size_t i = 0; i < n; i++) {
        in[i] = a[i].in;
        total += in[i].n;
    }
    size_t n_values = (size_t)total * p->info->n_outputs, at = 0;
    double *exact = malloc(n_values * sizeof *exact);
    float *out = exact ? malloc(n_values * sizeof *out) : NULL;
    vkt_status st = out ? vkt_predictor_run_inputs_doubles(p->model, in, n, exact) : VKT_E_OOM_HOST;
    for (size_t i = 0; i < n_values && st == VKT_OK; i++) out[i] = (float)exact[i];
    for (size_t i = 0; i < n; at += in[i++].n * p->info->n_outputs) {
        if (st == VKT_OK)
            answer(p, &a[i], out + at, exact + at);
        else
            http_refuse(a[i].r, 500, "%s", out ? vkt_last_error() : "there is no memory for it");
        json_decref(a[i].warnings);
        vkt_free(a[i].in.data);
    }
    free(exact);
    free(out);
    return st;
}

vkt_status serve_predictor_answer(serve_predictor *p, http_server *http, http_request *first)
{
    asked all[MOST_REQUESTS];
    size_t n = 0;
    uint64_t examples = 0;
    for (http_request *r = first; r; r = http ? http_next(http, 0) : NULL) {
        all[n] = (asked) { .r = r };
        if (!read_request(p, &all[n])) continue;
        examples += all[n++].in.n;
        if (n == MOST_REQUESTS || examples >= BATCH) break;
    }
    return n ? run(p, all, n) : VKT_OK;
}
