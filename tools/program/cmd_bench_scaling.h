/* The part of `vktrain bench` that measures how training scales. */
#ifndef VKT_TOOLS_CMD_BENCH_SCALING_H
#define VKT_TOOLS_CMD_BENCH_SCALING_H

#include "cli.h"

typedef struct bench_scaling_options {
    bool quick, once;
    const char *json, *csv, *svg; /* files to write, or NULL */
} bench_scaling_options;
/* How far a measurement is, for vkt_bench_desc.on_progress; of `vktrain bench` too. */
void cmd_bench_progress(void *user, const vkt_bench_progress *p);
/* The exit code. */
int cmd_bench_scaling(const cli_options *common, const bench_scaling_options *o);
/* `--scaling ranks`: as one of several processes. */
int cmd_bench_ranks(const cli_options *common, const bench_scaling_options *o);

#endif
