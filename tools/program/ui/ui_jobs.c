/* ui_jobs.h */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "runs_studies.h"
#include "ui.h"
#include "ui_jobs.h"
#include "ui_os.h"

enum {
    MOST = 200,
    MOST_WORDS = 200,
    MOST_LOG = 1 << 20, /* bytes of a job's output; when it is longer, the last KEPT are kept */
    KEPT = 1 << 16,
    BEGINS_S = 20 /* in which a process takes its folder's lock */
};
enum { QUEUED, RUNNING, ENDED };
static const char *const states[] = { "queued", "running", "ended" };

typedef struct job {
    uint32_t id;
    char kind[16];
    int state, rc;
    bool device, stopping;
    const char **argv; /* [n_words], NULL behind it */
    char *folder;
    char error[400];
    int64_t queued, started, ended;
    ui_child *child; /* NULL: of an earlier process of the page */
} job;

struct ui_jobs {
    char *program, *dir; /* dir NULL: there is no place for it */
    bool mine;           /* no other process has the queue */
    job *list;           /* oldest first */
    size_t n;
    uint32_t last_id;
    double looked; /* when the locks and lengths were last looked at */
};

/* ---- the file ---- */

static const char *file_of(const ui_jobs *j, const char *name)
{
    return cli_text("%s/%s", j->dir, name);
}

static const char *log_of(const ui_jobs *j, uint32_t id)
{
    return file_of(j, cli_text("%u.log", id));
}

static char *copy(const char *s)
{
    return s ? strcpy(cli_grow(NULL, strlen(s) + 1), s) : NULL;
}

/* Bytes that are no UTF-8 would not be kept: such a path is refused when the job is added. */
static bool is_text(const char *s)
{
    json_t *t = json_string(s);
    json_decref(t);
    return t != NULL;
}

static void save(const ui_jobs *j)
{
    json_t *all = json_array();
    if (!j->mine) return;
    for (const job *b = j->list; b < j->list + j->n; b++) {
        json_t *words = json_array();
        for (size_t i = 1; b->argv[i]; i++) json_array_append_new(words, json_string(b->argv[i]));
        json_array_append_new(
            all, json_pack("{s:I, s:s, s:s, s:i, s:b, s:o, s:s*, s:s, s:I, s:I, s:I}", "id",
                           (json_int_t)b->id, "kind", b->kind, "state", states[b->state], "rc",
                           b->rc, "device", b->device, "words", words, "folder", b->folder, "error",
                           b->error, "queued", (json_int_t)b->queued, "started",
                           (json_int_t)b->started, "ended", (json_int_t)b->ended));
    }
    json_t *o = json_pack("{s:s, s:o}", "format", "vktrain ui queue", "jobs", all);
    char *text = json_dumps(o, JSON_INDENT(1));
    json_decref(o);
    if (text) vkt_file_write(file_of(j, "jobs.json"), text, strlen(text));
    free(text);
}

static void finish_job(job *b)
{
    ui_child_leave(&b->child);
    for (size_t i = 1; b->argv && b->argv[i]; i++) free((char *)(uintptr_t)b->argv[i]);
    free(b->argv);
    free(b->folder);
}

static void drop(ui_jobs *j, size_t at)
{
    remove(log_of(j, j->list[at].id));
    finish_job(&j->list[at]);
    memmove(j->list + at, j->list + at + 1, (--j->n - at) * sizeof *j->list);
}

static job *append(ui_jobs *j)
{
    for (size_t i = 0; j->n >= MOST && i < j->n; i++)
        if (j->list[i].state == ENDED) {
            drop(j, i);
            break;
        }
    if (j->n >= MOST) return NULL;
    j->list = cli_grow(j->list, (j->n + 1) * sizeof *j->list);
    job *b = &j->list[j->n++];
    *b = (job) { .rc = -1 };
    return b;
}

static const char *text_in(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static bool read_job(ui_jobs *j, const json_t *o)
{
    const json_t *words = json_object_get(o, "words"), *w;
    const char *state = text_in(o, "state"), *folder = text_in(o, "folder");
    json_int_t id = json_integer_value(json_object_get(o, "id"));
    size_t i, n = json_array_size(words);
    if (id < 1 || id > 1 << 30 || !n || n > MOST_WORDS) return false;
    json_array_foreach((json_t *)(uintptr_t)words, i, w) if (!json_is_string(w)) return false;
    job *b = append(j);
    if (!b) return false;
    b->id = (uint32_t)id;
    if (b->id > j->last_id) j->last_id = b->id;
    snprintf(b->kind, sizeof b->kind, "%s", text_in(o, "kind"));
    snprintf(b->error, sizeof b->error, "%s", text_in(o, "error"));
    b->state = !strcmp(state, "queued") ? QUEUED : !strcmp(state, "running") ? RUNNING : ENDED;
    b->rc = (int)json_integer_value(json_object_get(o, "rc"));
    b->device = json_is_true(json_object_get(o, "device"));
    b->folder = *folder ? copy(folder) : NULL;
    b->queued = json_integer_value(json_object_get(o, "queued"));
    b->started = json_integer_value(json_object_get(o, "started"));
    b->ended = json_integer_value(json_object_get(o, "ended"));
    b->argv = cli_zeros(n + 2, sizeof *b->argv);
    b->argv[0] = "vktrain";
    json_array_foreach((json_t *)(uintptr_t)words, i, w) b->argv[i + 1] =
        copy(json_string_value(w));
    return true;
}

static void load(ui_jobs *j)
{
    json_error_t e;
    json_t *o = json_load_file(file_of(j, "jobs.json"), JSON_REJECT_DUPLICATES, &e), *one;
    size_t i;
    json_array_foreach(json_object_get(o, "jobs"), i, one) if (!read_job(j, one)) break;
    json_decref(o);
}

/* A short name for a folder's queue: FNV-1a. */
static unsigned long long mark(const char *s)
{
    unsigned long long h = 14695981039346656037ull;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211ull;
    return h;
}

ui_jobs *ui_jobs_open(const char *program, const char *about)
{
    char cache[1024];
    ui_jobs *j = cli_zeros(1, sizeof *j);
    j->program = copy(program);
    if (!vkt_cache_folder(cache, sizeof cache)) return j;
    const char *all = cli_text("%s/ui", cache), *own = cli_text("%s/%016llx", all, mark(about));
    if (strlen(cache) > 400 || !ui_os_folder_make(all) || !ui_os_folder_make(own)) return j;
    j->dir = copy(own);
    j->mine = ui_os_lock(file_of(j, "lock"));
    load(j);
    return j;
}

void ui_jobs_close(ui_jobs **pj)
{
    ui_jobs *j = *pj;
    if (!j) return;
    if (j->dir) save(j);
    for (job *b = j->list; b < j->list + j->n; b++) finish_job(b);
    free(j->list);
    free(j->program);
    free(j->dir);
    free(j);
    *pj = NULL;
}

/* ---- running ---- */

/* The last line that says "error:"; else, of what failed, the last line. */
static void find_error(const ui_jobs *j, job *b)
{
    static char said[8192];
    char *last = NULL, *error = NULL, *end;
    ui_file_tail(log_of(j, b->id), said, sizeof said);
    for (char *line = said; line && *line; line = end ? end + 1 : NULL) {
        if ((end = strchr(line, '\n'))) *end = 0;
        if (*line) last = line;
        if (strstr(line, "error:")) error = line;
    }
    const char *from = error ? error : b->rc && b->rc != CLI_INTERRUPTED ? last : NULL;
    const char *at = error ? strstr(error, "error: ") : NULL;
    char *safe = from ? cli_harmless(at ? at + 7 : from, strlen(at ? at + 7 : from)) : NULL;
    size_t n = safe ? strlen(safe) : 0;
    if (n > sizeof b->error - 1) /* cut between characters */
        for (n = sizeof b->error - 1; n && ((unsigned char)safe[n] & 0xC0) == 0x80;) n--;
    memcpy(b->error, safe ? safe : "", n);
    b->error[n] = 0;
    free(safe);
}

/* How the run or study in a folder ended, where nobody waited for its process: the code that its
 * command ends with; -1: that can't be told. */
static int ended_with(const char *folder)
{
    static const struct {
        const char *status;
        int rc;
    } codes[] = {
        { "done", CLI_OK }, { "interrupted", CLI_INTERRUPTED }, { "failed", 1 }, { "killed", 137 }
    };
    json_t *study = runs_study_json(folder);
    vkt_run_info *runs = NULL;
    size_t n = 0;
    const char *status = text_in(study, "status");
    if (!strcmp(status, "damaged") && vkt_runs_list(folder, &runs, &n) == VKT_OK && n == 1)
        status = runs->status ? runs->status : "";
    int rc = -1;
    for (size_t i = 0; i < CLI_COUNT(codes); i++)
        if (!strcmp(status, codes[i].status)) rc = codes[i].rc;
    vkt_runs_free(&runs);
    json_decref(study);
    return rc;
}

static void end_job(ui_jobs *j, job *b, int rc)
{
    if (rc < 0 && b->folder) rc = ended_with(b->folder);
    b->state = ENDED;
    b->rc = rc;
    b->ended = (int64_t)time(NULL);
    b->stopping = false;
    find_error(j, b);
    ui_child_leave(&b->child);
}

static void start(ui_jobs *j, job *b)
{
    b->started = (int64_t)time(NULL);
    b->argv[0] = j->program;
    bool started = ui_child_start_logged(b->argv, log_of(j, b->id), &b->child);
    b->argv[0] = "vktrain";
    b->state = RUNNING;
    if (started) return;
    end_job(j, b, 127);
    snprintf(b->error, sizeof b->error, "its process could not be started");
}

/* A file that grows is cut to its last part; what is written meanwhile may be lost. */
static void keep_short(const ui_jobs *j, const job *b)
{
    static char last[KEPT + 1];
    ui_os_entry e;
    const char *path = log_of(j, b->id);
    if (!ui_os_look(path, &e) || e.bytes < MOST_LOG) return;
    size_t n = ui_file_tail(path, last, sizeof last);
    ui_os_cut(path, 0);
    FILE *f = fopen(path, "ab");
    if (!f) return;
    fwrite(last, 1, n, f);
    fclose(f);
}

bool ui_jobs_device_is_taken(const ui_jobs *j)
{
    for (const job *b = j->list; b < j->list + j->n; b++)
        if (b->state == RUNNING && b->device) return true;
    return false;
}

void ui_jobs_step(ui_jobs *j)
{
    bool changed = false, look = cli_now() - j->looked > 1;
    if (!j->mine) return;
    if (look) j->looked = cli_now();
    for (job *b = j->list; b < j->list + j->n; b++) {
        int rc;
        if (b->state != RUNNING) continue;
        if (look) keep_short(j, b);
        if (b->child ? !ui_child_ended(b->child, &rc)
                     : b->folder && (!look || vkt_run_alive(b->folder) ||
                                     (int64_t)time(NULL) - b->started < BEGINS_S))
            continue;
        end_job(j, b, b->child ? rc : -1);
        changed = true;
    }
    for (job *b = j->list; b < j->list + j->n; b++) {
        if (b->state != QUEUED || (b->device && ui_jobs_device_is_taken(j))) continue;
        start(j, b);
        changed = true;
    }
    if (changed) save(j);
}

/* ---- what the page asks for ---- */

static job *find(const ui_jobs *j, uint32_t id)
{
    for (job *b = j->list; b < j->list + j->n; b++)
        if (b->id == id) return b;
    return NULL;
}

uint32_t ui_jobs_add(ui_jobs *j, const ui_job_desc *d, const char **why)
{
    size_t n = 1;
    *why = !j->dir    ? "the user's cache folder, where the queue is kept, can't be written"
           : !j->mine ? "another vktrain ui has the queue of this folder: end it, or use its page"
                      : NULL;
    while (d->argv[n]) n++;
    if (!*why && n > MOST_WORDS) *why = "there are too many words";
    for (size_t i = 1; i < n && !*why; i++)
        if (!is_text(d->argv[i])) *why = "a name in it is no UTF-8: rename that file or folder";
    if (!*why && d->folder && ui_jobs_make(j, d->folder))
        *why = "the queue has a job for this folder already";
    job *b = *why ? NULL : append(j);
    if (!b) {
        if (!*why) *why = "the queue is full";
        return 0;
    }
    b->id = ++j->last_id;
    snprintf(b->kind, sizeof b->kind, "%s", d->kind);
    b->device = d->device;
    b->folder = copy(d->folder);
    b->queued = (int64_t)time(NULL);
    b->argv = cli_zeros(n + 1, sizeof *b->argv);
    b->argv[0] = "vktrain";
    for (size_t i = 1; i < n; i++) b->argv[i] = copy(d->argv[i]);
    uint32_t id = b->id;
    save(j);
    ui_jobs_step(j);
    return id;
}

bool ui_jobs_stop(ui_jobs *j, uint32_t id, const char **why)
{
    job *b = find(j, id);
    *why = !b                  ? "there is no such job"
           : b->state == ENDED ? "it has ended already"
           : !j->mine          ? "another vktrain ui has the queue"
                               : NULL;
    if (*why) return false;
    if (b->state == QUEUED) {
        end_job(j, b, -1);
        b->error[0] = 0;
        save(j);
    } else if (b->child) {
        ui_child_interrupt(b->child);
        b->stopping = true;
    } else if (!b->folder || vkt_run_control(b->folder, VKT_RUN_ORDER_STOP) != VKT_OK) {
        *why = "it can't be reached from here";
        return false;
    } else {
        b->stopping = true;
    }
    return true;
}

bool ui_jobs_forget(ui_jobs *j, uint32_t id, const char **why)
{
    job *b = find(j, id);
    *why = !b                    ? "there is no such job"
           : b->state == RUNNING ? "it is running"
           : !j->mine            ? "another vktrain ui has the queue"
                                 : NULL;
    if (*why) return false;
    drop(j, (size_t)(b - j->list));
    save(j);
    return true;
}

bool ui_jobs_make(const ui_jobs *j, const char *folder)
{
    for (const job *b = j->list; b < j->list + j->n; b++)
        if (b->state != ENDED && b->folder && !strcmp(b->folder, folder)) return true;
    return false;
}

size_t ui_jobs_count(const ui_jobs *j)
{
    return j->n;
}

ui_job ui_jobs_get(const ui_jobs *j, size_t i)
{
    const job *b = &j->list[j->n - 1 - i];
    ui_job out = { .id = b->id,
                   .state = states[b->state],
                   .argv = b->argv,
                   .folder = b->folder,
                   .rc = b->rc,
                   .error = b->error,
                   .queued = b->queued,
                   .started = b->started,
                   .ended = b->ended,
                   .stopping = b->stopping,
                   .device = b->device };
    snprintf(out.kind, sizeof out.kind, "%s", b->kind);
    return out;
}

bool ui_jobs_said(const ui_jobs *j, uint32_t id, char *out, size_t n)
{
    if (!find(j, id)) return false;
    ui_file_tail(log_of(j, id), out, n);
    return true;
}
