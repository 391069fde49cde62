/* page.h */
#include <stdio.h>

#include "base/embedded.h"
#include "report/page.h"

/* Nothing is fetched from anywhere, whatever a text in the page may try. */
static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
    "style-src 'unsafe-inline';script-src 'unsafe-inline'";

static void put_embedded(vkt__page *p, const char *name)
{
    const vkt__embedded_file *f = vkt__embedded_page;
    while (strcmp(f->name, name)) f++;
    vkt__str_add(&p->html, (const char *)f->data, f->bytes);
}

void vkt__page_begin(vkt__page *p, const char *title)
{
    vkt__str_printf(&p->html, "%s%s\">\n", head,
                    p->asks ? ";connect-src 'self';img-src blob:" : ";img-src data:");
    if (p->reload_s)
        vkt__str_printf(&p->html, "<meta http-equiv=\"refresh\" content=\"%u\">\n", p->reload_s);
    vkt__str_printf(&p->html, "<title>");
    vkt__markup_escape(&p->html, title);
    vkt__str_printf(&p->html, "</title>\n<style>\n");
    put_embedded(p, "page.css");
    vkt__str_printf(&p->html, "</style></head>\n<body><main>\n<h1>");
    vkt__markup_escape(&p->html, title);
    vkt__str_printf(&p->html, "</h1>\n");
}

void vkt__page_style(vkt__page *p, const char *sheet)
{
    vkt__str_printf(&p->html, "<style>\n");
    put_embedded(p, sheet);
    vkt__str_printf(&p->html, "</style>\n");
}

void vkt__page_end(vkt__page *p)
{
    vkt__page_end_with(p, "page.js");
}

void vkt__page_end_with(vkt__page *p, const char *script)
{
    vkt__str_printf(&p->html, "</main>\n<script>\n");
    put_embedded(p, script);
    vkt__str_printf(&p->html, "</script></body></html>\n");
}

/* A sentence: what stands between two back quotes is code. */
static void put_text(vkt__page *p, const char *text)
{
    vkt__str part = { 0 };
    bool code = false;
    for (;; text++) {
        bool quote = *text == '`' && (code || strchr(text + 1, '`'));
        if (!quote && *text) {
            vkt__str_add(&part, text, 1);
            continue;
        }
        if (part.len) vkt__markup_escape(&p->html, part.data);
        vkt__str_finish(&part);
        if (!*text) return;
        code = !code;
        vkt__str_printf(&p->html, code ? "<code>" : "</code>");
    }
}

static void escaped(vkt__page *p, const char *fmt, va_list ap)
{
    vkt__str text = { 0 };
    vkt__str_vprintf(&text, fmt, ap);
    put_text(p, text.data ? text.data : "");
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
    put_text(p, title);
    vkt__str_printf(&p->html, "</b> ");
    put_text(p, text);
    vkt__str_printf(&p->html, "</p>\n");
}

void vkt__page_plots_begin(vkt__page *p)
{
    vkt__str_printf(&p->html, "<div class=\"plots\">\n");
}

void vkt__page_plots_end(vkt__page *p)
{
    vkt__str_printf(&p->html, "</div>\n");
}

void vkt__page_plot(vkt__page *p, const vkt__plot *plot, const char *name)
{
    enum { FEW = 3, COLUMNS = 200, COLUMNS_OF_MANY = 100 };
    if (!vkt__plot_has_data(plot)) return;
    /* On a phone the plot has its own layout: a shrunk one would be unreadable. */
    vkt__plot *at = vkt__alloc(sizeof *at);
    *at = *plot;
    at->width = 440;
    at->height = 290;
    vkt__str_printf(&p->html, "<figure><div class=\"wide\">");
    vkt__plot_svg(at, &p->html);
    at->width = 340;
    at->height = 300;
    vkt__str_printf(&p->html, "</div><div class=\"narrow\">");
    vkt__plot_svg(at, &p->html);
    vkt__str_printf(&p->html, "</div><script type=\"application/json\">");
    vkt__plot_json(plot, plot->n_series > FEW ? COLUMNS_OF_MANY : COLUMNS, &p->html);
    vkt__str_printf(&p->html, "</script></figure>\n");
    free(at);
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
        if (!*cells[i] && i != own) { /* most of a matrix of many classes */
            vkt__str_printf(&p->html, "<td></td>");
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

void vkt__page_side_begin(vkt__page *p)
{
    vkt__str_printf(&p->html, "<div class=\"side\">\n");
}

void vkt__page_side_end(vkt__page *p)
{
    vkt__str_printf(&p->html, "</div>\n");
}

/* numbers [n]: whether a column has them; NULL: none has. */
static void begin_table(vkt__page *p, const char *caption, const char *const *columns, size_t n,
                        const bool *numbers)
{
    vkt__str_printf(&p->html, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    vkt__markup_escape(&p->html, caption);
    vkt__str_printf(&p->html, "\"><table%s><caption>", n ? "" : " class=\"pairs\"");
    put_text(p, caption);
    vkt__str_printf(&p->html, "</caption>\n");
    if (n) vkt__str_printf(&p->html, "<thead><tr>");
    for (size_t i = 0; i < n; i++) {
        /* A header without a text is none. */
        const char *kind = numbers && numbers[i] ? " class=\"n\"" : "";
        vkt__str_printf(&p->html, *columns[i] ? "<th scope=\"col\"%s>" : "<td%s>", kind);
        vkt__markup_escape(&p->html, columns[i]);
        vkt__str_printf(&p->html, *columns[i] ? "</th>" : "</td>");
    }
    vkt__str_printf(&p->html, n ? "</tr></thead><tbody>\n" : "<tbody>\n");
}

void vkt__page_table_begin(vkt__page *p, const char *caption, const char *const *columns, size_t n)
{
    begin_table(p, caption, columns, n, NULL);
}

/* "0.5", "12%", "1.9 x", "14 of 15", "4.2 (3.9 to 4.4)"; not a date, nor a text. */
static bool is_number(const char *s)
{
    static const char *const words[] = { "e", "x", "of", "to", "s", "ms" };
    if (*s == '-' || *s == '+') s++;
    if (*s < '0' || *s > '9') return false;
    while (*(s += strspn(s, "0123456789.,%()/ +-"))) {
        size_t n = strcspn(s, "0123456789.,%()/ +-"), k = 0;
        while (k < VKT_COUNT(words) && (strlen(words[k]) != n || strncmp(s, words[k], n))) k++;
        if (k == VKT_COUNT(words)) return false;
        s += n;
    }
    return true;
}

void vkt__page_table(vkt__page *p, const char *caption, const char *const *columns, size_t n,
                     const char *const *cells, size_t rows)
{
    enum { LONG = 30, LONGER = 60 }; /* bytes of a cell: more than LONG wrap */
    bool *numbers = vkt__alloc(n * sizeof *numbers);
    for (size_t c = 1; c < n; c++) { /* the first names the row */
        size_t other = 0;
        for (size_t r = 0; r < rows; r++) {
            bool number = is_number(cells[r * n + c]), none = !strcmp(cells[r * n + c], "-");
            numbers[c] |= number;
            other += !number && !none && *cells[r * n + c];
        }
        numbers[c] &= !other;
    }
    begin_table(p, caption, columns, n, numbers);
    for (size_t r = 0; r < rows; r++) {
        vkt__str_printf(&p->html, "<tr>");
        for (size_t c = 0; c < n; c++) {
            const char *cell = cells[r * n + c];
            vkt__str_printf(&p->html, "<td%s>",
                            numbers[c]              ? " class=\"n\""
                            : strlen(cell) > LONGER ? " class=\"w\""
                            : strlen(cell) > LONG   ? " class=\"v\""
                                                    : "");
            put_text(p, cell);
            vkt__str_printf(&p->html, "</td>");
        }
        vkt__str_printf(&p->html, "</tr>\n");
    }
    vkt__page_table_end(p);
    free(numbers);
}

void vkt__page_pair(vkt__page *p, const char *what, const char *which)
{
    vkt__str_printf(&p->html, "<tr><th scope=\"row\">");
    vkt__markup_escape(&p->html, what);
    vkt__str_printf(&p->html, "</th><td class=\"long\">");
    put_text(p, which);
    vkt__str_printf(&p->html, "</td></tr>\n");
}

void vkt__page_list(vkt__page *p, const char *const *items, size_t n)
{
    if (n) vkt__str_printf(&p->html, "<ul>");
    for (size_t i = 0; i < n; i++) {
        vkt__str_printf(&p->html, "<li>");
        put_text(p, items[i]);
        vkt__str_printf(&p->html, "</li>\n");
    }
    if (n) vkt__str_printf(&p->html, "</ul>\n");
}

void vkt__page_table_end(vkt__page *p)
{
    vkt__str_printf(&p->html, "</tbody></table></div>\n");
}
