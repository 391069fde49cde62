/* Private helpers shared by every layer: assertion, error forwarding, arena, string buffer. */
#ifndef VKT_BASE_UTIL_H
#define VKT_BASE_UTIL_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "vktrain/base.h"

/* Our own bugs; live in all builds. */
#define VKT_ASSERT(cond)                                                                           \
    do {                                                                                           \
        if (!(cond)) vkt__assert_fail(#cond, __FILE__, __LINE__);                                  \
    } while (0)
_Noreturn void vkt__assert_fail(const char *cond, const char *file, int line);

/* Forward a status to the `fail:` label of a function that has `vkt_status st`. */
#define VKT_TRY(expr)                                                                              \
    do {                                                                                           \
        if ((st = (expr)) != VKT_OK) goto fail;                                                    \
    } while (0)

/* This thread's error lines become debug ones: around what may fail and is tried again. Nests. */
void vkt__log_quiet(bool on);
/* All of this thread's lines become debug ones: around a job of many whose failure is a result.
 * Nests. */
void vkt__log_hold(bool on);
/* This thread's last error line while either was on, cut to 511 bytes; "" if there was none since
 * the newest began. */
const char *vkt__last_failure(void);
/* Log one error line and yield the status: return vkt__fail(VKT_IO, "data", "...", ...). */
vkt_status vkt__fail(vkt_status st, const char *area, const char *fmt, ...) VKT_PRINTF(3, 4);

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

/* Allocation that aborts with a message: for small bookkeeping. Large or file-sized allocations use
 * malloc and report VKT_OOM_HOST. Zeroed. */
void *vkt__alloc(size_t bytes);
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

/* Next code point of UTF-8 text before `end`; *s moves on. -1: none is left or it is not UTF-8. */
int32_t vkt__utf8_next(const char **s, const char *end);
/* The UTF-8 of a code point below 0x110000 that is no surrogate; its length. */
size_t vkt__utf8_put(int32_t c, char out[4]);
/* Whether all n bytes are UTF-8 without NUL (what JSON can hold); *at is the first that is not. */
bool vkt__utf8_ok(const char *s, size_t n, size_t *at);

/* CRC-32 (IEEE, zlib's) for embedded data and caches lives in zlib; FNV-1a for hashing names. */
uint64_t vkt__hash(const void *data, size_t n, uint64_t seed);

/* Whole-name match: '*' any characters (none too), '?' one. */
bool vkt__glob(const char *pattern, const char *name);

#endif
