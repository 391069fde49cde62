/* plot.h: what a plot shows as JSON, for the page's script: hover values, zoom, log scale,
 * smoothing. Bytes are dear: names of one letter (page.js has them), values of 5 digits, of a
 * thinned line 4. */
#include <math.h>

#include "formats/json_text.h"
#include "report/plot.h"

static void put_values(vkt__str *s, char name, const double *v, const size_t *at, size_t n,
                       int digits)
{
    vkt__str_printf(s, ",\"%c\":[", name);
    for (size_t i = 0; i < n; i++) {
        const char *comma = i ? "," : "";
        if (isfinite(v[at[i]]))
            vkt__str_printf(s, "%s%.*g", comma, digits, v[at[i]]);
        else
            vkt__str_printf(s, "%snull", comma);
    }
    vkt__str_printf(s, "]");
}

/* Steps are mostly evenly spaced: then first and distance say all. If not, the first and the
 * distances from one to the next are shorter than the steps. */
static void put_x(vkt__str *s, const double *x, const size_t *at, size_t n)
{
    double by = n > 1 ? x[at[1]] - x[at[0]] : 0;
    bool even = n > 2, whole = n > 2;
    for (size_t i = 0; i < n; i++) {
        even = even && (!i || fabs(x[at[i]] - x[at[i - 1]] - by) < 1e-9 * fabs(by));
        whole = whole && fabs(x[at[i]]) < 1e15 && x[at[i]] == floor(x[at[i]]);
    }
    if (even) {
        vkt__str_printf(s, ",\"x\":[%.9g],\"b\":%.9g", x[at[0]], by);
    } else if (whole) {
        vkt__str_printf(s, ",\"x\":[%.0f", x[at[0]]);
        for (size_t i = 1; i < n; i++) vkt__str_printf(s, ",%.0f", x[at[i]] - x[at[i - 1]]);
        vkt__str_printf(s, "],\"d\":1");
    } else {
        put_values(s, 'x', x, at, n, 7);
    }
}

/* Where a point is across; NAN: it is not drawn. */
static double across(const vkt__plot *p, const vkt__series *s, size_t i)
{
    double at = p->log_x ? log(s->x[i]) : s->x[i];
    return isfinite(at) && isfinite(s->y[i]) ? at : NAN;
}

/* Which points are kept, and room for one more: of a line those that the columns can show, else
 * all. */
static size_t *choose(const vkt__plot *p, const vkt__series *s, size_t columns, size_t *n)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; s->mark == VKT__LINE && s->n > 2 * columns && i < s->n; i++) {
        low = fmin(low, across(p, s, i));
        high = fmax(high, across(p, s, i));
    }
    *n = s->n;
    if (!(high > low)) {
        size_t *keep = vkt__alloc((s->n + 2) * sizeof *keep);
        for (size_t i = 0; i < s->n; i++) keep[i] = i;
        return keep;
    }
    vkt__thin t = { .wide = (high - low) / (double)columns };
    for (size_t i = 0; i < s->n; i++) vkt__thin_add(&t, i, across(p, s, i), s->y[i]);
    vkt__thin_end(&t);
    *n = t.n;
    return t.keep;
}

static void put_series(vkt__str *out, const vkt__plot *p, const vkt__series *s, size_t columns)
{
    size_t n, *at = choose(p, s, s->smoothed ? columns / 2 : columns, &n);
    vkt__str_printf(out, "{\"m\":\"%c\",\"c\":%d", "ldxhb"[s->mark],
                    s -> grey ? -1 : s -> color % VKT__N_COLORS);
    if (s->name) {
        vkt__str_printf(out, ",\"n\":");
        vkt__str_json(out, s->name);
    }
    if (s->faint) vkt__str_printf(out, ",\"f\":1");
    if (s->smoothed) vkt__str_printf(out, ",\"s\":1");
    put_values(out, 'y', s->y, at, n, n < s->n ? 4 : 5);
    if (s->mark == VKT__BAND) put_values(out, 'z', s->y2, at, n, 5);
    if (s->label) {
        vkt__str_printf(out, ",\"l\":[");
        for (size_t i = 0; i < n; i++) {
            if (i) vkt__str_add(out, ",", 1);
            vkt__str_json(out, s->label[at[i]] ? s->label[at[i]] : "");
        }
        vkt__str_printf(out, "]");
    }
    if (s->mark == VKT__BARS && n) at[n] = n, n++; /* the edges */
    put_x(out, s->x, at, n);
    vkt__str_printf(out, "}");
    free(at);
}

void vkt__plot_json(const vkt__plot *p, size_t columns, vkt__str *out)
{
    vkt__str_printf(out, "{\"lx\":%d,\"ly\":%d,\"x\":", p->log_x && !p->x_names, p->log_y);
    vkt__str_json(out, p->x_label ? p->x_label : "");
    vkt__str_printf(out, ",\"y\":");
    vkt__str_json(out, p->y_label ? p->y_label : "");
    if (p->x_names) {
        vkt__str_printf(out, ",\"k\":[");
        for (size_t i = 0; i < p->n_x_names; i++) {
            if (i) vkt__str_add(out, ",", 1);
            vkt__str_json(out, p->x_names[i]);
        }
        vkt__str_printf(out, "]");
    }
    vkt__str_printf(out, ",\"r\":[");
    for (size_t i = 0; i < p->n_rules; i++) {
        vkt__str_printf(out, "%s[%.9g,%d,", i ? "," : "", p->rule[i].at, p->rule[i].vertical);
        vkt__str_json(out, p->rule[i].label ? p->rule[i].label : "");
        vkt__str_printf(out, "]");
    }
    vkt__str_printf(out, "],\"s\":[");
    for (size_t i = 0; i < p->n_series; i++) {
        if (i) vkt__str_printf(out, ",\n");
        put_series(out, p, &p->series[i], columns);
    }
    vkt__str_printf(out, "]}");
}
