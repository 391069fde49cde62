/* Private to the library: a member of a zip archive, from bytes. */
#ifndef VKT_FORMATS_ZIP_H
#define VKT_FORMATS_ZIP_H

#include "vktrain/base.h"

/* Whether the bytes begin as an archive with members does. */
bool vkt__zip_is(const void *bytes, size_t n);
/* The member of that name, inflated and checked, at most `limit` bytes; *out NULL: there is none.
 * The caller frees. FORMAT: damaged, encrypted, or of a kind that is not read (zip64; methods other
 * than stored and deflated). OOM_HOST. */
vkt_status vkt__zip_read(const void *bytes, size_t n, const char *name, const char *member,
                         uint64_t limit, uint8_t **out, size_t *out_n);

/* How many members the archive has beside those two names, and the first of them, cut to what out
 * holds. */
vkt_status vkt__zip_others(const void *bytes, size_t n, const char *name, const char *const but[2],
                           uint32_t *count, char out[64]);

#endif
