/* vktrain profile: where the time of a recipe's training steps goes, as a table, a verdict and a
 * trace file. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct profile_options {
    cli_options common;
    cli_list set;
    const char *out;
    uint32_t steps, top;
    bool json;
} profile_options;

#define AT(field) offsetof(profile_options, field)
static const cli_flag flags[] = {
    { "-o", CLI_OUT, AT(out), "FILE", "trace.json",
      "trace file to write, for https://ui.perfetto.dev or chrome://tracing" },
    { "--steps", CLI_UINT, AT(steps), "N", "20", "training steps to measure, after a warm-up" },
    { "--top", CLI_UINT, AT(top), "N", "12", "number of kernels in the table" },
    { "--set", CLI_LIST, AT(set), "KEY=VALUE", NULL,
      "override an option of the recipe (see `vktrain train --help`); may be repeated" },
    { "--json", CLI_BOOL, AT(json), NULL, NULL, "print everything as JSON, with all kernels" },
    { 0 },
};

/* ---- the table ---- */

enum { N_COLS = 10 };

static const char *digits3(double v)
{
    return !isfinite(v) ? "-"
           : v >= 99.95 ? cli_text("%.0f", v)
           : v >= 9.995 ? cli_text("%.1f", v)
                        : cli_text("%.2f", v);
}

static const char *of_text(const vkt_profile_kernel *k)
{
    return k->count > 1 && *k->of ? cli_text("%s +%u", k->of, k->count - 1) : k->of;
}

static void print_kernels(const vkt_profile *p, uint32_t top)
{
    static const cli_column col[N_COLS] = {
        { "op", false, 0 },     { "result", false, 24 }, { "of", false, 18 },
        { "count", true, 0 },   { "ms", true, 0 },       { "% of kernels", true, 0 },
        { "GFLOP/s", true, 0 }, { "GB/s", true, 0 },     { "% of ref", true, 0 },
        { "bound", false, 0 },
    };
    size_t n = p->n_kernels < top ? p->n_kernels : top;
    const char **cell = cli_zeros((n + 1) * N_COLS, sizeof *cell);
    char(*text)[96] = cli_zeros((n + 1) * N_COLS, sizeof *text);
    for (size_t i = 0; i < n; i++) {
        const vkt_profile_kernel *k = &p->kernels[i];
        const char *values[N_COLS] = {
            k->op,
            *k->result ? k->result : "(in place)",
            of_text(k),
            cli_text("%u", k->count),
            cli_text("%.4f", k->ms),
            cli_text("%.1f", 100 * k->ms / p->kernels_ms),
            digits3(1e-6 * k->flops / k->ms),
            digits3(1e-6 * k->bytes / k->ms),
            k->ceiling > 1 ? ">100" : cli_text("%.0f", 100 * k->ceiling),
            vkt_kernel_bound_name(k->bound),
        };
        for (size_t c = 0; c < N_COLS; c++) {
            snprintf(text[i * N_COLS + c], sizeof *text, "%s", values[c]);
            cell[i * N_COLS + c] = text[i * N_COLS + c];
        }
    }
    cli_table(stdout, col, N_COLS, cell, n);
    double rest = 0;
    uint32_t count = 0;
    for (size_t i = n; i < p->n_kernels; i++)
        rest += p->kernels[i].ms, count += p->kernels[i].count;
    if (count)
        printf("%u more dispatches, %.4f ms; --top %zu shows all\n", count, rest, p->n_kernels);
    free(cell);
    free(text);
}

static void row(const char *label, const char *fmt, ...) VKT_PRINTF(2, 3);
static void row(const char *label, const char *fmt, ...)
{
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    printf("  %-10s ", label);
    cli_wrap(stdout, text, 13, 13);
}

static const char *ms(double v)
{
    return v >= 0.0995 || !(v >= 0) ? cli_text("%.3g ms", v)
           : v >= 0.00005           ? cli_text("%.2g us", 1e3 * v)
                                    : "0";
}

static void print_times(const vkt_profile *p)
{
    row("step", "%s (median %s, %s to %s), %s examples/s; %u dispatches%s", ms(p->step_ms),
        ms(p->step_median_ms), ms(p->step_min_ms), ms(p->step_max_ms), cli_rate(p->items_per_s),
        p->n_dispatches,
        p->bunch > 1.5 ? cli_text("; steps end in bunches of %.1f, timed as such", p->bunch) : "");
    if (p->timestamps && p->kernels_ms > p->step_ms)
        row("kernels",
            "%s per step if run one by one, and a step takes less: they overlap, or timing slows "
            "them (without the %s that timing one takes)",
            ms(p->kernels_ms), ms(1e-3 * p->timing_us));
    else if (p->timestamps)
        row("kernels",
            "%s per step if run one by one, %.0f%% of the step's time (without the %s that timing "
            "one takes)%s",
            ms(p->kernels_ms), 100 * p->kernels_ms / p->step_ms, ms(1e-3 * p->timing_us),
            p->kernels_ms < 0.5 * p->busy * p->step_ms
                ? "; the device was busy for longer, with other programs or waiting between kernels"
                : "");
    else
        row("kernels", "not timed: the device has no timestamps");
    row("device", "busy %.0f%%, idle for data %.0f%%, idle for the host %.0f%%%s", 100 * p->busy,
        100 * p->idle_input, 100 * p->idle_host,
        p->n_ranks ? cli_text(", idle for the other ranks %.0f%%", 100 * p->idle_exchange) : "");
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        const vkt_profile_rank *k = &p->rank[r];
        row(cli_text("rank %u", r),
            "%s: %u of %u examples, %s per step; exchange %s beside that, and %s after it, in "
            "which "
            "its device waits; it sends %.4g KiB",
            k->name, k->rows, p->batch, ms(k->own_ms), ms(k->hidden_ms), ms(k->exchange_ms),
            (double)k->bytes / 1024);
    }
    row("host", "wait for loader %s, submit %s, wait for results %s, metrics %s per step",
        ms(p->loader_wait_ms), ms(p->submit_ms), ms(p->readback_wait_ms), ms(p->metrics_ms));
    row("loader", "%s per batch in each of %u thread%s, %u batches ahead", ms(p->fill_ms),
        p->workers, p->workers == 1 ? "" : "s", p->slots);
    row("reference",
        "%s GB/s (a large %s), %s GFLOP/s (product of %u x %u), %.3g us for an empty kernel: "
        "measured with vktrain's own kernels, not the device's peaks",
        digits3(p->memory_gbps), p->memory_by, digits3(p->matmul_gflops), p->matmul_n, p->matmul_n,
        p->empty_us);
    if (p->step_max_ms > 3 * p->step_median_ms)
        row("note",
            "the slowest step took more than three times as long as the median: other programs "
            "use this machine, or --steps (%llu) is too small",
            (unsigned long long)p->steps);
}

static void print_profile(const profile_options *o, const vkt_profile *p)
{
    bool cached = false;
    for (size_t i = 0; i < p->n_kernels; i++)
        cached =
            cached || (p->kernels[i].bound == VKT_KERNEL_BOUND_MEMORY && p->kernels[i].ceiling > 1);
    printf("%s%s%s on %s: %s steps of %s examples, after %s of warm-up\n\n",
           cli_color(stdout, CLI_BOLD), p->recipe, cli_color(stdout, CLI_PLAIN), p->device,
           cli_count(p->steps), cli_count((uint64_t)p->batch * p->accumulate),
           cli_count(p->warmup));
    if (p->n_kernels && o->top) {
        print_kernels(p, o->top);
        if (cached)
            printf("more than the reference: the data was in a cache, while the reference is "
                   "measured in memory\n");
        putchar('\n');
    }
    print_times(p);
    printf("\n%s%s%s: ", cli_color(stdout, CLI_YELLOW), vkt_profile_verdict_name(p->verdict),
           cli_color(stdout, CLI_PLAIN));
    cli_wrap(stdout, p->why, (int)strlen(vkt_profile_verdict_name(p->verdict)) + 2, 2);
    printf("  what to do: ");
    cli_wrap(stdout, p->advice, 14, 2);
    printf("\ntrace: %s; open it at https://ui.perfetto.dev\n", o->out);
}

/* ---- JSON ---- */

static json_t *kernel_json(const vkt_profile *p, const vkt_profile_kernel *k)
{
    json_t *j = json_pack("{ss ss ss si si sf sf sf}", "op", k->op, "result", k->result, "of",
                          k->of, "level", (int)k->level, "count", (int)k->count, "ms", k->ms,
                          "flop", k->flops, "bytes", k->bytes);
    json_object_set_new(j, "share_of_kernels", cli_json_number(k->ms / p->kernels_ms));
    json_object_set_new(j, "gflops", cli_json_number(1e-6 * k->flops / k->ms));
    json_object_set_new(j, "gbps", cli_json_number(1e-6 * k->bytes / k->ms));
    json_object_set_new(j, "share_of_reference", cli_json_number(k->ceiling));
    json_object_set_new(j, "bound", json_string(vkt_kernel_bound_name(k->bound)));
    return j;
}

static json_t *ranks_json(const vkt_profile *p)
{
    json_t *ranks = json_array();
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        const vkt_profile_rank *k = &p->rank[r];
        json_array_append_new(ranks, json_pack("{ss si sf sf sf sI}", "name", k->name, "examples",
                                               (int)k->rows, "own_ms", k->own_ms, "hidden_ms",
                                               k->hidden_ms, "exchange_ms", k->exchange_ms, "bytes",
                                               (json_int_t)k->bytes));
    }
    return ranks;
}

static void print_json(const profile_options *o, const vkt_profile *p)
{
    json_t *kernels = json_array();
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        { "seconds", p->seconds },
        { "step_ms", p->step_ms },
        { "step_median_ms", p->step_median_ms },
        { "step_min_ms", p->step_min_ms },
        { "step_max_ms", p->step_max_ms },
        { "steps_in_a_bunch", p->bunch },
        { "examples_per_s", p->items_per_s },
        { "busy", p->busy },
        { "idle_input", p->idle_input },
        { "idle_host", p->idle_host },
        { "idle_exchange", p->idle_exchange },
        { "loader_wait_ms", p->loader_wait_ms },
        { "submit_ms", p->submit_ms },
        { "readback_wait_ms", p->readback_wait_ms },
        { "metrics_ms", p->metrics_ms },
        { "fill_ms", p->fill_ms },
        { "kernels_ms", p->kernels_ms },
        { "flop", p->flops },
        { "bytes", p->bytes },
        { "reference_memory_gbps", p->memory_gbps },
        { "reference_product_gflops", p->matmul_gflops },
        { "empty_kernel_us", p->empty_us },
        { "timing_us", p->timing_us },
    };
    json_t *j = json_pack("{ss ss ss ss ss ss sb}", "recipe", p->recipe, "device", p->device,
                          "driver", p->driver, "verdict", vkt_profile_verdict_name(p->verdict),
                          "why", p->why, "advice", p->advice, "timestamps", p->timestamps);
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        { "batch", p->batch },
        { "accumulate", p->accumulate },
        { "workers", p->workers },
        { "slots", p->slots },
        { "steps", p->steps },
        { "warmup_steps", p->warmup },
        { "dispatches", p->n_dispatches },
        { "reference_product_size", p->matmul_n },
    };
    for (size_t i = 0; i < CLI_COUNT(counts); i++)
        json_object_set_new(j, counts[i].name, json_integer((json_int_t)counts[i].value));
    for (size_t i = 0; i < CLI_COUNT(numbers); i++)
        json_object_set_new(j, numbers[i].name, cli_json_number(numbers[i].value));
    for (size_t i = 0; i < p->n_kernels; i++)
        json_array_append_new(kernels, kernel_json(p, &p->kernels[i]));
    json_object_set_new(j, "kernels", kernels);
    if (p->n_ranks) json_object_set_new(j, "ranks", ranks_json(p));
    json_object_set_new(j, "trace", json_string(o->out));
    cli_json_print(j, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
}

/* ---- the command ---- */

static vkt_status configure(const profile_options *o, vkt_config *c)
{
    vkt_status st = vkt_config_load(c, o->common.args[0]);
    for (size_t i = 0; i < o->set.n && st == VKT_OK; i++) st = vkt_config_set(c, o->set.item[i]);
    return st == VKT_OK ? vkt_config_finish(c) : st;
}

static vkt_status profile(const profile_options *o, const vkt_config *c, vkt_comm *comm)
{
    vkt_profile *p = NULL;
    vkt_profile_desc desc = { .gpu = o->common.gpu,
                              .steps = o->steps,
                              .trace = o->out,
                              .command = o->common.line,
                              .comm = comm };
    vkt_status st = vkt_profile_run(c, &desc, &p);
    if (st == VKT_OK && vkt_comm_rank(comm) == 0) {
        if (o->json)
            print_json(o, p);
        else
            print_profile(o, p);
    }
    vkt_profile_destroy(&p);
    return st;
}

static int run(void *options)
{
    profile_options *o = options;
    vkt_config *c = NULL;
    if (!o->out) o->out = "trace.json";
    if (!o->steps) {
        cli_error("profile: --steps must be at least 1");
        return CLI_USAGE;
    }
    vkt_comm *comm = NULL;
    if (vkt_launch_get().rank > 0) cli_log_other_rank();
    vkt_status st = vkt_comm_open(&comm);
    if (st != VKT_OK) return cli_exit_code(st);
    if (vkt_comm_rank(comm) == 0 && cli_may_write("profile", o->out, o->common.force))
        st = VKT_E_ARG;
    if (st == VKT_OK) st = vkt_config_create(&c);
    if (st == VKT_OK) st = configure(o, c);
    if (st == VKT_OK) st = profile(o, c, comm);
    vkt_config_destroy(&c);
    return cli_exit_code(vkt_comm_close(&comm, st));
}

const cli_command cmd_profile = {
    .name = "profile",
    .args = "RECIPE",
    .summary = "show where the time of a training step goes, and what limits it",
    .details = "Runs a warm-up and some training steps of the recipe, then times each kernel of a "
               "step. Only the trace is saved.\n"
               "examples: vktrain profile digits\n"
               "          mpirun -n 2 vktrain profile char-gpt\n"
               "          vktrain profile mine.yaml -o trace.json --set train.batch=256",
    .min_args = 1,
    .max_args = 1,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(profile_options),
    .run = run,
};
