/* plot.h: the SVG canvas. Colours are the page's, by class. */
#include <math.h>

#include "report/plot.h"

static void put_class(vkt__str *s, int ink, bool filled, bool faint)
{
    if (ink == VKT__INK_AXIS || ink == VKT__INK_GRID)
        vkt__str_printf(s, " class=\"%s\"", ink == VKT__INK_AXIS ? "axis" : "grid");
    else
        vkt__str_printf(s, " class=\"%c%d%s\"", filled ? 'f' : 's', ink - VKT__INK_SERIES,
                        faint ? " faint" : "");
}

/* Tenths of a pixel from the last point: half the bytes of places. */
static void put_path(vkt__str *s, const double *xy, size_t n)
{
    bool down = false;
    long x = 0, y = 0;
    vkt__str_printf(s, " d=\"");
    for (size_t i = 0; i < n; i++) {
        bool ok = !isnan(xy[2 * i]);
        if (ok) {
            long to_x = lround(10 * xy[2 * i]), to_y = lround(10 * xy[2 * i + 1]);
            if (down)
                vkt__str_printf(s, "l%.5g %.5g", (double)(to_x - x) / 10, (double)(to_y - y) / 10);
            else
                vkt__str_printf(s, "M%.1f %.1f", (double)to_x / 10, (double)to_y / 10);
            x = to_x;
            y = to_y;
        }
        down = ok;
    }
}

static void line(void *to, const double *xy, size_t n, int ink, double width, bool faint)
{
    vkt__str *s = to;
    vkt__str_printf(s, "<path");
    put_class(s, ink, false, faint);
    put_path(s, xy, n);
    vkt__str_printf(s, "\" stroke-width=\"%.3g\"/>\n", width);
}

static void fill(void *to, const double *xy, size_t n, int ink, bool faint)
{
    vkt__str *s = to;
    vkt__str_printf(s, "<path");
    put_class(s, ink, true, faint);
    put_path(s, xy, n);
    vkt__str_printf(s, "z\"/>\n");
}

static void dot(void *to, double x, double y, int ink, bool cross, const char *label)
{
    vkt__str *s = to;
    if (cross) {
        vkt__str_printf(s, "<path");
        put_class(s, ink, false, false);
        vkt__str_printf(s, " d=\"M%.1f %.1fl8 8m0 -8l-8 8\" stroke-width=\"2\">", x - 4, y - 4);
    } else {
        vkt__str_printf(s, "<circle");
        put_class(s, ink, true, false);
        vkt__str_printf(s, " cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\">", x, y);
    }
    if (label) {
        vkt__str_printf(s, "<title>");
        vkt__markup_escape(s, label);
        vkt__str_printf(s, "</title>");
    }
    vkt__str_printf(s, cross ? "</path>\n" : "</circle>\n");
}

static void text(void *to, double x, double y, double size, vkt__anchor anchor, bool bold, bool up,
                 const char *t)
{
    static const char *const anchors[] = { "start", "middle", "end" };
    vkt__str *s = to;
    if (!*t) return;
    vkt__str_printf(s, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.3g\" text-anchor=\"%s\"%s", x, y,
                    size, anchors[anchor], bold ? " font-weight=\"bold\"" : "");
    if (up) vkt__str_printf(s, " transform=\"rotate(-90 %.1f %.1f)\"", x, y);
    vkt__str_printf(s, ">");
    vkt__markup_escape(s, t);
    vkt__str_printf(s, "</text>\n");
}

static void part(void *to, char name)
{
    if (name)
        vkt__str_printf(to, "<g class=\"%c\">\n", name);
    else
        vkt__str_printf(to, "</g>\n");
}

void vkt__plot_svg(const vkt__plot *p, vkt__str *out)
{
    double width, height;
    vkt__canvas c = { out, line, fill, dot, text, part };
    vkt__plot_frame f = vkt__plot_find_frame(p);
    vkt__plot_size(p, &width, &height);
    vkt__str_printf(out,
                    "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                    "height=\"%.0f\" data-box=\"%.1f %.1f %.1f %.1f\" "
                    "data-axes=\"%.9g %.9g %.9g %.9g\"><title>",
                    width, height, width, height, f.x0, f.y0, f.x1, f.y1, f.x_low, f.x_high,
                    f.y_low, f.y_high);
    vkt__markup_escape(out, p->about ? p->about : p->title);
    vkt__str_printf(out, "</title>\n");
    vkt__plot_draw(p, &c);
    vkt__str_printf(out, "</svg>\n");
}
