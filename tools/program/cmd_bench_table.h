/* vktrain bench table: files of many machines as one table. */
#ifndef VKT_TOOLS_CMD_BENCH_TABLE_H
#define VKT_TOOLS_CMD_BENCH_TABLE_H

#include "cli.h"

/* Prints a folder's files as a table, and writes the page where html is one. */
int cmd_bench_table(const char *dir, bool markdown, const char *html);

/* "bench-NVIDIA-GeForce-RTX-4090-2026-11-23T05-46-11Z.json" */
void cmd_bench_name_file(const char *device, char *out, size_t n);
/* asked: also why there is none. */
void cmd_bench_print_score(const vkt_bench *b, bool asked);

#endif
