/* A chart of bars that lie below one another: a thing a line, the best first. As HTML, which any
 * width of a screen lays out and a page's script may filter, and as a PNG. Knows no benchmark. */
#ifndef VKT_REPORT_BARS_H
#define VKT_REPORT_BARS_H

#include "base/memory.h"

typedef struct vkt__bar {
    const char *name, *link; /* link: a page's address; NULL: none */
    const char *about;       /* when pointed at; "" */
    double value, low, high; /* above 0; low and high: what it varies between */
    size_t key;              /* data-m of its line: which thing of the page it is */
    int color;               /* 0.., as series of plots */
} vkt__bar;

typedef struct vkt__bars {
    const char *title, *unit;
    const char *kind;     /* data-p of the chart: what the page filters by */
    bool higher;          /* larger values are better */
    const vkt__bar *bar;  /* [n], ordered by vkt__bars_sort */
    size_t n, n_left_out; /* n_left_out: bars that the chart has no room for */
    const char *picture;  /* address of its PNG; NULL: none */
} vkt__bars;

/* The best first; equal ones by name. */
void vkt__bars_sort(vkt__bar *bar, size_t n, bool higher);
void vkt__bars_html(const vkt__bars *b, vkt__str *out);
/* At twice the size, dark on white. IO. */
vkt_status vkt__bars_png(const vkt__bars *b, const char *path);

#endif
