/* Private to src/data: the numbers of masks as classes. */
#ifndef VKT_DATA_MASK_CODE_H
#define VKT_DATA_MASK_CODE_H

#include "data/parts/parts.h"

enum { VKT__MASK_CLASSES = 255, VKT__MASK_IGNORE = 255 };

/* The numbers that a set of masks holds, in the order in which they came. */
typedef struct vkt__mask_values {
    uint32_t n, value[VKT__MASK_CLASSES + 1];
    bool any, colors;  /* one was seen; it has colours, as all others must */
    const char *first; /* where */
} vkt__mask_values;

/* [h, w] raw numbers of a PNG mask, each 0 to 255 or 0xRRGGBB: *colors. Alpha is left out. bytes
 * are changed; free(*out). FORMAT, OOM_HOST. */
vkt_status vkt__mask_read(void *bytes, size_t n, const char *name, uint32_t *w, uint32_t *h,
                          bool *colors, uint32_t **out);
/* Adds a mask's numbers, count [VKT__MASK_CLASSES + 1] of each, in their order. FORMAT: there are
 * too many, or of another kind. */
vkt_status vkt__mask_collect(vkt__mask_values *v, const uint32_t *raw, size_t n, bool colors,
                             const char *name, uint32_t *count);
/* The code of all that was collected, rising, into the arena; grey 255 is no class, unless all else
 * is 0: black and white. place[i] of value i: its class, or VKT__MASK_IGNORE. n_named: how many
 * names there are, of the numbers from 0 on, which are classes then, seen or not; 0: none. */
void vkt__mask_fit(const vkt__mask_values *v, uint32_t n_named, vkt__arena *arena,
                   vkt__mask_code *out, uint8_t *place);
/* Raw numbers as classes [n], VKT__MASK_IGNORE of those that are none: false, and *bad is one that
 * is not 255 either. */
bool vkt__mask_classes(const vkt__mask_code *c, const uint32_t *raw, size_t n, uint8_t *out,
                       uint32_t *bad);

#endif
