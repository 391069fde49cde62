/* What the device can do, by our own kernels. Percentages elsewhere are of the best run seen here:
 * other programs and clocks can only make a run slower. Memory traffic, multiply-adds, dispatch,
 * barrier, submission. Each kernel comes in several forms (scalar or vec4, workgroup, work per
 * invocation); a short trial picks the fastest, which is then measured. Every result is checked
 * before its time counts. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_clock.h"
#include "bench/bench_rows.h"
#include "shaders/params.h"

static const uint32_t sizes_mib[VKT__BW_SIZES] = { 1, 4, 16, 64, 256 };

/* ---- streams ---- */

enum { PATTERN = 1 << 20 }; /* floats; contents repeat after 4 MiB */
static const float TRIAD_S = 0.75f, WRITE_S = 3.0f;

static float pattern(uint64_t i, uint64_t seed)
{
    return 0.5f + (float)vkt_rand_uniform(seed, VKT_RNG_TEST, i % PATTERN);
}

typedef struct stream {
    vkt__bencher *b;
    vkt_buffer *buf[3]; /* x, y, z */
    uint32_t op, wide, wg, per;
    uint64_t bytes; /* of x */
    vkt__kernel *kernel;
    struct bench_stream_params push;
    uint32_t groups;
} stream;

static const char *const stream_names[] = { "copy", "read", "write", "triad" };

/* Bytes that one repetition moves. */
static double traffic(const stream *s)
{
    double n = (double)s->bytes;
    switch (s->op) {
    case VKT_BENCH_READ:
        return n + n / ((double)s->per * (s->wide ? 4 : 1));
    case VKT_BENCH_WRITE:
        return n;
    case VKT_BENCH_TRIAD:
        return 3 * n;
    default:
        return 2 * n;
    }
}

static vkt_status stream_set(stream *s)
{
    uint64_t n = s->bytes / (s->wide ? 16 : 4);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, s->wg },
                                   { VKT_SPEC_OP, s->op },
                                   { VKT_SPEC_WIDE, s->wide },
                                   { VKT_SPEC_PER, s->per } };
    VKT_ASSERT(n % ((uint64_t)s->wg * s->per) == 0);
    s->groups = (uint32_t)(n / ((uint64_t)s->wg * s->per));
    uint64_t x = s->buf[0]->addr, y = s->buf[s->buf[1] ? 1 : 0]->addr, z = s->buf[2]->addr;
    s->push = (struct bench_stream_params) { x, y, z, (uint32_t)n,
                                             s->op == VKT_BENCH_WRITE ? WRITE_S : TRIAD_S };
    return vkt__kernel_get(s->b->gpu, VKT_SHADER_BENCH_STREAM, spec, VKT_COUNT(spec), &s->kernel);
}

static vkt_status stream_record(void *user, vkt__cmd *cmd, uint32_t rep)
{
    const stream *s = user;
    (void)rep;
    vkt__cmd_dispatch(cmd, s->kernel, &s->push, sizeof s->push, s->groups);
    return VKT_OK;
}

static vkt_status fill(vkt_gpu *gpu, vkt_buffer *buf, uint64_t seed)
{
    vkt_status st = VKT_OK;
    uint64_t n = VKT_MIN(buf->bytes / 4, (uint64_t)PATTERN);
    float *v = vkt__alloc(n * sizeof *v);
    for (uint64_t i = 0; i < n; i++) v[i] = pattern(i, seed);
    for (uint64_t at = 0; at < buf->bytes && st == VKT_OK; at += n * 4)
        st = vkt_buffer_write(gpu, buf, at, v, VKT_MIN(n * 4, buf->bytes - at));
    free(v);
    return st;
}

/* What z[i] must be; in *limit how far off it may be. */
static double stream_twin(const stream *s, uint64_t i, double *limit)
{
    uint64_t lanes = s->wide ? 4 : 1;
    *limit = 0;
    switch (s->op) {
    case VKT_BENCH_COPY:
        return (double)pattern(i, 1);
    case VKT_BENCH_WRITE:
        return (double)WRITE_S + (double)(i / lanes & 1023);
    case VKT_BENCH_TRIAD:
        *limit = 0x1p-22;
        return (double)pattern(i, 1) + (double)TRIAD_S * (double)pattern(i, 2);
    default:
        break;
    }
    double sum = 0;
    uint64_t group = i / s->wg, lane = i % s->wg;
    for (uint64_t k = 0; k < s->per; k++)
        for (uint64_t c = 0; c < lanes; c++)
            sum += (double)pattern(((group * s->per + k) * s->wg + lane) * lanes + c, 1);
    *limit = sum * 0x1p-20;
    return sum;
}

/* Three windows of z: its beginning, somewhere inside, its end. */
static vkt_status stream_check(stream *s, double *worst, char why[160])
{
    enum { WINDOW = 4096 };
    vkt_status st = VKT_OK;
    float *got = vkt__alloc(WINDOW * sizeof *got);
    uint64_t n = s->op == VKT_BENCH_READ ? s->bytes / 4 / s->per / (s->wide ? 4 : 1) : s->bytes / 4,
             w = VKT_MIN(n, (uint64_t)WINDOW);
    uint64_t at[3] = { 0, (n - w) / 3, n - w };
    *worst = 0;
    why[0] = 0;
    for (int k = 0; k < 3; k++) {
        VKT_TRY(vkt_buffer_read(s->b->gpu, s->buf[2], at[k] * 4, got, w * 4));
        for (uint64_t i = 0; i < w; i++) {
            double limit, want = stream_twin(s, at[k] + i, &limit),
                          err = fabs((double)got[i] - want);
            double share = err == 0 ? 0 : limit > 0 ? err / limit : INFINITY;
            if (!(share <= 1) && !why[0])
                snprintf(why, 160, "wrong result: element %llu is %.9g, must be %.9g",
                         (unsigned long long)(at[k] + i), (double)got[i], want);
            *worst = VKT_MAX(*worst, isnan(share) ? INFINITY : share);
        }
    }
fail:
    free(got);
    return st;
}

static vkt_status stream_clear(stream *s)
{
    enum { BYTES = 1 << 20 };
    vkt_status st = VKT_OK;
    char *nan = vkt__alloc(BYTES);
    memset(nan, 0xff, BYTES);
    for (uint64_t at = 0; at < s->bytes && st == VKT_OK; at += BYTES)
        st = vkt_buffer_write(s->b->gpu, s->buf[2], at, nan,
                              VKT_MIN((uint64_t)BYTES, s->bytes - at));
    free(nan);
    return st;
}

/* The fastest form on these buffers, by short trials. */
static vkt_status stream_choose(stream *s)
{
    vkt_status st = VKT_OK;
    static const struct {
        uint32_t wide, wg, per;
    } forms[] = {
        { 0, 64, 4 }, { 0, 256, 16 }, { 1, 64, 4 }, { 1, 256, 1 }, { 1, 256, 4 }, { 1, 256, 16 },
    };
    double best = INFINITY;
    size_t at = s->b->desc->once ? 2 : 0;
    for (size_t i = 0; i < VKT_COUNT(forms) && !s->b->desc->once; i++) {
        vkt__times t;
        if (forms[i].wg > s->b->caps->workgroup ||
            (s->op == VKT_BENCH_READ && forms[i].per * (forms[i].wide ? 4 : 1) < 8))
            continue;
        s->wide = forms[i].wide;
        s->wg = forms[i].wg;
        s->per = forms[i].per;
        VKT_TRY(stream_set(s));
        VKT_TRY(vkt__bench_time(s->b,
                                &(vkt__bench_job) { .label = "bench trial",
                                                    .record = stream_record,
                                                    .user = s,
                                                    .warm_s = 0.01,
                                                    .time_s = 0.02,
                                                    .trial = true },
                                &t));
        double per_byte = t.min / traffic(s);
        if (per_byte < best) best = per_byte, at = i;
    }
    s->wide = forms[at].wide;
    s->wg = forms[at].wg;
    s->per = forms[at].per;
    VKT_TRY(stream_set(s));
fail:
    return st;
}

static vkt_status stream_run(stream *s)
{
    vkt_status st = VKT_OK;
    vkt__bencher *b = s->b;
    vkt__times t;
    char name[64], why[160];
    double worst;
    snprintf(name, sizeof name, "%s %u MiB", stream_names[s->op], (unsigned)(s->bytes >> 20));
    VKT_TRY(stream_set(s));
    VKT_TRY(stream_clear(s));
    VKT_TRY(vkt__bench_time(
        b, &(vkt__bench_job) { .label = "bench stream", .record = stream_record, .user = s }, &t));
    VKT_TRY(stream_check(s, &worst, why));
    vkt_bench_row *r = vkt__bench_row(b->out, VKT_BENCH_CEILINGS, name, "GB/s", true);
    vkt__bench_set(r, &t, traffic(s) * 1e-9);
    r->gbps = r->value;
    r->error = worst;
    vkt__bench_note(b->out, r, "%s, workgroup %u x %u", s->wide ? "vec4" : "scalar", s->wg, s->per);
    if (why[0]) {
        vkt__bench_refuse(b, r, true, "%s", why);
        goto fail;
    }
    double rate = traffic(s) / t.min;
    switch (s->op) {
    case VKT_BENCH_READ:
        b->read = VKT_MAX(b->read, rate);
        break;
    case VKT_BENCH_WRITE:
        b->write = VKT_MAX(b->write, rate);
        break;
    case VKT_BENCH_TRIAD:
        b->triad = VKT_MAX(b->triad, rate);
        break;
    default:
        b->copy[b->n_copy].bytes = 2.0 * (double)s->bytes;
        b->copy[b->n_copy++].rate = rate;
    }
fail:
    return st;
}

/* Largest size of those that fit thrice into a third of the budget. */
static uint32_t largest_mib(const vkt__bencher *b)
{
    uint32_t most = b->desc->once ? 1 : b->desc->quick ? 64 : 256, best = 1;
    for (size_t i = 0; i < VKT_COUNT(sizes_mib); i++) {
        uint64_t bytes = (uint64_t)sizes_mib[i] << 20;
        if (sizes_mib[i] <= most && bytes * 9 <= b->caps->budget_bytes &&
            bytes <= b->caps->max_alloc_bytes)
            best = sizes_mib[i];
    }
    return best;
}

/* arg: the VKT_BENCH_* op. arg2: copy at all sizes. */
static vkt_status run_stream(vkt__bencher *b, const vkt__bench_item *item)
{
    vkt_status st = VKT_OK;
    uint32_t most = largest_mib(b);
    stream s = { .b = b, .op = item->arg, .bytes = (uint64_t)most << 20 };
    for (int i = 0; i < 3; i++) {
        static const char *const labels[] = { "bench x", "bench y", "bench z" };
        if (i == 1 && s.op != VKT_BENCH_TRIAD) continue;
        VKT_TRY(vkt_buffer_create(b->gpu, &(vkt_buffer_desc) { s.bytes, VKT_MEM_DEVICE, labels[i] },
                                  &s.buf[i]));
        if (i < 2) VKT_TRY(fill(b->gpu, s.buf[i], (uint64_t)i + 1));
    }
    if (b->caps->klass == VKT_GPU_CLASS_CPU)
        s.bytes = (uint64_t)VKT_MIN(most, 16) << 20; /* trials of a slow device */
    VKT_TRY(stream_choose(&s));
    for (size_t i = 0; i < VKT_COUNT(sizes_mib); i++) {
        if (sizes_mib[i] > most || (!item->arg2 && sizes_mib[i] != most && sizes_mib[i] != 64))
            continue; /* 64: what every file has */
        if (b->desc->quick && sizes_mib[i] == 4) continue;
        s.bytes = (uint64_t)sizes_mib[i] << 20;
        VKT_TRY(stream_run(&s));
    }
fail:
    for (int i = 0; i < 3; i++) vkt_buffer_destroy(b->gpu, &s.buf[i]);
    return st;
}

/* ---- multiply-adds ---- */

/* One chain in which each multiply-add waits for the last shows half of what some devices can
 * (clpeak's issue 202: RTX 4060), so that there are several chains, and operands of one register.
 */
enum { SQUARE = 5 }; /* the shader's FORM */

static const struct fma_form {
    const char *name;
    vkt__shader shader;
    uint32_t form, chains;
    float a, b;
} fma_forms[] = {
    { "fp32 multiply-add, scalar", VKT_SHADER_BENCH_FMA, 4, 4, -0.9990234375f, 2 },
    { "fp32 multiply-add, scalar", VKT_SHADER_BENCH_FMA, 0, 8, -0.9990234375f, 2 },
    { "fp32 multiply-add, scalar", VKT_SHADER_BENCH_FMA, 1, 16, -0.9990234375f, 2 },
    { "fp32 multiply-add, scalar", VKT_SHADER_BENCH_FMA, SQUARE, 8, 0, -0.749f },
    { "fp32 multiply-add, vec4", VKT_SHADER_BENCH_FMA, 2, 8, -0.9990234375f, 2 },
    { "fp32 multiply-add, vec4", VKT_SHADER_BENCH_FMA, 3, 16, -0.9990234375f, 2 },
    { "fp16 multiply-add, vec2", VKT_SHADER_BENCH_FMA16, 0, 16, -0.984375f, 2 },
};
enum { SCALAR = 0, VEC4 = 4, FP16 = 6, FORMS = VKT_COUNT(fma_forms) };

typedef struct fma_job {
    vkt_buffer *z;
    vkt__kernel *kernel;
    struct bench_fma_params push;
    uint32_t groups, wg;
} fma_job;

static vkt_status fma_record(void *user, vkt__cmd *cmd, uint32_t rep)
{
    const fma_job *j = user;
    (void)rep;
    vkt__cmd_dispatch(cmd, j->kernel, &j->push, sizeof j->push, j->groups);
    return VKT_OK;
}

static double fma_twin(const struct fma_form *f, uint32_t i, uint32_t trips)
{
    bool square = f->form == SQUARE;
    double sum = 0;
    for (uint32_t k = 0; k < f->chains; k++) {
        double x = 0.5 + (double)(i & 1023) / 1024 + k * 0.125;
        if (square) x *= 0.5;
        for (uint32_t t = 0; t < 16 * trips; t++)
            x = x * (square ? x : (double)f->a) + (double)f->b;
        sum += x;
    }
    return sum;
}

static vkt_status fma_check(vkt__bencher *b, const fma_job *j, const struct fma_form *f,
                            double *worst, char why[160])
{
    enum { N = 64 };
    vkt_status st = VKT_OK;
    float got[N];
    /* Errors of a step live on for 1 / (1 - |a|) steps and alternate in sign; rounded to 2^-24 or
     * 2^-11. */
    double tol = f->shader == VKT_SHADER_BENCH_FMA ? 1e-4 : 0.05;
    *worst = 0;
    why[0] = 0;
    for (uint32_t at = 0; at < 2; at++) {
        uint32_t first = at ? j->push.n - N : 0;
        VKT_TRY(vkt_buffer_read(b->gpu, j->z, (uint64_t)first * 4, got, sizeof got));
        for (uint32_t i = 0; i < N; i++) {
            double want = fma_twin(f, first + i, j->push.trips),
                   share = fabs((double)got[i] - want) / (tol * fabs(want));
            if (!(share <= 1) && !why[0])
                snprintf(why, 160, "wrong result: element %u is %.9g, must be %.9g", first + i,
                         (double)got[i], want);
            *worst = VKT_MAX(*worst, isnan(share) ? INFINITY : share);
        }
    }
fail:
    return st;
}

/* arg .. arg2 - 1: the forms to time; the fastest counts. */
static vkt_status run_fma(vkt__bencher *b, const vkt__bench_item *item)
{
    vkt_status st = VKT_OK;
    fma_job j = { 0 }, best_job = { 0 };
    vkt__times t;
    uint32_t best = item->arg;
    double best_rate = 0, worst;
    char why[160];
    bool cpu = b->caps->klass == VKT_GPU_CLASS_CPU;
    uint32_t n = b->desc->once ? 1024
                 : cpu         ? 8192
                               : 1 << 18,
             trips = b->desc->once ? 4
                     : cpu         ? 64
                                   : 256;
    VKT_TRY(vkt_buffer_create(
        b->gpu, &(vkt_buffer_desc) { (uint64_t)n * 4, VKT_MEM_DEVICE, "bench multiply-adds" },
        &j.z));
    for (uint32_t f = item->arg; f < item->arg2; f++) {
        for (uint32_t wg = 64; wg <= VKT_MIN(b->caps->workgroup, 256); wg *= 4) {
            const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                           { VKT_SPEC_FORM, fma_forms[f].form } };
            j.wg = wg;
            j.groups = n / wg;
            j.push =
                (struct bench_fma_params) { j.z->addr, n, trips, fma_forms[f].a, fma_forms[f].b };
            VKT_TRY(vkt__kernel_get(b->gpu, fma_forms[f].shader, spec, VKT_COUNT(spec), &j.kernel));
            VKT_TRY(vkt__bench_time(b,
                                    &(vkt__bench_job) { .label = "bench trial",
                                                        .record = fma_record,
                                                        .user = &j,
                                                        .warm_s = 0.01,
                                                        .time_s = 0.03,
                                                        .trial = true },
                                    &t));
            double rate = 2.0 * 16 * fma_forms[f].chains * (double)n * trips / t.min;
            if (rate > best_rate) best_rate = rate, best = f, best_job = j;
            if (b->desc->once) break;
        }
    }
    j = best_job;
    double flops = 2.0 * 16 * fma_forms[best].chains * (double)n * trips;
    VKT_TRY(vkt__bench_time(
        b, &(vkt__bench_job) { .label = "bench multiply-adds", .record = fma_record, .user = &j },
        &t));
    VKT_TRY(fma_check(b, &j, &fma_forms[best], &worst, why));
    vkt_bench_row *r = vkt__bench_row(b->out, VKT_BENCH_CEILINGS, item->name, "GFLOP/s", true);
    vkt__bench_set(r, &t, flops * 1e-9);
    r->gflops = r->value;
    r->error = worst;
    vkt__bench_note(b->out, r, "%u chains%s, workgroup %u", fma_forms[best].chains,
                    fma_forms[best].form == SQUARE ? " x x + b" : "", j.wg);
    if (why[0])
        vkt__bench_refuse(b, r, true, "%s", why);
    else if (fma_forms[best].shader == VKT_SHADER_BENCH_FMA)
        b->fma = VKT_MAX(b->fma, VKT_MAX(flops / t.min, best_rate));
fail:
    vkt_buffer_destroy(b->gpu, &j.z);
    return st;
}

/* ---- dispatch, barrier, submission ---- */

enum { N_COUNTERS = 4096 };

typedef struct count_job {
    vkt__kernel *kernel;
    vkt_buffer *z;
    bool same; /* all dispatches count in one place: barriers between must order them */
} count_job;

static vkt_status count_record(void *user, vkt__cmd *cmd, uint32_t rep)
{
    const count_job *j = user;
    struct bench_count_params p = { j->z->addr, j->same ? 0 : rep % N_COUNTERS, 0 };
    vkt__cmd_dispatch(cmd, j->kernel, &p, sizeof p, 1);
    return VKT_OK;
}

/* One submission of n dispatches counts to n. */
static vkt_status count_check(vkt__bencher *b, count_job *j, char why[160])
{
    enum { N = 100 };
    vkt_status st = VKT_OK;
    vkt__cmd *cmd = NULL;
    uint64_t ticket = 0;
    uint32_t before[N], after[N];
    VKT_TRY(vkt_buffer_read(b->gpu, j->z, 0, before, sizeof before));
    VKT_TRY(vkt__cmd_create(b->gpu, "bench count", 0, &cmd));
    for (uint32_t i = 0; i < N; i++) {
        VKT_TRY(count_record(j, cmd, i));
        if (j->same) vkt__cmd_barrier(cmd);
    }
    VKT_TRY(vkt__cmd_end(cmd));
    VKT_TRY(vkt__submit(b->gpu, cmd, &ticket));
    VKT_TRY(vkt_ticket_wait(b->gpu, ticket));
    VKT_TRY(vkt_buffer_read(b->gpu, j->z, 0, after, sizeof after));
    why[0] = 0;
    for (uint32_t i = 0; i < (j->same ? 1 : N); i++) {
        uint32_t want = j->same ? N : 1;
        if (after[i] - before[i] != want)
            snprintf(why, 160, "wrong result: %u dispatches counted %u", want,
                     after[i] - before[i]);
    }
fail:
    vkt__cmd_destroy(b->gpu, &cmd);
    return st;
}

static vkt_status run_overheads(vkt__bencher *b, const vkt__bench_item *item)
{
    vkt_status st = VKT_OK;
    count_job j = { 0 };
    vkt__times t[3];
    char why[3][160] = { "", "", "" };
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP,
                                     VKT_MIN(b->caps->subgroup, b->caps->workgroup) } };
    (void)item;
    VKT_TRY(vkt_buffer_create(
        b->gpu, &(vkt_buffer_desc) { N_COUNTERS * 4, VKT_MEM_DEVICE, "bench counters" }, &j.z));
    VKT_TRY(vkt__kernel_get(b->gpu, VKT_SHADER_BENCH_COUNT, spec, VKT_COUNT(spec), &j.kernel));
    VKT_TRY(vkt__bench_time(
        b,
        &(vkt__bench_job) {
            .label = "bench dispatch", .record = count_record, .user = &j, .no_barriers = true },
        &t[0]));
    VKT_TRY(count_check(b, &j, why[0]));
    j.same = true;
    VKT_TRY(vkt__bench_time(
        b, &(vkt__bench_job) { .label = "bench barrier", .record = count_record, .user = &j },
        &t[1]));
    VKT_TRY(count_check(b, &j, why[1]));
    /* A submission of one dispatch and the wait for it is the host's matter: by wall clock on every
     * device. */
    bool wall = b->wall;
    b->wall = true;
    st = vkt__bench_time(
        b,
        &(vkt__bench_job) {
            .label = "bench submit", .record = count_record, .user = &j, .max_reps = 1 },
        &t[2]);
    b->wall = wall;
    VKT_TRY(st);
    static const char *const names[] = { "empty dispatch", "dispatch and barrier",
                                         "submit and wait" };
    for (int i = 0; i < 3; i++) {
        vkt_bench_row *r = vkt__bench_row(b->out, VKT_BENCH_CEILINGS, names[i], "us", false);
        vkt__bench_set(r, &t[i], 1e6);
        r->error = 0;
        if (i == 2) vkt__bench_note(b->out, r, "wall clock");
        if (why[i][0]) vkt__bench_refuse(b, r, true, "%s", why[i]);
    }
fail:
    vkt_buffer_destroy(b->gpu, &j.z);
    return st;
}

/* `all` false: what percentages need. */
void vkt__bench_plan_ceilings(vkt__bencher *b, vkt__bench_items *list, bool all)
{
    double each = b->warm_s + b->time_s + 0.1, n_sizes = largest_mib(b) > 64 ? 2 : 1;
    vkt__bench_plan(list, VKT_BENCH_CEILINGS, "copy", each * (b->desc->quick ? 3 : 5) + 0.6,
                    run_stream, VKT_BENCH_COPY, true);
    vkt__bench_plan(list, VKT_BENCH_CEILINGS, "triad", each * n_sizes + 0.8, run_stream,
                    VKT_BENCH_TRIAD, false);
    vkt__bench_plan(list, VKT_BENCH_CEILINGS, "read", each * n_sizes + 0.5, run_stream,
                    VKT_BENCH_READ, false);
    vkt__bench_plan(list, VKT_BENCH_CEILINGS, "write", each * n_sizes + 0.6, run_stream,
                    VKT_BENCH_WRITE, false);
    vkt__bench_plan(list, VKT_BENCH_CEILINGS, fma_forms[SCALAR].name, each + 0.6, run_fma, SCALAR,
                    VEC4);
    vkt__bench_plan(list, VKT_BENCH_CEILINGS, fma_forms[VEC4].name, each + 0.3, run_fma, VEC4,
                    FP16);
    vkt__bench_plan_matrix(b, list);
    if (!all) return;
    if (b->caps->fp16)
        vkt__bench_plan(list, VKT_BENCH_CEILINGS, fma_forms[FP16].name, each + 0.2, run_fma, FP16,
                        FORMS);
    else
        vkt__bench_left_out(b->out, "fp16 multiply-add: not on this device");
    vkt__bench_left_out(b->out,
                        "bf16 multiply-add: Vulkan's bfloat16 has none outside matrix units");
    vkt__bench_plan(list, VKT_BENCH_CEILINGS, "dispatch, barrier, submission", 3 * each,
                    run_overheads, 0, 0);
}
