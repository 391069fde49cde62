/* Data files built into the library. */
#include <string.h>

#include "base/embedded.h"
#include "vktrain/data.h"

const void *vkt_embedded(const char *name, size_t *bytes)
{
    for (const vkt__embedded_file *f = vkt__embedded_data; f->name; f++) {
        if (strcmp(f->name, name) != 0) continue;
        if (bytes) *bytes = f->bytes;
        return f->data;
    }
    return NULL;
}

const char *vkt_embedded_name(size_t i)
{
    for (const vkt__embedded_file *f = vkt__embedded_data; f->name; f++)
        if (i-- == 0) return f->name;
    return NULL;
}
