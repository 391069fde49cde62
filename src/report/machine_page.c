/* machine_pages.h: the page of one device. */
#include <math.h>

#include "report/bars.h"
#include "report/machine_pages.h"

const char *vkt__machine_number(vkt__arena *a, double v)
{
    if (!isfinite(v)) return "-";
    return vkt__arena_printf(a,
                             v >= 1000  ? "%.0f"
                             : v >= 100 ? "%.1f"
                             : v >= 10  ? "%.2f"
                                        : "%.4g",
                             v);
}

const char *vkt__machine_group(vkt_bench_group g)
{
    static const char *const names[] = { "Ceilings", "Ops", "Training steps and generation",
                                         "Time to a result", "Around the kernels" };
    _Static_assert(VKT_COUNT(names) == VKT_BENCH_N_GROUPS, "a name for each group");
    return names[g];
}

/* How many devices are faster. */
static size_t place_of(const vkt__measure *x, double value)
{
    size_t faster = 0;
    for (size_t i = 0; i < x->n; i++) faster += vkt__measure_speedup(x, value, x->by[i].value) > 1;
    return faster + 1;
}

static void put_table(vkt__page *p, vkt__arena *a, const vkt__machine_view *v, size_t device,
                      vkt_bench_group g)
{
    enum { COLUMNS = 8 };
    static const char *const columns[COLUMNS] = {
        "row", "median", "unit", "middle half", "% of ceiling", "place", "of the median device",
        "how"
    };
    const char **cells = vkt__arena_alloc(a, (v->n_measures * COLUMNS + 1) * sizeof *cells);
    size_t k = 0;
    for (size_t i = 0; i < v->n_measures; i++) {
        const vkt__measure *x = &v->measure[i];
        const vkt__device_value *own = vkt__measure_of(x, device);
        if (x->group != g || !own) continue;
        const char **c = cells + COLUMNS * k++;
        bool others = x->n > 1;
        c[0] = x->name;
        c[1] = vkt__machine_number(a, own->value);
        c[2] = x->unit;
        c[3] = vkt__arena_printf(a, "%s to %s", vkt__machine_number(a, own->low),
                                 vkt__machine_number(a, own->high));
        c[4] = isfinite(own->percent) ? vkt__arena_printf(a, "%.1f", own->percent) : "-";
        c[5] = others ? vkt__arena_printf(a, "%zu of %zu", place_of(x, own->value), x->n) : "-";
        c[6] = others
                   ? vkt__arena_printf(a, "%.2f x", vkt__measure_speedup(x, x->median, own->value))
                   : "-";
        c[7] = isfinite(own->row->growth)
                   ? vkt__arena_printf(a, "growth %.2f, %s", own->row->growth, own->row->note)
                   : own->row->note;
    }
    if (!k) return;
    vkt__page_heading(p, 2, "%s", vkt__machine_group(g));
    vkt__page_table(p, vkt__machine_group(g), columns, COLUMNS, cells, k);
}

/* Rows that have no speed, and what was not measured. */
static void put_rest(vkt__page *p, vkt__arena *a, const vkt_bench_machine *m)
{
    size_t most = 1, n = 0;
    for (size_t f = 0; f < m->n_files; f++) most += m->files[f]->n_rows + m->files[f]->n_left_out;
    const char **line = vkt__arena_alloc(a, most * sizeof *line);
    for (size_t f = 0; f < m->n_files; f++) {
        const vkt_bench *b = m->files[f];
        for (size_t r = 0; r < b->n_rows; r++) {
            const vkt_bench_row *x = &b->rows[r];
            if (x->refused || x->flag)
                line[n++] =
                    vkt__arena_printf(a, "%s, %s: %s", x->name, x->refused ? "refused" : "flagged",
                                      x->refused ? x->refused : x->flag);
        }
        for (size_t k = 0; k < b->n_left_out; k++) line[n++] = b->left_out[k];
    }
    if (!n) return;
    vkt__page_heading(p, 2, "Without a speed");
    vkt__page_list(p, line, n);
}

/* How it stands beside the median device, a bar a step. */
static void put_bars(vkt__page *p, vkt__arena *a, const vkt__machine_view *v, size_t device)
{
    enum { MOST = 24 };
    vkt__bar bar[MOST];
    vkt__bars b = { .title = "Training steps beside the median device",
                    .unit = "x",
                    .kind = "",
                    .higher = true,
                    .bar = bar };
    for (size_t i = 0; i < v->n_measures && b.n < MOST; i++) {
        const vkt__measure *x = &v->measure[i];
        const vkt__device_value *own = vkt__measure_of(x, device);
        if (x->group != VKT_BENCH_STEPS || !own || x->n < 2) continue;
        double times = vkt__measure_speedup(x, x->median, own->value),
               low = vkt__measure_speedup(x, x->median, own->low),
               high = vkt__measure_speedup(x, x->median, own->high);
        bar[b.n++] = (vkt__bar) { .name = x->name,
                                  .about = vkt__arena_printf(a, "%zu devices", x->n),
                                  .value = times,
                                  .low = fmin(low, high),
                                  .high = fmax(low, high),
                                  .key = device,
                                  .color = v->device[device].color };
    }
    if (!b.n) return;
    vkt__bars_sort(bar, b.n, true);
    vkt__str_printf(&p->html, "<div class=\"charts\">\n");
    vkt__bars_html(&b, &p->html);
    vkt__str_printf(&p->html, "</div>\n");
}

void vkt__machine_page(vkt__page *p, const vkt__machine_view *v, size_t device, const char *index)
{
    const vkt__device_view *d = &v->device[device];
    const vkt_bench_info *i = &d->m->info;
    vkt__arena a = { 0 };
    vkt__page_begin(p, d->name);
    vkt__page_style(p, "machines.css");
    vkt__str_printf(&p->html, "<p><a href=\"%s\">All devices</a></p>\n", index);
    const char *score =
        isfinite(d->m->median[0])
            ? vkt__arena_printf(&a, "%s (version %u)", vkt__machine_number(&a, d->m->median[0]),
                                d->m->score_version)
            : NULL;
    const char *const facts[][2] = {
        { "score", score },
        { "driver", i->driver },
        { "type", i->type },
        { "system", *i->os ? i->os : NULL },
        { "CPU", *i->cpu ? i->cpu : i->host },
        { "clocks", *i->clocks ? i->clocks : NULL },
        { "power", i->power },
        { "limits", *i->limits ? i->limits : NULL },
        { "vktrain", vkt__arena_printf(&a, "%s, commit %s", i->version, i->commit) },
        { "measured", vkt__arena_printf(&a, "%s; %s", i->date, i->settings) },
        { "files", vkt__arena_printf(&a, "%zu", d->m->n_files) },
        { "can do", i->caps },
    };
    vkt__page_facts(p, facts, VKT_COUNT(facts));
    put_bars(p, &a, v, device);
    static const vkt_bench_group order[] = { VKT_BENCH_TARGET, VKT_BENCH_STEPS, VKT_BENCH_CEILINGS,
                                             VKT_BENCH_OPS, VKT_BENCH_HOST };
    for (size_t g = 0; g < VKT_COUNT(order); g++) put_table(p, &a, v, device, order[g]);
    put_rest(p, &a, d->m);
    vkt__page_end(p);
    vkt__arena_finish(&a);
}
