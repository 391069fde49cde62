/* Private to src/data: the classes of a table's label. */
#ifndef VKT_DATA_LABELS_H
#define VKT_DATA_LABELS_H

#include "data/tables/table.h"

/* Sorts the texts and removes repeats; count (may be NULL) [n] gets how often each came. OOM_HOST.
 */
vkt_status vkt__values_unique(const char **s, uint32_t *n, uint32_t *count);
/* A line of what is unusual, behind those of info.notes. */
void vkt__table_note(vkt_dataset *ds, const char *note);
/* Copies of them in the arena. */
const char **vkt__values_keep(vkt__arena *arena, const char *const *s, uint32_t n);

/* The schema's classes from the rows that are kept. Numbers are classes by their value, but where
 * one has a leading zero or digits that no double keeps, all are by their spelling. FORMAT. */
vkt_status vkt__labels_fit_classes(vkt_dataset *ds, const vkt__table *t);
/* The cells [*n] of a label of data.classes, sorted and without repeats: each spelling is a class,
 * in the order of numbers where all are. FORMAT: there is one, or there are too many. */
enum { VKT__MOST_LABEL_CLASSES = 1000 };
vkt_status vkt__labels_of_column(const char *file, const char *label, const char **values,
                                 uint32_t *n);
/* A line on the rows that were left out: how many of how many, and which classes have none left. */
vkt_status vkt__labels_say_dropped(const vkt__schema *s, const vkt__table *t);

#endif
