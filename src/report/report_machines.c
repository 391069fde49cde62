/* vkt_report_machines: benchmark files of many machines as a page. */
#include <math.h>
#include <string.h>

#include "base/os.h"
#include "report/page.h"

enum { FIXED = 5, LAST = 3, COLUMNS = FIXED + VKT_BENCH_COLUMNS + LAST };

static void machine_row(vkt__arena *a, const vkt_bench_machine *m, const char **cells)
{
    const vkt_bench_info *i = &m->info;
    size_t k = 0;
    cells[k++] = *i->ids ? vkt__arena_printf(a, "%s (%s)", i->device, i->ids) : i->device;
    cells[k++] = i->driver;
    cells[k++] = i->os;
    cells[k++] = i->cpu;
    cells[k++] = vkt__arena_printf(a, "%s, %s", i->version, i->commit);
    for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++)
        cells[k++] = isnan(m->median[c]) ? "-"
                     : m->n_files > 1    ? vkt__arena_printf(a, "%.4g (%.4g to %.4g)", m->median[c],
                                                             m->low[c], m->high[c])
                                         : vkt__arena_printf(a, "%.4g", m->median[c]);
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

vkt_status vkt_report_machines(const vkt_bench_machine *machines, size_t n, const char *path)
{
    vkt__page p = { 0 };
    vkt__arena a = { 0 };
    const char *columns[COLUMNS] = { "device", "driver", "system", "CPU", "vktrain, commit" };
    static const char *const last[] = { "files", "flagged", "how" };
    for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++) columns[FIXED + c] = vkt_bench_column(c);
    for (size_t c = 0; c < LAST; c++) columns[FIXED + VKT_BENCH_COLUMNS + c] = last[c];
    vkt__page_begin(&p, "vktrain bench: machines");
    vkt__page_text(&p, "Medians; of several files of one machine the median of theirs, with their "
                       "range. Scores of different versions can't be compared: each version has a "
                       "table of its own. Flagged results lie above what the device can do, and "
                       "count nowhere.");
    const char **cells = vkt__arena_alloc(&a, (n * COLUMNS + 1) * sizeof *cells);
    for (size_t i = 0; i < n; i++) machine_row(&a, &machines[i], cells + i * COLUMNS);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && machines[end].score_version == machines[i].score_version;) end++;
        const char *what =
            !machines[i].score_version
                ? "Files without a score"
                : vkt__arena_printf(&a, "Score version %u", machines[i].score_version);
        vkt__page_heading(&p, 2, "%s", what);
        table(&p, &a, vkt__arena_printf(&a, "%s: machines, the fastest first", what), columns,
              cells + i * COLUMNS, end - i);
    }
    vkt__page_end(&p);
    vkt_status st = vkt__file_replace(path, p.html.data, p.html.len);
    vkt__str_finish(&p.html);
    vkt__arena_finish(&a);
    return st;
}
