/* layer_set.h */
#include "nn/layer_set.h"

typedef struct {
    uint32_t first, last;
} range;

static bool read_number(const char **p, uint32_t *out)
{
    const char *begin = *p;
    for (*out = 0; **p >= '0' && **p <= '9' && *out < 100000; ++*p)
        *out = *out * 10 + (uint32_t)(**p - '0');
    return *p > begin;
}

/* The next "N" or "N-M"; false: the text has ended, or is no such list (*p is not at its end). */
static bool next(const char **p, range *out)
{
    while (**p == ' ') ++*p;
    const char *begin = *p;
    bool ok = **p && read_number(p, &out->first);
    out->last = out->first;
    if (ok && **p == '-') {
        ++*p;
        ok = read_number(p, &out->last) && out->last > out->first;
    }
    if (ok && (!**p || **p == ' ')) return true;
    *p = begin;
    return false;
}

bool vkt__layer_set_ok(const char *set, uint32_t n)
{
    range r;
    uint64_t least = 0;
    while (next(&set, &r)) {
        if (r.first < least || r.last >= n) return false;
        least = r.last + 1ull;
    }
    return !*set && least > 0;
}

bool vkt__layer_set_has(const char *set, uint32_t i)
{
    range r;
    if (!set) return true;
    while (next(&set, &r))
        if (i >= r.first && i <= r.last) return true;
    return false;
}

void vkt__layer_set_text(const bool *has, uint32_t n, vkt__str *out)
{
    for (uint32_t i = 0, end; i < n; i = end + 1) {
        for (end = i; end < n && has[end];) end++;
        if (end == i) continue;
        vkt__str_printf(out, "%s%u", out->len ? " " : "", i);
        if (end - i > 1) vkt__str_printf(out, "-%u", end - 1);
    }
}
