/* Private to src/data: what the columns of a table hold. */
#ifndef VKT_DATA_LOOK_H
#define VKT_DATA_LOOK_H

#include "data/tables/csv.h"

typedef struct vkt__look {
    vkt__form form;  /* as half of the cells or more are written; TEXT: no form is */
    vkt__form other; /* another form reads as many cells, some to other values; TEXT: none does */
    bool constant, whole, rising; /* all cells alike; whole numbers; each above the one before */
    bool even;                    /* rising or falling by the same */
    bool clock;                   /* dates: with a time */
    uint32_t n, n_blank;          /* cells with a value, and without */
    uint32_t n_distinct;          /* of texts and of the label; else 0 */
    double low, high;             /* numbers; of dates the year */
    const char *first, *odd;      /* a cell; one with more than digits, point and sign, or NULL */
    const char *code;             /* digits that begin with 0, as a postal code's; or NULL */
    const char *wide;             /* a whole number that no double keeps; or NULL */
    bool numbered;                /* different whole numbers, close together: names of the rows */
    int zone;               /* dates: the first one's UTC offset, VKT__ZONE_NONE: it has none */
    bool zones;             /* not all have the same, or one */
    const char *unit;       /* of numbers the first cell's with one: "%", "$"; "": none has */
    const char *other_unit; /* another one; or NULL */
    uint32_t n_unit;        /* cells with it */
    uint32_t n_far;         /* cells that are 999 or the like: `far`, away from all others */
    double far, near_low, near_high;
} vkt__look;

/* out [csv->n_columns], from the rows [n]; label: a column whose different values are counted.
 * keep: csv itself, to keep the numbers that are read, or NULL. OOM_HOST. */
vkt_status vkt__look_at(const vkt__csv *csv, const uint32_t *rows, uint32_t n, size_t label,
                        vkt__look *out, vkt__csv *keep);
/* What is unusual about a column and how it is read, as a line; NULL: nothing is. `mean`: blank
 * cells are filled; `embed`: each different cell gets a vector that is learned. */
const char *vkt__look_note(const vkt__look *k, const char *name, bool fill, bool embed,
                           vkt__arena *arena);
/* Why the column is of no use: it is constant, counts the rows, or differs in each; NULL: it may
 * be. */
const char *vkt__look_useless(const vkt__look *k, const char *name, vkt__arena *arena);

#endif
