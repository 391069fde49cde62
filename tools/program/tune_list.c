/* tune_list.h */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "tune_list.h"

static const char *shape_text(const vkt_tune_shape *s)
{
    return cli_text("%s %u x %u x %u, %s to %s", vkt_layout_name(s->layout), s->M, s->N, s->K,
                    vkt_dtype_name(s->in), vkt_dtype_name(s->out));
}

static double tflops(const vkt_tune_shape *s, double ms)
{
    return ms > 0 ? 2.0 * s->M * s->N * s->K / ms * 1e-9 : NAN;
}

/* A row, as soon as it is measured: a kernel may take the device along. */
static void print_row(const tune_list *list, const vkt_tune_candidate *c)
{
    bool timed = isfinite(c->ms), wrong = !(c->share <= 1);
    if (!list->n)
        printf("%s\n  %-20s %11s %9s %10s %9s\n", shape_text(c->shape), "kernel", "ms", "TFLOP/s",
               "tolerance", "registers");
    printf("  %-20s %11s %9s %10s %9s%s\n", c->kernel, timed ? cli_text("%.4f", c->ms) : "-",
           timed ? cli_text("%.3f", tflops(c->shape, c->ms)) : "-",
           isfinite(c->share) ? cli_text("%.0f%%", 100 * c->share) : "-",
           c->registers ? cli_text("%u", c->registers) : "-",
           !isfinite(c->share) ? "  can't run"
           : wrong             ? "  wrong"
                               : "");
    fflush(stdout);
}

void tune_list_add(void *user, const vkt_tune_candidate *c)
{
    tune_list *list = user;
    if (!list->json) print_row(list, c);
    list->n++;
    if (!list->kernels) list->kernels = json_array();
    json_array_append_new(
        list->kernels,
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:b}", "kernel", c->kernel, "ms",
                  cli_json_number(c->ms), "tflops",
                  cli_json_number(isfinite(c->ms) ? tflops(c->shape, c->ms) : NAN),
                  "share_of_tolerance", cli_json_number(c->share), "registers",
                  c->registers ? json_integer(c->registers) : json_null(), "right", c->share <= 1));
}

void tune_list_end(void *user, const vkt_tune_result *r)
{
    tune_list *list = user;
    const vkt_tune_shape *s = &r->shape;
    bool timed = isfinite(r->best_ms);
    if (!list->json && !timed)
        printf("%s: no kernel could be timed\n", shape_text(s));
    else if (!list->json)
        printf("  fastest of those that are right: %s; built-in choice: %s\n", r->best, r->table);
    if (!list->products) list->products = json_array();
    json_array_append_new(list->products,
                          json_pack("{s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:s?, s:o}", "layout",
                                    vkt_layout_name(s->layout), "M", (int)s->M, "N", (int)s->N, "K",
                                    (int)s->K, "type", vkt_dtype_name(s->in), "out",
                                    vkt_dtype_name(s->out), "table", r->table, "best",
                                    timed ? r->best : NULL, "kernels",
                                    list->kernels ? list->kernels : json_array()));
    list->kernels = NULL;
    list->n = 0;
}

void tune_list_finish(tune_list *list, bool prints)
{
    if (prints && list->json)
        cli_json_print(
            json_pack("{s:o}", "products", list->products ? list->products : json_array()),
            JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    else
        json_decref(list->products);
    json_decref(list->kernels);
    *list = (tune_list) { .json = list->json };
}
