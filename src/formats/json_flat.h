/* One JSON object of plain values, read in place: what thousands of run.json are. A text that is
 * anything else (nested, damaged, with escapes of code points) is left to jansson, which tells what
 * it is. */
#ifndef VKT_FORMATS_JSON_FLAT_H
#define VKT_FORMATS_JSON_FLAT_H

#include "base/memory.h"

typedef enum vkt__json_kind {
    VKT__JSON_TEXT,
    VKT__JSON_WHOLE, /* a number without a point and an exponent, of 18 digits at most */
    VKT__JSON_REAL,
    VKT__JSON_NULL
} vkt__json_kind;

/* Parts of the text that is read. */
typedef struct vkt__json_item {
    const char *key, *value; /* of a text what stands between its quotes */
    size_t n_key, n_value;
    vkt__json_kind kind;
} vkt__json_item;

typedef struct vkt__json_flat {
    const char *at, *end;
    bool is_first, is_over; /* the object has ended as it should */
} vkt__json_flat;

/* False: it is no object, or not UTF-8. */
bool vkt__json_flat_begin(vkt__json_flat *f, const char *text, size_t n);
/* False: at the end, or not such an object (is_over is false). */
bool vkt__json_flat_next(vkt__json_flat *f, vkt__json_item *out);

/* The text without its escapes, in the arena. */
char *vkt__json_item_text(const vkt__json_item *item, vkt__arena *a);
/* The number, as jansson reads it. */
double vkt__json_item_number(const vkt__json_item *item);

#endif
