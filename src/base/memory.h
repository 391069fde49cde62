/* Private to the library: sizes, host allocation, the arena, growing text. */
#ifndef VKT_BASE_MEMORY_H
#define VKT_BASE_MEMORY_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define VKT_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define VKT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define VKT_MAX(a, b) ((a) > (b) ? (a) : (b))

static inline uint64_t vkt__align(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* a * b into *out; false on overflow. */
static inline bool vkt__mul_ok(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a != 0 && b > UINT64_MAX / a) return false;
    *out = a * b;
    return true;
}

/* Small bookkeeping, zeroed; never NULL, so that only statuses are checked. Where the system has no
 * more, a reserve of VKT__RESERVE bytes is given up for it: the caller goes on, and the next
 * VKT_TRY of this thread fails with VKT_E_OOM_HOST. It aborts where that does not help either.
 * Whatever is as large as a file or a model is allocated by vkt__alloc_large or malloc, and its
 * failure reported at once. */
#define VKT__RESERVE ((size_t)1 << 20)
void *vkt__alloc(size_t bytes);
/* n * size bytes, not zeroed: OOM_HOST names `what`. */
vkt_status vkt__alloc_large(uint64_t n, uint64_t size, const char *what, void *out);
/* Grow `p` (count used of *cap) so that one more element of `size` fits. */
void *vkt__grow(void *p, size_t count, size_t *cap, size_t size);

/* Memory freed as a whole. Zeroed, aligned to 16. */
typedef struct vkt__arena {
    struct vkt__arena_block *head;
} vkt__arena;
void *vkt__arena_alloc(vkt__arena *a, size_t bytes);
char *vkt__arena_strdup(vkt__arena *a, const char *s);
char *vkt__arena_printf(vkt__arena *a, const char *fmt, ...) VKT_PRINTF(2, 3);
void vkt__arena_finish(vkt__arena *a);

/* Growing text; `data` is always NUL-terminated after the first append. */
typedef struct vkt__str {
    char *data;
    size_t len, cap;
} vkt__str;
void vkt__str_add(vkt__str *s, const char *bytes, size_t n);
void vkt__str_printf(vkt__str *s, const char *fmt, ...) VKT_PRINTF(2, 3);
void vkt__str_vprintf(vkt__str *s, const char *fmt, va_list ap);
void vkt__str_finish(vkt__str *s);

#endif
