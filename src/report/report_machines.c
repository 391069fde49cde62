/* vkt_report_machines: benchmark files of many machines as a page, or as a folder of pages. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/os.h"
#include "report/machine_pages.h"

enum { FIXED = 5, LAST = 3, COLUMNS = FIXED + VKT_BENCH_COLUMNS + LAST };
static const char index_name[] = "index.html";

/* ---- the tables behind the charts ---- */

static void machine_row(vkt__arena *a, const vkt_bench_machine *m, const char **cells)
{
    const vkt_bench_info *i = &m->info;
    size_t k = 0;
    cells[k++] = *i->ids ? vkt__arena_printf(a, "%s (%s)", i->device, i->ids) : i->device;
    for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++)
        cells[k++] = isnan(m->median[c]) ? "-"
                     : m->n_files > 1    ? vkt__arena_printf(a, "%.4g (%.4g to %.4g)", m->median[c],
                                                             m->low[c], m->high[c])
                                         : vkt__arena_printf(a, "%.4g", m->median[c]);
    cells[k++] = i->driver;
    cells[k++] = i->os;
    cells[k++] = i->cpu;
    cells[k++] = vkt__arena_printf(a, "%s, %s", i->version, i->commit);
    cells[k++] = vkt__arena_printf(a, "%zu", m->n_files);
    cells[k++] = vkt__arena_printf(a, "%zu", m->n_flagged);
    cells[k++] = vkt__arena_printf(a, "%s; power: %s%s%s; %s", i->settings, i->power,
                                   *i->limits ? "; " : "", i->limits, i->date);
}

/* A table of n rows without the columns in which no machine has a value. */
static void table(vkt__page *p, vkt__arena *a, const char *caption, const char *const *columns,
                  const char *const *cells, size_t n)
{
    const char *named[COLUMNS], **kept = vkt__arena_alloc(a, (n * COLUMNS + 1) * sizeof *kept);
    size_t at[COLUMNS], wide = 0, i;
    for (size_t c = 0; c < COLUMNS; c++) {
        for (i = 0; i < n; i++)
            if (*cells[i * COLUMNS + c] && strcmp(cells[i * COLUMNS + c], "-")) break;
        if (i == n) continue;
        named[wide] = columns[c];
        at[wide++] = c;
    }
    for (i = 0; i < n * wide; i++) kept[i] = cells[i / wide * COLUMNS + at[i % wide]];
    vkt__page_table(p, caption, named, wide, kept, n);
}

static void put_tables(vkt__page *p, vkt__arena *a, const vkt_bench_machine *machines, size_t n)
{
    static const char *const rest[] = { "driver", "system",  "CPU", "vktrain, commit",
                                        "files",  "flagged", "how" };
    const char *columns[COLUMNS] = { "device" };
    for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++) columns[1 + c] = vkt_bench_column(c);
    for (size_t c = 0; c < VKT_COUNT(rest); c++) columns[1 + VKT_BENCH_COLUMNS + c] = rest[c];
    const char **cells = vkt__arena_alloc(a, (n * COLUMNS + 1) * sizeof *cells);
    for (size_t i = 0; i < n; i++) machine_row(a, &machines[i], cells + i * COLUMNS);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && machines[end].score_version == machines[i].score_version;) end++;
        const char *what =
            !machines[i].score_version
                ? "Files without a score"
                : vkt__arena_printf(a, "Score version %u", machines[i].score_version);
        vkt__page_heading(p, 2, "%s", what);
        table(p, a, vkt__arena_printf(a, "%s: machines, the fastest first", what), columns,
              cells + i * COLUMNS, end - i);
    }
    vkt__page_text(p, "Medians; of several files of one machine the median of theirs, with their "
                      "range. Scores of different versions can't be compared. Flagged results lie "
                      "above what the device can do, and count nowhere.");
}

/* ---- the page ---- */

/* Above this the page has no data for its script: it would be too large to open. */
enum { MOST_VALUES = 50000, MOST_BYTES = 64 << 20 };

static bool has_script(const vkt__machine_view *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_measures; i++) n += v->measure[i].n;
    return n <= MOST_VALUES;
}

static void put_facts(vkt__page *p, vkt__arena *a, const vkt__machine_view *v)
{
    const char *const facts[][2] = {
        { "devices", vkt__arena_printf(a, "%zu", v->n_devices) },
        { "files", vkt__arena_printf(a, "%zu", v->n_files) },
        { "rows", vkt__arena_printf(a, "%zu", v->n_measures) },
        { "newest", vkt__arena_printf(a, "%.10s", v->newest) },
    };
    vkt__page_facts(p, facts, VKT_COUNT(facts));
}

static vkt_status put_index(vkt__page *p, const vkt__machine_view *v,
                            const vkt_bench_machine *machines, const char *dir)
{
    vkt__arena a = { 0 };
    bool scripted = has_script(v);
    vkt__page_begin(p, "vktrain bench: machines");
    vkt__page_style(p, "machines.css");
    put_facts(p, &a, v);
    if (dir)
        vkt__str_printf(&p->html, "<p>All values: <a href=\"results.csv\">CSV</a>, "
                                  "<a href=\"results.json\">JSON</a>.</p>\n");
    vkt__str_printf(&p->html, "<div id=\"pick\"></div>\n");
    vkt_status st = vkt__machine_charts(p, v, dir);
    put_tables(p, &a, machines, v->n_devices);
    vkt__arena_finish(&a);
    if (!scripted) {
        vkt__page_text(p, "There are too many values for filters and comparisons in this page.");
        vkt__page_end(p);
        return st;
    }
    vkt__str_printf(&p->html, "<script type=\"application/json\" id=\"data\">");
    vkt__machine_json(v, &p->html);
    vkt__str_printf(&p->html, "</script>\n");
    vkt__page_end_with(p, "machines.js");
    return st;
}

static vkt_status write_text(const char *dir, const char *name, const vkt__str *text)
{
    vkt__str path = { 0 };
    vkt__str_printf(&path, "%s/%s", dir, name);
    vkt_status st = vkt__file_replace(path.data, text->data, text->len);
    vkt__str_finish(&path);
    return st;
}

/* Names that a site gives its own files, besides those that each site has. */
static bool is_numbered(const char *name)
{
    size_t n = strlen(name), digits;
    bool device = !strncmp(name, "device-", 7), chart = !strncmp(name, "chart-", 6);
    if (!device && !chart) return false;
    name += device ? 7 : 6;
    digits = strspn(name, "0123456789");
    return digits && n > 5 &&
           !strcmp(name + strlen(name) - (device ? 5 : 4), device ? ".html" : ".png");
}

/* Makes the folder. One that is there must be empty or an earlier site, whose device pages and
 * charts are removed. ARG: it is neither. */
static vkt_status clear_site(const char *dir)
{
    char **names = NULL, *page = NULL, path[1200];
    size_t n = 0, bytes;
    bool ours = false;
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__mkdirs(dir));
    VKT_TRY(vkt__list_dir(dir, &names, &n));
    vkt__format(path, sizeof path, "%s/%s", dir, index_name);
    if (vkt__file_exists(path) && vkt__file_read(path, MOST_BYTES, &page, &bytes) == VKT_OK)
        ours = strstr(page, "<title>vktrain bench: machines</title>") != NULL;
    if (n && !ours) {
        st = vkt__fail(VKT_E_ARG, "bench",
                       "'%s' holds files that are no site of `bench table`: name a new or empty "
                       "folder, or a page that ends in .html",
                       dir);
        goto fail;
    }
    for (size_t i = 0; i < n; i++) {
        vkt__format(path, sizeof path, "%s/%s", dir, names[i]);
        if (is_numbered(names[i])) vkt__file_remove(path);
    }
fail:
    free(page);
    vkt__names_free(names, n);
    return st;
}

static vkt_status write_site(const vkt__machine_view *v, const vkt_bench_machine *machines,
                             const char *dir)
{
    vkt_status st = VKT_OK;
    vkt__str csv = { 0 }, json = { 0 };
    vkt__page p = { 0 };
    VKT_TRY(clear_site(dir));
    vkt__machine_csv(v, &csv);
    vkt__machine_json(v, &json);
    VKT_TRY(write_text(dir, "results.csv", &csv));
    VKT_TRY(write_text(dir, "results.json", &json));
    for (size_t i = 0; i < v->n_devices; i++) {
        vkt__machine_page(&p, v, i, index_name);
        VKT_TRY(write_text(dir, v->device[i].page, &p.html));
        vkt__str_finish(&p.html);
    }
    VKT_TRY(put_index(&p, v, machines, dir));
    VKT_TRY(write_text(dir, index_name, &p.html)); /* last: it is there when all of it is */
fail:
    vkt__str_finish(&p.html);
    vkt__str_finish(&csv);
    vkt__str_finish(&json);
    return st;
}

vkt_status vkt_report_machines(const vkt_bench_machine *machines, size_t n, const char *path,
                               bool site)
{
    vkt__machine_view v;
    vkt__page p = { 0 };
    vkt_status st = VKT_OK;
    vkt__machine_view_make(machines, n, site, &v);
    if (site) {
        st = write_site(&v, machines, path);
    } else {
        put_index(&p, &v, machines, NULL);
        st = vkt__file_replace(path, p.html.data, p.html.len);
    }
    vkt__str_finish(&p.html);
    vkt__machine_view_finish(&v);
    return st;
}
