/* Endpoints that read run folders: the table of runs, one run's curves while they grow, what it
 * predicted, what it is compared with another. Nothing is kept but what makes reading cheap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "runs_table.h"
#include "ui.h"
#include "ui_curves.h"
#include "ui_histories.h"
#include "ui_jobs.h"
#include "ui_lists.h"
#include "ui_os.h"

enum { MOST_SHOWN = 500, MOST_WORDS = 20, COLUMNS_MOST = 2000, FINDINGS_S = 120 };

/* A trial of a study, which the study shows. */
static bool is_trial(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    ui_os_entry e;
    if (!slash || strncmp(slash, "/trial-", 7) != 0) return false;
    size_t n = (size_t)(slash - dir);
    char *file = cli_grow(NULL, n + 16);
    sprintf(file, "%.*s/study.json", (int)n, dir);
    bool is = ui_os_look(file, &e);
    free(file);
    return is;
}

/* ---- a run as JSON ---- */

static json_t *text_or_null(const char *s)
{
    return s ? ui_json_text(s) : json_null();
}

static json_t *info_json(const vkt_run_info *x)
{
    size_t n;
    const runs_field *f = runs_fields(&n);
    json_t *j = json_object();
    for (size_t i = 1; i < n; i++) { /* the first is the folder */
        const char *at = (const char *)x + f[i].at, *s;
        uint64_t whole;
        double number;
        if (f[i].type == 't') {
            memcpy(&s, at, sizeof s);
            json_object_set_new(j, f[i].name, text_or_null(s));
        } else if (f[i].type == 'c') {
            memcpy(&whole, at, sizeof whole);
            json_object_set_new(j, f[i].name, json_integer((json_int_t)whole));
        } else {
            memcpy(&number, at, sizeof number);
            json_object_set_new(j, f[i].name, cli_json_number(number));
        }
    }
    json_object_set_new(j, "run", ui_json_path(x->dir));
    json_object_set_new(j, "alive", json_boolean(x->status && !strcmp(x->status, "running")));
    return j;
}

/* ---- the table ---- */

static bool contains(const row *x, const char *word)
{
    const char *const texts[] = { x->r->dir,    x->r->name,   x->r->note,
                                  x->r->recipe, x->r->device, x->r->status };
    for (size_t i = 0; i < CLI_COUNT(texts); i++)
        if (texts[i] && strstr(texts[i], word)) return true;
    return false;
}

/* What is asked of the table, and its answer: made on the thread that reads the list. */
typedef struct asked_table {
    char filter[1200], sort[80];
    runs_options o;
    const char *keyed[MOST_WORDS], *words[MOST_WORDS]; /* in `filter` */
    size_t n_words, from, n;
    json_t *answer;
    bool refused;
} asked_table;

/* The words of a filter: KEY=VALUE and its like are the command's, others stand in a text of the
 * run. false: r was refused. */
static bool take_filter(http_request *r, const char *filter, asked_table *q)
{
    snprintf(q->filter, sizeof q->filter, "%s", filter ? filter : "");
    q->o.filter.item = q->keyed;
    for (char *word = strtok(q->filter, " "); word; word = strtok(NULL, " ")) {
        char key[64];
        size_t n = strcspn(word, "=!<>~");
        snprintf(key, sizeof key, "%.*s", (int)n, word);
        if (q->o.filter.n + q->n_words == MOST_WORDS) {
            http_refuse(r, 400, "a filter has at most %d words", MOST_WORDS);
            return false;
        }
        if (!word[n]) {
            q->words[q->n_words++] = word;
        } else if (n < sizeof key && runs_find_key(key) >= 0) {
            q->keyed[q->o.filter.n++] = word;
        } else {
            http_refuse(r, 400, "'%.60s' is neither a field of a run nor an option of a recipe",
                        key);
            return false;
        }
    }
    return true;
}

static size_t number_of(const http_request *r, const char *name, size_t usual, size_t most)
{
    const char *s = ui_text(r, NULL, name);
    size_t v = s ? strtoul(s, NULL, 10) : usual;
    return v > most ? most : v;
}

/* The command that prints the same table. */
static json_t *runs_command(const ui *u, const runs_options *o, bool trials)
{
    const char *argv[2 * MOST_WORDS + 40] = { "vktrain", "runs" };
    size_t n = 2;
    for (size_t i = 0; i < u->roots.n && i < 30; i++) argv[n++] = ui_short(u, u->roots.folder[i]);
    for (size_t i = 0; i < o->filter.n; i++) {
        argv[n++] = "--filter";
        argv[n++] = o->filter.item[i];
    }
    if (o->sort) argv[n++] = "--sort", argv[n++] = o->sort;
    if (trials) argv[n++] = "--trials";
    argv[n] = NULL;
    return ui_json_command(argv);
}

static void keep_fitting(asked_table *q, table *t)
{
    size_t k = 0;
    for (size_t i = 0; i < t->n; i++) {
        bool fits = q->o.trials || !is_trial(t->rows[i].r->dir);
        for (size_t w = 0; w < q->n_words && fits; w++) fits = contains(&t->rows[i], q->words[w]);
        if (fits) t->rows[k++] = t->rows[i];
    }
    t->n = k;
    q->refused = runs_filter(&q->o, t) != 0;
}

/* ui_lists_read */
static void read_table(const ui_lists *l, void *about)
{
    asked_table *q = about;
    table t = { 0 };
    size_t n = 0;
    for (size_t i = 0; i < l->n_roots; i++) n += l->n[i];
    t.rows = cli_zeros(n + 1, sizeof *t.rows);
    for (size_t i = 0; i < l->n_roots; i++)
        for (size_t k = 0; k < l->n[i]; k++) t.rows[t.n++].r = &l->of[i][k];
    keep_fitting(q, &t);
    if (!q->refused) {
        runs_sort(&q->o, &t);
        json_t *rows = json_array();
        size_t from = q->from < t.n ? q->from : t.n;
        for (size_t i = from; i < t.n && i < from + q->n; i++)
            json_array_append_new(rows, info_json(t.rows[i].r));
        q->answer = json_pack("{s:o, s:I, s:I}", "runs", rows, "from", (json_int_t)from, "all",
                              (json_int_t)t.n);
        if (*l->wrong) json_object_set_new(q->answer, "wrong", ui_json_text(l->wrong));
    }
    for (size_t i = 0; i < n; i++) vkt_config_destroy(&t.rows[i].config);
    free(t.rows);
}

/* ui_lists_done */
static void give_table(ui *u, http_request *r, void *about)
{
    asked_table *q = about;
    if (q->refused) {
        http_refuse(r, 400, "a filter is KEY=VALUE, or with != < > <= >= ~");
    } else {
        json_object_set_new(q->answer, "command", runs_command(u, &q->o, q->o.trials));
        ui_answer(r, q->answer);
    }
    free(q);
}

static void runs(ui *u, http_request *r, const json_t *in)
{
    asked_table *q = cli_zeros(1, sizeof *q);
    const char *s = ui_text(r, NULL, "sort");
    (void)in;
    snprintf(q->sort, sizeof q->sort, "%s", s && *s ? s : "-started");
    q->o.sort = q->sort;
    q->o.trials = number_of(r, "trials", 0, 1);
    q->from = number_of(r, "from", 0, SIZE_MAX);
    q->n = number_of(r, "n", 100, MOST_SHOWN);
    if (runs_find_key(q->sort + (*q->sort == '-')) < 0)
        http_refuse(r, 400, "sort: '%.60s' is neither a field of a run nor an option", q->sort);
    else if (take_filter(r, ui_text(r, NULL, "filter"), q)) {
        ui_lists_ask(u, r, number_of(r, "again", 0, 1), read_table, give_table, q);
        return;
    }
    free(q);
}

/* ---- one run ---- */

/* Seconds that are left, by the last steps; NAN: unknown. */
static double left(const vkt_history *h, uint64_t total)
{
    if (h->n_steps < 2) return NAN;
    const vkt_history_step *a = &h->steps[h->n_steps > 500 ? h->n_steps - 500 : 0],
                           *b = &h->steps[h->n_steps - 1];
    if (b->step <= a->step || b->step >= total) return NAN;
    return (b->seconds - a->seconds) / (double)(b->step - a->step) * (double)(total - b->step);
}

static void add_last(json_t *j, const vkt_history *h, uint64_t total)
{
    const vkt_history_step *s = h->n_steps ? &h->steps[h->n_steps - 1] : NULL;
    const vkt_history_eval *e = h->n_evals ? &h->evals[h->n_evals - 1] : NULL;
    if (s)
        json_object_set_new(j, "last",
                            json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "step", (json_int_t)s->step,
                                      "loss", cli_json_number(s->loss), "accuracy",
                                      cli_json_number(s->accuracy), "lr", cli_json_number(s->lr),
                                      "items_per_s", cli_json_number(s->items_per_s), "left",
                                      cli_json_number(left(h, total))));
    if (e)
        json_object_set_new(j, "evaluation",
                            json_pack("{s:s, s:I, s:o, s:o, s:o}", "split", e->split, "step",
                                      (json_int_t)e->step, "loss", cli_json_number(e->loss),
                                      "accuracy", cli_json_number(e->accuracy), "mae",
                                      cli_json_number(e->mae)));
}

static void add_curves(const http_request *r, json_t *j, const vkt_history *h,
                       const vkt_run_info *x)
{
    char have[64], had[64];
    const char *s = ui_text(r, NULL, "have");
    snprintf(had, sizeof had, "%s", s ? s : "");
    uint64_t first = h->n_steps ? h->steps[0].step : 0,
             last = h->n_steps ? h->steps[h->n_steps - 1].step : 0;
    for (size_t i = 0; i < h->n_evals; i++)
        if (h->evals[i].step > last) last = h->evals[i].step;
    size_t columns = number_of(r, "columns", 400, COLUMNS_MOST);
    snprintf(have, sizeof have, "%llu:%zu:%zu", (unsigned long long)last, h->n_steps, h->n_evals);
    bool same = !strcmp(had, have);
    json_object_set_new(j, "have", json_string(have));
    json_object_set_new(j, "steps", json_integer((json_int_t)h->n_steps));
    if (same || !columns) return; /* nothing has changed: the page has them */
    json_object_set_new(j, "curves", ui_curves(h, x->metric, columns, first, last));
}

static void add_sample(json_t *j, const char *dir)
{
    uint64_t step;
    char *text = vkt_run_sample(dir, &step);
    if (text)
        json_object_set_new(j, "sample",
                            json_pack("{s:I, s:s}", "step", (json_int_t)step, "text", text));
    vkt_free(text);
}

/* Of this folder alone: what lies below it would be read, too, and may be much. */
static bool read_run(const char *dir, vkt_run_info **list)
{
    static const char *const marks[] = { "run.json", "metrics.jsonl", "checkpoints" };
    char path[4200];
    bool marked = false;
    size_t n = 0;
    *list = NULL;
    for (size_t i = 0; i < CLI_COUNT(marks) && !marked; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, marks[i]);
        marked = cli_exists(path);
    }
    return marked && vkt_runs_list(dir, list, &n) == VKT_OK && n == 1 && !strcmp((*list)->dir, dir);
}

/* The run's folder of the request, and what run.json says; NULL: r was refused. A run that was just
 * started has neither yet. */
static char *run_of(ui *u, http_request *r, vkt_run_info **list)
{
    const char *text = ui_text(r, NULL, "run"), *why;
    char *real = text ? ui_roots_find(&u->roots, text, &why) : NULL;
    *list = NULL;
    if (!real) {
        char *soon = text ? ui_roots_new(&u->roots, text, &why) : NULL;
        bool queued = soon && ui_jobs_make(u->jobs, soon);
        free(soon);
        if (queued)
            ui_answer(r, json_pack("{s:b}", "waiting", true));
        else
            http_refuse(r, 404, "there is no such run");
        return NULL;
    }
    if (read_run(real, list)) return real;
    vkt_runs_free(list);
    if (ui_jobs_make(u->jobs, real))
        ui_answer(r, json_pack("{s:b}", "waiting", true));
    else
        http_refuse(r, 404, "this folder holds no run");
    free(real);
    return NULL;
}

static void one_run(ui *u, http_request *r, const json_t *in)
{
    vkt_run_info *x;
    char *dir = run_of(u, r, &x);
    (void)in;
    if (!dir) return;
    json_t *j = json_pack("{s:o}", "info", info_json(x));
    bool more = false;
    const vkt_history *h = ui_history_of(dir, &more);
    if (h) {
        add_last(j, h, x->total);
        add_curves(r, j, h, x);
    }
    if (more) json_object_set_new(j, "reading", json_true()); /* ask again */
    add_sample(j, dir);
    json_object_set_new(
        j, "watch",
        ui_json_command((const char *const[]) { "vktrain", "watch", ui_short(u, dir), NULL }));
    ui_answer(r, j);
    vkt_runs_free(&x);
    free(dir);
}

/* ---- what follows from it ---- */

static void give_findings(ui *u, http_request *r, const ui_said *said)
{
    json_t *j = said->cut ? NULL : json_loadb(said->out, said->n_out, 0, NULL);
    (void)u;
    if (j)
        ui_answer(r, j);
    else
        ui_refuse_said(r, said, "report");
}

static void findings(ui *u, http_request *r, const json_t *in)
{
    vkt_run_info *x;
    char *dir = run_of(u, r, &x), file[4200];
    (void)in;
    if (!dir) return;
    snprintf(file, sizeof file, "%s/metrics.jsonl", dir);
    if (cli_exists(file))
        ui_ask(u, r, (const char *const[]) { "vktrain", "report", dir, "--json", NULL }, FINDINGS_S,
               give_findings, NULL);
    else
        ui_answer(r, json_pack("{s:[]}", "findings"));
    vkt_runs_free(&x);
    free(dir);
}

/* A small file of the run as text; null: it is not there, or large. */
static json_t *file_text(const ui *u, const char *dir, const char *name)
{
    enum { MOST = 1 << 20 };
    char path[4300];
    ui_os_entry e;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    char *real = ui_os_real(path); /* it may be a link that leads out */
    bool within = real && ui_roots_have(&u->roots, real);
    free(real);
    FILE *f = within && ui_os_look(path, &e) && e.file && e.bytes < MOST ? fopen(path, "rb") : NULL;
    if (!f) return json_null();
    char *text = cli_grow(NULL, MOST + 1);
    size_t n = fread(text, 1, MOST, f);
    text[n] = 0;
    fclose(f);
    json_t *j = ui_json_text(text);
    free(text);
    return j;
}

/* What does not change each second: configuration, confusion, predictions of the best step. */
static void more(ui *u, http_request *r, const json_t *in)
{
    vkt_run_info *x;
    char *dir = run_of(u, r, &x), name[64];
    (void)in;
    if (!dir) return;
    json_t *j = json_pack("{s:o}", "config", text_or_null(x->config)), *t;
    t = file_text(u, dir, "confusion-test.csv");
    json_object_set_new(j, "split", json_string(json_is_null(t) ? "valid" : "test"));
    if (json_is_null(t)) t = file_text(u, dir, "confusion-valid.csv");
    json_object_set_new(j, "confusion", t);
    snprintf(name, sizeof name, "predictions/step-%08llu.csv", (unsigned long long)x->best_step);
    json_object_set_new(j, "predictions", file_text(u, dir, name));
    ui_answer(r, j);
    vkt_runs_free(&x);
    free(dir);
}

/* {"run", "note"} */
static void set_note(ui *u, http_request *r, const json_t *in)
{
    const char *note = ui_text(r, in, "note");
    char *run = note ? ui_path(u, r, in, "run") : NULL;
    if (!note) {
        http_refuse(r, 400, "note is missing");
    } else if (run && vkt_run_set_note(run, note) == VKT_OK) {
        ui_lists_forget();
        ui_answer(r, json_pack("{s:o}", "command",
                               ui_json_command((const char *const[]) {
                                   "vktrain", "runs", ui_short(u, run), "--note", note, NULL })));
    } else if (run) {
        http_refuse(r, 422, "%s", vkt_last_error());
    }
    free(run);
}

/* ---- side by side ---- */

enum { MOST_COMPARED = 6 };

/* A row where the values differ, or `always`; nothing where none has one. */
static void compare_key(json_t *to, row *rows, size_t n, const char *name, int key, bool always)
{
    char first[4096] = "", v[4096];
    bool differs = false, some = false;
    json_t *values = json_array();
    for (size_t i = 0; i < n; i++) {
        runs_value(&rows[i], key, v, sizeof v);
        if (!i) strcpy(first, v);
        differs |= strcmp(first, v) != 0;
        some |= *v != 0;
        json_array_append_new(values, ui_json_text(v));
    }
    if (some && (differs || always))
        json_array_append_new(
            to, json_pack("{s:s, s:O, s:b}", "key", name, "values", values, "differs", differs));
    json_decref(values);
}

static void compare(ui *u, http_request *r, const json_t *in)
{
    static const char *const results[] = {
        "status",   "step",        "metric",  "best",   "best_step",  "test_loss", "test_accuracy",
        "test_mae", "items_per_s", "seconds", "device", "parameters", "note"
    };
    const json_t *list = json_object_get(in, "runs"), *one;
    vkt_run_info *infos[MOST_COMPARED] = { 0 };
    char *dirs[MOST_COMPARED] = { 0 };
    row rows[MOST_COMPARED] = { 0 };
    const char *argv[MOST_COMPARED + 4] = { "vktrain", "runs" };
    size_t n = 0, i, n_wanted = json_array_size(list);
    json_t *paths = json_array(), *scores = json_array(), *options = json_array();
    vkt_option_info o;
    if (n_wanted < 2 || n_wanted > MOST_COMPARED) {
        http_refuse(r, 400, "two to six runs can be compared");
        goto out;
    }
    json_array_foreach((json_t *)(uintptr_t)list, i, one)
    {
        const char *why = "", *text = json_string_value(one);
        dirs[n] = text ? ui_roots_find(&u->roots, text, &why) : NULL;
        if (!dirs[n] || !read_run(dirs[n], &infos[n])) {
            n++;
            http_refuse(r, 404, "one of them is no run any more");
            goto out;
        }
        rows[n].r = infos[n];
        argv[2 + n] = ui_short(u, dirs[n]);
        json_array_append_new(paths, ui_json_path(dirs[n]));
        n++;
    }
    for (i = 0; i < CLI_COUNT(results); i++)
        compare_key(scores, rows, n, results[i], runs_find_key(results[i]), true);
    for (i = 0; vkt_option(i, &o); i++)
        compare_key(options, rows, n, o.name, runs_find_key(o.name), false);
    argv[2 + n] = "--compare";
    ui_answer(r, json_pack("{s:O, s:O, s:O, s:o}", "runs", paths, "scores", scores, "options",
                           options, "command", ui_json_command(argv)));
out:
    for (i = 0; i < MOST_COMPARED; i++) {
        vkt_config_destroy(&rows[i].config);
        vkt_runs_free(&infos[i]);
        free(dirs[i]);
    }
    json_decref(paths);
    json_decref(scores);
    json_decref(options);
}

const ui_route ui_runs_routes[] = {
    { "/api/runs", UI_NOTHING, runs },
    { "/api/run", UI_NOTHING, one_run },
    { "/api/run/findings", UI_NOTHING, findings },
    { "/api/run/more", UI_NOTHING, more },
    { "/api/run/note", UI_JSON, set_note },
    { "/api/compare", UI_JSON, compare },
    { 0 },
};
