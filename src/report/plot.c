/* plot.h: the layout. Pixels with the origin at the top left. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "formats/letters.h"
#include "report/plot.h"

enum { LEFT = 66, RIGHT = 16, TOP = 30, BOTTOM = 46, LEGEND_LINE = 18 };
/* Axes shorter than these, on phones and in pages, need fewer points of a curve. */
enum { NARROW = 300, MIDDLE = 400 };
/* Pixels that a tick of an axis needs. */
enum { X_ROOM = 74, Y_ROOM = 30 };
/* Sizes of letters, and what stands before and after a name of the legend. */
enum { NAME = 12, TITLE = 14, BESIDE_NAME = 36, EDGE = 8 };

void vkt__plot_add(vkt__plot *p, const vkt__series *s)
{
    if (p->n_series < VKT__MAX_SERIES) p->series[p->n_series++] = *s;
}

void vkt__plot_rule(vkt__plot *p, double at, bool vertical, const char *label)
{
    if (p->n_rules == VKT__MAX_RULES || !isfinite(at)) return;
    p->rule[p->n_rules].at = at;
    p->rule[p->n_rules].vertical = vertical;
    p->rule[p->n_rules++].label = label;
}

void vkt__plot_size(const vkt__plot *p, double *width, double *height)
{
    *width = p->width > 0 ? p->width : 640;
    *height = p->height > 0 ? p->height : 320;
}

/* ---- axes ---- */

typedef struct axis {
    double low, high, from, to; /* values at the ends, and where they are */
    bool log;
} axis;

static double place(const axis *a, double v)
{
    double u = a->log ? log(v / a->low) / log(a->high / a->low) : (v - a->low) / (a->high - a->low);
    return a->from + u * (a->to - a->from);
}

/* Within what differences and ratios of doubles can hold. */
static bool shown(double v, bool is_log)
{
    return isfinite(v) && fabs(v) < 1e100 && (!is_log || v > 1e-100);
}

static void cover(axis *a, const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (shown(v[i], a->log)) {
            a->low = fmin(a->low, v[i]);
            a->high = fmax(a->high, v[i]);
        }
}

static axis find_axis(const vkt__plot *p, bool vertical, double from, double to)
{
    axis a = { DBL_MAX, -DBL_MAX, from, to, vertical ? p->log_y : p->log_x && !p->x_names };
    bool bars = false, dots = false;
    for (size_t i = 0; i < p->n_series; i++) {
        const vkt__series *s = &p->series[i];
        if (vertical)
            cover(&a, s->y, s->n);
        else
            cover(&a, s->x, s->n + (s->mark == VKT__BARS && s->n));
        if (vertical && s->mark == VKT__BAND) cover(&a, s->y2, s->n);
        bars |= s->mark == VKT__BARS;
        dots |= s->mark == VKT__DOTS || s->mark == VKT__CROSSES;
    }
    if (vertical && bars && !a.log) a.low = fmin(a.low, 0);
    if (!vertical && p->x_names) a.low = -0.5, a.high = (double)p->n_x_names - 0.5;
    if (a.low > a.high) a.low = a.log ? 1 : 0, a.high = a.log ? 10 : 1;
    if (a.log && a.high / a.low < 1.2) a.low /= 1.1, a.high *= 1.1;
    if (!a.log && a.high - a.low <= 1e-9 * fabs(a.high)) {
        double pad = a.high != 0 ? 0.05 * fabs(a.high) : 1;
        a.low -= pad;
        a.high += pad;
    } else if (!a.log && (vertical || (dots && !p->x_names))) {
        double pad = 0.04 * (a.high - a.low);
        a.low -= bars && a.low == 0 ? 0 : pad;
        a.high += pad;
    } else if (a.log && (vertical || dots)) {
        double pad = pow(a.high / a.low, 0.04);
        a.low /= pad;
        a.high *= pad;
    }
    return a;
}

/* 1, 2 or 5 times a power of ten, at least v. */
static double nice(double v)
{
    double e = pow(10, floor(log10(v))), m = v / e;
    return e * (m <= 1.0001 ? 1 : m <= 2.0001 ? 2 : m <= 5.0001 ? 5 : 10);
}

static size_t even_ticks(const axis *a, double room, double *out, size_t most)
{
    size_t n = 0;
    double step = nice((a->high - a->low) * room / fabs(a->to - a->from));
    for (double v = ceil(a->low / step) * step; v <= a->high + 1e-9 * step && n < most; v += step)
        out[n++] = fabs(v) < 1e-9 * step ? 0 : v;
    return n;
}

static size_t ticks(const axis *a, double room, double *out, size_t most)
{
    static const double steps[] = { 1, 2, 5 };
    size_t n = 0;
    double length = fabs(a->to - a->from);
    if (!a->log) return even_ticks(a, room, out, most);
    double decades = log10(a->high / a->low);
    int every = (int)fmax(ceil(decades * room / length), 1);
    for (int e = (int)floor(log10(a->low)); e <= (int)ceil(log10(a->high)); e++)
        for (size_t k = 0; k < VKT_COUNT(steps); k++) {
            double v = steps[k] * pow(10, e);
            bool fits = k == 0 ? e % every == 0 : decades < 2 || length / decades > 3.3 * room;
            if (fits && v >= a->low * 0.9999 && v <= a->high * 1.0001 && n < most) out[n++] = v;
        }
    /* Within less than a decade those are too few to read a value from. */
    return n < 3 && decades < 2 ? even_ticks(a, room, out, most) : n;
}

static const char *number(double v, char out[32])
{
    double m = fabs(v);
    if (m >= 1e6 && m < 1e15 && fmod(v, 1e5) == 0)
        vkt__format(out, 32, "%gM", v / 1e6);
    else if (m >= 1e4 && m < 1e6 && fmod(v, 100) == 0)
        vkt__format(out, 32, "%gk", v / 1e3);
    else
        vkt__format(out, 32, "%.4g", v);
    return out;
}

/* ---- drawing ---- */

static void draw_rule(const vkt__canvas *c, double x0, double y0, double x1, double y1, int ink)
{
    double xy[] = { x0, y0, x1, y1 };
    c->line(c->to, xy, 2, ink, 1, false);
}

static const char *axis_name(const char *label, bool log, char out[160])
{
    snprintf(out, 160, "%s%s", label ? label : "", log ? " (log scale)" : "");
    return out;
}

static void begin_part(const vkt__canvas *c, char name)
{
    if (c->part) c->part(c->to, name);
}

static void draw_ticks(const vkt__plot *p, const vkt__canvas *c, const axis *x, const axis *y)
{
    double t[64];
    char text[32];
    size_t n = ticks(y, Y_ROOM, t, VKT_COUNT(t));
    for (size_t i = 0; i < n; i++) {
        double at = place(y, t[i]);
        draw_rule(c, x->from, at, x->to, at, VKT__INK_GRID);
        c->text(c->to, x->from - 7, at + 4, 11, VKT__END, false, false, number(t[i], text));
    }
    if (p->x_names) {
        for (size_t i = 0; i < p->n_x_names; i++)
            c->text(c->to, place(x, (double)i), y->from + 16, 11, VKT__MIDDLE, false, false,
                    p->x_names[i]);
        return;
    }
    n = ticks(x, X_ROOM, t, VKT_COUNT(t));
    for (size_t i = 0; i < n; i++) {
        double at = place(x, t[i]);
        draw_rule(c, at, y->from, at, y->to, VKT__INK_GRID);
        c->text(c->to, at, y->from + 16, 11, VKT__MIDDLE, false, false, number(t[i], text));
    }
}

static void draw_rules(const vkt__plot *p, const vkt__canvas *c, const axis *x, const axis *y)
{
    for (size_t i = 0; i < p->n_rules; i++) {
        const axis *a = p->rule[i].vertical ? x : y;
        if (!shown(p->rule[i].at, a->log) || p->rule[i].at < a->low || p->rule[i].at > a->high)
            continue;
        double at = place(a, p->rule[i].at);
        if (p->rule[i].vertical) {
            draw_rule(c, at, y->from, at, y->to, VKT__INK_AXIS);
            bool right = at < (x->from + x->to) / 2;
            c->text(c->to, at + (right ? 4 : -4), y->to + 11 + 13 * (double)(i % 3), 11,
                    right ? VKT__START : VKT__END, false, false, p->rule[i].label);
        } else {
            draw_rule(c, x->from, at, x->to, at, VKT__INK_AXIS);
            c->text(c->to, x->to - 4, at - 4, 11, VKT__END, false, false, p->rule[i].label);
        }
    }
}

static void draw_frame(const vkt__plot *p, const vkt__canvas *c, const axis *x, const axis *y)
{
    char name[160];
    draw_rule(c, x->from, y->from, x->to, y->from, VKT__INK_AXIS);
    draw_rule(c, x->from, y->from, x->from, y->to, VKT__INK_AXIS);
    c->text(c->to, (x->from + x->to) / 2, y->from + 36, 12, VKT__MIDDLE, false, false,
            axis_name(p->x_label, x->log, name));
    c->text(c->to, 11, (y->from + y->to) / 2, 12, VKT__MIDDLE, false, true,
            axis_name(p->y_label, y->log, name));
}

static void keep_point(vkt__thin *t, size_t i)
{
    t->keep = vkt__grow(t->keep, t->n, &t->cap, sizeof *t->keep);
    t->keep[t->n++] = i;
}

void vkt__thin_end(vkt__thin *t)
{
    if (!t->open) return;
    size_t of[3] = { VKT_MIN(t->low_at, t->high_at), VKT_MAX(t->low_at, t->high_at), t->last_at };
    for (size_t j = 0; j < 3; j++)
        if (!j || of[j] != of[j - 1]) keep_point(t, of[j]);
    t->open = false;
}

void vkt__thin_add(vkt__thin *t, size_t i, double x, double y)
{
    double column = floor(x / t->wide);
    if (!t->open || !(column == t->column)) {
        vkt__thin_end(t);
        if (isnan(x)) { /* a gap, however long, is one point */
            if (!t->gap) keep_point(t, i);
            t->gap = true;
            return;
        }
        t->gap = false;
        t->open = true;
        t->column = column;
        t->low = t->high = y;
        t->low_at = t->high_at = i;
    }
    if (y < t->low) t->low = y, t->low_at = i;
    if (y > t->high) t->high = y, t->high_at = i;
    t->last_at = i;
}

static double clamp(const axis *a, double v)
{
    return fmin(fmax(v, a->low), a->high);
}

/* NAN where the plot does not show it. */
static void place_point(const vkt__series *s, size_t i, const axis *x, const axis *y, double *at)
{
    bool ok = shown(s->x[i], x->log) && shown(s->y[i], y->log);
    at[0] = ok ? place(x, s->x[i]) : NAN;
    at[1] = ok ? place(y, s->y[i]) : NAN;
}

static void draw_line(const vkt__canvas *c, const vkt__series *s, const axis *x, const axis *y,
                      int ink)
{
    double at[2], across = x->to - x->from;
    vkt__thin t = { .wide = across < NARROW ? 3 : across < MIDDLE ? 1.5 : 1 };
    for (size_t i = 0; i < s->n; i++) {
        place_point(s, i, x, y, at);
        vkt__thin_add(&t, i, at[0], at[1]);
    }
    vkt__thin_end(&t);
    double *xy = vkt__alloc((2 * t.n + 2) * sizeof *xy);
    for (size_t i = 0; i < t.n; i++) place_point(s, t.keep[i], x, y, xy + 2 * i);
    c->line(c->to, xy, t.n, ink, s->faint || s->grey ? 1 : 1.8, s->faint);
    free(t.keep);
    free(xy);
}

static void draw_band(const vkt__canvas *c, const vkt__series *s, const axis *x, const axis *y,
                      int ink)
{
    double *xy = vkt__alloc((4 * s->n + 2) * sizeof *xy);
    size_t k = 0;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t j = 0; j < s->n; j++) {
            size_t i = pass ? s->n - 1 - j : j;
            const double *v = pass ? s->y2 : s->y;
            if (!shown(s->x[i], x->log) || !shown(s->y[i], y->log) || !shown(s->y2[i], y->log))
                continue;
            xy[k++] = place(x, s->x[i]);
            xy[k++] = place(y, v[i]);
        }
    if (k >= 6) c->fill(c->to, xy, k / 2, ink, true);
    free(xy);
}

static void draw_bars(const vkt__canvas *c, const vkt__series *s, const axis *x, const axis *y,
                      int ink)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!shown(s->x[i], x->log) || !shown(s->x[i + 1], x->log) || !shown(s->y[i], y->log))
            continue;
        double x0 = place(x, s->x[i]), x1 = place(x, s->x[i + 1]),
               y0 = place(y, y->log ? y->low : clamp(y, 0)), y1 = place(y, s->y[i]);
        if (x1 - x0 > 3) x0 += 0.5, x1 -= 0.5;
        double xy[] = { x0, y0, x0, y1, x1, y1, x1, y0 };
        if (y0 - y1 > 0.05) c->fill(c->to, xy, 4, ink, false);
    }
}

static int ink_of(const vkt__series *s)
{
    return s->grey ? VKT__INK_AXIS : VKT__INK_SERIES + s->color % VKT__N_COLORS;
}

static void draw_series(const vkt__plot *p, const vkt__canvas *c, const axis *x, const axis *y)
{
    for (int front = 0; front < 2; front++)
        for (size_t k = 0; k < p->n_series; k++) {
            const vkt__series *s = &p->series[k];
            int ink = ink_of(s);
            bool behind = s->faint || s->grey || s->mark == VKT__BAND;
            if (behind == (front == 1)) continue;
            if (s->mark == VKT__LINE) draw_line(c, s, x, y, ink);
            if (s->mark == VKT__BAND) draw_band(c, s, x, y, ink);
            if (s->mark == VKT__BARS) draw_bars(c, s, x, y, ink);
            if (s->mark != VKT__DOTS && s->mark != VKT__CROSSES) continue;
            for (size_t i = 0; i < s->n; i++)
                if (shown(s->x[i], x->log) && shown(s->y[i], y->log))
                    c->dot(c->to, place(x, s->x[i]), place(y, s->y[i]), ink,
                           s->mark == VKT__CROSSES, s->label ? s->label[i] : NULL);
        }
}

/* A name that is wider than the plot: its end, which tells folders apart. A title: its begin. */
static const char *fitting(const char *name, double room, bool title, char out[256])
{
    double size = title ? TITLE : NAME;
    size_t all = strlen(name), n = VKT_MIN(all, 240);
    if (n == all && vkt__letters_width(name, size, title) <= room) return name;
    do {
        /* not within a character */
        while (n && ((unsigned char)name[title ? n : all - n] & 0xc0) == 0x80) n--;
        if (title)
            snprintf(out, 256, "%.*s...", (int)n, name);
        else
            snprintf(out, 256, "...%s", name + all - n);
    } while (n-- && vkt__letters_width(out, size, title) > room);
    return out;
}

/* Names in a row under the title, on further rows where they don't fit. Returns the rows. */
static int legend(const vkt__plot *p, const vkt__canvas *c, double width, double top)
{
    double at = LEFT;
    int rows = 0;
    char cut[256];
    for (size_t i = 0; i < p->n_series; i++) {
        const vkt__series *s = &p->series[i];
        if (!s->name) continue;
        const char *name = fitting(s->name, width - RIGHT - LEFT - BESIDE_NAME, false, cut);
        double need = BESIDE_NAME + vkt__letters_width(name, NAME, false);
        if (!rows) rows = 1;
        if (at + need > width && at > LEFT) at = LEFT, rows++;
        if (c) {
            double y = top + LEGEND_LINE * (rows - 1);
            int ink = ink_of(s);
            double line[] = { at, y - 4, at + 16, y - 4 };
            if (s->mark == VKT__DOTS || s->mark == VKT__CROSSES)
                c->dot(c->to, at + 8, y - 4, ink, s->mark == VKT__CROSSES, NULL);
            else
                c->line(c->to, line, 2, ink, s->mark == VKT__LINE ? 2.5 : 6, s->faint);
            c->text(c->to, at + 22, y, NAME, VKT__START, false, false, name);
        }
        at += need;
    }
    return rows;
}

static void find_axes(const vkt__plot *p, axis *x, axis *y)
{
    double width, height;
    vkt__plot_size(p, &width, &height);
    int rows = legend(p, NULL, width, 0);
    *x = find_axis(p, false, LEFT, width - RIGHT);
    *y = find_axis(p, true, height - BOTTOM, TOP + LEGEND_LINE * rows);
}

vkt__plot_frame vkt__plot_find_frame(const vkt__plot *p)
{
    axis x, y;
    find_axes(p, &x, &y);
    return (vkt__plot_frame) { x.from, y.from, x.to, y.to, x.low, x.high, y.low, y.high };
}

void vkt__plot_draw(const vkt__plot *p, const vkt__canvas *c)
{
    double width, height;
    axis x, y;
    vkt__plot_size(p, &width, &height);
    find_axes(p, &x, &y);
    char cut[256];
    const char *title = fitting(p->title, width - 2 * EDGE, true, cut);
    bool wide = LEFT + vkt__letters_width(title, TITLE, true) > width - EDGE;
    c->text(c->to, wide ? EDGE : LEFT, 19, TITLE, VKT__START, true, false, title);
    legend(p, c, width, TOP + 9);
    begin_part(c, 't');
    draw_ticks(p, c, &x, &y);
    begin_part(c, 0);
    draw_frame(p, c, &x, &y);
    begin_part(c, 'm');
    draw_series(p, c, &x, &y);
    draw_rules(p, c, &x, &y);
    begin_part(c, 0);
}

bool vkt__plot_has_data(const vkt__plot *p)
{
    for (size_t k = 0; k < p->n_series; k++)
        for (size_t i = 0; i < p->series[k].n; i++)
            if (shown(p->series[k].x[i], p->log_x) && shown(p->series[k].y[i], p->log_y))
                return true;
    return false;
}
