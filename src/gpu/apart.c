/* See apart.h. What was tried is a file beside the journal, of the same device, driver and kernels:
 * its heading, then a line for each. */
#include <stdio.h>

#include "base/os.h"
#include "gpu/apart.h"
#include "gpu/gpu_vk.h"

enum { MOST_CRASHES = 8 };

static atomic_bool helps;

void vkt_helper_set(bool on)
{
    atomic_store(&helps, on);
}

static void path_of(const vkt_gpu *gpu, char out[1100])
{
    static const char tail[] = "-left-out.txt";
    snprintf(out, 1100, "%.*s-tried.txt", (int)(strlen(gpu->journal_path) - sizeof tail + 1),
             gpu->journal_path);
}

/* Its heading and lines in *s, or the heading alone. */
static bool was_tried(const vkt_gpu *gpu, const char *what, vkt__str *s)
{
    char path[1100], line[32], *file = NULL;
    size_t n = 0;
    path_of(gpu, path);
    vkt__choices_heading(gpu, s);
    if (!vkt__cache_read(path, 1 << 16, &file, &n)) return false;
    bool current = n > s->len && !memcmp(file, s->data, s->len);
    if (current) vkt__str_add(s, file + s->len, n - s->len);
    free(file);
    snprintf(line, sizeof line, "\n%s\n", what);
    return current && strstr(s->data, line);
}

typedef enum { ABSENT, ENDED, DONE } outcome;

static outcome run(const vkt_gpu *gpu, const char *program, const char *what)
{
    char device[16], math[16], out[256];
    snprintf(device, sizeof device, "%u", gpu->index);
    snprintf(math, sizeof math, "%d", (int)gpu->caps.math);
    const char *argv[] = { program,
                           VKT__APART_COMMAND,
                           what,
                           device,
                           math,
                           gpu->asked_cap ? gpu->asked_cap : "",
                           gpu->asked_dir ? gpu->asked_dir : "",
                           NULL };
    bool ok = vkt__run_program(argv, out, sizeof out);
    if (!strstr(out, VKT__APART_OPENED)) return ABSENT;
    return ok && strstr(out, VKT__APART_DONE) ? DONE : ENDED;
}

bool vkt__tried_apart(vkt_gpu *gpu, const char *what)
{
    char program[4096], path[1100];
    vkt__str kept = { 0 };
    outcome o = ABSENT;
    if (!atomic_load(&helps) || !gpu->journal_path[0] || gpu->cache_fails ||
        was_tried(gpu, what, &kept) || !vkt__own_path(program, sizeof program)) {
        vkt__str_finish(&kept);
        return true;
    }
    vkt_log(VKT_LOG_INFO, "gpu",
            "the matrix units' kernels for %s are first tried in a process of their own: once for "
            "this driver",
            what);
    bool more = true;
    for (uint32_t i = 0; more && i < MOST_CRASHES; i++) {
        size_t before = gpu->n_culprits;
        o = run(gpu, program, what);
        if (o == ABSENT) break;
        gpu->n_culprits = 0;
        vkt__journal_open(gpu);
        more = o == ENDED && gpu->n_culprits > before;
    }
    if (o == ABSENT)
        vkt_log(VKT_LOG_INFO, "gpu",
                "no such process could be started: they are tried in this one");
    if (o == DONE) {
        vkt__cache_merge(gpu);
        path_of(gpu, path);
        vkt__str_printf(&kept, "%s\n", what);
        vkt__cache_write(gpu, path, kept.data, kept.len);
    }
    vkt__str_finish(&kept);
    return o != ENDED;
}
