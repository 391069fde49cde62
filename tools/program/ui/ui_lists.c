/* ui_lists.h. One thread at a time, for all that has been asked when it starts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "ui_lists.h"
#include "ui_os.h"

typedef struct asked {
    http_request *r;
    bool again;
    ui_lists_read read;
    ui_lists_done done;
    void *about;
} asked;

static struct {
    const ui *u;
    ui_task *task; /* NULL: none; while there is one, what follows is its own */
    asked *now;
    size_t n_now;
    ui_lists lists;
    double read, took; /* when the folders were read, and how long it took */
} work;
static asked *waits; /* at most one for each connection */
static size_t n_waits;
static bool forgotten;

static void drop_lists(ui_lists *l)
{
    for (size_t i = 0; i < l->n_roots; i++) vkt_runs_free(&l->of[i]);
    free(l->of);
    free(l->n);
    *l = (ui_lists) { 0 };
}

static void read_folders(void)
{
    ui_lists *l = &work.lists;
    const ui_roots *roots = &work.u->roots;
    double began = cli_now();
    drop_lists(l);
    l->of = cli_zeros(roots->n, sizeof *l->of);
    l->n = cli_zeros(roots->n, sizeof *l->n);
    l->n_roots = roots->n;
    for (size_t i = 0; i < roots->n; i++) {
        bool all = vkt_runs_list(roots->folder[i], &l->of[i], &l->n[i]) == VKT_OK;
        const char *why = all ? vkt_runs_unread(l->of[i]) : vkt_last_error();
        size_t at = strlen(l->wrong);
        if (why) snprintf(l->wrong + at, sizeof l->wrong - at, "%s%s", at ? "; " : "", why);
    }
    work.read = cli_now();
    work.took = work.read - began;
}

/* The list is read again only now and then. */
static void work_on(void *none)
{
    (void)none;
    bool again = !work.lists.of || cli_now() - work.read >= fmax(2, 20 * work.took);
    for (size_t i = 0; i < work.n_now; i++) again |= work.now[i].again;
    if (again) read_folders();
    for (size_t i = 0; i < work.n_now; i++) work.now[i].read(&work.lists, work.now[i].about);
}

void ui_lists_ask(ui *u, http_request *r, bool again, ui_lists_read read, ui_lists_done done,
                  void *about)
{
    waits = cli_grow(waits, (n_waits + 1) * sizeof *waits);
    waits[n_waits++] = (asked) { r, again, read, done, about };
    ui_lists_step(u);
}

void ui_lists_forget(void)
{
    forgotten = true;
}

static void give(ui *u)
{
    for (size_t i = 0; i < work.n_now; i++) work.now[i].done(u, work.now[i].r, work.now[i].about);
    free(work.now);
    work.now = NULL;
    work.n_now = 0;
}

bool ui_lists_step(ui *u)
{
    if (work.task && ui_task_ended(work.task)) {
        ui_task_join(&work.task);
        give(u);
    }
    if (!work.task && n_waits) {
        work.u = u;
        work.now = waits;
        work.n_now = n_waits;
        work.now[0].again |= forgotten;
        forgotten = false;
        waits = NULL;
        n_waits = 0;
        if (!ui_task_start(work_on, NULL, &work.task)) {
            work_on(NULL);
            give(u);
        }
    }
    return work.task != NULL;
}

void ui_lists_close(ui *u)
{
    while (ui_lists_step(u)) ui_task_join(&work.task), give(u);
    drop_lists(&work.lists);
}
