/* ui_os.h: a thread, by the threads that libmicrohttpd has on each system, too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "ui_os.h"

struct ui_task {
    pthread_t thread;
    void (*fn)(void *arg);
    void *arg;
    atomic_bool ended;
};

static void *call(void *task)
{
    ui_task *t = task;
    t->fn(t->arg);
    atomic_store(&t->ended, true);
    return NULL;
}

bool ui_task_start(void (*fn)(void *arg), void *arg, ui_task **out)
{
    ui_task *t = *out = calloc(1, sizeof *t);
    if (!t) return false;
    t->fn = fn;
    t->arg = arg;
    if (!pthread_create(&t->thread, NULL, call, t)) return true;
    free(t);
    *out = NULL;
    return false;
}

bool ui_task_ended(ui_task *t)
{
    return atomic_load(&t->ended);
}

void ui_task_join(ui_task **t)
{
    if (!*t) return;
    pthread_join((*t)->thread, NULL);
    free(*t);
    *t = NULL;
}
