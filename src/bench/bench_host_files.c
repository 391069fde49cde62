/* Files that the rows of `bench --host` read. */
#include <stdio.h>

#include "base/number.h"
#include "base/os.h"
#include "bench/bench_host_files.h"

const char *vkt__host_path(const vkt__host_work *w, const char *name)
{
    return vkt__arena_printf(w->a, "%s/%s", w->dir, name);
}

/* A number that looks drawn: the same on each machine. */
static double drawn(uint64_t i, uint32_t k)
{
    return (double)vkt_rand_below(1, VKT_RNG_SAMPLE, i * 64 + k, 200001) / 1e4 - 10;
}

enum { COLUMNS = 11 };

vkt_status vkt__host_table(const vkt__host_work *w)
{
    FILE *f;
    const char *path = vkt__host_path(w, "t.csv");
    vkt_status st = vkt__file_create(path, &f);
    if (st != VKT_OK) return st;
    for (uint32_t k = 0; k < COLUMNS; k++) fprintf(f, "x%u,", k);
    fprintf(f, "label\n");
    for (uint32_t i = 0; i < w->n; i++) {
        char number[32];
        for (uint32_t k = 0; k < COLUMNS; k++)
            fprintf(f, "%s,", vkt__double_text(drawn(i, k), false, number));
        fprintf(f, "%s\n", drawn(i, 0) + drawn(i, 1) * drawn(i, 2) > 0 ? "ab" : "cd");
    }
    return vkt__file_finish(path, &f);
}

vkt_status vkt__host_text(const vkt__host_work *w)
{
    FILE *f;
    const char *path = vkt__host_path(w, "t.txt");
    vkt_status st = vkt__file_create(path, &f);
    if (st != VKT_OK) return st;
    for (uint32_t i = 0; i < w->n; i++)
        fputc(i % 61 == 60 ? '\n' : i % 6 == 5 ? ' ' : 'a' + (int)(i / 7 % 26), f);
    return vkt__file_finish(path, &f);
}
