/* Packing of conversations: a window holds whole ones, so that none is cut where it happens to end.
 */
#include "base/memory.h"
#include "data/text/packing.h"

typedef struct {
    vkt__window *window;
    size_t n, cap;
} windows;

static void add(windows *w, uint64_t at, uint64_t n)
{
    w->window = vkt__grow(w->window, w->n, &w->cap, sizeof *w->window);
    w->window[w->n++] = (vkt__window) { at, (uint32_t)n };
}

static vkt_status say_long(const char *name, uint32_t context, vkt_too_long how, size_t n_long,
                           size_t n, uint64_t longest)
{
    if (!n_long) return VKT_OK;
    if (how == VKT_TOO_LONG_STOP)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': %zu of %zu conversations are longer than data.context (%u tokens "
                         "and one more; the longest has %llu): raise data.context, or set "
                         "data.too_long: left (their last tokens are kept) or skip",
                         name, n_long, n, context, (unsigned long long)longest);
    vkt_log(VKT_LOG_WARN, "data",
            "'%s': %zu of %zu conversations are longer than data.context (the longest has %llu "
            "tokens) and are %s",
            name, n_long, n, (unsigned long long)longest,
            how == VKT_TOO_LONG_LEFT ? "cut at the left" : "left out");
    return VKT_OK;
}

vkt_status vkt__pack_windows(const uint64_t *begin, size_t n, uint32_t context,
                             vkt_too_long too_long, const char *name, vkt__window **out,
                             size_t *n_out)
{
    const uint64_t most = (uint64_t)context + 1;
    windows w = { 0 };
    size_t n_long = 0;
    uint64_t from = n ? begin[0] : 0, longest = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t length = begin[i + 1] - begin[i];
        longest = VKT_MAX(longest, length);
        if (length > most) {
            n_long++;
            if (begin[i] > from) add(&w, from, begin[i] - from);
            if (too_long == VKT_TOO_LONG_LEFT) add(&w, begin[i + 1] - most, most);
            from = begin[i + 1];
        } else if (begin[i + 1] - from > most) {
            add(&w, from, begin[i] - from);
            from = begin[i];
        }
    }
    if (n && begin[n] > from) add(&w, from, begin[n] - from);
    *out = w.window;
    *n_out = w.n;
    return say_long(name, context, too_long, n_long, n, longest);
}
