/* bars.h */
#include <math.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/words.h"
#include "report/bars.h"
#include "report/plot.h"

enum { MAX_TICKS = 6, NUMBER = 32 };

/* Where values lie: 0 to 1 from the left end of a bar's track to the right one. */
typedef struct axis {
    double low, high;
    bool log;
    double tick[MAX_TICKS];
    size_t n_ticks;
} axis;

static double at(const axis *a, double v)
{
    double u = a->log ? log(v / a->low) / log(a->high / a->low) : v / a->high;
    return fmin(fmax(u, 0), 1);
}

/* 1, 2 or 5 times a power of ten: the largest that is at most v. */
static double nice_below(double v)
{
    double e = pow(10, floor(log10(v) + 1e-9)), m = v / e;
    return e * (m >= 4.9999 ? 5 : m >= 1.9999 ? 2 : 1);
}

static void log_ticks(axis *a)
{
    static const double steps[] = { 1, 2, 5 };
    double decades = log10(a->high / a->low);
    int every = (int)ceil(decades / (MAX_TICKS - 1)), first = (int)floor(log10(a->low) + 1e-9);
    for (int e = first; pow(10, e) <= a->high && a->n_ticks < MAX_TICKS; e++)
        for (size_t k = 0; k < (decades < 1.7 ? VKT_COUNT(steps) : 1); k++) {
            double v = steps[k] * pow(10, e);
            bool kept = decades < 1.7 || (e - first) % VKT_MAX(every, 1) == 0;
            if (kept && v >= a->low * 0.999 && v <= a->high * 1.001 && a->n_ticks < MAX_TICKS)
                a->tick[a->n_ticks++] = v;
        }
}

/* From 0 where the values are alike, else logarithmic. */
static axis find_axis(const vkt__bars *b)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < b->n; i++) {
        low = fmin(low, b->bar[i].low);
        high = fmax(high, b->bar[i].high);
    }
    axis a = { .low = 0, .high = high * 1.03, .log = high > 4 * low };
    if (a.log) {
        a.low = nice_below(low * 0.75);
        log_ticks(&a);
        return a;
    }
    double step = nice_below(a.high / 3);
    for (double v = 0; v <= a.high && a.n_ticks < MAX_TICKS; v += step) a.tick[a.n_ticks++] = v;
    return a;
}

/* Four digits; the unit stands above the chart. */
static const char *number_of(double v, char out[NUMBER])
{
    int digits = v >= 1000 ? 0 : v >= 100 ? 1 : v >= 10 ? 2 : 3;
    if (v >= 0.01)
        vkt__format(out, NUMBER, "%.*f", digits, v);
    else
        vkt__format(out, NUMBER, "%.3g", v);
    return out;
}

static int by_name(const vkt__bar *x, const vkt__bar *y)
{
    int named = strcmp(x->name, y->name);
    return named ? named : (x->key > y->key) - (x->key < y->key);
}

static int lowest_first(const void *a, const void *b)
{
    const vkt__bar *x = a, *y = b;
    int rises = (x->value > y->value) - (x->value < y->value);
    return rises ? rises : by_name(x, y);
}

static int highest_first(const void *a, const void *b)
{
    const vkt__bar *x = a, *y = b;
    int falls = (x->value < y->value) - (x->value > y->value);
    return falls ? falls : by_name(x, y);
}

void vkt__bars_sort(vkt__bar *bar, size_t n, bool higher)
{
    qsort(bar, n, sizeof *bar, higher ? highest_first : lowest_first);
}

static const char *sense(const vkt__bars *b, const axis *a)
{
    return b->higher ? a->log ? "more is better, logarithmic" : "more is better"
           : a->log  ? "less is better, logarithmic"
                     : "less is better";
}

/* ---- HTML ---- */

static void put_bar(const axis *a, const vkt__bar *x, vkt__str *out)
{
    char text[NUMBER];
    double from = at(a, x->low), to = at(a, x->high);
    vkt__str_printf(out, "<li data-m=\"%zu\" title=\"", x->key);
    vkt__markup_escape(out, x->about);
    vkt__str_printf(out, "\"><span class=\"who\">");
    if (x->link) {
        vkt__str_printf(out, "<a href=\"");
        vkt__markup_escape(out, x->link);
        vkt__str_printf(out, "\">");
    }
    vkt__markup_escape(out, x->name);
    vkt__str_printf(out,
                    "%s</span><span class=\"track\"><i class=\"c%d\" style=\"width:%.2f%%\"></i>",
                    x->link ? "</a>" : "", x->color % VKT__N_COLORS, 100 * at(a, x->value));
    if (x->high > x->low)
        vkt__str_printf(out, "<b style=\"left:%.2f%%;width:%.2f%%\"></b>", 100 * from,
                        100 * (to - from));
    vkt__str_printf(out, "</span><span class=\"value\">");
    vkt__str_printf(out, "%s</span></li>\n", number_of(x->value, text));
}

void vkt__bars_html(const vkt__bars *b, vkt__str *out)
{
    axis a = find_axis(b);
    char number[NUMBER];
    vkt__str_printf(out, "<figure class=\"bars\" data-p=\"");
    vkt__markup_escape(out, b->kind);
    vkt__str_printf(out, "\"><figcaption><span>");
    vkt__markup_escape(out, b->title);
    vkt__str_printf(out, "</span> <small>");
    vkt__markup_escape(out, b->unit);
    vkt__str_printf(out, "; %s", sense(b, &a));
    if (b->picture) {
        vkt__str_printf(out, "; <a href=\"");
        vkt__markup_escape(out, b->picture);
        vkt__str_printf(out, "\">PNG</a>");
    }
    vkt__str_printf(out, "</small></figcaption>\n<ol>\n");
    for (size_t i = 0; i < b->n; i++) put_bar(&a, &b->bar[i], out);
    vkt__str_printf(out, "</ol>\n<div class=\"ticks\" aria-hidden=\"true\">");
    for (size_t i = 0; i < a.n_ticks; i++) {
        double v = a.tick[i];
        vkt__format(number, sizeof number, v >= 1e6 ? "%.3g" : "%.6g", v);
        vkt__str_printf(out, "<span style=\"left:%.2f%%\">%s</span>", 100 * at(&a, v), number);
    }
    vkt__str_printf(out, "</div>\n");
    if (b->n_left_out)
        vkt__str_printf(out, "<p>%zu more are not drawn: the tables have them.</p>\n",
                        b->n_left_out);
    vkt__str_printf(out, "</figure>\n");
}

/* ---- PNG ---- */

enum { WIDTH = 900, LEFT = 300, RIGHT = 100, TOP = 58, LINE = 26, BAR = 14, BOTTOM = 34 };

static double x_of(const axis *a, double v)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * at(a, v);
}

static void box(const vkt__canvas *c, double x0, double y0, double x1, double y1, int ink)
{
    const double xy[] = { x0, y0, x1, y0, x1, y1, x0, y1 };
    c->fill(c->to, xy, 4, ink, false);
}

static void stroke(const vkt__canvas *c, double x0, double y0, double x1, double y1, int ink)
{
    const double xy[] = { x0, y0, x1, y1 };
    c->line(c->to, xy, 2, ink, 1, false);
}

/* The name, cut so that it ends before its bar. */
static void cut_name(const char *name, char *out, size_t n)
{
    enum { LETTERS = 40 };
    const char *p = name, *end = name + strlen(name);
    size_t letters = 0;
    while (p < end && letters < LETTERS && vkt__utf8_next(&p, end) >= 0) letters++;
    vkt__format(out, n, "%.*s%s", (int)(p - name), name, p < end ? "..." : "");
}

static void draw(const void *what, const vkt__canvas *c)
{
    const vkt__bars *b = what;
    axis a = find_axis(b);
    char text[256], number[NUMBER];
    double bottom = TOP + LINE * (double)b->n;
    c->text(c->to, 16, 24, 16, VKT__START, true, false, b->title);
    vkt__format(text, sizeof text, "%.40s; %s; vktrain bench", b->unit, sense(b, &a));
    c->text(c->to, 16, 43, 12, VKT__START, false, false, text);
    for (size_t i = 0; i < a.n_ticks; i++) {
        double x = x_of(&a, a.tick[i]);
        stroke(c, x, TOP - 4, x, bottom, VKT__INK_GRID);
        vkt__format(text, sizeof text, "%.6g", a.tick[i]);
        c->text(c->to, x, bottom + 16, 11, VKT__MIDDLE, false, false, text);
    }
    for (size_t i = 0; i < b->n; i++) {
        const vkt__bar *x = &b->bar[i];
        double y = TOP + LINE * ((double)i + 0.5);
        cut_name(x->name, text, sizeof text);
        c->text(c->to, LEFT - 10, y + 4, 12, VKT__END, false, false, text);
        box(c, LEFT, y - BAR / 2.0, x_of(&a, x->value), y + BAR / 2.0, VKT__INK_SERIES + x->color);
        if (x->high > x->low) stroke(c, x_of(&a, x->low), y, x_of(&a, x->high), y, VKT__INK_TEXT);
        c->text(c->to, WIDTH - RIGHT + 10, y + 4, 12, VKT__START, true, false,
                number_of(x->value, number));
    }
}

vkt_status vkt__bars_png(const vkt__bars *b, const char *path)
{
    return vkt__canvas_png(WIDTH, TOP + LINE * (double)b->n + BOTTOM, draw, b, path);
}
