/* vktrain bench verify: whether benchmark files can be believed. */
#ifndef VKT_TOOLS_CMD_BENCH_VERIFY_H
#define VKT_TOOLS_CMD_BENCH_VERIFY_H

#include "cli.h"

/* A line or more for each file; paths: files, or folders of them. CLI_FAILED: one is refused. */
int cmd_bench_verify(const char *const *paths, size_t n);
/* Adds other programs' measurements, paths[1] on, to the file paths[0]. */
int cmd_bench_add(const char *const *paths, size_t n);

#endif
