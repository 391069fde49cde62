/* The rate of the device's matrix units, by a kernel that does nothing else, for each type of
 * operand that they take with f32 sums. Its result is exact and checked before its time counts. */
#include <math.h>
#include <stdio.h>

#include "bench/bench_clock.h"
#include "bench/bench_rows.h"
#include "shaders/params.h"

enum { MOST_SUBGROUPS = 8, UNROLL = 16, SUMS = 4, EIGHT = 8 };

static const struct {
    const char *name;
    vkt__shader shader;
    vkt_dtype type;
} forms[] = {
    { "matrix units, fp16", VKT_SHADER_BENCH_MATRIX_FLOAT16, VKT_F16 },
    { "matrix units, bf16", VKT_SHADER_BENCH_MATRIX_BFLOAT16, VKT_BF16 },
};

static const uint32_t *fragment_of(const vkt_caps *caps, uint32_t form)
{
    return form == 0 ? caps->coopmat_f16 : caps->coopmat_bf16;
}

typedef struct matrix_job {
    vkt_buffer *z;
    vkt__kernel *kernel;
    struct bench_matrix_params push;
    uint32_t groups, subgroups;
} matrix_job;

static vkt_status matrix_record(void *user, vkt__cmd *cmd, uint32_t rep)
{
    const matrix_job *j = user;
    (void)rep;
    vkt__cmd_dispatch(cmd, j->kernel, &j->push, sizeof j->push, j->groups);
    return VKT_OK;
}

/* Element [m, n] of every subgroup's result; below 2^24 for the trips that are run. */
static double matrix_twin(const uint32_t f[3], uint32_t trips, uint32_t m, uint32_t n)
{
    double sum = 0;
    for (uint32_t k = 0; k < f[2]; k++)
        for (uint32_t i = 0; i < 2; i++)
            for (uint32_t j = 0; j < 2; j++)
                sum += ((double)((m + k + i) % 5) - 2) * ((double)((2 * k + n + j) % 7) - 3);
    return sum * trips * UNROLL;
}

/* The first and the last subgroup's. */
static vkt_status check(vkt__bencher *b, const matrix_job *j, const uint32_t f[3], char why[160])
{
    vkt_status st = VKT_OK;
    uint64_t bytes = 4ull * f[0] * f[1], last = j->groups * (uint64_t)j->subgroups - 1;
    float *got = vkt__alloc(bytes);
    why[0] = 0;
    for (uint32_t at = 0; at < 2; at++) {
        VKT_TRY(vkt_buffer_read(b->gpu, j->z, at * last * bytes, got, bytes));
        for (uint32_t i = 0; i < f[0] * f[1] && !why[0]; i++) {
            double want = matrix_twin(f, j->push.trips, i / f[1], i % f[1]);
            if ((double)got[i] != want)
                snprintf(why, 160, "wrong result: element %u is %.9g, must be %.9g", i,
                         (double)got[i], want);
        }
    }
fail:
    free(got);
    return st;
}

static vkt_status run_matrix(vkt__bencher *b, const vkt__bench_item *item)
{
    vkt_status st = VKT_OK;
    const uint32_t *f = fragment_of(b->caps, item->arg);
    bool cpu = b->caps->klass == VKT_GPU_CLASS_CPU;
    uint32_t n = b->desc->once ? 16 : cpu ? 64 : 1 << 14, trips = b->desc->once || cpu ? 4 : 128;
    matrix_job j = { 0 }, best = { 0 };
    vkt__times t;
    double best_rate = 0, flops = 2.0 * f[0] * f[1] * f[2] * SUMS * UNROLL * n * trips;
    char why[160];
    VKT_TRY(vkt_buffer_create(
        b->gpu, &(vkt_buffer_desc) { 4ull * n * f[0] * f[1], VKT_MEM_DEVICE, "bench matrices" },
        &j.z));
    for (uint32_t s = 1; s <= MOST_SUBGROUPS; s *= 2) {
        uint32_t wg = s * b->caps->subgroup,
                 shared = 4 * f[2] * (f[0] + f[1]) + 4 * s * f[0] * f[1];
        const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                       { VKT_SPEC_CM, f[0] },
                                       { VKT_SPEC_CN, f[1] },
                                       { VKT_SPEC_CK, f[2] },
                                       { VKT_SPEC_SUBGROUPS, s } };
        if (wg > b->caps->workgroup || shared > b->caps->shared_bytes) break;
        j.subgroups = s;
        j.groups = n / s;
        j.push = (struct bench_matrix_params) { j.z->addr, trips, 0 };
        VKT_TRY(vkt__kernel_get(b->gpu, forms[item->arg].shader, spec, VKT_COUNT(spec), &j.kernel));
        VKT_TRY(vkt__bench_time(b,
                                &(vkt__bench_job) { .label = "bench trial",
                                                    .record = matrix_record,
                                                    .user = &j,
                                                    .warm_s = 0.01,
                                                    .time_s = 0.03,
                                                    .trial = true },
                                &t));
        if (flops / t.min > best_rate) best_rate = flops / t.min, best = j;
        if (b->desc->once) break;
    }
    VKT_ASSERT(best.kernel); /* one subgroup and a few fragments fit wherever there are any */
    j = best;
    VKT_TRY(vkt__bench_time(
        b, &(vkt__bench_job) { .label = "bench matrices", .record = matrix_record, .user = &j },
        &t));
    VKT_TRY(check(b, &j, f, why));
    vkt_bench_row *r = vkt__bench_row(b->out, VKT_BENCH_CEILINGS, item->name, "GFLOP/s", true);
    vkt__bench_set(r, &t, flops * 1e-9);
    r->gflops = r->value;
    r->error = 0;
    vkt__bench_note(b->out, r, "%ux%ux%u fragments, %u subgroups", f[0], f[1], f[2], j.subgroups);
    if (why[0])
        vkt__bench_refuse(b, r, true, "%s", why);
    else
        b->matrix[forms[item->arg].type] = VKT_MAX(flops / t.min, best_rate);
fail:
    vkt_buffer_destroy(b->gpu, &j.z);
    return st;
}

void vkt__bench_plan_matrix(vkt__bencher *b, vkt__bench_items *list)
{
    bool fixed = b->caps->subgroup_control || b->caps->subgroup_min == b->caps->subgroup_max;
    for (uint32_t i = 0; i < VKT_COUNT(forms); i++) {
        const uint32_t *f = fragment_of(b->caps, i);
        const char *why = !f[0] || !b->caps->coopmat ? "not on this device"
                          : !fixed || f[1] % EIGHT || f[2] % EIGHT
                              ? "its fragments are not of eights, or its subgroups of no fixed size"
                              : NULL;
        if (why)
            vkt__bench_left_out(b->out, "%s: %s", forms[i].name, why);
        else
            vkt__bench_plan(list, VKT_BENCH_CEILINGS, forms[i].name, b->warm_s + b->time_s + 0.3,
                            run_matrix, i, 0);
    }
}
