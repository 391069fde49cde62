/* Private to src/data: a document, as its readers hand it on. */
#ifndef VKT_DATA_DOCUMENT_H
#define VKT_DATA_DOCUMENT_H

#include "base/os.h"
#include "data/chat/conversation.h"
#include "vktrain/data.h"

typedef struct vkt__document {
    const char *name; /* file, or file and line, for messages */
    const vkt__stretch *stretch;
    size_t n_stretches;
    bool whole;      /* a conversation, which has ends of its own: no end token is put behind it */
    bool end_counts; /* the end token behind it does, though not all of it */
    const vkt__map *map; /* the text lies in it, and what was read may be given back; or NULL */
} vkt__document;
typedef vkt_status (*vkt__document_fn)(void *user, const vkt__document *d);

#endif
