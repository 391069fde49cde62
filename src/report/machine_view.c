/* machine_view.h */
#include <math.h>
#include <stdlib.h>

#include "base/words.h"
#include "report/machine_view.h"
#include "runs/curve.h"

/* ---- devices ---- */

static const struct {
    const char *name, *pci;
    const char *const word[4]; /* in device names of files without PCI ids */
} vendors[] = {
    { "Intel", "8086", { "Intel" } },
    { "AMD", "1002", { "AMD", "Radeon" } },
    { "NVIDIA", "10de", { "NVIDIA", "GeForce" } },
    { "Apple", "106b", { "Apple" } },
    { "Arm", "13b5", { "Mali" } },
    { "Qualcomm", "5143", { "Adreno" } },
    { "CPU", NULL, { "llvmpipe", "SwiftShader" } },
    { "other", NULL, { NULL } },
};
enum { CPU = 6, OTHER = 7 };

const char *vkt__vendor_of_color(size_t color)
{
    return color < VKT_COUNT(vendors) ? vendors[color].name : NULL;
}

static int vendor_of(const vkt_bench_info *i)
{
    const char *ids = strncmp(i->ids, "PCI ", 4) ? i->ids : i->ids + 4;
    if (!strncmp(i->type, "cpu", 3)) return CPU;
    for (size_t v = 0; v < OTHER; v++)
        if (vendors[v].pci && !strncmp(ids, vendors[v].pci, 4)) return (int)v;
    for (size_t v = 0; v < OTHER; v++)
        for (size_t w = 0; vendors[v].word[w]; w++)
            if (strstr(i->device, vendors[v].word[w])) return (int)v;
    return OTHER;
}

/* The first words of a text, up to one of the bytes that end them; "unknown" for none. */
static const char *first(vkt__arena *a, const char *s, const char *ends)
{
    int n = (int)strcspn(s, ends);
    return n ? vkt__arena_printf(a, "%.*s", n, s) : "unknown";
}

/* The device, and what tells it from others of its name: as little as does. */
static const char *short_name(vkt__arena *a, const vkt_bench_machine *m, size_t n, size_t i)
{
    const vkt_bench_info *own = &m[i].info;
    bool device = false, driver = false, commit = false;
    for (size_t k = 0; k < n; k++) {
        const vkt_bench_info *x = &m[k].info;
        if (k == i || strcmp(x->device, own->device)) continue;
        device = true;
        if (strcmp(x->driver, own->driver)) continue;
        driver = true;
        commit |= !strcmp(x->commit, own->commit) && !strcmp(x->version, own->version);
    }
    return commit ? vkt__arena_printf(a, "%s, %s, %.12s, %s", own->device, own->driver, own->commit,
                                      own->settings)
           : driver ? vkt__arena_printf(a, "%s, %s, %.12s", own->device, own->driver, own->commit)
           : device ? vkt__arena_printf(a, "%s, %s", own->device, own->driver)
                    : own->device;
}

/* "device-3-nvidia-h200.html": letters and digits, whatever a driver calls its device. */
static const char *page_name(vkt__arena *a, const char *device, size_t i)
{
    enum { KEPT = 40 };
    char s[KEPT + 1];
    size_t n = 0;
    for (const char *p = device; *p && n < KEPT; p++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
        bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (kept || (n && s[n - 1] != '-')) s[n++] = kept ? c : '-';
    }
    while (n && s[n - 1] == '-') n--;
    s[n] = 0;
    return vkt__arena_printf(a, "device-%zu%s%s.html", i + 1, n ? "-" : "", s);
}

static void view_devices(vkt__machine_view *v, const vkt_bench_machine *m, size_t n, bool pages)
{
    v->device = vkt__arena_alloc(&v->arena, (n + 1) * sizeof *v->device);
    v->n_devices = n;
    v->newest = "";
    for (size_t i = 0; i < n; i++) {
        const vkt_bench_info *info = &m[i].info;
        int vendor = vendor_of(info);
        v->device[i] = (vkt__device_view) { .m = &m[i],
                                            .name = short_name(&v->arena, m, n, i),
                                            .vendor = vendors[vendor].name,
                                            .type = first(&v->arena, info->type, ","),
                                            .system = first(&v->arena, info->os, " ,"),
                                            .color = vendor };
        if (pages) v->device[i].page = page_name(&v->arena, info->device, i);
        v->n_files += m[i].n_files;
        for (size_t f = 0; f < m[i].n_files; f++)
            if (strcmp(m[i].files[f]->info.date, v->newest) > 0)
                v->newest = m[i].files[f]->info.date;
    }
}

/* ---- measures ---- */

typedef struct cell {
    const vkt_bench_row *row;
    size_t device;
} cell;

static int by_row(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    if (x->row->group != y->row->group) return x->row->group < y->row->group ? -1 : 1;
    int named = strcmp(x->row->name, y->row->name);
    /* A file may give a row another unit: it is another measure. */
    if (!named) named = strcmp(x->row->unit, y->row->unit);
    if (!named) named = (x->row->higher > y->row->higher) - (x->row->higher < y->row->higher);
    return named ? named : (x->device > y->device) - (x->device < y->device);
}

static bool same_row(const cell *a, const cell *b)
{
    return a->row->group == b->row->group && a->row->higher == b->row->higher &&
           !strcmp(a->row->name, b->row->name) && !strcmp(a->row->unit, b->row->unit);
}

/* The energy of an example or token; a row has that of a step. */
static double joules(const vkt_bench_row *r)
{
    double items = r->items_per_s * r->value / 1000;
    return !strcmp(r->unit, "ms") && items > 0 ? r->energy_j / items : NAN;
}

/* The n cells of one row and device together; v: room for n numbers. */
static vkt__device_value value_of(const cell *c, size_t n, double *v)
{
    vkt__device_value out = { .device = c->device, .row = c->row, .n_files = n };
    size_t k = 0;
    out.low = INFINITY;
    for (size_t i = 0; i < n; i++) {
        v[i] = c[i].row->value;
        out.low = fmin(out.low, c[i].row->q1);
        out.high = fmax(out.high, c[i].row->q3);
    }
    out.value = vkt__median(v, n);
    for (size_t i = 0; i < n; i++)
        if (isfinite(c[i].row->percent)) v[k++] = c[i].row->percent;
    out.percent = vkt__median(v, k);
    k = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(joules(c[i].row))) v[k++] = joules(c[i].row);
    out.joules = vkt__median(v, k);
    return out;
}

static const char *precision_of(const char *name)
{
    return strstr(name, "nf4") || strstr(name, "NF4") || strstr(name, "QLoRA") ? "4 bits"
           : strstr(name, "bf16")                                              ? "bf16"
           : strstr(name, "fp16")                                              ? "fp16"
                                                                               : "fp32";
}

static int by_measure(const void *a, const void *b)
{
    const vkt__measure *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    int named = strcmp(x->name, y->name);
    return named ? named : strcmp(x->unit, y->unit);
}

static size_t collect(const vkt__machine_view *v, cell *out)
{
    size_t n = 0;
    for (size_t d = 0; d < v->n_devices; d++)
        for (size_t f = 0; f < v->device[d].m->n_files; f++) {
            const vkt_bench *b = v->device[d].m->files[f];
            for (size_t r = 0; r < b->n_rows; r++) {
                const vkt_bench_row *x = &b->rows[r];
                if (x->refused || x->flag || !(x->value > 0) || !(x->q1 > 0)) continue;
                if (out) out[n] = (cell) { x, d };
                n++;
            }
        }
    return n;
}

static void view_measures(vkt__machine_view *v)
{
    size_t n = collect(v, NULL), n_measures = 0, n_values = 0;
    cell *c = vkt__alloc((n + 1) * sizeof *c);
    double *numbers = vkt__alloc((n + 1) * sizeof *numbers);
    collect(v, c);
    qsort(c, n, sizeof *c, by_row);
    for (size_t i = 0; i < n; i++) n_measures += !i || !same_row(&c[i - 1], &c[i]);
    v->measure = vkt__arena_alloc(&v->arena, (n_measures + 1) * sizeof *v->measure);
    vkt__device_value *value = vkt__arena_alloc(&v->arena, (n + 1) * sizeof *value);
    for (size_t i = 0, end; i < n; i = end) {
        const vkt_bench_row *r = c[i].row;
        vkt__measure *x = &v->measure[v->n_measures++];
        *x = (vkt__measure) { r->group,  r->name,          r->unit, precision_of(r->name),
                              r->higher, value + n_values, 0,       NAN };
        for (end = i; end < n && same_row(&c[i], &c[end]);) {
            size_t from = end;
            while (end < n && same_row(&c[i], &c[end]) && c[end].device == c[from].device) end++;
            value[n_values++] = value_of(c + from, end - from, numbers);
            x->n++;
        }
        for (size_t k = 0; k < x->n; k++) numbers[k] = x->by[k].value;
        x->median = vkt__median(numbers, x->n);
    }
    qsort(v->measure, v->n_measures, sizeof *v->measure, by_measure);
    free(numbers);
    free(c);
}

void vkt__machine_view_make(const vkt_bench_machine *m, size_t n, bool pages,
                            vkt__machine_view *out)
{
    *out = (vkt__machine_view) { 0 };
    view_devices(out, m, n, pages);
    view_measures(out);
}

void vkt__machine_view_finish(vkt__machine_view *v)
{
    vkt__arena_finish(&v->arena);
    *v = (vkt__machine_view) { 0 };
}

const vkt__device_value *vkt__measure_of(const vkt__measure *x, size_t device)
{
    size_t low = 0, high = x->n; /* by[low..high) may have it */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (x->by[middle].device == device) return &x->by[middle];
        if (x->by[middle].device < device)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

double vkt__measure_speedup(const vkt__measure *x, double a, double b)
{
    return x->higher ? b / a : a / b;
}
