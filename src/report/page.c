/* page.h */
#include <stdio.h>

#include "report/page.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";
static const char css[] =
    "</title>\n<style>\n"
    ":root{--paper:#fff;--ink:#1b1f24;--soft:#59636e;--line:#dfe3e8;--panel:#f6f8fa;--warn:#9a3412;"
    "--good:#14603a}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e7eaee;--soft:#a3adb8;"
    "--line:#343b44;--panel:#1d2228;--warn:#fdba74;--good:#7ee2a8}}\n"
    "body{margin:0 auto;max-width:1340px;padding:1.2rem;background:var(--paper);color:var(--ink);"
    "font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.6rem;margin:.2em 0}h2{margin-top:2rem;font-size:1.25rem;border-bottom:1px "
    "solid "
    "var(--line)}h3{font-size:1.05rem}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,560px),1fr));gap:"
    "1rem}"
    "\nfigure{margin:0;padding:.6rem;background:var(--panel);border-radius:8px;overflow:hidden}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "caption{text-align:left;color:var(--soft);padding:.3rem 0}\n"
    ".scroll{margin:.8rem 0}caption{white-space:nowrap}\n"
    "th,td{text-align:left;padding:.2rem .7rem .2rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top}td.n{text-align:right}td:first-child{white-space:nowrap}\n"
    ".note{margin:.5rem 0;padding:.5rem .8rem;border-left:4px solid var(--warn);background:"
    "var(--panel)}.note.good{border-color:var(--good)}.note b{color:var(--warn)}.note.good b{color:"
    "var(--good)}\n"
    "pre{overflow-x:auto;background:var(--panel);padding:.8rem;font-size:13px}pre.quote{white-"
    "space:"
    "pre-wrap;overflow-wrap:anywhere;max-width:80ch}summary{cursor:"
    "pointer}"
    "\nsummary:focus-visible,.scroll:focus-visible{outline:2px solid var(--s0)}\n"
    ".narrow{display:none}@media(max-width:620px){.wide{display:none}.narrow{display:block}"
    "body{padding:.7rem}}\n"
    ".facts{display:flex;flex-wrap:wrap;gap:.4rem 2rem;margin:.6rem 0;padding:.6rem .8rem;"
    "background:var(--panel);border-radius:8px}.facts div{display:flex;flex-direction:column}"
    ".facts dt{color:var(--soft);font-size:.85em}.facts dd{margin:0;font-weight:600;"
    "font-variant-numeric:tabular-nums}\n"
    "td.own{background:color-mix(in srgb,var(--good) calc(var(--v)*.45),transparent);outline:1px "
    "solid var(--line)}td.other{background:color-mix(in srgb,var(--warn) calc(var(--v)*.7),"
    "transparent)}td.own,td.other{padding:.2rem .5rem;min-width:1.8rem}\n"
    ".right{color:var(--good)}.wrong{color:var(--warn)}\n";

void vkt__page_begin(vkt__page *p, const char *title)
{
    vkt__str_printf(&p->html, "%s", head);
    vkt__markup_escape(&p->html, title);
    vkt__str_printf(&p->html, "%s%s</style></head>\n<body><main>\n<h1>", css, vkt__plot_css);
    vkt__markup_escape(&p->html, title);
    vkt__str_printf(&p->html, "</h1>\n");
}

void vkt__page_end(vkt__page *p)
{
    vkt__str_printf(&p->html, "</main></body></html>\n");
}

static void escaped(vkt__page *p, const char *fmt, va_list ap)
{
    vkt__str text = { 0 };
    vkt__str_vprintf(&text, fmt, ap);
    vkt__markup_escape(&p->html, text.data ? text.data : "");
    vkt__str_finish(&text);
}

void vkt__page_heading(vkt__page *p, int level, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vkt__str_printf(&p->html, "<h%d>", level);
    escaped(p, fmt, ap);
    vkt__str_printf(&p->html, "</h%d>\n", level);
    va_end(ap);
}

void vkt__page_text(vkt__page *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vkt__str_printf(&p->html, "<p>");
    escaped(p, fmt, ap);
    vkt__str_printf(&p->html, "</p>\n");
    va_end(ap);
}

void vkt__page_note(vkt__page *p, const char *title, const char *text, bool good)
{
    vkt__str_printf(&p->html, "<p class=\"note%s\"><b>", good ? " good" : "");
    vkt__markup_escape(&p->html, title);
    vkt__str_printf(&p->html, "</b> ");
    vkt__markup_escape(&p->html, text);
    vkt__str_printf(&p->html, "</p>\n");
}

void vkt__page_plot(vkt__page *p, const vkt__plot *plot, const char *name)
{
    if (!vkt__plot_has_data(plot)) return;
    /* On a phone the plot has its own layout: a shrunk one would be unreadable. */
    vkt__plot *narrow = vkt__alloc(sizeof *narrow);
    *narrow = *plot;
    narrow->width = 340;
    narrow->height = 300;
    vkt__str_printf(&p->html, "<figure><div class=\"wide\">");
    vkt__plot_svg(plot, &p->html);
    vkt__str_printf(&p->html, "</div><div class=\"narrow\">");
    vkt__plot_svg(narrow, &p->html);
    vkt__str_printf(&p->html, "</div></figure>\n");
    free(narrow);
    if (!p->png || p->st != VKT_OK) return;
    vkt__str path = { 0 };
    vkt__str_printf(&path, "%s-%s.png", p->png, name);
    p->st = vkt__plot_png(plot, path.data);
    p->n_pictures++;
    vkt__str_finish(&path);
}

void vkt__page_details(vkt__page *p, const char *summary, const char *text)
{
    vkt__str_printf(&p->html, "<details><summary>");
    vkt__markup_escape(&p->html, summary);
    vkt__str_printf(&p->html, "</summary><pre>");
    vkt__markup_escape(&p->html, text);
    vkt__str_printf(&p->html, "</pre></details>\n");
}

void vkt__page_facts(vkt__page *p, const char *const (*facts)[2], size_t n)
{
    vkt__str_printf(&p->html, "<dl class=\"facts\">");
    for (size_t i = 0; i < n; i++) {
        if (!facts[i][1]) continue;
        vkt__str_printf(&p->html, "<div><dt>");
        vkt__markup_escape(&p->html, facts[i][0]);
        vkt__str_printf(&p->html, "</dt><dd>");
        vkt__markup_escape(&p->html, facts[i][1]);
        vkt__str_printf(&p->html, "</dd></div>\n");
    }
    vkt__str_printf(&p->html, "</dl>\n");
}

void vkt__page_shaded_row(vkt__page *p, const char *const *cells, size_t n, const double *shade,
                          size_t own, const char *const *about)
{
    vkt__str_printf(&p->html, "<tr>");
    for (size_t i = 0; i < n; i++) {
        if (!i) {
            vkt__str_printf(&p->html, "<th scope=\"row\">");
            vkt__markup_escape(&p->html, cells[i]);
            vkt__str_printf(&p->html, "</th>");
            continue;
        }
        vkt__str_printf(&p->html, "<td class=\"n %s\" style=\"--v:%.0f%%\" title=\"",
                        i == own ? "own" : "other", 100 * shade[i]);
        vkt__markup_escape(&p->html, about[i]);
        vkt__str_printf(&p->html, "\">");
        vkt__markup_escape(&p->html, cells[i]);
        vkt__str_printf(&p->html, "</td>");
    }
    vkt__str_printf(&p->html, "</tr>\n");
}

void vkt__page_quote(vkt__page *p, const char *text)
{
    vkt__str_printf(&p->html, "<pre class=\"quote\">");
    vkt__markup_escape(&p->html, text);
    vkt__str_printf(&p->html, "</pre>\n");
}

void vkt__page_table_begin(vkt__page *p, const char *caption, const char *const *columns, size_t n)
{
    vkt__str_printf(&p->html, "<div class=\"scroll\" tabindex=\"0\"><table><caption>");
    vkt__markup_escape(&p->html, caption);
    vkt__str_printf(&p->html, "</caption>\n<thead><tr>");
    for (size_t i = 0; i < n; i++) {
        vkt__str_printf(&p->html, "<th scope=\"col\">");
        vkt__markup_escape(&p->html, columns[i]);
        vkt__str_printf(&p->html, "</th>");
    }
    vkt__str_printf(&p->html, "</tr></thead><tbody>\n");
}

void vkt__page_row(vkt__page *p, const char *const *cells, size_t n, size_t numbers)
{
    vkt__str_printf(&p->html, "<tr>");
    for (size_t i = 0; i < n; i++) {
        vkt__str_printf(&p->html, i >= numbers ? "<td class=\"n\">" : "<td>");
        vkt__markup_escape(&p->html, cells[i]);
        vkt__str_printf(&p->html, "</td>");
    }
    vkt__str_printf(&p->html, "</tr>\n");
}

void vkt__page_table_end(vkt__page *p)
{
    vkt__str_printf(&p->html, "</tbody></table></div>\n");
}
