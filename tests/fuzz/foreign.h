/* What the fuzz targets share: silence, and the input as a file. The file lies in memory (Linux's
 * memfd), so that a target makes thousands of inputs a second: its path, or names that stand for it
 * in a folder. Included first, for what libc has beyond C17. */
#ifndef VKT_FUZZ_FOREIGN_H
#define VKT_FUZZ_FOREIGN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Logs go nowhere, but each must be one line. */
static inline void foreign_quiet(void *user, vkt_log_level level, const char *area,
                                 const char *line)
{
    (void)user, (void)level, (void)area;
    VKT_ASSERT(!strchr(line, '\n'));
}

/* The path of a file with these bytes, until the next call. */
static inline const char *foreign_file(const void *data, size_t n)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    VKT_ASSERT(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, n, 0) == (ssize_t)n);
    return path;
}

static char foreign_at[64];

static inline void foreign_clean(void)
{
    char line[128];
    snprintf(line, sizeof line, "rm -rf '%s'", foreign_at);
    if (system(line)) perror(line);
}

/* A folder in memory, of this process: for the life of it. */
static inline const char *foreign_folder(void)
{
    if (!*foreign_at) {
        snprintf(foreign_at, sizeof foreign_at, "%s/vkt-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        VKT_ASSERT(mkdtemp(foreign_at));
        atexit(foreign_clean);
    }
    return foreign_at;
}

/* FOLDER/DIR/NAME is the foreign file. Returns FOLDER/DIR. */
static inline const char *foreign_name(const char *dir, const char *name)
{
    char *at = vkt__alloc(256), link[512];
    snprintf(at, 256, "%s/%s", foreign_folder(), dir);
    snprintf(link, sizeof link, "%s/%s", at, name);
    mkdir(at, 0700);
    VKT_ASSERT(symlink(foreign_file("", 0), link) == 0);
    return at;
}

#endif
