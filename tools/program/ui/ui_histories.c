/* ui_histories.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "ui_histories.h"

enum {
    MOST_KEPT = 6,
    PART_BYTES = 1 << 20 /* that are read at a time: some 8,000 steps */
};
static struct {
    char *dir;
    vkt_history *h;
    bool more; /* the file has more than was read so far */
    double used;
} kept[MOST_KEPT];

static void drop_kept(size_t i)
{
    free(kept[i].dir);
    vkt_history_destroy(&kept[i].h);
    kept[i].dir = NULL;
}

/* Reads on; false: it can't be read, and is kept no more. */
static bool read_kept(size_t i)
{
    if (vkt_history_read(kept[i].h, PART_BYTES, &kept[i].more) == VKT_OK) return true;
    drop_kept(i);
    return false;
}

bool ui_histories_step(void)
{
    bool more = false;
    for (size_t i = 0; i < MOST_KEPT; i++)
        if (kept[i].dir && kept[i].more) more |= read_kept(i) && kept[i].more;
    return more;
}

const vkt_history *ui_history_of(const char *dir, bool *more)
{
    size_t oldest = 0;
    char file[4200];
    for (size_t i = 0; i < MOST_KEPT; i++) {
        if (kept[i].used < kept[oldest].used) oldest = i;
        if (!kept[i].dir || strcmp(kept[i].dir, dir) != 0) continue;
        kept[i].used = cli_now();
        if (!read_kept(i)) return NULL;
        *more = kept[i].more;
        return kept[i].h;
    }
    snprintf(file, sizeof file, "%s/metrics.jsonl", dir);
    if (!cli_exists(file)) return NULL;
    drop_kept(oldest);
    if (vkt_history_open(dir, &kept[oldest].h) != VKT_OK) return NULL;
    kept[oldest].dir = strcpy(cli_grow(NULL, strlen(dir) + 1), dir);
    kept[oldest].used = cli_now();
    if (!read_kept(oldest)) return NULL;
    *more = kept[oldest].more;
    return kept[oldest].h;
}
