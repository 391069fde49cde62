/* machine_pages.h: the charts of all devices. */
#include <math.h>
#include <stdlib.h>

#include "report/bars.h"
#include "report/machine_pages.h"
#include "runs/curve.h"

/* A page stays readable and small, whatever the files of strangers hold. */
enum { MAX_BARS = 40, MAX_CHARTS = 48 };

typedef struct charts {
    vkt__page *p;
    const vkt__machine_view *v;
    const char *dir;
    size_t n_pictures;
    vkt__bar *bar; /* [devices] */
    vkt_status st;
    vkt__arena a;
} charts;

static void add_bar(charts *c, size_t n, size_t device, double value, double low, double high)
{
    const vkt__device_view *d = &c->v->device[device];
    const vkt_bench_info *i = &d->m->info;
    c->bar[n] = (vkt__bar) {
        .name = d->name,
        .link = d->page,
        .about = vkt__arena_printf(&c->a, "%s; %s; vktrain %s, %s; %s", i->device, i->driver,
                                   i->version, i->commit, i->date),
        .value = value,
        .low = low,
        .high = high,
        .key = device,
        .color = d->color,
    };
}

/* The n bars that add_bar was given, as a chart and, in a site, as a picture. */
static void put_chart(charts *c, const char *title, const char *unit, const char *precision,
                      bool higher, size_t n)
{
    if (!n || c->st != VKT_OK) return;
    vkt__bars b = { .title = title, .unit = unit, .kind = precision, .higher = higher };
    vkt__bars_sort(c->bar, n, higher);
    b.bar = c->bar;
    b.n = VKT_MIN(n, MAX_BARS);
    b.n_left_out = n - b.n;
    if (c->dir) {
        b.picture = vkt__arena_printf(&c->a, "chart-%zu.png", ++c->n_pictures);
        c->st = vkt__bars_png(&b, vkt__arena_printf(&c->a, "%s/%s", c->dir, b.picture));
    }
    vkt__bars_html(&b, &c->p->html);
}

static void put_measure(charts *c, const vkt__measure *x)
{
    for (size_t i = 0; i < x->n; i++)
        add_bar(c, i, x->by[i].device, x->by[i].value, x->by[i].low, x->by[i].high);
    put_chart(c, x->name, x->unit, x->precision, x->higher, x->n);
}

static void begin_charts(charts *c, const char *heading, const char *about)
{
    vkt__page_heading(c->p, 2, "%s", heading);
    vkt__page_text(c->p, "%s", about);
    vkt__str_printf(&c->p->html, "<div class=\"charts\">\n");
}

static void end_charts(charts *c)
{
    vkt__str_printf(&c->p->html, "</div>\n");
}

/* What a click opens. */
static void begin_fold(charts *c, const char *summary)
{
    vkt__str_printf(&c->p->html, "<details><summary>%s</summary>\n", summary);
}

static void end_fold(charts *c)
{
    vkt__str_printf(&c->p->html, "</details>\n");
}

/* ---- what stands first ---- */

static void put_scores(charts *c)
{
    const vkt__machine_view *v = c->v;
    uint32_t newest = v->n_devices ? v->device[0].m->score_version : 0;
    size_t n = 0;
    for (size_t d = 0; d < v->n_devices; d++) {
        const vkt_bench_machine *m = v->device[d].m;
        if (m->score_version != newest || !(m->median[0] > 0)) continue;
        add_bar(c, n++, d, m->median[0], m->low[0], m->high[0]);
    }
    put_chart(c, vkt__arena_printf(&c->a, "Score, version %u", newest), "points", "fp32", true, n);
    for (size_t half = 0; half < 2; half++) {
        n = 0;
        for (size_t d = 0; d < v->n_devices; d++) {
            const vkt_bench_machine *m = v->device[d].m;
            if (m->suite_median[half] > 0)
                add_bar(c, n++, d, m->suite_median[half], m->suite_low[half], m->suite_high[half]);
        }
        put_chart(c, half ? "Score of suite 2, 16 bits" : "Score of suite 2, fp32", "points",
                  half ? "bf16" : "fp32", true, n);
    }
}

static bool is_product(const char *name)
{
    return !strncmp(name, "matmul", 6) || !strncmp(name, "attention", 9) ||
           !strncmp(name, "conv", 4);
}

/* Median of the ops' shares of the ceiling: of what arithmetic limits, or of what memory limits. */
static void put_shares(charts *c, bool products)
{
    const vkt__machine_view *v = c->v;
    double *share = vkt__alloc((v->n_measures + 1) * sizeof *share);
    size_t n = 0;
    for (size_t d = 0; d < v->n_devices; d++) {
        size_t k = 0;
        for (size_t i = 0; i < v->n_measures; i++) {
            const vkt__measure *x = &v->measure[i];
            if (x->group != VKT_BENCH_OPS || is_product(x->name) != products) continue;
            const vkt__device_value *own = vkt__measure_of(x, d);
            if (own && own->percent > 0) share[k++] = own->percent;
        }
        if (k)
            add_bar(c, n++, d, vkt__median(share, k), vkt__quantile(share, k, 0.25),
                    vkt__quantile(share, k, 0.75));
    }
    free(share);
    put_chart(c,
              products ? "Products, convolutions, attention: share of the device's own ceiling"
                       : "Other ops: share of the device's own ceiling",
              "%", "", true, n);
}

/* How many of a measure's devices told the energy: bars of it. */
static size_t energy_bars(charts *c, const vkt__measure *x)
{
    size_t n = 0;
    for (size_t k = 0; k < x->n; k++) {
        double mj = 1000 * x->by[k].joules;
        if (mj > 0) add_bar(c, n++, x->by[k].device, mj, mj, mj);
    }
    return n;
}

static void put_energy(charts *c)
{
    const vkt__machine_view *v = c->v;
    size_t drawn = 0;
    for (size_t i = 0; i < v->n_measures && drawn < MAX_CHARTS; i++) {
        const vkt__measure *x = &v->measure[i];
        size_t n = energy_bars(c, x);
        if (!n) continue;
        if (!drawn++) {
            begin_fold(c, "Energy of an example or token");
            begin_charts(c, "Energy", "Where the driver or the system tells it.");
        }
        put_chart(c, x->name, "mJ", x->precision, false, n);
    }
    if (!drawn) return;
    end_charts(c);
    end_fold(c);
}

/* ---- one device under several drivers ---- */

static bool same_device(const vkt__device_view *a, const vkt__device_view *b)
{
    return !strcmp(a->m->info.device, b->m->info.device) && !strcmp(a->m->info.ids, b->m->info.ids);
}

/* The geometric mean of how many times faster device b is than a, over *n steps and ops. */
static double speedup(const vkt__machine_view *v, size_t a, size_t b, size_t *n)
{
    double sum = 0;
    *n = 0;
    for (size_t i = 0; i < v->n_measures; i++) {
        const vkt__measure *x = &v->measure[i];
        if (x->group != VKT_BENCH_OPS && x->group != VKT_BENCH_STEPS) continue;
        const vkt__device_value *of_a = vkt__measure_of(x, a), *of_b = vkt__measure_of(x, b);
        if (!of_a || !of_b) continue;
        sum += log(vkt__measure_speedup(x, of_a->value, of_b->value));
        ++*n;
    }
    return *n ? exp(sum / (double)*n) : NAN;
}

/* A chart for each device that was measured under more than one driver, relative to the first. */
static void put_drivers(charts *c)
{
    const vkt__machine_view *v = c->v;
    bool *taken = vkt__alloc((v->n_devices + 1) * sizeof *taken), begun = false;
    for (size_t d = 0; d < v->n_devices; d++) {
        size_t n = 0, shared, least = SIZE_MAX;
        if (taken[d]) continue;
        for (size_t k = d; k < v->n_devices; k++) {
            if (taken[k] || !same_device(&v->device[d], &v->device[k])) continue;
            taken[k] = true;
            double times = speedup(v, d, k, &shared);
            if (!isfinite(times)) continue;
            add_bar(c, n, k, times, times, times);
            const vkt_bench_info *i = &v->device[k].m->info;
            c->bar[n].name = i->driver;
            if (k != d) least = VKT_MIN(least, shared);
            n++;
        }
        if (n < 2) continue;
        if (!begun)
            begin_charts(c, "One device, several drivers",
                         "Geometric means of the speeds of steps and ops that both files have.");
        begun = true;
        put_chart(c,
                  vkt__arena_printf(&c->a, "%s: speed beside %s, over %zu rows and more",
                                    v->device[d].m->info.device, v->device[d].m->info.driver,
                                    least),
                  "x", "", true, n);
    }
    if (begun) end_charts(c);
    free(taken);
}

/* ---- all rows of a group ---- */

static void put_group(charts *c, vkt_bench_group g, const char *about, bool folded)
{
    const vkt__machine_view *v = c->v;
    size_t n = 0, drawn = 0;
    for (size_t i = 0; i < v->n_measures; i++) n += v->measure[i].group == g;
    if (!n) return;
    if (folded) begin_fold(c, vkt__arena_printf(&c->a, "%s: %zu rows", vkt__machine_group(g), n));
    begin_charts(c, vkt__machine_group(g), about);
    for (size_t i = 0; i < v->n_measures && drawn < MAX_CHARTS; i++) {
        if (v->measure[i].group != g) continue;
        put_measure(c, &v->measure[i]);
        drawn++;
    }
    end_charts(c);
    if (drawn < n)
        vkt__page_text(c->p, "%zu more rows are not drawn: `bench table` draws %d of a kind.",
                       n - drawn, MAX_CHARTS);
    if (folded) end_fold(c);
}

static void put_legend(charts *c)
{
    vkt__str_printf(&c->p->html, "<p class=\"legend\">");
    for (size_t k = 0; vkt__vendor_of_color(k); k++) {
        size_t d = 0;
        while (d < c->v->n_devices && c->v->device[d].color != (int)k) d++;
        if (d < c->v->n_devices)
            vkt__str_printf(&c->p->html, "<span><i class=\"c%zu\"></i>%s</span> ", k,
                            vkt__vendor_of_color(k));
    }
    vkt__str_printf(&c->p->html, "</p>\n");
}

vkt_status vkt__machine_charts(vkt__page *p, const vkt__machine_view *v, const char *dir)
{
    charts c = { .p = p, .v = v, .dir = dir };
    c.bar = vkt__alloc((v->n_devices + 1) * sizeof *c.bar);
    put_legend(&c);
    begin_charts(&c, "At a glance",
                 "The score is 100 times the geometric mean of reference time / time of five "
                 "training steps. Shares are of what the device itself reaches in plain copies "
                 "and multiply-adds; the line on a bar covers the middle half.");
    put_scores(&c);
    put_shares(&c, true);
    put_shares(&c, false);
    end_charts(&c);
    put_group(
        &c, VKT_BENCH_TARGET,
        "Training from nothing until the accuracy is reached: what wrong results cannot fake.",
        false);
    put_group(&c, VKT_BENCH_STEPS,
              "Medians; the line on a bar covers the middle half of the runs, of several files "
              "from the lowest to the highest.",
              false);
    put_energy(&c);
    put_drivers(&c);
    put_group(&c, VKT_BENCH_CEILINGS,
              "What the device reaches in copies and multiply-adds, and what a launch costs.",
              true);
    put_group(&c, VKT_BENCH_OPS, "Single ops, the rows that most devices have first.", true);
    put_group(&c, VKT_BENCH_HOST, "What the processor and the disk do: `bench --host`.", true);
    vkt_status st = c.st;
    free(c.bar);
    vkt__arena_finish(&c.a);
    return st;
}
