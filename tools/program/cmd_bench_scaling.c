/* vktrain bench --scaling: step time against batch, width and depth; over ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_bench_scaling.h"

void cmd_bench_progress(void *user, const vkt_bench_progress *p)
{
    (void)user;
    const char *eta = isfinite(p->eta_s) ? cli_text(", about %s left", cli_time(p->eta_s)) : "";
    cli_progress(!strcmp(p->what, "done")
                     ? ""
                     : cli_text("[%u/%u] %s (%s%s)", p->done + (p->done < p->total), p->total,
                                p->what, cli_time(p->elapsed_s), eta));
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
    vkt_bench_desc desc = { .quick = o->quick,
                            .once = o->once,
                            .gpu = &common->gpu,
                            .on_progress = common->quiet ? NULL : cmd_bench_progress };
    vkt_status st = vkt_gpu_create(&common->gpu, &gpu);
    if (st == VKT_OK) st = vkt_scaling_run(gpu, &desc, &s);
    cli_progress("");
    for (size_t k = 0; s && k < VKT_SCALING_CURVES; k++) print(&s->curve[k]);
    if (st == VKT_OK && o->json) st = vkt_scaling_save_json(s, o->json);
    if (st == VKT_OK && o->csv) st = vkt_scaling_save_csv(s, o->csv);
    if (st == VKT_OK && o->svg) st = vkt_scaling_save_svg(s, o->svg);
    vkt_free(s);
    vkt_gpu_destroy(&gpu);
    return cli_exit_code(st);
}

/* ---- over ranks ---- */

static void print_ranks(const vkt_ranks_scaling *s)
{
    printf("%s, batch %u, on %s, by %s\n\nmeasured: the batch shared by the ranks\n"
           "%6s  %9s  %10s  %18s  %12s  %18s\n",
           s->recipe, s->batch, s->device, s->library, "ranks", "ms a step", "efficiency",
           "exchange after, ms", "under it, ms", "by the line, ms");
    for (size_t i = 0; i < s->n_points; i++) {
        const vkt_ranks_point *p = &s->point[i];
        printf("%6u  %9.3g  %9.1f%%  %18.3g  %12.3g  %18.3g\n", p->ranks, p->ms,
               100 * p->efficiency, p->exchange_ms, p->hidden_ms, p->exchange_model_ms);
    }
    const char *rate = isfinite(s->gbytes_per_s) ? cli_text("and %.3g GB/s", s->gbytes_per_s)
                                                 : "whatever its length";
    printf("\nsums of 2 to %zu ranks: %.3g us a message %s, which these sums differ from by %.0f%% "
           "(root mean square)\n",
           s->n_points, s->alpha_us, rate, 100 * s->error);
    printf(
        "\npredicted, not measured: efficiency where each rank has the batch, and nothing of the "
        "exchange lies under the backward pass\n%-22s",
        "ranks");
    for (uint32_t i = 0; i < VKT_RANKS_FORECASTS; i++) printf("  %6u", 2u << i);
    for (size_t k = 0; k < VKT_RANKS_LINKS; k++) {
        printf("\n%-22s", cli_text("%g Gb/s, %g us", s->link[k].gbit, s->link[k].alpha_us));
        for (uint32_t i = 0; i < VKT_RANKS_FORECASTS; i++)
            printf("  %5.1f%%", 100 * s->link[k].efficiency[i]);
    }
    printf("\n");
}

int cmd_bench_ranks(const cli_options *common, const bench_scaling_options *o)
{
    vkt_comm *comm = NULL;
    vkt_config *c = NULL;
    vkt_ranks_scaling *s = NULL;
    vkt_bench_desc desc = { .quick = o->quick, .once = o->once, .gpu = &common->gpu };
    if (o->csv || o->svg || common->n_args > 2) {
        cli_error("bench: --scaling ranks takes one recipe, --quick, --once and --json");
        return CLI_USAGE;
    }
    const char *recipe = common->n_args == 2 ? common->args[1] : "char-gpt";
    if (vkt_launch_get().rank > 0) cli_log_other_rank();
    vkt_status st = vkt_comm_open(&comm);
    if (st != VKT_OK) return cli_exit_code(st);
    st = vkt_config_create(&c);
    if (st == VKT_OK) st = vkt_config_load(c, recipe);
    if (st == VKT_OK) st = vkt_config_finish(c);
    if (st == VKT_OK) st = vkt_ranks_scaling_run(comm, c, &desc, &s);
    if (s && vkt_comm_rank(comm) == 0) {
        print_ranks(s);
        if (o->json) st = vkt_ranks_scaling_save_json(s, o->json);
    }
    st = vkt_comm_close(&comm, st);
    vkt_free(s);
    vkt_config_destroy(&c);
    return cli_exit_code(st);
}
