/* control.h, and the public side that gives orders. */
#include <stdio.h>

#include "base/os.h"
#include "runs/control.h"

static const char *const words[] = { "checkpoint", "stop after evaluation", "stop" };

static void control_path(const char *run_dir, char *out, size_t n)
{
    snprintf(out, n, "%s/control", run_dir);
}

void vkt__control_open(const char *run_dir, vkt__control *c)
{
    *c = (vkt__control) { .polled = vkt__now() };
    control_path(run_dir, c->path, sizeof c->path);
    vkt__file_remove(c->path);
}

bool vkt__control_poll(vkt__control *c, vkt_run_order *out)
{
    double now = vkt__now();
    char *text;
    size_t n;
    if (now - c->polled < 0.5) return false;
    c->polled = now;
    if (vkt__file_size(c->path) < 0) return false;
    vkt__log_quiet(true);
    vkt_status st = vkt__file_read(c->path, 256, &text, &n);
    vkt__log_quiet(false);
    vkt__file_remove(c->path);
    if (st != VKT_OK) return false;
    text[strcspn(text, "\r\n")] = 0;
    bool known = false;
    for (size_t i = 0; i < VKT_COUNT(words) && !known; i++)
        if (!strcmp(text, words[i])) *out = (vkt_run_order)i, known = true;
    if (!known)
        vkt_log(VKT_LOG_WARN, "train", "'%s' held an unknown request, which is ignored", c->path);
    free(text);
    return known;
}

static vkt__lock_state lock_of(const char *run_dir)
{
    char path[1100];
    snprintf(path, sizeof path, "%s/.lock", run_dir);
    return vkt__lock_ask(path);
}

bool vkt_run_alive(const char *run_dir)
{
    return lock_of(run_dir) == VKT__LOCK_HELD;
}

bool vkt_run_abandoned(const char *run_dir)
{
    return lock_of(run_dir) == VKT__LOCK_FREE;
}

vkt_status vkt_run_control(const char *run_dir, vkt_run_order order)
{
    char path[1100], text[64];
    if (strlen(run_dir) > 1000 || !vkt__is_dir(run_dir))
        return vkt__fail(VKT_E_IO, "run", "no folder '%.200s'", run_dir);
    if (!vkt_run_alive(run_dir))
        return vkt__fail(VKT_E_ARG, "run", "no run is in progress in '%s'", run_dir);
    control_path(run_dir, path, sizeof path);
    int n = snprintf(text, sizeof text, "%s\n", words[order]);
    return vkt__file_replace(path, text, (size_t)n);
}
