/* Private to src/data: a table under a schema: which file column is which, missing cells, labels,
 * inputs. */
#ifndef VKT_DATA_TABLE_H
#define VKT_DATA_TABLE_H

#include "data/tables/csv.h"

typedef struct vkt__table {
    const vkt__csv *csv;
    size_t first_row;                 /* after the header */
    uint32_t *column;                 /* [n_columns] file column of each schema column */
    bool labelled;                    /* it has the labels */
    bool fixed;                       /* for a model that is trained: data.missing is what it was */
    uint32_t *label;                  /* [n_targets] their file columns */
    uint32_t *rows, n;                /* [n] rows that are kept */
    uint64_t n_dropped, n_unlabelled; /* of them without a label */
    const char *dropped_for;          /* the column for which the first was */
} vkt__table;
/* What is known of a file that is read in parts, from its first part on. */
typedef struct vkt__table_part {
    bool later; /* header and delimiter are known: what they make of the file was said */
    bool whole; /* there is no more than this part */
    bool header;
    char delimiter;
    uint32_t skipped_lines; /* before the part's first */
} vkt__table_part;
bool vkt__table_has_header(const vkt__csv *csv, const char *label);
/* Finds the schema's columns in the file; need_label: its absence is an error. part NULL: it is
 * whole. */
vkt_status vkt__table_match(const vkt__schema *s, vkt__csv *csv, bool need_label,
                            const vkt__table_part *part, vkt__table *out);
/* Fills column [n_columns] and label of the file that the schema was fitted on. */
void vkt__table_columns(const vkt__schema *s, vkt__table *t);
void vkt__table_finish(vkt__table *t);
/* A line on each column of numbers with cells that are written otherwise than the training data's,
 * or are far from all of them. */
void vkt__table_say_odd(const vkt__schema *s, const vkt__table *t);
/* Applies the missing policy; fills rows. */
vkt_status vkt__table_keep(const vkt__schema *s, vkt__table *t);
/* The lines of the rows that are kept, [n]; free them. OOM_HOST. */
vkt_status vkt__table_lines(const vkt__table *t, uint32_t **out);
/* The number in a cell of the column, by its form, part and clock. */
bool vkt__column_value(const vkt__column *c, const char *cell, double *out);
vkt_status vkt__table_labels(const vkt__schema *s, const vkt__table *t, vkt_label *out);
vkt_status vkt__table_inputs(const vkt__schema *s, const vkt__table *t, float *out);
/* part: one of several, and to be predicted: labels are not looked at; filled by the first. NULL:
 * all of it. */
vkt_status vkt__table_open_schema(vkt_dataset *ds, const void *bytes, size_t n, const char *name,
                                  vkt__table_part *part);

#endif
