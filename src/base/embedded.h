/* Files built into the binary by tools/build/embed.c: shaders, recipes, small data sets. */
#ifndef VKT_BASE_EMBEDDED_H
#define VKT_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct vkt__embedded_file {
    const char *name;
    const unsigned char *data; /* aligned to 8, followed by a NUL; NULL: left out of this build */
    size_t bytes, stored; /* stored: in `data`; less than `bytes` where they are deflated (zlib) */
} vkt__embedded_file;

extern const vkt__embedded_file vkt__embedded_shaders[]; /* SPIR-V, deflated, by vkt__shader */
extern const vkt__embedded_file vkt__embedded_data[];    /* "digits.csv.gz", ... */
extern const vkt__embedded_file vkt__embedded_recipes[]; /* "digits": YAML */
extern const vkt__embedded_file vkt__embedded_page[];    /* "page.css", "sans.ttf", ... */

#endif
