/* See journal.h. A line is "trying PID KERNEL KEY" while a kernel is tried; "ended" where that line
 * was found at a start, and no such process runs; "lost" after a lost device. It is on the disk
 * before the kernel runs, as what it does may stop the machine. */
#include <stdio.h>

#include "base/os.h"
#include "gpu/gpu_vk.h"
#include "gpu/journal.h"

static void add(vkt_gpu *gpu, bool lost, const char *kernel, const char *key)
{
    gpu->culprits =
        vkt__grow(gpu->culprits, gpu->n_culprits, &gpu->cap_culprits, sizeof *gpu->culprits);
    vkt__culprit *c = &gpu->culprits[gpu->n_culprits++];
    *c = (vkt__culprit) { .lost = lost };
    snprintf(c->kernel, sizeof c->kernel, "%s", kernel);
    snprintf(c->key, sizeof c->key, "%s", key);
}

/* Writes the journal, with `trying`, or removes it if empty; a failure is a warning. */
static void save(vkt_gpu *gpu)
{
    vkt__str s = { 0 };
    const vkt__culprit *t = &gpu->trying;
    if (!gpu->journal_path[0]) return;
    if (!*t->kernel && !gpu->n_culprits) {
        vkt__file_remove(gpu->journal_path);
        return;
    }
    vkt__choices_heading(gpu, &s);
    for (size_t i = 0; i < gpu->n_culprits; i++)
        vkt__str_printf(&s, "%s 0 %s %s\n", gpu->culprits[i].lost ? "lost" : "ended",
                        gpu->culprits[i].kernel, gpu->culprits[i].key);
    if (*t->kernel) vkt__str_printf(&s, "trying %d %s %s\n", vkt__pid(), t->kernel, t->key);
    vkt__cache_write(gpu, gpu->journal_path, s.data, s.len);
    vkt__str_finish(&s);
}

/* False: someone else is trying something just now. */
static bool parse(vkt_gpu *gpu, const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char kind[8], kernel[40], key[40];
        int pid;
        if (sscanf(line, "%7s %9d %39s %39[^\n]", kind, &pid, kernel, key) != 4) continue;
        bool is_trying = !strcmp(kind, "trying");
        if (is_trying && pid != vkt__pid() && vkt__pid_runs(pid)) return false;
        add(gpu, !strcmp(kind, "lost"), kernel, key);
        if (is_trying)
            vkt_log(VKT_LOG_WARN, "gpu",
                    "an earlier run crashed while trying kernel %s for '%s': this kernel is no "
                    "longer used; to try it again, remove '%s'",
                    kernel, key, gpu->journal_path);
    }
    return true;
}

void vkt__journal_open(vkt_gpu *gpu)
{
    char *file = NULL;
    size_t n = 0, path = strlen(gpu->choices_path);
    vkt__str head = { 0 };
    if (path < 4) return;
    snprintf(gpu->journal_path, sizeof gpu->journal_path, "%.*s-left-out.txt", (int)path - 4,
             gpu->choices_path);
    if (!vkt__cache_read(gpu->journal_path, 1 << 20, &file, &n)) return;
    vkt__choices_heading(gpu, &head);
    bool current = n > head.len && !memcmp(file, head.data, head.len);
    if (current && parse(gpu, file + head.len)) save(gpu);
    if (gpu->n_culprits)
        vkt_log(VKT_LOG_INFO, "gpu", "some kernels are not used on this device: see '%s'",
                gpu->journal_path);
    vkt__str_finish(&head);
    free(file);
}

void vkt__trying(vkt_gpu *gpu, const char *kernel, const char *key)
{
    vkt__culprit *t = &gpu->trying;
    snprintf(t->kernel, sizeof t->kernel, "%s", kernel);
    snprintf(t->key, sizeof t->key, "%s", key);
    save(gpu);
}

void vkt__tried(vkt_gpu *gpu)
{
    if (gpu->lost) add(gpu, true, gpu->trying.kernel, gpu->trying.key);
    gpu->trying = (vkt__culprit) { 0 };
    save(gpu);
}

bool vkt__left_out(const vkt_gpu *gpu, const char *kernel, const char *key)
{
    size_t kind = strcspn(key, " "), ended = 0;
    for (size_t i = 0; i < gpu->n_culprits; i++) {
        const vkt__culprit *c = &gpu->culprits[i];
        if (strcmp(c->kernel, kernel) != 0 || strncmp(c->key, key, kind) != 0) continue;
        if (c->lost || !strcmp(c->key, key)) return true;
        ended++;
    }
    return ended >= 2;
}
