/* task_rows.h */
#include "base/words.h"
#include "data/parts/task_rows.h"

static const vkt__task_row rows[] = {
    [VKT_TASK_CLASSIFY] = { "classify", NULL, 0 },
    [VKT_TASK_REGRESS] = { "regress", NULL, 0 },
    [VKT_TASK_MULTILABEL] = { "multilabel", NULL, 0 },
    [VKT_TASK_SEGMENT] = { "segment", "masks", VKT_TAKES_SEGMENT },
    [VKT_TASK_PICTURE] = { "picture", "pairs", VKT_TAKES_PICTURE },
    [VKT_TASK_DETECT] = { "detect", "boxes", VKT_TAKES_DETECT },
    [VKT_TASK_POINTS] = { "points", "points", VKT_TAKES_POINTS },
    [VKT_TASK_INSTANCES] = { "instances", "instances", VKT_TAKES_INSTANCES },
};

const vkt__task_row *vkt__task_at(size_t task)
{
    return task < VKT_COUNT(rows) ? &rows[task] : NULL;
}

const vkt__task_row *vkt__task_of_source(const vkt_source_info *s, vkt_task *task)
{
    for (size_t t = 0; t < VKT_COUNT(rows); t++) {
        if (!(s->takes & rows[t].takes)) continue;
        *task = (vkt_task)t;
        return &rows[t];
    }
    return NULL;
}

bool vkt__task_fits(vkt_task task, const vkt_source_info *s, const vkt__task_row **row)
{
    for (size_t t = 0; t < VKT_COUNT(rows); t++) {
        *row = &rows[t];
        if (rows[t].takes && ((size_t)task == t) != ((s->takes & rows[t].takes) != 0)) return false;
    }
    return true;
}
