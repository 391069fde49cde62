/* A comparison as an SVG picture: per group, one line per row, one mark per file, by its speed
 * relative to the first file and a bar over the middle half of its runs, on a logarithmic axis.
 * Marks differ in shape, too, not in colour alone. */
#include <math.h>

#include "base/format.h"
#include "base/os.h"
#include "vktrain/bench.h"
#include "base/words.h"

enum { LEFT = 330, WIDTH = 1000, RIGHT = 60, LINE = 19, TOP_LINE = 18 };

static const char *const colors[] = { "#444444", "#0072b2", "#d55e00", "#009e73",
                                      "#cc79a7", "#e69f00", "#56b4e9", "#7a5195" };

typedef struct axis {
    double low, high; /* ratios at the ends */
} axis;

static double x_of(const axis *a, double ratio)
{
    return LEFT +
           (WIDTH - LEFT - RIGHT) * (log(ratio) - log(a->low)) / (log(a->high) - log(a->low));
}

static void mark(vkt__str *s, size_t file, double x, double y, const char *label)
{
    const char *c = colors[file % VKT_COUNT(colors)];
    switch (file % 4) {
    case 0:
        vkt__str_printf(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\">", x, y, c);
        break;
    case 1:
        vkt__str_printf(s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\" fill=\"%s\">",
                        x - 4, y - 4, c);
        break;
    case 2:
        vkt__str_printf(s, "<path d=\"M%.1f %.1fl5 9h-10z\" fill=\"%s\">", x, y - 5, c);
        break;
    default:
        vkt__str_printf(s, "<path d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\" fill=\"%s\">", x, y - 5, c);
        break;
    }
    vkt__str_printf(s, "<title>");
    vkt__markup_escape(s, label);
    vkt__str_printf(s, "</title></%s>\n",
                    file % 4 == 0   ? "circle"
                    : file % 4 == 1 ? "rect"
                                    : "path");
}

/* 1, 2, 5, 10, ... and their inverses: the nice number at or beyond v, away from 1. */
static double nice(double v)
{
    double e = pow(10, floor(log10(v))), m = v / e;
    return e * (m <= 1.0001 ? 1 : m <= 2.0001 ? 2 : m <= 5.0001 ? 5 : 10);
}

static axis find_axis(const vkt_bench *const *files, size_t n)
{
    double low = 0.8, high = 1.25;
    for (size_t i = 0; i < files[0]->n_rows; i++)
        for (size_t f = 1; f < n; f++) {
            const vkt_bench_row *a = &files[0]->rows[i];
            double v = vkt_bench_speedup(a, vkt_bench_find(files[f], a->group, a->name));
            if (!isfinite(v)) continue;
            low = fmin(low, v);
            high = fmax(high, v);
        }
    return (axis) { 1 / nice(1 / low), nice(high) };
}

static void grid(vkt__str *s, const axis *a, double top, double bottom)
{
    static const double steps[] = { 1, 2, 5 };
    double room = (WIDTH - LEFT - RIGHT) / (log10(a->high) - log10(a->low)); /* points per decade */
    for (int e = -9; e <= 9; e++)
        for (size_t k = 0; k < VKT_COUNT(steps); k++) {
            double v = steps[k] * pow(10, e);
            if (v < a->low * 0.999 || v > a->high * 1.001 || (k && room < 120)) continue;
            double x = x_of(a, v);
            bool one = v > 0.999 && v < 1.001;
            vkt__str_printf(
                s, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x,
                top, x, bottom, one ? "#777" : "#ddd");
            vkt__str_printf(
                s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"#555\">%gx</text>\n",
                x, top - 5, v);
        }
}

static void row(vkt__str *s, const axis *a, const vkt_bench *const *files, const char *const *names,
                size_t n, const vkt_bench_row *r, double y)
{
    vkt__str_printf(s, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 12, y + 4);
    vkt__markup_escape(s, r->name);
    vkt__str_printf(
        s, "</text>\n<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#eee\"/>\n", LEFT,
        y, WIDTH - RIGHT, y);
    for (size_t f = 0; f < n; f++) {
        const vkt_bench_row *other = vkt_bench_find(files[f], r->group, r->name);
        double v = vkt_bench_speedup(r, other);
        vkt__str label = { 0 };
        if (!isfinite(v)) continue;
        vkt__str_printf(&label, "%s: %.4g %s, %.3gx", names[f], other->value, other->unit, v);
        double q1 = v * other->q1 / other->value,
               q3 = v * other->q3 / other->value; /* the middle half of the runs */
        if (!r->higher) q1 = v * other->value / other->q1, q3 = v * other->value / other->q3;
        vkt__str_printf(s,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                        "stroke-width=\"2\" stroke-opacity=\"0.4\"/>\n",
                        x_of(a, fmin(fmax(q1, a->low), a->high)), y,
                        x_of(a, fmin(fmax(q3, a->low), a->high)), y, colors[f % VKT_COUNT(colors)]);
        mark(s, f, x_of(a, v), y, label.data);
        vkt__str_finish(&label);
    }
}

static void mean_row(vkt__str *s, const axis *a, const vkt_bench *const *files, size_t n,
                     vkt_bench_group g, double y)
{
    size_t count;
    vkt_bench_group_speedup(files, n, 0, g, &count);
    vkt__str_printf(s,
                    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" font-weight=\"bold\">geometric "
                    "mean of %zu</text>\n",
                    LEFT - 12, y + 4, count);
    for (size_t f = 0; f < n; f++) {
        double v = vkt_bench_group_speedup(files, n, f, g, NULL);
        if (!isfinite(v)) continue;
        char label[64];
        vkt__format(label, sizeof label, "geometric mean %.3gx", v);
        mark(s, f, x_of(a, v), y, label);
        if (f == n - 1 && n == 2)
            vkt__str_printf(s, "<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">%.2fx</text>\n",
                            x_of(a, v) + 9, y + 4, v);
    }
}

static bool shown(const vkt_bench *const *files, size_t n, const vkt_bench_row *r)
{
    for (size_t f = 1; f < n; f++)
        if (isfinite(vkt_bench_speedup(r, vkt_bench_find(files[f], r->group, r->name))))
            return true;
    return false;
}

/* A line of the legend; one that is wider than the picture is squeezed into it. */
static void legend_line(vkt__str *s, double y, const char *text)
{
    const double room = WIDTH - 60, need = 6.6 * (double)strlen(text);
    vkt__str_printf(s, "<text x=\"40\" y=\"%.0f\"", y);
    if (need > room)
        vkt__str_printf(s, " textLength=\"%.0f\" lengthAdjust=\"spacingAndGlyphs\"", room);
    vkt__str_printf(s, ">");
    vkt__markup_escape(s, text);
    vkt__str_printf(s, "</text>\n");
}

vkt_status vkt_bench_save_svg(const vkt_bench *const *files, const char *const *names, size_t n,
                              const char *path)
{
    vkt__str body = { 0 }, s = { 0 };
    axis a = find_axis(files, n);
    double y = 34;
    vkt__str_printf(&body,
                    "<text x=\"20\" y=\"%.0f\" font-size=\"17\" font-weight=\"bold\">vktrain "
                    "bench: speed relative to ",
                    y);
    vkt__markup_escape(&body, names[0]);
    vkt__str_printf(&body, "</text>\n");
    y += 16;
    for (size_t f = 0; f < n; f++) {
        y += TOP_LINE;
        mark(&body, f, 27, y - 4, names[f]);
        const vkt_bench_info *i = &files[f]->info;
        vkt__str about = { 0 };
        vkt__str_printf(&about, "%s, %s, commit %s", i->device, i->driver, i->commit);
        legend_line(&body, y, names[f]);
        y += TOP_LINE;
        legend_line(&body, y, about.data);
        vkt__str_finish(&about);
    }
    y += TOP_LINE + 4;
    vkt__str_printf(&body,
                    "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\" fill=\"#555\">medians, bars: "
                    "middle half of the runs; faster to the right; logarithmic</text>\n",
                    WIDTH - RIGHT, y);
    for (uint32_t g = 0; g < VKT_BENCH_N_GROUPS; g++) {
        size_t count = 0;
        for (size_t i = 0; i < files[0]->n_rows; i++)
            count += files[0]->rows[i].group == (vkt_bench_group)g &&
                     shown(files, n, &files[0]->rows[i]);
        if (!count) continue;
        y += 34;
        double top = y, bottom = y + LINE * (double)(count + 1) + 6;
        vkt__str_printf(
            &body, "<text x=\"20\" y=\"%.1f\" font-size=\"15\" font-weight=\"bold\">%s</text>\n",
            top - 5, vkt_bench_group_name((vkt_bench_group)g));
        grid(&body, &a, top, bottom);
        y += 14;
        for (size_t i = 0; i < files[0]->n_rows; i++) {
            const vkt_bench_row *r = &files[0]->rows[i];
            if (r->group != (vkt_bench_group)g || !shown(files, n, r)) continue;
            row(&body, &a, files, names, n, r, y);
            y += LINE;
        }
        mean_row(&body, &a, files, n, (vkt_bench_group)g, y);
        y = bottom;
    }
    vkt__str_printf(&s,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
                    "viewBox=\"0 0 %d %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<desc>vktrain bench</desc>\n<rect width=\"100%%\" height=\"100%%\" "
                    "fill=\"#fff\"/>\n%s</svg>\n",
                    WIDTH, y + 20, WIDTH, y + 20, body.data);
    vkt_status st = vkt__file_replace(path, s.data, s.len);
    vkt__str_finish(&body);
    vkt__str_finish(&s);
    return st;
}
