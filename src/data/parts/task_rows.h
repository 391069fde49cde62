/* What each task of data is: a row. Knows no file and no model; what a recipe makes of them stands
 * in recipe/task_rules.h. */
#ifndef VKT_DATA_TASK_ROWS_H
#define VKT_DATA_TASK_ROWS_H

#include "vktrain/data.h"

typedef struct vkt__task_row {
    const char *name;   /* data.task */
    const char *source; /* the only one that has such data, and has nothing else; NULL: several */
    unsigned takes;     /* VKT_TAKES_... that says so of a source */
} vkt__task_row;

/* NULL: beyond the last. */
const vkt__task_row *vkt__task_at(size_t task);
/* The task that data of such a source alone has; NULL: it has none of its own. */
const vkt__task_row *vkt__task_of_source(const vkt_source_info *s, vkt_task *task);
/* Whether a source and a task belong together; *row: if not, the row whose task or source does not
 * fit. */
bool vkt__task_fits(vkt_task task, const vkt_source_info *s, const vkt__task_row **row);

#endif
