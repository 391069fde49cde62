/* Private to src/bench: what the rows of `bench --host` share, and files that they read. */
#ifndef VKT_BENCH_HOST_FILES_H
#define VKT_BENCH_HOST_FILES_H

#include "bench/bench_rows.h"

/* A row's work: on n things, with files of its own. */
typedef struct vkt__host_work {
    const vkt__bencher *b;
    const char *dir; /* empty at first */
    vkt__arena *a;
    uint32_t n;
} vkt__host_work;

const char *vkt__host_path(const vkt__host_work *w, const char *name);
/* dir/t.csv: n rows of numbers with a label of two words; dir/t.txt: words of n bytes. */
vkt_status vkt__host_table(const vkt__host_work *w);
vkt_status vkt__host_text(const vkt__host_work *w);

#endif
