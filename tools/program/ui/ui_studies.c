/* Endpoints of studies, and of reports: the pages that `vktrain report` writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "runs_studies.h"
#include "ui.h"
#include "ui_jobs.h"
#include "ui_lists.h"
#include "ui_os.h"
#include "ui_studies.h"

enum { REPORT_S = 300 };

/* ---- the list ---- */

static bool has(const json_t *list, const char *dir)
{
    const json_t *one;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)list, i, one)
    {
        if (!strcmp(json_string_value(one), dir)) return true;
    }
    return false;
}

static void add_study(json_t *names, json_t *all, const char *dir)
{
    size_t cap = strlen(dir) + 16;
    char *file = cli_grow(NULL, cap);
    ui_os_entry e;
    snprintf(file, cap, "%s/study.json", dir);
    json_t *name = json_string(dir); /* NULL: no UTF-8, which can't be kept in a queue either */
    if (name && !has(names, dir) && ui_os_look(file, &e)) {
        json_t *line = runs_study_json(dir);
        json_object_set_new(line, "study", ui_json_path(dir));
        json_object_set_new(line, "alive", json_boolean(vkt_run_alive(dir)));
        json_object_set_new(line, "changed", json_integer((json_int_t)e.time));
        json_array_append_new(all, line);
        json_array_append(names, name);
    }
    json_decref(name);
    free(file);
}

/* What is asked of the list, and its answer. */
typedef struct found {
    json_t *names, *all;
    char **jobs; /* folders of studies in the queue, which may have no trial yet */
    size_t n_jobs;
} found;

/* ui_lists_read. A study's folder stands beside each of its trials. */
static void read_studies(const ui_lists *l, void *about)
{
    found *f = about;
    char dir[4200], last[4200] = "";
    f->names = json_array();
    f->all = json_array();
    for (size_t i = 0; i < f->n_jobs; i++) add_study(f->names, f->all, f->jobs[i]);
    for (size_t i = 0; i < l->n_roots; i++)
        for (size_t k = 0; k < l->n[i]; k++) {
            const char *run = l->of[i][k].dir, *slash = strrchr(run, '/');
            if (!slash || strncmp(slash, "/trial-", 7) != 0) continue;
            snprintf(dir, sizeof dir, "%.*s", (int)(slash - run), run);
            if (strcmp(dir, last) != 0) add_study(f->names, f->all, dir);
            strcpy(last, dir);
        }
}

/* ui_lists_done */
static void give_studies(ui *u, http_request *r, void *about)
{
    found *f = about;
    const char *argv[40] = { "vktrain", "runs", "--studies" };
    for (size_t i = 0; i < u->roots.n && i < 30; i++) argv[3 + i] = ui_short(u, u->roots.folder[i]);
    ui_answer(r, json_pack("{s:o, s:o}", "studies", f->all, "command", ui_json_command(argv)));
    json_decref(f->names);
    for (size_t i = 0; i < f->n_jobs; i++) free(f->jobs[i]);
    free(f->jobs);
    free(f);
}

static void studies(ui *u, http_request *r, const json_t *in)
{
    found *f = cli_zeros(1, sizeof *f);
    (void)in;
    f->jobs = cli_zeros(ui_jobs_count(u->jobs) + 1, sizeof *f->jobs);
    for (size_t i = 0; i < ui_jobs_count(u->jobs); i++) {
        ui_job b = ui_jobs_get(u->jobs, i);
        if (b.folder && !strcmp(b.kind, "study"))
            f->jobs[f->n_jobs++] = strcpy(cli_grow(NULL, strlen(b.folder) + 1), b.folder);
    }
    ui_lists_ask(u, r, false, read_studies, give_studies, f);
}

/* ---- one ---- */

static json_t *copied(const json_t *from, const char *key)
{
    json_t *v = json_object_get(from, key);
    return v ? json_incref(v) : json_null();
}

static void one_study(ui *u, http_request *r, const json_t *in)
{
    static const char *const keys[] = { "kind", "name",  "note",   "status",       "metric",
                                        "why",  "error", "chosen", "study_command" },
                             *const parts[] = {
                                 "name", "group", "state", "set", "best", "seconds"
                             };
    enum { MOST_BYTES = 16 << 20, MOST_TRIALS = 2000 };
    const char *text = ui_text(r, in, "study"), *why;
    char *soon = text ? ui_roots_new(&u->roots, text, &why) : NULL;
    bool waits = soon && ui_jobs_make(u->jobs, soon) && !cli_is_folder(soon);
    free(soon);
    if (waits) { /* for its place in the queue, or about to begin */
        ui_answer(r, json_pack("{s:b}", "waiting", true));
        return;
    }
    char *dir = ui_path(u, r, in, "study");
    if (!dir) return;
    size_t cap = strlen(dir) + 16, i;
    char *file = cli_grow(NULL, cap);
    snprintf(file, cap, "%s/study.json", dir);
    ui_os_entry at;
    json_t *s = ui_json_file(file, MOST_BYTES), *t, *trials = json_array(), *j = json_object();
    if (!s && ui_jobs_make(u->jobs, dir)) {
        ui_answer(r, json_pack("{s:b}", "waiting", true));
        json_decref(trials);
        json_decref(j);
    } else if (!s) {
        http_refuse(r, 404, "this folder holds no study that can be read");
        json_decref(trials);
        json_decref(j);
    } else {
        const char *status = json_string_value(json_object_get(s, "status"));
        if (status && !strcmp(status, "running") && vkt_run_abandoned(dir))
            json_object_set_new(s, "status", json_string("killed"));
        json_array_foreach(json_object_get(s, "trials"), i, t)
        {
            json_t *one = json_object();
            if (i == MOST_TRIALS) {
                json_decref(one);
                break;
            }
            for (size_t k = 0; k < CLI_COUNT(parts); k++)
                json_object_set_new(one, parts[k], copied(t, parts[k]));
            json_array_append_new(trials, one);
        }
        for (size_t k = 0; k < CLI_COUNT(keys); k++)
            json_object_set_new(j, keys[k], copied(s, keys[k]));
        json_object_set_new(j, "study", ui_json_path(dir));
        json_object_set_new(j, "alive", json_boolean(vkt_run_alive(dir)));
        if (ui_os_look(file, &at))
            json_object_set_new(j, "changed", json_integer((json_int_t)at.time));
        json_object_set_new(j, "trials", trials);
        const char *const argv[] = { "vktrain", "report", ui_short(u, dir), NULL };
        json_object_set_new(j, "report", ui_json_command(argv));
        ui_answer(r, j);
    }
    json_decref(s);
    free(file);
    free(dir);
}

/* ---- reports ---- */

const char *ui_page_file(void)
{
    char cache[1024];
    if (!vkt_cache_folder(cache, sizeof cache) || strlen(cache) > 400) return NULL;
    static unsigned n;
    return cli_text("%s/ui/report-%d-%u.html", cache, ui_os_id(), n++);
}

void ui_pages_clean(void)
{
    enum { OLD_S = 3600, MOST_FILES = 100000 }; /* another vktrain ui may be writing newer ones */
    char cache[1024];
    ui_os_entry *e = NULL;
    size_t n = 0, all;
    if (!vkt_cache_folder(cache, sizeof cache) || strlen(cache) > 400) return;
    if (ui_os_list(cli_text("%s/ui", cache), MOST_FILES, &e, &n, &all))
        for (size_t i = 0; i < n; i++)
            if (e[i].file && !strncmp(e[i].name, "report-", 7) && strlen(e[i].name) < 100 &&
                e[i].time + OLD_S < time(NULL))
                remove(cli_text("%s/ui/%s", cache, e[i].name));
    ui_os_list_free(e, n);
}

/* It may run its own script, but as a stranger: it can neither ask this server nor read the page
 * around it. */
void ui_give_page(http_request *r, const char *file)
{
    static const char policy[] = "default-src 'none'; style-src 'unsafe-inline'; script-src "
                                 "'unsafe-inline'; frame-ancestors 'self'; sandbox allow-scripts";
    ui_os_entry e;
    FILE *f = ui_os_look(file, &e) && e.bytes < 256 << 20 ? fopen(file, "rb") : NULL;
    if (!f) {
        http_refuse(r, 500, "the page can't be read");
        return;
    }
    char *page = cli_grow(NULL, (size_t)e.bytes + 1);
    size_t n = fread(page, 1, (size_t)e.bytes, f);
    fclose(f);
    remove(file);
    http_header(r, "Content-Security-Policy", policy);
    http_answer(r, 200, "text/html; charset=utf-8", page, n);
}

static void give_report(ui *u, http_request *r, const ui_said *said)
{
    (void)u;
    if (!said->cut && !said->rc) {
        ui_give_page(r, said->about);
        return;
    }
    remove(said->about);
    ui_refuse_said(r, said, "report");
}

/* The report of a run or study as it stands now, in no file of theirs. A long run's takes seconds.
 */
static void report(ui *u, http_request *r, const json_t *in)
{
    const char *out = ui_page_file();
    char *dir = ui_path(u, r, in, "path");
    if (!dir) return;
    const char *const argv[] = { "vktrain", "report", dir, "--no-png", "-o", out, NULL };
    if (!out)
        http_refuse(r, 500, "there is no cache folder to write the report in");
    else
        ui_ask(u, r, argv, REPORT_S, give_report, strcpy(cli_grow(NULL, strlen(out) + 1), out));
    free(dir);
}

const ui_route ui_studies_routes[] = {
    { "/api/studies", UI_NOTHING, studies },
    { "/api/study", UI_NOTHING, one_study },
    { "/api/report", UI_NOTHING, report },
    { 0 },
};
