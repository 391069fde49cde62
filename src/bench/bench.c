/* The benchmark: what is measured in which order, what is measured once more, and the header of the
 * results. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_machine.h"
#include "bench/bench_rows.h"
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
        a, "%s, warm-up %g s, measured %g s and at least %u runs%s%s%s%s%s%s%s",
        b->desc->once    ? "once"
        : b->desc->quick ? "quick"
                         : "full",
        b->warm_s, b->time_s, b->min_runs, c->math == VKT_MATH_FAST ? ", math fast" : "",
        b->desc->only ? ", only " : "", b->desc->only ? b->desc->only : "",
        b->desc->op ? ", op " : "", b->desc->op ? b->desc->op : "",
        b->desc->step ? ", steps of " : "", b->desc->step ? b->desc->step : "");
}

/* ---- the order of things ---- */

static void progress(vkt__bencher *b, const char *what)
{
    if (!b->desc->on_progress) return;
    double elapsed = vkt__now() - b->began, left = b->weight_all - b->weight_done;
    /* what was thought, corrected by what it has come to so far */
    double scale = b->weight_done > 0 ? elapsed / b->weight_done : 1;
    vkt_bench_progress p = { what, b->n_done, b->n_all, elapsed, b->n_done ? left * scale : NAN };
    b->desc->on_progress(b->desc->user, &p);
}

/* ---- once more, where the baseline was faster ---- */

static bool is_slower(const vkt_bench_desc *d, const vkt_bench_row *r)
{
    double speedup, noise;
    return vkt_bench_judge(vkt_bench_find(d->baseline, r->group, r->name), r, d->tolerance,
                           &speedup, &noise) == VKT_BENCH_SLOWER;
}

/* If an item fails, its row says so and the benchmark continues, after a lost device on a newly
 * opened one. DEVICE: it can't be opened. */
static vkt_status measure(vkt__bencher *b, const vkt__bench_item *item)
{
    size_t first = b->out->n_rows;
    uint32_t n_told = 0;
    vkt__log_quiet(true);
    vkt_status st = item->run(b, item);
    char why[400];
    const char *said = vkt__last_failure();
    snprintf(why, sizeof why, "failed: %s", *said ? said : vkt_status_name(st));
    vkt__log_quiet(false);
    if (st == VKT_OK) return VKT_OK;
    for (size_t i = first; i < b->out->n_rows; i++) {
        vkt_bench_row *r = &b->out->rows[i];
        if (isfinite(r->value) || r->refused) continue;
        vkt__bench_refuse(b, r, true, "%s", why);
        n_told++;
    }
    if (!n_told) {
        bool taken = vkt_bench_find(b->out, item->group, item->name);
        const char *name =
            vkt__arena_printf(&b->out->priv->arena, "%s%s", item->name, taken ? ", the rest" : "");
        vkt__bench_refuse(b, vkt__bench_row(b->out, item->group, name, "us", false), true, "%s",
                          why);
    }
    if (!vkt__gpu_lost(b->gpu)) return VKT_OK;
    if (!b->desc->gpu) return VKT_E_DEVICE;
    if (b->reopened) vkt_gpu_destroy(&b->reopened);
    st = vkt_gpu_create(b->desc->gpu, &b->reopened);
    if (st != VKT_OK) return st;
    b->gpu = b->reopened;
    b->caps = vkt_gpu_caps(b->gpu);
    return VKT_OK;
}

/* More than the ceiling and what two measurements of it may differ by. */
static bool is_above(const vkt_bench_row *r)
{
    return !r->refused && r->percent > 105;
}

/* Rows from `first` on repeat earlier ones: the faster of two stays, a wrong result always; of what
 * was above a ceiling the later. */
static void merge_rows(vkt_bench *b, size_t first)
{
    size_t n = b->n_rows;
    b->n_rows = first;
    for (size_t i = first; i < n; i++) {
        vkt_bench_row now = b->rows[i],
                      *old = (vkt_bench_row *)(uintptr_t)vkt_bench_find(b, now.group, now.name);
        if (!old)
            b->rows[b->n_rows++] = now;
        else if (now.refused || is_above(old) || vkt_bench_speedup(old, &now) > 1)
            *old = now;
    }
}

/* of[i]: the first of the rows that item i made. */
static vkt_status again(vkt__bencher *b, const vkt__bench_items *list, const size_t *of)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < list->n; i++)
        for (int k = 0; k < 2; k++) {
            bool slower = false;
            for (size_t r = of[i]; r < of[i + 1]; r++)
                slower |= (b->desc->baseline && is_slower(b->desc, &b->out->rows[r])) ||
                          is_above(&b->out->rows[r]);
            if (!slower) break;
            size_t n_rows = b->out->n_rows, n_left_out = b->out->n_left_out;
            b->n_copy =
                list->item[i].group == VKT_BENCH_CEILINGS && !strcmp(list->item[i].name, "copy")
                    ? 0
                    : b->n_copy;
            progress(b,
                     vkt__arena_printf(&b->out->priv->arena, "%s once more", list->item[i].name));
            VKT_TRY(measure(b, &list->item[i]));
            merge_rows(b->out, n_rows);
            b->out->n_left_out = n_left_out;
        }
fail:
    return st;
}

vkt_status vkt_bench_run(vkt_gpu *gpu, const vkt_bench_desc *desc, vkt_bench **out)
{
    static const char *const groups[] = { "ceilings", "ops", "steps" };
    vkt_status st = VKT_OK;
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt__bench_items list = { 0 };
    vkt__bencher b = { .gpu = gpu, .caps = caps, .desc = desc, .out = vkt__bench_create() };
    size_t *of = NULL;
    *out = NULL;
    bool want[VKT_COUNT(groups)], any = false;
    for (size_t i = 0; i < VKT_COUNT(groups); i++) {
        want[i] = desc->only   ? !strcmp(desc->only, groups[i])
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
    b.warm_s = desc->once ? 0 : desc->quick ? 0.05 : 0.5;
    b.time_s = desc->once ? 0 : desc->quick ? 0.15 : 1;
    b.min_runs = desc->once ? 1 : desc->quick ? 5 : 9;
    fill_info(&b);
    b.energy = vkt__energy_open(caps, NULL);
    vkt__bench_plan_ceilings(&b, &list, want[VKT_BENCH_CEILINGS]);
    if (want[VKT_BENCH_OPS]) VKT_TRY(vkt__bench_plan_ops(&b, &list));
    if (want[VKT_BENCH_STEPS]) VKT_TRY(vkt__bench_plan_steps(&b, &list));
    for (size_t i = 0; i < list.n; i++) b.weight_all += list.item[i].weight;
    b.n_all = (uint32_t)list.n;
    b.began = vkt__now();
    of = vkt__alloc((list.n + 1) * sizeof *of);
    for (size_t i = 0; i < list.n; i++) {
        of[i] = b.out->n_rows;
        progress(&b, list.item[i].name);
        double start = vkt__now();
        st = measure(&b, &list.item[i]);
        if (desc->on_rows) desc->on_rows(desc->user, b.out);
        if (st != VKT_OK) break;
        vkt_log(VKT_LOG_DEBUG, "bench", "%s: %.2f s, expected %.2f", list.item[i].name,
                vkt__now() - start, list.item[i].weight);
        b.weight_done += list.item[i].weight;
        b.n_done++;
    }
    of[list.n] = b.out->n_rows;
    if (!desc->once && st == VKT_OK) st = again(&b, &list, of);
    for (size_t i = 0; i < b.out->n_rows && !desc->once; i++)
        if (is_above(&b.out->rows[i]))
            b.out->rows[i].flag = "above 105% of the ceiling, also when measured again: a cache "
                                  "helped, or the ceiling was measured too low";
    progress(&b, "done");
    *out = b.out;
    if (st != VKT_OK)
        vkt__bench_left_out(b.out, "%u of %u items: the device was lost, and can't be opened again",
                            b.n_all - b.n_done - 1, b.n_all);
    if (b.n_wrong)
        st = vkt__fail(st == VKT_OK ? VKT_E_FAILED : st, "bench",
                       "%u of the results failed, the first of them %s", b.n_wrong, b.first_wrong);
    vkt_gpu_destroy(&b.reopened);
    vkt__energy_close(&b.energy);
    free(list.item);
    free(of);
    return st;
fail:
    vkt__energy_close(&b.energy);
    free(list.item);
    free(of);
    vkt_bench_destroy(&b.out);
    return st;
}
