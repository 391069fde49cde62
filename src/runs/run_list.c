/* vkt_runs_list: the runs below a folder. Several threads walk it and read each run.json: with
 * nothing cached, thousands of small files are a matter of waiting for the disk, else of parsing.
 * The order does not depend on them: the list is sorted at the end. */
#include <jansson.h>

#include "base/os.h"
#include "runs/run_folder.h"

enum {
    MAX_DEPTH = 4, /* folders between the one that is named and a run: a study's, a collection's */
    READERS = 8,   /* more than cores, for those that wait for the disk */
    ALONE = 64     /* folders that one thread reads sooner than others would have started */
};

typedef struct folder {
    const char *path; /* in the arena of the reader that found it */
    int depth;
} folder;

/* The folders to be visited, in the order in which they were found. */
typedef struct walk {
    vkt__mutex *mutex;
    vkt__cond *changed;
    folder *todo;
    size_t next, n, cap;
    size_t busy; /* readers that hold a folder, and may find more */
    vkt_status st;
} walk;

typedef struct reader {
    walk *w;
    vkt__thread *thread;
    vkt__arena arena;
    vkt_run_info *items;
    size_t n, cap;
    const char *unread, *why; /* the first by name of its folders that can't be read */
    size_t n_unread;
} reader;

static void add_run(reader *r, const char *dir, const vkt__run_record *rec, const char *why)
{
    r->items = vkt__grow(r->items, r->n, &r->cap, sizeof *r->items);
    r->items[r->n++] = (vkt_run_info) {
        .dir = dir,
        .name = rec->name,
        .note = rec->note,
        .status = rec->status,
        .started = rec->started,
        .device = rec->device,
        .metric = rec->metric,
        .command = rec->command,
        .recipe = rec->source,
        .config = rec->config,
        .commit = rec->commit,
        .changes = rec->changes,
        .best_step = rec->best_step,
        .n_params = rec->n_params,
        .ranks = VKT_MAX(rec->ranks, 1),
        .exchange_share = rec->exchange_share,
        .exchange_overlap = rec->exchange_overlap,
        .test_loss = rec->test_loss,
        .seconds = rec->seconds,
        .baseline = rec->baseline,
        .baseline_verdict = rec->baseline_verdict,
        .baseline_metric = rec->baseline_metric,
        .baseline_error = rec->baseline_error,
        .error = why ? why : rec->error,
        .step = rec->step,
        .total = rec->total,
        .best_metric = rec->best_metric,
        .test_accuracy = rec->test_accuracy,
        .test_mae = rec->test_mae,
        .items_per_s = rec->items_per_s,
    };
}

static void add_folders(reader *r, const folder *in, char **names, size_t n)
{
    walk *w = r->w;
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == '.') continue;
        folder child = { vkt__arena_printf(&r->arena, "%s/%s", in->path, names[i]), in->depth + 1 };
        vkt__mutex_lock(w->mutex);
        w->todo = vkt__grow(w->todo, w->n, &w->cap, sizeof *w->todo);
        w->todo[w->n++] = child;
        vkt__mutex_unlock(w->mutex);
    }
    vkt__cond_broadcast(w->changed);
}

/* A run is added; what holds none may hold some deeper. */
static vkt_status look_into(reader *r, const folder *f)
{
    vkt__run_record rec;
    const char *why;
    char **names = NULL;
    size_t n = 0;
    bool held = true;
    if (!vkt__is_dir(f->path)) return VKT_OK;
    if (f->depth && !vkt__may_open(f->path)) return VKT_OK; /* a link that leads out */
    vkt_status st = vkt__run_load(f->path, &r->arena, &rec, &why);
    if (st == VKT_E_OOM_HOST) return st;
    if (st != VKT_OK && (st = vkt__holds_run(f->path, &r->arena, &held)) != VKT_OK) return st;
    if (held) return add_run(r, f->path, &rec, why), VKT_OK;
    st = vkt__list_dir(f->path, &names, &n);
    if (st == VKT_OK && f->depth < MAX_DEPTH) add_folders(r, f, names, n);
    vkt__names_free(names, n);
    return st;
}

/* A folder below the one that is named may forbid to be read: the others are listed. */
static vkt_status visit(reader *r, const folder *f)
{
    if (!f->depth) return look_into(r, f);
    vkt__log_quiet(true);
    vkt_status st = look_into(r, f);
    const char *why = st == VKT_OK ? "" : vkt__arena_strdup(&r->arena, vkt__last_failure());
    vkt__log_quiet(false);
    if (st == VKT_OK) return st;
    if (st != VKT_E_IO) return vkt__fail(st, "run", "%s", why);
    r->n_unread++;
    if (!r->unread || strcmp(f->path, r->unread) < 0) r->unread = f->path, r->why = why;
    return VKT_OK;
}

/* Visits folders until none is left, or until `most` are left for others to help with. */
static void read_until(reader *r, size_t most)
{
    walk *w = r->w;
    vkt__mutex_lock(w->mutex);
    for (;;) {
        while (w->next == w->n && w->busy && w->st == VKT_OK) vkt__cond_wait(w->changed, w->mutex);
        if (w->next == w->n || w->st != VKT_OK || w->n - w->next >= most) break;
        folder f = w->todo[w->next++];
        w->busy++;
        vkt__mutex_unlock(w->mutex);
        vkt_status st = visit(r, &f);
        vkt__mutex_lock(w->mutex);
        w->busy--;
        if (w->st == VKT_OK) w->st = st;
        if (!w->busy || st != VKT_OK) vkt__cond_broadcast(w->changed);
    }
    vkt__mutex_unlock(w->mutex);
}

static void read_all(void *arg)
{
    read_until(arg, SIZE_MAX);
}

static vkt_status walk_all(walk *w, reader *readers)
{
    size_t n = 1;
    read_until(&readers[0], ALONE);
    if (w->next < w->n && w->st == VKT_OK) {
        json_object_seed(0);  /* jansson wants this before it is used by several threads */
        vkt__log_quiet(true); /* without one or all of them the list is the same */
        while (n < READERS &&
               vkt__thread_start(read_all, &readers[n], &readers[n].thread) == VKT_OK)
            n++;
        vkt__log_quiet(false);
        read_all(&readers[0]);
    }
    for (size_t i = 1; i < n; i++) vkt__thread_join(&readers[i].thread);
    return w->st;
}

static int by_start(const void *a, const void *b)
{
    const vkt_run_info *x = a, *y = b;
    int c = strcmp(x->started ? x->started : "", y->started ? y->started : "");
    return c ? c : strcmp(x->dir, y->dir);
}

/* The list and the memory of its texts in one block. */
typedef struct list_block {
    vkt__arena arena[READERS];
    const char *unread; /* NULL: all was read */
    vkt_run_info items[];
} list_block;

static list_block *block_of(const vkt_run_info *list)
{
    return (list_block *)((char *)(uintptr_t)list - offsetof(list_block, items));
}

/* In a sentence, in the arena of the block; the same however the threads shared the folders. */
static const char *unread(const reader *readers, vkt__arena *a)
{
    const reader *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < READERS; i++) {
        n += readers[i].n_unread;
        if (readers[i].unread && (!first || strcmp(readers[i].unread, first->unread) < 0))
            first = &readers[i];
    }
    if (!first) return NULL;
    if (n == 1) return vkt__arena_printf(a, "%s; runs in it are not listed", first->why);
    return vkt__arena_printf(a, "%s, nor %zu folder%s more; runs in them are not listed",
                             first->why, n - 1, n > 2 ? "s" : "");
}

vkt_status vkt_runs_list(const char *dir, vkt_run_info **list, size_t *n)
{
    walk w = { 0 };
    reader readers[READERS] = { 0 };
    size_t total = 0;
    *list = NULL;
    *n = 0;
    if (!vkt__is_dir(dir)) return vkt__fail(VKT_E_IO, "run", "no folder '%s'", dir);
    w.mutex = vkt__mutex_create();
    w.changed = vkt__cond_create();
    w.todo = vkt__grow(NULL, 0, &w.cap, sizeof *w.todo);
    for (size_t i = 0; i < READERS; i++) readers[i].w = &w;
    w.todo[w.n++] = (folder) { vkt__arena_strdup(&readers[0].arena, dir), 0 };
    vkt_status st = walk_all(&w, readers);
    for (size_t i = 0; i < READERS; i++) total += readers[i].n;
    list_block *b = vkt__alloc(sizeof *b + total * sizeof *b->items);
    b->unread = unread(readers, &readers[0].arena);
    for (size_t i = 0; i < READERS; i++) {
        if (readers[i].n) memcpy(b->items + *n, readers[i].items, readers[i].n * sizeof *b->items);
        *n += readers[i].n;
        b->arena[i] = readers[i].arena;
        free(readers[i].items);
    }
    if (*n) qsort(b->items, *n, sizeof *b->items, by_start);
    *list = b->items;
    if (st != VKT_OK) {
        vkt_runs_free(list);
        *n = 0;
    }
    free(w.todo);
    vkt__cond_destroy(&w.changed);
    vkt__mutex_destroy(&w.mutex);
    return st;
}

void vkt_runs_free(vkt_run_info **list)
{
    if (!*list) return;
    list_block *b = block_of(*list);
    for (size_t i = 0; i < READERS; i++) vkt__arena_finish(&b->arena[i]);
    free(b);
    *list = NULL;
}

const char *vkt_runs_unread(const vkt_run_info *list)
{
    return block_of(list)->unread;
}
