/* Endpoints that start, stop and list long work. What is started is a command line of this program,
 * which is shown, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "runs_studies.h"
#include "ui.h"
#include "ui_jobs.h"
#include "ui_os.h"
#include "ui_recipes.h"

/* ---- a command line ---- */

enum { MOST_WORDS = 120 };
typedef struct words {
    const char *item[MOST_WORDS + 1]; /* item[0] "vktrain"; NULL behind the last */
    size_t n;
    char *own[8]; /* freed at the end */
    size_t n_own;
    bool full;
} words;

static void add(words *w, const char *word)
{
    if (w->n < MOST_WORDS)
        w->item[w->n++] = word;
    else
        w->full = true;
}

static void add_two(words *w, const char *flag, const char *value)
{
    add(w, flag);
    add(w, value);
}

static char *own(words *w, char *text)
{
    if (w->n_own < CLI_COUNT(w->own))
        w->own[w->n_own++] = text;
    else
        w->full = true;
    return text;
}

static void finish(words *w)
{
    for (size_t i = 0; i < w->n_own; i++) free(w->own[i]);
}

/* Paths are absolute in the queue, and short where people read them. */
static json_t *command_json(const ui *u, const char *const *argv)
{
    const char *shown[2 * MOST_WORDS] = { "vktrain" };
    size_t n = 1;
    for (; argv[n] && n + 1 < CLI_COUNT(shown); n++)
        shown[n] = ui_os_absolute(argv[n]) ? ui_short(u, argv[n]) : argv[n];
    shown[n] = NULL;
    return ui_json_command(shown);
}

/* ---- parts of what is posted ---- */

/* A word for a flag: not empty, short, and nothing that would be read as another flag. */
static bool is_word(const char *s)
{
    return *s && *s != '-' && strlen(s) <= 1000;
}

/* --set KEY=VALUE for each of the list "set"; false: r was refused. */
static bool add_sets(http_request *r, const json_t *in, words *w)
{
    const json_t *list = json_object_get(in, "set"), *one;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)list, i, one)
    {
        const char *s = json_string_value(one);
        if (!s || !is_word(s) || !strchr(s, '=')) {
            http_refuse(r, 400, "set: a list of KEY=VALUE is expected");
            return false;
        }
        add_two(w, "--set", s);
    }
    return true;
}

/* FLAG VALUE where the text is given; false: r was refused. */
static bool add_option(http_request *r, const json_t *in, words *w, const char *key,
                       const char *flag)
{
    const char *s = ui_text(r, in, key);
    if (!s || !*s) return true;
    if (!is_word(s)) {
        http_refuse(r, 400, "%s: '%.60s' can't be used", key, s);
        return false;
    }
    add_two(w, flag, s);
    return true;
}

/* PLACE/NAME-DATE-TIME, PLACE beside the page's own folder if it may write there, else in the first
 * root.
 */
static char *new_folder(const ui *u, const json_t *in, const char *place, const char *name)
{
    const char *base = ui_roots_have(&u->roots, u->here) ? u->here : u->roots.folder[0];
    size_t cap = strlen(base) + 160;
    char *path = cli_grow(NULL, cap), date[32];
    time_t now = time(NULL);
    struct tm *t = gmtime(&now);
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", t);
    snprintf(path, cap, "%s/%s", base, place);
    if (!json_is_true(json_object_get(in, "dry"))) ui_os_folder_make(path);
    char *real = ui_os_real(path);
    bool leads_out = real && !ui_roots_have(&u->roots, real);
    free(real);
    if (leads_out) place = "."; /* a link: it is left alone */
    for (int i = 1; i < 100; i++) {
        char more[8] = "";
        if (i > 1) snprintf(more, sizeof more, "-%d", i);
        snprintf(path, cap, "%s/%s/%.80s-%s%s", base, place, name, date, more);
        if (!cli_exists(path) && !ui_jobs_make(u->jobs, path)) break;
    }
    return path;
}

/* The folder named by `key`, or a new one; NULL: r was refused. */
static char *folder_of(ui *u, http_request *r, const json_t *in, const char *key, const char *name)
{
    const char *given = ui_text(r, in, key);
    return given && *given ? ui_new_path(u, r, in, key) : new_folder(u, in, "runs", name);
}

static bool holds(const char *folder, const char *file)
{
    ui_os_entry e;
    size_t cap = strlen(folder) + strlen(file) + 2;
    char *path = cli_grow(NULL, cap);
    snprintf(path, cap, "%s/%s", folder, file);
    bool there = ui_os_look(path, &e);
    free(path);
    return there;
}

/* ---- starting ---- */

/* dry: the command alone is given. */
static void queue(ui *u, http_request *r, const json_t *in, const char *kind, words *w,
                  const char *folder)
{
    const char *why = "the command is too long";
    uint32_t id = 0;
    w->item[w->n] = NULL;
    if (!w->full && json_is_true(json_object_get(in, "dry"))) {
        ui_answer(r, json_pack("{s:o}", "command", command_json(u, w->item)));
        return;
    }
    if (!w->full)
        id = ui_jobs_add(u->jobs,
                         &(ui_job_desc) { .kind = kind,
                                          .argv = w->item,
                                          .folder = folder,
                                          .device = strcmp(kind, "export") != 0 },
                         &why);
    if (!id) {
        http_refuse(r, 409, "%s", why);
        return;
    }
    json_t *j = json_pack("{s:I, s:o}", "id", (json_int_t)id, "command", command_json(u, w->item));
    if (folder) json_object_set_new(j, "folder", ui_json_path(folder));
    ui_answer(r, j);
}

static bool may_start(ui *u, http_request *r, const char *recipe)
{
    return ui_recipe_is_built_in(recipe) || ui_recipe_may_start(u, r, recipe);
}

static void start_train(ui *u, http_request *r, const json_t *in)
{
    words w = { .item = { "vktrain", "train" }, .n = 2 };
    bool resume = json_is_true(json_object_get(in, "resume"));
    const char *note = ui_text(r, in, "note");
    char *recipe = resume ? NULL : ui_recipe_word(u, r, in, "recipe"), *run = NULL;
    if (resume) {
        run = ui_path(u, r, in, "run");
        recipe = run ? ui_recipe_of_run(u, r, run) : NULL;
        if (recipe && !may_start(u, r, recipe)) goto out;
    } else if (recipe && may_start(u, r, recipe)) {
        run = folder_of(u, r, in, "run", ui_recipe_stem(recipe));
    }
    if (!recipe || !run) goto out;
    if (!resume && holds(run, "run.json")) {
        http_refuse(r, 409, "there is a run in this folder: resume it, or choose another name");
        goto out;
    }
    if (resume && vkt_run_alive(run)) {
        http_refuse(r, 409, "this run is in progress");
        goto out;
    }
    add(&w, recipe);
    if (!add_sets(r, in, &w)) goto out;
    if (note && strlen(note) > 1000) {
        http_refuse(r, 400, "note: at most 1000 bytes");
        goto out;
    }
    if (note && *note && !resume) {
        size_t cap = strlen(note) + 8;
        char *set = own(&w, cli_grow(NULL, cap));
        snprintf(set, cap, "note=%s", note);
        add_two(&w, "--set", set);
    }
    if (!add_option(r, in, &w, "device", "--device")) goto out;
    add_two(&w, "--run", run);
    if (resume) add(&w, "--resume");
    queue(u, r, in, "train", &w, run);
out:
    finish(&w);
    free(recipe);
    free(run);
}

static const char *const study_kinds[] = { "auto",  "lr",   "warmup",     "clip",
                                           "folds", "data", "batch-size", "search" };

static void start_study(ui *u, http_request *r, const json_t *in)
{
    static const char *const options[][2] = { { "minutes", "--minutes" }, { "trials", "--trials" },
                                              { "steps", "--steps" },     { "points", "--points" },
                                              { "folds", "--folds" },     { "seeds", "--seeds" },
                                              { "from", "--from" },       { "to", "--to" },
                                              { "device", "--device" } };
    const char *kind = ui_text(r, in, "kind"), *space = ui_text(r, in, "space");
    char *recipe = NULL, *dir = NULL;
    bool resume = json_is_true(json_object_get(in, "resume"));
    size_t k = 0;
    while (k < CLI_COUNT(study_kinds) && (!kind || strcmp(kind, study_kinds[k]) != 0)) k++;
    if (k == CLI_COUNT(study_kinds)) {
        http_refuse(r, 400,
                    "kind: auto, lr, warmup, clip, folds, data, batch-size or search is expected");
        return;
    }
    words w = { .item = { "vktrain", "study", study_kinds[k] }, .n = 3 };
    recipe = ui_recipe_word(u, r, in, "recipe");
    if (!recipe || !may_start(u, r, recipe)) goto out;
    char name[128];
    snprintf(name, sizeof name, "%.80s-%s", ui_recipe_stem(recipe), study_kinds[k]);
    dir = resume ? ui_path(u, r, in, "study") : folder_of(u, r, in, "study", name);
    if (!dir) goto out;
    if (!resume && holds(dir, "study.json")) {
        http_refuse(r, 409, "there is a study in this folder: resume it, or choose another name");
        goto out;
    }
    add(&w, recipe);
    if (!add_sets(r, in, &w)) goto out;
    for (size_t i = 0; i < CLI_COUNT(options); i++)
        if (!add_option(r, in, &w, options[i][0], options[i][1])) goto out;
    if (space && *space) {
        char *path = ui_path(u, r, in, "space");
        if (!path) goto out;
        add_two(&w, "--space", own(&w, path));
    }
    add_two(&w, "--study", dir);
    if (resume) add(&w, "--resume");
    queue(u, r, in, "study", &w, dir);
out:
    finish(&w);
    free(recipe);
    free(dir);
}

/* Into a file of its own beside the runs. */
static void start_bench(ui *u, http_request *r, const json_t *in)
{
    const char *size = ui_text(r, in, "size");
    words w = { .item = { "vktrain", "bench" }, .n = 2 };
    char *stem = new_folder(u, in, "benchmarks", "bench"),
         *file = own(&w, cli_grow(NULL, strlen(stem) + 8));
    sprintf(file, "%s.json", stem);
    if (size && !strcmp(size, "quick")) add(&w, "--quick");
    if (size && !strcmp(size, "key")) add(&w, "--key");
    add_two(&w, "--json", file);
    if (add_option(r, in, &w, "device", "--device")) queue(u, r, in, "bench", &w, NULL);
    finish(&w);
    free(stem);
}

/* What the page offers, and the flags for it. */
static const struct {
    const char *format, *flag, *end, *type;
} formats[] = {
    { "onnx", "-o", ".onnx", NULL },
    { "safetensors", "-o", ".safetensors", NULL },
    { "hf", "--hf", "-hf", "bf16" },
    { "gguf", "--gguf", ".gguf", "f16" },
    { "gguf-q8", "--gguf", "-q8.gguf", "q8_0" },
    { "gguf-q4", "--gguf", "-q4.gguf", "q4_k" },
};

static void start_export(ui *u, http_request *r, const json_t *in)
{
    const char *format = ui_text(r, in, "format");
    char *from = ui_path(u, r, in, "model"), *out = NULL;
    size_t k = 0;
    words w = { .item = { "vktrain", "export" }, .n = 2 };
    if (!from) return;
    while (k < CLI_COUNT(formats) && (!format || strcmp(format, formats[k].format) != 0)) k++;
    if (k == CLI_COUNT(formats)) {
        http_refuse(r, 400, "format: onnx, safetensors, hf, gguf, gguf-q8 or gguf-q4 is expected");
        goto out;
    }
    if (ui_text(r, in, "out") && *ui_text(r, in, "out")) {
        out = ui_new_path(u, r, in, "out");
        if (!out) goto out;
    } else { /* beside the run: RUN.onnx */
        out = cli_grow(NULL, strlen(from) + 24);
        sprintf(out, "%s%s", from, formats[k].end);
    }
    const char *why;
    char *text = ui_path_text(out), *real = ui_roots_new(&u->roots, text, &why);
    free(text);
    free(real);
    if (!real) {
        http_refuse(r, 403, "out: %s", why);
        goto out;
    }
    add(&w, from);
    add_two(&w, formats[k].flag, out);
    if (formats[k].type) add_two(&w, "--type", formats[k].type);
    queue(u, r, in, "export", &w, NULL);
out:
    finish(&w);
    free(from);
    free(out);
}

/* ---- the queue ---- */

/* NAN: it says none. One study runs at a time; its file may be large, and is read again only when
 * it has changed. */
static double study_share(const ui_job *b)
{
    static struct {
        uint32_t id;
        ui_os_entry file;
        int64_t read;
        double share;
    } last;
    ui_os_entry e;
    size_t cap = strlen(b->folder) + 16;
    char *path = cli_grow(NULL, cap);
    snprintf(path, cap, "%s/study.json", b->folder);
    bool there = ui_os_look(path, &e);
    free(path);
    if (!there) return NAN;
    /* A file's time is in seconds: in the one in which it was read it may have changed again. */
    if (last.id == b->id && last.file.bytes == e.bytes && last.file.time == e.time &&
        last.read > e.time)
        return last.share;
    last.id = b->id;
    last.file = e;
    last.read = (int64_t)time(NULL);
    json_t *study = runs_study_json(b->folder), *share = json_object_get(study, "share");
    last.share = share ? json_number_value(share) : NAN;
    json_decref(study);
    return last.share;
}

/* A study's file says how far it is; for all else, what was printed. */
static void add_progress(const ui *u, json_t *j, const ui_job *b)
{
    char said[4096];
    json_t *p = NULL;
    if (b->folder && !strcmp(b->kind, "study")) {
        double share = study_share(b);
        if (!isnan(share)) p = json_pack("{s:s, s:f, s:s}", "text", "", "share", share, "left", "");
    } else if (ui_jobs_said(u->jobs, b->id, said, sizeof said)) {
        p = ui_progress_of(said);
    }
    if (p) json_object_set_new(j, "progress", p);
}

static json_t *job_json(const ui *u, const ui_job *b)
{
    json_t *j =
        json_pack("{s:I, s:s, s:s, s:o, s:I, s:I, s:I, s:b, s:b}", "id", (json_int_t)b->id, "kind",
                  b->kind, "state", b->state, "command", command_json(u, b->argv), "queued",
                  (json_int_t)b->queued, "started", (json_int_t)b->started, "ended",
                  (json_int_t)b->ended, "stopping", b->stopping, "device", b->device);
    if (b->folder) json_object_set_new(j, "folder", ui_json_path(b->folder));
    if (!strcmp(b->state, "ended") && b->rc >= 0) json_object_set_new(j, "rc", json_integer(b->rc));
    if (*b->error) json_object_set_new(j, "error", ui_json_text(b->error));
    if (!strcmp(b->state, "running")) add_progress(u, j, b);
    if (!strcmp(b->kind, "bench") || !strcmp(b->kind, "export"))
        for (size_t i = 1; b->argv[i] && b->argv[i + 1]; i++)
            if (!strcmp(b->argv[i], "--json") || !strcmp(b->argv[i], "-o") ||
                !strcmp(b->argv[i], "--hf") || !strcmp(b->argv[i], "--gguf"))
                json_object_set_new(j, "file", ui_json_path(b->argv[i + 1]));
    return j;
}

static void jobs(ui *u, http_request *r, const json_t *in)
{
    json_t *all = json_array();
    (void)in;
    for (size_t i = 0; i < ui_jobs_count(u->jobs); i++) {
        ui_job b = ui_jobs_get(u->jobs, i);
        json_array_append_new(all, job_json(u, &b));
    }
    ui_answer(r, json_pack("{s:o}", "jobs", all));
}

static uint32_t id_in(const json_t *in)
{
    json_int_t id = json_integer_value(json_object_get(in, "id"));
    return id > 0 && id < UINT32_MAX ? (uint32_t)id : 0;
}

static void stop(ui *u, http_request *r, const json_t *in)
{
    const char *why;
    if (ui_jobs_stop(u->jobs, id_in(in), &why))
        ui_answer(r, json_object());
    else
        http_refuse(r, 409, "%s", why);
}

static void forget(ui *u, http_request *r, const json_t *in)
{
    const char *why;
    if (ui_jobs_forget(u->jobs, id_in(in), &why))
        ui_answer(r, json_object());
    else
        http_refuse(r, 409, "%s", why);
}

static void said(ui *u, http_request *r, const json_t *in)
{
    static char text[65536];
    const char *id = ui_text(r, in, "id");
    if (!ui_jobs_said(u->jobs, id ? (uint32_t)strtoul(id, NULL, 10) : 0, text, sizeof text))
        http_refuse(r, 404, "there is no such job");
    else
        ui_answer(r, json_pack("{s:o}", "text", ui_json_text(text)));
}

/* A run that may be the command line's: asked by its folder, as `vktrain watch` does. */
static void order(ui *u, http_request *r, const json_t *in)
{
    const char *what = ui_text(r, in, "order");
    char *run = ui_path(u, r, in, "run");
    static const char *const orders[] = { "checkpoint", "stop_after_evaluation", "stop" };
    size_t k = 0;
    if (!run) return;
    while (k < CLI_COUNT(orders) && (!what || strcmp(what, orders[k]) != 0)) k++;
    if (k == CLI_COUNT(orders))
        http_refuse(r, 400, "order: stop, checkpoint or stop_after_evaluation is expected");
    else if (!vkt_run_alive(run))
        http_refuse(r, 409, "this run is not in progress");
    else if (vkt_run_control(run, (vkt_run_order)k) == VKT_OK)
        ui_answer(r, json_object());
    else
        http_refuse(r, 500, "%s", vkt_last_error());
    free(run);
}

const ui_route ui_start_routes[] = {
    { "/api/start/train", UI_JSON, start_train },
    { "/api/start/study", UI_JSON, start_study },
    { "/api/start/bench", UI_JSON, start_bench },
    { "/api/start/export", UI_JSON, start_export },
    { "/api/jobs", UI_NOTHING, jobs },
    { "/api/job", UI_NOTHING, said },
    { "/api/job/stop", UI_JSON, stop },
    { "/api/job/forget", UI_JSON, forget },
    { "/api/run/order", UI_JSON, order },
    { 0 },
};
