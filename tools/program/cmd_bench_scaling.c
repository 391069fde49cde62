/* vktrain bench --scaling: step time against batch, width and depth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_bench_scaling.h"

static void on_progress(void *user, const vkt_bench_progress *p)
{
    (void)user;
    cli_live(cli_text("[%u/%u] %s (%s)", p->done + 1, p->total, p->what, cli_time(p->elapsed_s)));
}

static void print(const vkt_scaling_curve *c)
{
    static const cli_column col[] = { { "", true },
                                      { "ms", true },
                                      { "GFLOP/s", true },
                                      { "dispatches", true },
                                      { "memory", true } };
    enum { CELLS = VKT_SCALING_POINTS * CLI_COUNT(col) };
    char text[CELLS][32];
    const char *cell[CELLS];
    size_t n = 0;
    for (size_t i = 0; i < c->n_points; i++) {
        const vkt_scaling_point *p = &c->point[i];
        const char *const row[] = { cli_text("%u", p->n), cli_number(p->ms),
                                    cli_text("%.3g", p->flops / p->ms * 1e-6),
                                    cli_text("%u", p->n_dispatches), cli_bytes(p->memory_bytes) };
        for (size_t k = 0; k < CLI_COUNT(row); k++, n++) {
            snprintf(text[n], sizeof text[n], "%s", row[k]);
            cell[n] = text[n];
        }
    }
    printf("\n%s%s%s (%s)\n", cli_color(stdout, CLI_BOLD), c->name, cli_color(stdout, CLI_PLAIN),
           c->held);
    cli_table(stdout, col, CLI_COUNT(col), cell, c->n_points);
    printf("%s\n", c->why);
}

int cmd_bench_scaling(const cli_options *common, const bench_scaling_options *o)
{
    vkt_gpu *gpu = NULL;
    vkt_scaling *s = NULL;
    bool live = !common->quiet && cli_is_terminal(stdout);
    vkt_bench_desc desc = { .quick = o->quick,
                            .once = o->once,
                            .gpu = &common->gpu,
                            .on_progress = live ? on_progress : NULL };
    vkt_status st = vkt_gpu_create(&common->gpu, &gpu);
    if (st == VKT_OK) st = vkt_scaling_run(gpu, &desc, &s);
    cli_live("");
    for (size_t k = 0; s && k < VKT_SCALING_CURVES; k++) print(&s->curve[k]);
    if (st == VKT_OK && o->json) st = vkt_scaling_save_json(s, o->json);
    if (st == VKT_OK && o->csv) st = vkt_scaling_save_csv(s, o->csv);
    if (st == VKT_OK && o->svg) st = vkt_scaling_save_svg(s, o->svg);
    vkt_free(s);
    vkt_gpu_destroy(&gpu);
    return cli_exit_code(st);
}
