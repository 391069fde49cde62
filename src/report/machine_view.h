/* Benchmark files of many machines as what a page shows: devices with short names and kinds, and
 * what each of them measured, row by row. Writes nothing. */
#ifndef VKT_REPORT_MACHINE_VIEW_H
#define VKT_REPORT_MACHINE_VIEW_H

#include "base/memory.h"
#include "vktrain/bench.h"

typedef struct vkt__device_view {
    const vkt_bench_machine *m;
    const char *name; /* the device; with driver, commit or settings where others have its name */
    const char *vendor, *type, *system; /* "AMD", "discrete", "Debian" */
    const char *page;                   /* file name of its page; NULL: it has none */
    int color;                          /* by vendor */
} vkt__device_view;

/* What the files of a device have of a row: the median of theirs, the lowest first and the highest
 * third quartile. NAN: none. */
typedef struct vkt__device_value {
    size_t device;
    double value, low, high, percent, joules; /* joules: of an item */
    const vkt_bench_row *row;                 /* of the first file that has it */
    size_t n_files;
} vkt__device_value;

/* A row by the devices that measured it; refused and flagged results are none. */
typedef struct vkt__measure {
    vkt_bench_group group;
    const char *name, *unit, *precision; /* "fp32", "bf16", "fp16", "4 bits": by its name */
    bool higher;
    const vkt__device_value *by; /* [n], by device */
    size_t n;
    double median; /* of the devices */
} vkt__measure;

typedef struct vkt__machine_view {
    vkt__arena arena;
    vkt__device_view *device;
    size_t n_devices, n_files;
    const char *newest; /* date of the newest file */
    vkt__measure *measure;
    size_t n_measures; /* by group, in it by the number of devices, most first, then by name */
} vkt__machine_view;

/* pages: devices get the names of their pages. */
void vkt__machine_view_make(const vkt_bench_machine *m, size_t n, bool pages,
                            vkt__machine_view *out);
void vkt__machine_view_finish(vkt__machine_view *v);

/* A device's value of a measure; NULL: none. */
const vkt__device_value *vkt__measure_of(const vkt__measure *x, size_t device);
/* How many times faster b is than a. */
double vkt__measure_speedup(const vkt__measure *x, double a, double b);

/* The legend of vkt__device_view.color; NULL after the last. */
const char *vkt__vendor_of_color(size_t color);

#endif
