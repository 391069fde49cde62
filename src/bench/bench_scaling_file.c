/* The files of `vktrain bench --scaling`: JSON, CSV, SVG. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "vktrain/bench.h"
#include "base/words.h"

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *point_json(const vkt_scaling_point *p)
{
    json_t *o = json_object();
    json_object_set_new(o, "n", json_integer(p->n));
    json_object_set_new(o, "ms", number(p->ms));
    json_object_set_new(o, "q1", number(p->q1));
    json_object_set_new(o, "q3", number(p->q3));
    json_object_set_new(o, "flops", number(p->flops));
    json_object_set_new(o, "bytes", number(p->bytes));
    json_object_set_new(o, "dispatches", json_integer(p->n_dispatches));
    json_object_set_new(o, "memory_bytes", json_integer((json_int_t)p->memory_bytes));
    return o;
}

vkt_status vkt_scaling_save_json(const vkt_scaling *s, const char *path)
{
    json_t *root = json_object(), *curves = json_array();
    json_object_set_new(root, "vktrain_scaling", json_integer(1));
    json_object_set_new(root, "device", json_string(s->device));
    json_object_set_new(root, "driver", json_string(s->driver));
    json_object_set_new(root, "commit", json_string(s->commit));
    json_object_set_new(root, "load", number(s->load));
    json_object_set_new(root, "date", json_string(s->date));
    for (size_t k = 0; k < VKT_SCALING_CURVES; k++) {
        const vkt_scaling_curve *c = &s->curve[k];
        json_t *o = json_object(), *points = json_array();
        json_object_set_new(o, "name", json_string(c->name));
        json_object_set_new(o, "held", json_string(c->held));
        json_object_set_new(o, "floor_ms", number(c->floor_ms));
        json_object_set_new(o, "bend", number(c->bend));
        json_object_set_new(o, "why", json_string(c->why));
        for (size_t i = 0; i < c->n_points; i++)
            json_array_append_new(points, point_json(&c->point[i]));
        json_object_set_new(o, "points", points);
        json_array_append_new(curves, o);
    }
    json_object_set_new(root, "curves", curves);
    char *text = json_dumps(root, JSON_INDENT(1));
    vkt_status st = text ? vkt__file_replace(path, text, strlen(text))
                         : vkt__fail(VKT_E_OOM_HOST, "bench", "no memory to write '%s'", path);
    free(text);
    json_decref(root);
    return st;
}

vkt_status vkt_scaling_save_csv(const vkt_scaling *s, const char *path)
{
    vkt__str t = { 0 };
    vkt__str_printf(&t, "curve,n,ms,q1,q3,flops,bytes,dispatches,memory_bytes\n");
    for (size_t k = 0; k < VKT_SCALING_CURVES; k++)
        for (size_t i = 0; i < s->curve[k].n_points; i++) {
            const vkt_scaling_point *p = &s->curve[k].point[i];
            vkt__str_printf(&t, "%s,%u,%.6g,%.6g,%.6g,%.6g,%.6g,%u,%llu\n", s->curve[k].name, p->n,
                            p->ms, p->q1, p->q3, p->flops, p->bytes, p->n_dispatches,
                            (unsigned long long)p->memory_bytes);
        }
    vkt_status st = vkt__file_replace(path, t.data, t.len);
    vkt__str_finish(&t);
    return st;
}

/* ---- the picture ---- */

enum { WIDTH = 1000, PANEL = 300, PLOT_H = 230, LEFT = 60, TOP = 100 };

typedef struct panel {
    double x, y;                     /* its corner */
    double n_low, n_high, low, high; /* ends of the axes: size, ms */
} panel;

static double x_of(const panel *p, double n)
{
    return p->x + (PANEL - 30) * log(n / p->n_low) / log(p->n_high / p->n_low);
}

static double y_of(const panel *p, double ms)
{
    double y = p->y + PLOT_H - PLOT_H * log(ms / p->low) / log(p->high / p->low);
    return fmin(fmax(y, p->y), p->y + PLOT_H);
}

/* What proportional growth from the best point would be. */
static double proportional(const vkt_scaling_curve *c, size_t i)
{
    return c->point[c->best].ms * c->point[i].flops / c->point[c->best].flops;
}

static void grid(vkt__str *s, const panel *p, const vkt_scaling_curve *c)
{
    for (int e = -4; e <= 5; e++) {
        double ms = pow(10, e);
        if (ms < p->low * 0.999 || ms > p->high * 1.001) continue;
        vkt__str_printf(s,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\">%g</text>\n",
                        p->x, y_of(p, ms), p->x + PANEL - 30, y_of(p, ms), p->x - 5,
                        y_of(p, ms) + 4, ms);
    }
    for (size_t i = 0; i < c->n_points; i++)
        vkt__str_printf(
            s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"#555\">%u</text>\n",
            x_of(p, c->point[i].n), p->y + PLOT_H + 16, c->point[i].n);
}

/* A line of text broken into lines of about `most` characters. */
static void paragraph(vkt__str *s, double x, double y, const char *text, size_t most)
{
    while (*text) {
        size_t n = strlen(text);
        if (n > most) {
            for (n = most; n && text[n] != ' ';) n--;
            if (!n) n = most;
        }
        char line[128];
        snprintf(line, sizeof line, "%.*s", (int)VKT_MIN(n, sizeof line - 1), text);
        vkt__str_printf(s, "<text x=\"%.1f\" y=\"%.1f\">", x, y);
        vkt__markup_escape(s, line);
        vkt__str_printf(s, "</text>\n");
        text += n;
        while (*text == ' ') text++;
        y += 15;
    }
}

static void draw(vkt__str *s, const vkt_scaling_curve *c, double x)
{
    panel p = { .x = x, .y = TOP, .low = INFINITY, .high = 0 };
    vkt__str_printf(s,
                    "<text x=\"%.1f\" y=\"%d\" font-size=\"15\" font-weight=\"bold\">%s</text>\n",
                    x, TOP - 24, c->name);
    vkt__str_printf(s, "<text x=\"%.1f\" y=\"%d\" fill=\"#555\">%s</text>\n", x, TOP - 8, c->held);
    if (c->n_points < 2) return;
    p.n_low = c->point[0].n;
    p.n_high = c->point[c->n_points - 1].n;
    for (size_t i = 0; i < c->n_points; i++) {
        p.low = fmin(p.low, c->point[i].ms);
        p.high = fmax(p.high, c->point[i].q3);
    }
    p.low = pow(10, floor(log10(p.low)));
    p.high = pow(10, ceil(log10(p.high)));
    grid(s, &p, c);
    vkt__str_printf(s,
                    "<polyline fill=\"none\" stroke=\"#999\" stroke-dasharray=\"5 4\" points=\"");
    for (size_t i = 0; i < c->n_points; i++)
        vkt__str_printf(s, "%.1f,%.1f ", x_of(&p, c->point[i].n), y_of(&p, proportional(c, i)));
    vkt__str_printf(
        s, "\"/>\n<polyline fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\" points=\"");
    for (size_t i = 0; i < c->n_points; i++)
        vkt__str_printf(s, "%.1f,%.1f ", x_of(&p, c->point[i].n), y_of(&p, c->point[i].ms));
    vkt__str_printf(s, "\"/>\n");
    for (size_t i = 0; i < c->n_points; i++) {
        const vkt_scaling_point *q = &c->point[i];
        vkt__str_printf(
            s,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#0072b2\" "
            "stroke-opacity=\"0.4\" stroke-width=\"4\"/><circle cx=\"%.1f\" cy=\"%.1f\" "
            "r=\"4\" fill=\"#0072b2\"><title>%s %u: %.4g ms, %.4g GFLOP/s</title></circle>\n",
            x_of(&p, q->n), y_of(&p, q->q1), x_of(&p, q->n), y_of(&p, q->q3), x_of(&p, q->n),
            y_of(&p, q->ms), c->name, q->n, q->ms, q->flops / q->ms * 1e-6);
    }
    if (isfinite(c->bend))
        vkt__str_printf(s,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#d55e00\" "
                        "stroke-dasharray=\"2 3\"/>\n",
                        x_of(&p, c->bend), p.y, x_of(&p, c->bend), p.y + PLOT_H);
    paragraph(s, x - 20, TOP + PLOT_H + 40, c->why, 46);
}

vkt_status vkt_scaling_save_svg(const vkt_scaling *s, const char *path)
{
    vkt__str t = { 0 };
    enum { HEIGHT = TOP + PLOT_H + 170 };
    vkt__str_printf(
        &t,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
        "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<desc>vktrain bench</desc>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text "
        "x=\"20\" "
        "y=\"26\" font-size=\"17\" font-weight=\"bold\">milliseconds a training step of "
        "an MLP takes, ",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    vkt__markup_escape(&t, s->device);
    vkt__str_printf(&t, "</text>\n<text x=\"20\" y=\"44\" fill=\"#555\">");
    vkt__markup_escape(&t, s->driver);
    vkt__str_printf(&t, ", commit %s, %s", s->commit, s->date);
    if (isfinite(s->load)) vkt__str_printf(&t, ", load average %.1f before", s->load);
    vkt__str_printf(&t,
                    "</text>\n<text x=\"20\" y=\"60\" fill=\"#555\">points: the best run; bars: "
                    "the middle half; dashed: in proportion to the work, from the best point; "
                    "dotted: the bend</text>\n");
    for (size_t k = 0; k < VKT_SCALING_CURVES; k++)
        draw(&t, &s->curve[k], LEFT + (double)k * (PANEL + 20));
    vkt__str_printf(&t, "</svg>\n");
    vkt_status st = vkt__file_replace(path, t.data, t.len);
    vkt__str_finish(&t);
    return st;
}
