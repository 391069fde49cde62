/* Host allocation: checked malloc, arena, growing string. */
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"

/* Set aside at the first allocation and after each failure. */
static _Atomic(void *) reserve;
_Thread_local bool vkt__reserve_spent;
static _Thread_local size_t refused; /* bytes, that the reserve was given up for */

static void *from_reserve(size_t bytes);

/* jansson's memory, so that a JSON value is whole or the next VKT_TRY fails; what could use up the
 * reserve is refused. */
static void *json_memory(size_t bytes)
{
    void *p = malloc(bytes);
    return p || bytes > VKT__RESERVE / 4 ? p : from_reserve(bytes);
}

/* Unless the program that we are in has an allocator of its own for jansson. */
static void serve_json(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    json_malloc_t alloc;
    json_free_t give_back;
    if (atomic_flag_test_and_set(&done)) return;
    json_get_alloc_funcs(&alloc, &give_back);
    if (alloc == malloc && give_back == free) json_set_alloc_funcs(json_memory, free);
}

static void set_aside(void)
{
    serve_json();
    if (atomic_load_explicit(&reserve, memory_order_relaxed)) return;
    void *none = NULL, *p = malloc(VKT__RESERVE);
    if (!atomic_compare_exchange_strong(&reserve, &none, p)) free(p);
}

static void (*at_the_end)(void) = abort;

void vkt_out_of_memory_set(void (*end)(void))
{
    at_the_end = end ? end : abort;
    serve_json();
}

static void *from_reserve(size_t bytes)
{
    refused = bytes;
    vkt__reserve_spent = true;
    free(atomic_exchange(&reserve, NULL));
    void *p = calloc(1, bytes);
    if (p) return p;
    fprintf(stderr, "vktrain: error: out of memory: no %zu bytes\n", bytes);
    at_the_end();
    abort();
}

void vkt__out_of_memory(void)
{
    vkt__reserve_spent = false;
    vkt__fail(VKT_E_OOM_HOST, "memory",
              "the system's memory is used up: %zu bytes more were refused", refused);
}

void *vkt__alloc(size_t bytes)
{
    if (!vkt__reserve_spent) set_aside();
    if (bytes == 0) bytes = 1;
    void *p = calloc(1, bytes);
    return p ? p : from_reserve(bytes);
}

void vkt_free(void *p)
{
    free(p);
}

vkt_status vkt__alloc_large(uint64_t n, uint64_t size, const char *what, void *out)
{
    uint64_t bytes;
    void *p = NULL;
    bool fits = vkt__mul_ok(n, size, &bytes) && bytes <= SIZE_MAX;
    if (fits) p = malloc(bytes ? (size_t)bytes : 1);
    if (!p)
        return vkt__fail(VKT_E_OOM_HOST, "memory", "no memory for %s: %llu times %llu bytes", what,
                         (unsigned long long)n, (unsigned long long)size);
    memcpy(out, &p, sizeof p);
    return VKT_OK;
}

void *vkt__grow(void *p, size_t count, size_t *cap, size_t size)
{
    if (count < *cap) return p;
    size_t n = *cap ? *cap * 2 : 16;
    void *q = vkt__alloc(n * size);
    if (p) memcpy(q, p, count * size);
    free(p);
    *cap = n;
    return q;
}

struct vkt__arena_block {
    struct vkt__arena_block *next;
    size_t used, cap;
    _Alignas(16) unsigned char data[];
};

void *vkt__arena_alloc(vkt__arena *a, size_t bytes)
{
    bytes = (size_t)vkt__align(bytes ? bytes : 1, 16);
    struct vkt__arena_block *b = a->head;
    if (!b || b->cap - b->used < bytes) {
        size_t cap = VKT_MAX(bytes, 64 * 1024 - sizeof *b);
        b = vkt__alloc(sizeof *b + cap);
        b->cap = cap;
        b->next = a->head;
        a->head = b;
    }
    void *p = b->data + b->used;
    b->used += bytes;
    return p;
}

char *vkt__arena_strdup(vkt__arena *a, const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(vkt__arena_alloc(a, n), s, n);
}

char *vkt__arena_printf(vkt__arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vkt__str s = { 0 };
    vkt__str_vprintf(&s, fmt, ap);
    va_end(ap);
    char *out = vkt__arena_strdup(a, s.data ? s.data : "");
    vkt__str_finish(&s);
    return out;
}

void vkt__arena_finish(vkt__arena *a)
{
    for (struct vkt__arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    a->head = NULL;
}

void vkt__str_add(vkt__str *s, const char *bytes, size_t n)
{
    if (s->len + n + 1 > s->cap) {
        size_t cap = VKT_MAX(2 * s->cap, s->len + n + 64);
        char *p = vkt__alloc(cap);
        if (s->data) memcpy(p, s->data, s->len);
        free(s->data);
        s->data = p;
        s->cap = cap;
    }
    if (n) memcpy(s->data + s->len, bytes, n);
    s->len += n;
    s->data[s->len] = 0;
}

void vkt__str_vprintf(vkt__str *s, const char *fmt, va_list ap)
{
    char tmp[256];
    va_list again;
    va_copy(again, ap);
    int n = vkt__vformat(tmp, sizeof tmp, fmt, ap);
    if (n >= 0 && (size_t)n < sizeof tmp) {
        vkt__str_add(s, tmp, (size_t)n);
    } else if (n > 0) {
        char *big = vkt__alloc((size_t)n + 1);
        vkt__vformat(big, (size_t)n + 1, fmt, again);
        vkt__str_add(s, big, (size_t)n);
        free(big);
    }
    va_end(again);
}

void vkt__str_printf(vkt__str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(s, fmt, ap);
    va_end(ap);
}

void vkt__str_finish(vkt__str *s)
{
    free(s->data);
    *s = (vkt__str) { 0 };
}
