/* Results beside each other: vktrain bench compare, and --baseline. */
#ifndef VKT_TOOLS_CMD_BENCH_COMPARE_H
#define VKT_TOOLS_CMD_BENCH_COMPARE_H

#include "cli.h"

/* The files of these n paths; svg: the picture to draw, or NULL. The program's exit code. */
int cmd_bench_compare(const char *const *path, size_t n, const char *svg, bool markdown);
/* Prints what got slower, faster or broke since `name`; how many rows are slower or broken. */
size_t cmd_bench_judge(const vkt_bench *base, const vkt_bench *now, const char *name,
                       double tolerance, bool markdown);

#endif
