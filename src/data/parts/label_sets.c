/* Cells of several labels, "rock|live|1990s": what stands between two separators, blanks around it
 * taken off. A blank cell has none; a label that comes twice counts once. */
#include "data/parts/parts.h"

typedef struct part {
    const char *text;
    size_t n;
} part;

/* The next label of the cell from *at on; false: there is none any more. */
static bool next_part(const char **at, char separator, part *out)
{
    while (**at) {
        const char *from = *at;
        while (**at && **at != separator) (*at)++;
        size_t n = (size_t)(*at - from);
        if (**at) (*at)++;
        while (n && (*from == ' ' || *from == '\t')) from++, n--;
        while (n && (from[n - 1] == ' ' || from[n - 1] == '\t')) n--;
        if (!n) continue;
        *out = (part) { from, n };
        return true;
    }
    return false;
}

/* As strcmp orders them. */
static int compare(const char *a, size_t a_n, const char *b, size_t b_n)
{
    int order = memcmp(a, b, VKT_MIN(a_n, b_n));
    return order ? order : (a_n > b_n) - (a_n < b_n);
}

static int by_text(const void *a, const void *b)
{
    const part *x = a, *y = b;
    return compare(x->text, x->n, y->text, y->n);
}

vkt_status vkt__label_sets_fit(const char *const *cells, uint32_t n, const char *name,
                               vkt__arena *arena, vkt__schema *s)
{
    vkt_status st;
    part *all = NULL, p;
    uint64_t total = 0, k = 0;
    for (uint32_t i = 0; i < n; i++)
        for (const char *at = cells[i]; next_part(&at, s->separator, &p);) total++;
    VKT_TRY(vkt__alloc_large(total, sizeof *all, "labels", &all));
    for (uint32_t i = 0; i < n; i++)
        for (const char *at = cells[i]; next_part(&at, s->separator, &p);) all[k++] = p;
    if (total) qsort(all, total, sizeof *all, by_text);
    for (uint64_t i = k = 0; i < total; i++)
        if (i == 0 || by_text(&all[k - 1], &all[i]) != 0) all[k++] = all[i];
    if (k == 0)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': no example has a label: there is nothing to learn; set data.label",
                       name);
    else if (k > n && k > 20)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': %llu different labels in %u examples: too many to learn; is "
                       "data.separator '%c' right?",
                       name, (unsigned long long)k, n, s->separator);
    if (st != VKT_OK) goto fail;
    s->n_outputs = (uint32_t)k;
    s->classes = vkt__arena_alloc(arena, k * sizeof *s->classes);
    for (uint64_t i = 0; i < k; i++)
        s->classes[i] = vkt__arena_printf(arena, "%.*s", (int)all[i].n, all[i].text);
fail:
    free(all);
    return st;
}

static uint32_t find(const vkt__schema *s, const part *p)
{
    uint32_t low = 0, high = s->n_outputs;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = compare(p->text, p->n, s->classes[mid], strlen(s->classes[mid]));
        if (order == 0) return mid;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return s->n_outputs;
}

vkt_status vkt__label_set_read(const vkt__schema *s, const char *cell, const char *where,
                               vkt_label *out)
{
    part p;
    for (uint32_t c = 0; c < s->n_outputs; c++) out[c].f = 0;
    for (const char *at = cell; next_part(&at, s->separator, &p);) {
        uint32_t c = find(s, &p);
        if (c == s->n_outputs) {
            char text[200];
            snprintf(text, sizeof text, "%.*s", (int)VKT_MIN(p.n, sizeof text - 1), p.text);
            return vkt__fail(VKT_E_FORMAT, "data",
                             "%s: label '%s' is not among the %u labels of the training data%s",
                             where, vkt__show(text).s, s->n_outputs,
                             vkt_did_you_mean(text, s->classes, s->n_outputs).text);
        }
        out[c].f = 1;
    }
    return VKT_OK;
}
