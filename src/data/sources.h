/* Private to src/data: the table of sources. A source is a row here and its own file. */
#ifndef VKT_DATA_SOURCES_H
#define VKT_DATA_SOURCES_H

#include "data/parts/parts.h"

typedef struct vkt__source_row {
    vkt_source_info info;
    vkt_status (*open)(vkt_dataset *ds, const vkt_data_desc *desc);
    /* Opens other data under ds's schema, all as part 0 (text: in the test split); sets has_labels
     * and source. NULL: the source has nothing that could be opened so. */
    vkt_status (*reopen)(vkt_dataset *ds, const char *const *paths, size_t n);
    bool reopens_many;   /* reopen takes several paths as one data set; else n is 1 */
    bool reopens_labels; /* reopen reads the labels of whichever task the schema has */
    vkt_likeness (*is)(const char *path); /* the path is there; NULL: built in */
} vkt__source_row;

/* NULL past the end. */
const vkt__source_row *vkt__source_row_at(size_t i);
/* NULL: there is none of that name. */
const vkt__source_row *vkt__source_named(const char *name);
/* The row that gives data of this kind and that the path looks most like, and that can reopen it;
 * the kind's first where it looks like none. */
const vkt__source_row *vkt__source_to_reopen(vkt_data_kind kind, const char *path);

#endif
