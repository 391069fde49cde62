/* Plots: a scene (axes, series, legend) is laid out once, by calls of a canvas; a canvas writes SVG
 * or PNG. Knows no runs. */
#ifndef VKT_REPORT_PLOT_H
#define VKT_REPORT_PLOT_H

#include "base/words.h"

/* What a thing is drawn as; the canvas knows the colour (SVG: by CSS class, so that a page can be
 * light or dark). */
typedef enum vkt__ink {
    VKT__INK_TEXT,
    VKT__INK_AXIS,
    VKT__INK_GRID,
    VKT__INK_SERIES, /* + series number, modulo VKT__N_COLORS */
} vkt__ink;
enum { VKT__N_COLORS = 8 };

typedef enum vkt__mark {
    VKT__LINE, /* joined, gaps at NAN */
    VKT__DOTS,
    VKT__CROSSES, /* for what failed */
    VKT__BARS,    /* x[i]..x[i + 1] filled from 0 to y[i]; n bars, n + 1 values of x */
    VKT__BAND,    /* filled between y and y2 */
} vkt__mark;

typedef struct vkt__series {
    const char *name; /* in the legend; NULL: not there */
    vkt__mark mark;
    size_t n;
    const double *x, *y, *y2;
    int color;                /* 0.. */
    bool faint;               /* behind the others: raw values behind a smoothed curve */
    bool grey;                /* of no colour: one of many that are not told apart */
    bool smoothed;            /* the series before it, smoothed */
    const char *const *label; /* of dots, shown when pointed at; or NULL */
} vkt__series;

enum { VKT__MAX_SERIES = 256, VKT__MAX_RULES = 8 };
typedef struct vkt__plot {
    const char *title, *x_label, *y_label;
    const char *about; /* a sentence for those who can't see it; NULL: the title */
    bool log_x, log_y;
    double width, height; /* 0: 640 x 320 */
    vkt__series series[VKT__MAX_SERIES];
    size_t n_series;
    struct {
        double at; /* on x: vertical, on y: horizontal */
        bool vertical;
        const char *label;
    } rule[VKT__MAX_RULES];
    size_t n_rules;
    const char *const *x_names; /* categories at x = 0, 1, ..; NULL: numbers */
    size_t n_x_names;
} vkt__plot;

/* Drops a series past the largest number. */
void vkt__plot_add(vkt__plot *p, const vkt__series *s);
void vkt__plot_rule(vkt__plot *p, double at, bool vertical, const char *label);
/* Whether there is a point to show. */
bool vkt__plot_has_data(const vkt__plot *p);

/* An <svg> element with classes axis, grid, s0..s7 and their like: the page has the colours
 * (page.css). Lines of many points are thinned to what can be seen. The groups t (ticks, rules) and
 * m (marks), data-box (x0 y0 x1 y1 in pixels) and data-axes (low and high of x and y) are for the
 * page's script. */
void vkt__plot_svg(const vkt__plot *p, vkt__str *out);
/* What is drawn as one JSON object that is safe within a page, for the page's script: log, names,
 * rules, series with values. Lines are thinned to what a plot of `columns` columns shows. */
void vkt__plot_json(const vkt__plot *p, size_t columns, vkt__str *out);
/* A PNG file at twice the size, dark on white. */
vkt_status vkt__plot_png(const vkt__plot *p, const char *path);

/* ---- canvas ---- */

typedef enum vkt__anchor { VKT__START, VKT__MIDDLE, VKT__END } vkt__anchor;
typedef struct vkt__canvas {
    void *to;
    /* [n] points x, y, joined; NAN breaks the line */
    void (*line)(void *to, const double *xy, size_t n, int ink, double width, bool faint);
    void (*fill)(void *to, const double *xy, size_t n, int ink, bool faint); /* a polygon */
    void (*dot)(void *to, double x, double y, int ink, bool cross, const char *label);
    /* size in pixels; up: reads from bottom to top */
    void (*text)(void *to, double x, double y, double size, vkt__anchor anchor, bool bold, bool up,
                 const char *text);
    void (*part)(void *to, char name); /* 't', 'm' begin, 0 ends a part; NULL: not told */
} vkt__canvas;
void vkt__plot_draw(const vkt__plot *p, const vkt__canvas *c);
/* A PNG of that size (drawn at twice of it), by a function that draws on its canvas. IO. */
vkt_status vkt__canvas_png(double width, double height,
                           void (*draw)(const void *what, const vkt__canvas *c), const void *what,
                           const char *path);
typedef struct vkt__plot_frame {
    double x0, y0, x1, y1;               /* pixels: the lower left and the upper right end */
    double x_low, x_high, y_low, y_high; /* values there */
} vkt__plot_frame;
vkt__plot_frame vkt__plot_find_frame(const vkt__plot *p);
/* Which points of a line are needed, in columns that are `wide` wide: in each the lowest, the
 * highest and the last. Points come one by one, so that a million of them need no memory of their
 * own. NAN in x: a break; of several in a row the first is kept. Begins with {wide}; keep [n] is
 * the caller's to free. */
typedef struct vkt__thin {
    double wide;
    size_t *keep, n, cap;
    double column, low, high;        /* of the column that is open */
    size_t low_at, high_at, last_at; /* indices of points in it */
    bool open, gap;                  /* gap: the point before has no place */
} vkt__thin;
void vkt__thin_add(vkt__thin *t, size_t i, double x, double y);
void vkt__thin_end(vkt__thin *t);
void vkt__plot_size(const vkt__plot *p, double *width, double *height);

#endif
