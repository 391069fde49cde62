/* Private to src/data: a document, as its readers hand it on. */
#ifndef VKT_DATA_DOCUMENT_H
#define VKT_DATA_DOCUMENT_H

#include "vktrain/data.h"

/* A stretch of a document: its text, whether its tokens count in the loss, and whether control
 * tokens are recognised in it. */
typedef struct vkt__stretch {
    const char *text;
    size_t n;
    bool counts, special;
} vkt__stretch;
typedef struct vkt__document {
    const char *name; /* file, or file and line, for messages */
    const vkt__stretch *stretch;
    size_t n_stretches;
} vkt__document;
typedef vkt_status (*vkt__document_fn)(void *user, const vkt__document *d);

#endif
