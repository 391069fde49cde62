/* plot.h: the SVG canvas. Colours are the page's, by class. */
#include <math.h>

#include "report/plot.h"

/* Okabe and Ito's palette, which tells apart for the colour-blind; lighter on dark. */
const char vkt__plot_css[] =
    "svg.plot{display:block;width:100%;height:auto;font:12px system-ui,sans-serif}\n"
    "svg.plot text{fill:var(--ink)}svg.plot .axis{stroke:var(--soft);fill:none}\n"
    "svg.plot .grid{stroke:var(--line);fill:none}svg.plot path{stroke-linejoin:round}\n"
    ":root{--s0:#0072b2;--s1:#d55e00;--s2:#00805c;--s3:#a8528a;--s4:#9a6a00;--s5:#2a8dc5;"
    "--s6:#6b4fa0;--s7:#555}\n"
    "@media(prefers-color-scheme:dark){:root{--s0:#56b4e9;--s1:#f08a4b;--s2:#2fc59b;--s3:#dd8fbf;"
    "--s4:#e6b23c;--s5:#8fd0ff;--s6:#b39ce8;--s7:#bbb}}\n"
    ".s0{stroke:var(--s0);fill:none}.s1{stroke:var(--s1);fill:none}.s2{stroke:var(--s2);fill:none}"
    ".s3{stroke:var(--s3);fill:none}.s4{stroke:var(--s4);fill:none}.s5{stroke:var(--s5);fill:none}"
    ".s6{stroke:var(--s6);fill:none}.s7{stroke:var(--s7);fill:none}\n"
    ".f0{fill:var(--s0)}.f1{fill:var(--s1)}.f2{fill:var(--s2)}.f3{fill:var(--s3)}"
    ".f4{fill:var(--s4)}.f5{fill:var(--s5)}.f6{fill:var(--s6)}.f7{fill:var(--s7)}\n"
    ".faint{opacity:.3}\n";

static void put_class(vkt__str *s, int ink, bool filled, bool faint)
{
    if (ink == VKT__INK_AXIS || ink == VKT__INK_GRID)
        vkt__str_printf(s, " class=\"%s\"", ink == VKT__INK_AXIS ? "axis" : "grid");
    else
        vkt__str_printf(s, " class=\"%c%d%s\"", filled ? 'f' : 's', ink - VKT__INK_SERIES,
                        faint ? " faint" : "");
}

static void put_path(vkt__str *s, const double *xy, size_t n)
{
    bool down = false;
    vkt__str_printf(s, " d=\"");
    for (size_t i = 0; i < n; i++) {
        bool ok = !isnan(xy[2 * i]);
        if (ok) vkt__str_printf(s, "%c%.1f %.1f", down ? 'L' : 'M', xy[2 * i], xy[2 * i + 1]);
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

void vkt__plot_svg(const vkt__plot *p, vkt__str *out)
{
    double width, height;
    vkt__canvas c = { out, line, fill, dot, text };
    vkt__plot_size(p, &width, &height);
    vkt__str_printf(out,
                    "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                    "height=\"%.0f\"><title>",
                    width, height, width, height);
    vkt__markup_escape(out, p->about ? p->about : p->title);
    vkt__str_printf(out, "</title>\n");
    vkt__plot_draw(p, &c);
    vkt__str_printf(out, "</svg>\n");
}
