/* The benchmark: what is measured, and the header of the results. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_key.h"
#include "bench/bench_machine.h"
#include "bench/bench_rows.h"
#include "bench/bench_suite.h"
#include "bench/commit.h"

/* ---- the header ---- */

static void fill_info(vkt__bencher *b)
{
    const vkt_caps *c = b->caps;
    vkt__arena *a = &b->out->priv->arena;
    vkt_bench_info *i = &b->out->info;
    char power[64], date[32];
    vkt__power_source(power, sizeof power);
    vkt__time_iso(date);
    i->device = vkt__arena_strdup(a, c->name);
    i->type = vkt__arena_printf(a, "%s, kernels for class %s", vkt_gpu_type_name(c->type),
                                vkt_gpu_class_name(c->klass));
    i->driver = vkt__arena_printf(a, "%s %s", c->driver, c->driver_info);
    i->api = vkt__arena_printf(a, "%u.%u.%u", c->api_version >> 22 & 0x7f,
                               c->api_version >> 12 & 0x3ff, c->api_version & 0xfff);
    i->caps = vkt__arena_printf(a,
                                "subgroup %u, workgroup %u, shared %u KiB, heap %.0f MiB, fp16 %s, "
                                "bf16 %s, int64 %s, matrix units %s, unified %s",
                                c->subgroup, c->workgroup, c->shared_bytes >> 10,
                                (double)c->heap_bytes / 1048576, c->fp16 ? "yes" : "no",
                                c->bf16 ? "yes" : "no", c->int64 ? "yes" : "no",
                                c->coopmat ? "yes" : "no", c->unified ? "yes" : "no");
    i->version = VKT_VERSION;
    i->commit = VKT_COMMIT;
    double load = vkt__load_average();
    char busy[48] = "";
    if (isfinite(load)) snprintf(busy, sizeof busy, ", load %.1f before", load);
    i->host = vkt__arena_printf(a, "%u CPUs, %.1f GiB%s", vkt__cpu_count(),
                                (double)vkt__ram_bytes() / 1073741824, busy);
    if (isfinite(load) && load > 0.3 * vkt__cpu_count() && !b->desc->once)
        vkt_log(VKT_LOG_WARN, "bench",
                "load average is %.1f on %u CPUs: other programs are running, and the numbers will "
                "show it",
                load, vkt__cpu_count());
    i->ids = vkt__arena_printf(a, "%04x:%04x", c->vendor_id, c->device_id);
    i->os = vkt__machine_os(a);
    i->cpu = vkt__machine_cpu(a);
    i->memory = vkt__arena_printf(a, "%.1f GiB", (double)vkt__ram_bytes() / 1073741824);
    i->clocks = vkt__machine_clocks(a, c, "");
    i->limits = vkt__machine_limits(a, c->vendor_id, c->device_id);
    i->shader_compiler = VKT_SHADER_COMPILER;
    i->power = vkt__arena_strdup(a, power);
    i->date = vkt__arena_strdup(a, date);
    i->clock = b->wall ? "wall clock" : "GPU timestamps";
    i->settings = vkt__arena_printf(
        a, "%s%s%s, warm-up %g s, measured %g s and at least %u runs%s%s%s%s%s%s%s%s",
        b->desc->once    ? "once"
        : b->desc->quick ? "quick"
                         : "full",
        b->desc->key ? ", key rows"
        : b->suite   ? ", suite 2, set "
                     : "",
        b->suite ? vkt__suite_set_name(b->suite) : "", b->warm_s, b->time_s, b->min_runs,
        b->minute_s > 0 ? ", less as the minute ends" : "",
        c->math == VKT_MATH_FAST ? ", math fast" : "", b->desc->only ? ", only " : "",
        b->desc->only ? b->desc->only : "", b->desc->op ? ", op " : "",
        b->desc->op ? b->desc->op : "",
        b->desc->step  ? ", steps of "
        : b->desc->row ? ", row "
                       : "",
        b->desc->step  ? b->desc->step
        : b->desc->row ? b->desc->row
                       : "");
}

/* The part of the benchmark in which the row is; ARG: no row is called so. */
static vkt_status part_of(const char *row, const char **part)
{
    vkt_status st = VKT_OK;
    const char *names[2000];
    size_t n = 0;
    char *lists[] = { vkt_bench_names(false), vkt_bench_names(true) };
    *part = NULL;
    for (size_t k = 0; k < VKT_COUNT(lists); k++)
        for (char *line = lists[k], *next; *line; line = next) {
            char *name = strchr(line, '\t') + 1;
            next = name + strcspn(name, "\n");
            *next++ = 0;
            if (n < VKT_COUNT(names)) names[n++] = name;
            if (!*part && !strcmp(name, row)) *part = *line == 'o' ? "ops" : "steps";
        }
    if (!*part)
        st = vkt__fail(VKT_E_ARG, "bench", "no row is called '%s'%s; --list prints their names",
                       row, vkt_did_you_mean(row, names, n).text);
    for (size_t k = 0; k < VKT_COUNT(lists); k++) vkt_free(lists[k]);
    return st;
}

vkt_status vkt_bench_run(vkt_gpu *gpu, const vkt_bench_desc *desc, vkt_bench **out)
{
    static const char *const groups[] = { "ceilings", "ops", "steps" };
    vkt_status st = VKT_OK;
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt__bench_items list = { 0 };
    vkt__bencher b = { .gpu = gpu, .caps = caps, .desc = desc, .out = vkt__bench_create() };
    *out = NULL;
    b.seconds = desc->once          ? 0
                : desc->seconds > 0 ? desc->seconds
                : desc->key         ? VKT__KEY_SECONDS
                : !desc->suite      ? 0
                : desc->quick       ? VKT__SUITE_QUICK_SECONDS
                                    : VKT__SUITE_SECONDS;
    const char *only = desc->only;
    if (desc->row) VKT_TRY(part_of(desc->row, &only));
    if (desc->suite) b.suite = vkt__suite_set_of(desc->suite, caps);
    if (desc->suite && !b.suite)
        VKT_TRY(vkt__fail(VKT_E_ARG, "bench",
                          "'%s' is not a set of suite %d: give auto, small, medium or large",
                          desc->suite, VKT_BENCH_SUITE_VERSION));
    if (b.suite) {
        b.out->suite_version = VKT_BENCH_SUITE_VERSION;
        b.out->suite_set = vkt__suite_set_name(b.suite);
    }
    if (b.suite && caps->math == VKT_MATH_FAST)
        VKT_TRY(vkt__fail(VKT_E_ARG, "bench", "suite %d is fp32 throughout: leave out --math fast",
                          VKT_BENCH_SUITE_VERSION));
    if (desc->dump && (!only || strcmp(only, "ops") != 0))
        VKT_TRY(vkt__fail(VKT_E_ARG, "bench",
                          "--dump writes rows of ops; what a training step runs, `vktrain profile` "
                          "names op by op"));
    if (desc->dump && (vkt__file_exists(desc->dump) || vkt__is_dir(desc->dump)))
        VKT_TRY(vkt__fail(VKT_E_ARG, "bench", "--dump '%s' exists; give the name of a new folder",
                          desc->dump));
    bool host = desc->only && !strcmp(desc->only, "host");
    bool want[VKT_COUNT(groups)], any = host;
    for (size_t i = 0; i < VKT_COUNT(groups); i++) {
        want[i] = only         ? !strcmp(only, groups[i])
                  : desc->op   ? i == VKT_BENCH_OPS
                  : desc->step ? i == VKT_BENCH_STEPS
                               : true;
        any |= want[i];
    }
    if (!any)
        VKT_TRY(vkt__fail(VKT_E_ARG, "bench",
                          "'%s' is not a part of the benchmark: give ceilings, ops or steps",
                          desc->only));
    b.wall = caps->klass == VKT_GPU_CLASS_CPU || caps->timestamp_ns <= 0;
    b.warm_s = desc->once ? 0 : desc->quick ? 0.05 : desc->key ? 0.2 : 0.5;
    b.time_s = desc->once ? 0 : desc->quick ? 0.15 : desc->key ? 0.5 : 1;
    b.min_runs = desc->once ? 1 : desc->quick || desc->key ? 5 : 9;
    b.minute_s = desc->quick && !desc->once && !(b.seconds > 0) ? VKT__QUICK_SECONDS : 0;
    b.share = 1;
    fill_info(&b);
    b.energy = vkt__energy_open(caps, NULL);
    vkt__conditions_open(&b.beside, caps, NULL, NULL);
    if (host)
        vkt__bench_plan_host(&b, &list);
    else
        vkt__bench_plan_ceilings(&b, &list, want[VKT_BENCH_CEILINGS]);
    if (b.suite) VKT_TRY(vkt__bench_plan_steps(&b, &list)); /* its scores first */
    if (want[VKT_BENCH_OPS]) VKT_TRY(vkt__bench_plan_ops(&b, &list));
    if (want[VKT_BENCH_STEPS] && !b.suite) VKT_TRY(vkt__bench_plan_steps(&b, &list));
    st = vkt__bench_measure(&b, &list);
    *out = b.out;
    if (st == VKT_E_INTERRUPTED && b.n_done < b.n_all)
        vkt__bench_left_out(b.out, "%u of %u items: stopped before them", b.n_all - b.n_done,
                            b.n_all);
    else if (st != VKT_OK && st != VKT_E_INTERRUPTED)
        vkt__bench_left_out(b.out, "%u of %u items: the device was lost, and can't be opened again",
                            b.n_all - b.n_done - 1, b.n_all);
    if (b.n_wrong)
        st = vkt__fail(st == VKT_OK ? VKT_E_FAILED : st, "bench",
                       "%u of the results failed, the first of them %s", b.n_wrong, b.first_wrong);
    if (desc->dump && !b.dumped && st == VKT_OK)
        st = vkt__fail(VKT_E_FAILED, "bench",
                       "--dump: the row was left out, and nothing is written");
    vkt_gpu_destroy(&b.reopened);
    vkt__energy_close(&b.energy);
    vkt__conditions_close(&b.beside);
    free(list.item);
    return st;
fail:
    vkt__energy_close(&b.energy);
    vkt__conditions_close(&b.beside);
    free(list.item);
    vkt_bench_destroy(&b.out);
    return st;
}
