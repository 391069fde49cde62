/* The benchmark: what is measured in which order, how time is taken, statistics, the header. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/commit.h"
#include "bench/bench.h"

enum { MAX_RUNS = 400 };

const char *vkt_bench_group_name(vkt_bench_group g)
{
    static const char *const names[] = { "ceilings", "ops", "steps", "target" };
    return (unsigned)g < VKT_COUNT(names) ? names[g] : "unknown";
}

/* ---- results ---- */

vkt_bench *vkt__bench_create(void)
{
    vkt_bench *b = vkt__alloc(sizeof *b);
    b->priv = vkt__alloc(sizeof *b->priv);
    b->info = (vkt_bench_info) { "", "", "", "", "", "", "", "", "", "", "", "" };
    return b;
}

void vkt_bench_destroy(vkt_bench **pb)
{
    vkt_bench *b = *pb;
    if (!b) return;
    vkt__arena_finish(&b->priv->arena);
    free(b->priv);
    free(b->rows);
    free(b->left_out);
    free(b);
    *pb = NULL;
}

vkt_bench_row *vkt__bench_row(vkt_bench *b, vkt_bench_group group, const char *name,
                              const char *unit, bool higher)
{
    if (b->n_rows == b->priv->cap_rows)
        b->rows = vkt__grow(b->rows, b->n_rows, &b->priv->cap_rows, sizeof *b->rows);
    vkt_bench_row *r = &b->rows[b->n_rows++];
    *r = (vkt_bench_row) { .group = group,
                           .name = vkt__arena_strdup(&b->priv->arena, name),
                           .unit = unit,
                           .note = "",
                           .higher = higher,
                           .value = NAN,
                           .min = NAN,
                           .max = NAN,
                           .q1 = NAN,
                           .q3 = NAN,
                           .gpu_value = NAN,
                           .gflops = NAN,
                           .gbps = NAN,
                           .percent = NAN,
                           .error = NAN,
                           .items_per_s = NAN,
                           .host_us = NAN,
                           .kernels_ms = NAN,
                           .of_matmul = NAN,
                           .memory_bytes = NAN };
    return r;
}

static char *text(vkt_bench *b, const char *fmt, va_list ap)
{
    vkt__str s = { 0 };
    vkt__str_vprintf(&s, fmt, ap);
    char *out = vkt__arena_strdup(&b->priv->arena, s.data ? s.data : "");
    vkt__str_finish(&s);
    return out;
}

void vkt__bench_note(vkt_bench *b, vkt_bench_row *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *t = text(b, fmt, ap);
    r->note = *r->note ? vkt__arena_printf(&b->priv->arena, "%s; %s", r->note, t) : t;
    va_end(ap);
}

void vkt__bench_refuse(vkt__bencher *b, vkt_bench_row *r, bool wrong, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    r->refused = text(b->out, fmt, ap);
    va_end(ap);
    b->wrong |= wrong;
    r->value = r->min = r->max = r->q1 = r->q3 = r->gpu_value = r->gflops = r->gbps = r->percent =
        NAN;
}

void vkt__bench_left_out(vkt_bench *b, const char *fmt, ...)
{
    va_list ap;
    if (b->n_left_out == b->priv->cap_left_out)
        b->left_out =
            vkt__grow(b->left_out, b->n_left_out, &b->priv->cap_left_out, sizeof *b->left_out);
    va_start(ap, fmt);
    b->left_out[b->n_left_out++] = text(b, fmt, ap);
    va_end(ap);
}

void vkt__bench_set(vkt_bench_row *r, const vkt__times *t, double amount)
{
    bool h = r->higher;
    r->runs = t->runs;
    r->value = h ? amount / t->median : amount * t->median;
    r->gpu_value = h ? amount / t->other : amount * t->other;
    r->min = h ? amount / t->max : amount * t->min;
    r->max = h ? amount / t->min : amount * t->max;
    r->q1 = h ? amount / t->q3 : amount * t->q1;
    r->q3 = h ? amount / t->q1 : amount * t->q3;
}

/* ---- the clock ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void vkt__bench_stats(double *s, uint32_t n, vkt__times *out)
{
    VKT_ASSERT(n > 0);
    qsort(s, n, sizeof *s, by_value);
    *out = (vkt__times) { .median = (s[(n - 1) / 2] + s[n / 2]) / 2,
                          .min = s[0],
                          .max = s[n - 1],
                          .q1 = s[(n - 1) / 4],
                          .q3 = s[n - 1 - (n - 1) / 4],
                          .other = NAN,
                          .runs = n };
}

/* One submission of `reps` repetitions: seconds by the host's clock and by timestamps (NAN
 * without). */
static vkt_status run_once(vkt__bencher *b, vkt__cmd *cmd, double *wall, double *gpu)
{
    vkt_status st = VKT_OK;
    uint64_t ticket = 0;
    double ms[2] = { 0, NAN }, start = vkt__now();
    VKT_TRY(vkt__submit(b->gpu, cmd, &ticket));
    VKT_TRY(vkt_ticket_wait(b->gpu, ticket));
    *wall = vkt__now() - start;
    if (b->caps->timestamp_ns > 0) VKT_TRY(vkt__cmd_times(b->gpu, cmd, ms));
    *gpu = ms[1] * 1e-3;
fail:
    return st;
}

static vkt_status record(vkt__bencher *b, const vkt__bench_job *job, uint32_t reps, vkt__cmd **out)
{
    vkt_status st = VKT_OK;
    vkt__cmd *c = NULL;
    VKT_TRY(vkt__cmd_create(b->gpu, job->label, 2, &c));
    vkt__cmd_timestamp(c, 0);
    for (uint32_t i = 0; i < reps; i++) {
        VKT_TRY(job->record(job->user, c, i));
        if (!job->no_barriers && i + 1 < reps) vkt__cmd_barrier(c);
    }
    vkt__cmd_timestamp(c, 1);
    VKT_TRY(vkt__cmd_end(c));
    *out = c;
    return VKT_OK;
fail:
    vkt__cmd_destroy(b->gpu, &c);
    return st;
}

vkt_status vkt__bench_time(vkt__bencher *b, const vkt__bench_job *job, vkt__times *out)
{
    vkt_status st = VKT_OK;
    vkt__cmd *cmd = NULL;
    double wall, gpu, fill = b->desc->quick ? 0.01 : 0.02,
                      *s = vkt__alloc(2 * MAX_RUNS * sizeof *s), *s2 = s + MAX_RUNS;
    double warm_s = job->warm_s > 0 ? job->warm_s : b->warm_s,
           time_s = job->time_s > 0 ? job->time_s : b->time_s;
    uint32_t reps = 1, n = 0, most = job->max_reps ? job->max_reps : 2000;
    VKT_TRY(record(b, job, 1, &cmd));
    bool slow = false;    /* so slow that a few runs must do */
    if (!b->desc->once) { /* repetitions that fill a submission, by growing until the time can be
                             trusted */
        for (;;) {
            VKT_TRY(run_once(b, cmd, &wall, &gpu));
            slow = wall > (job->trial ? 0.1 : 0.5);
            if (slow) break;
            VKT_TRY(run_once(b, cmd, &wall, &gpu));
            double took = b->wall ? wall : gpu;
            if (took >= 0.5 * fill || reps == most) break;
            double want = took > 0 ? 1.2 * fill / took * reps : 8.0 * reps;
            reps = (uint32_t)VKT_MAX(reps + 1, VKT_MIN(want, VKT_MIN((double)most, 8.0 * reps)));
            vkt__cmd_destroy(b->gpu, &cmd);
            VKT_TRY(record(b, job, reps, &cmd));
        }
        for (double end = vkt__now() + warm_s; vkt__now() < end && !slow;)
            VKT_TRY(run_once(b, cmd, &wall, &gpu));
    }
    uint32_t min_runs = b->desc->once ? 1 : job->trial ? 2 : slow ? 3 : b->min_runs;
    for (double end = vkt__now() + (b->desc->once ? 0 : time_s);
         n < min_runs || (n < MAX_RUNS && vkt__now() < end); n++) {
        VKT_TRY(run_once(b, cmd, &wall, &gpu));
        s[n] = (b->wall ? wall : gpu) / reps;
        s2[n] = (b->wall ? gpu : wall) / reps;
    }
    vkt__times other;
    vkt__bench_stats(s2, n, &other);
    vkt__bench_stats(s, n, out);
    out->other = other.median;
    if (!(out->min > 0)) { /* a timestamp period longer than the work */
        for (uint32_t i = 0; i < n; i++) s[i] = VKT_MAX(s[i], 1e-9);
        vkt__bench_stats(s, n, out);
    }
fail:
    vkt__cmd_destroy(b->gpu, &cmd);
    free(s);
    return st;
}

double vkt__bench_bandwidth(const vkt__bencher *b, double working_set, double write_share)
{
    double best = 0, largest = 0;
    for (uint32_t i = 0; i < b->n_copy; i++) {
        largest = VKT_MAX(largest, b->copy[i].bytes);
        if (b->copy[i].bytes >= working_set) best = VKT_MAX(best, b->copy[i].rate);
    }
    for (uint32_t i = 0; i < b->n_copy && best == 0; i++) /* larger than any */
        if (b->copy[i].bytes == largest) best = b->copy[i].rate;
    best = VKT_MAX(best, b->triad);
    if (write_share < 0.1) best = VKT_MAX(best, b->read);
    if (write_share > 0.9) best = VKT_MAX(best, b->write);
    return best;
}

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

void vkt__bench_plan(vkt__bench_items *list, vkt_bench_group group, const char *name, double weight,
                     vkt_status (*run)(vkt__bencher *, const vkt__bench_item *), uint32_t arg,
                     uint32_t arg2)
{
    if (list->n == list->cap)
        list->item = vkt__grow(list->item, list->n, &list->cap, sizeof *list->item);
    list->item[list->n++] = (vkt__bench_item) { group, name, weight, run, arg, arg2 };
}

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

/* Rows from `first` on repeat earlier ones: the faster of two stays, a wrong result always. */
static void merge_rows(vkt_bench *b, size_t first)
{
    size_t n = b->n_rows;
    b->n_rows = first;
    for (size_t i = first; i < n; i++) {
        vkt_bench_row now = b->rows[i],
                      *old = (vkt_bench_row *)(uintptr_t)vkt_bench_find(b, now.group, now.name);
        if (!old)
            b->rows[b->n_rows++] = now;
        else if (now.refused || vkt_bench_speedup(old, &now) > 1)
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
                slower |= is_slower(b->desc, &b->out->rows[r]);
            if (!slower) break;
            size_t n_rows = b->out->n_rows, n_left_out = b->out->n_left_out;
            b->n_copy =
                list->item[i].group == VKT_BENCH_CEILINGS && !strcmp(list->item[i].name, "copy")
                    ? 0
                    : b->n_copy;
            progress(b,
                     vkt__arena_printf(&b->out->priv->arena, "%s once more", list->item[i].name));
            VKT_TRY(list->item[i].run(b, &list->item[i]));
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
        VKT_TRY(vkt__fail(VKT_ARG, "bench",
                          "'%s' is no part of the benchmark: ceilings, ops or steps", desc->only));
    b.wall = caps->klass == VKT_CLASS_CPU || caps->timestamp_ns <= 0;
    b.warm_s = desc->once ? 0 : desc->quick ? 0.05 : 0.5;
    b.time_s = desc->once ? 0 : desc->quick ? 0.15 : 1;
    b.min_runs = desc->once ? 1 : desc->quick ? 5 : 9;
    fill_info(&b);
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
        VKT_TRY(list.item[i].run(&b, &list.item[i]));
        vkt_log(VKT_LOG_DEBUG, "bench", "%s: %.2f s, thought to take %.2f", list.item[i].name,
                vkt__now() - start, list.item[i].weight);
        b.weight_done += list.item[i].weight;
        b.n_done++;
    }
    of[list.n] = b.out->n_rows;
    if (desc->baseline) VKT_TRY(again(&b, &list, of));
    progress(&b, "done");
    *out = b.out;
    free(list.item);
    free(of);
    return b.wrong ? VKT_FAILED : VKT_OK;
fail:
    free(list.item);
    free(of);
    vkt_bench_destroy(&b.out);
    return st;
}
