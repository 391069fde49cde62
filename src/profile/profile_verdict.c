/* What limits a step, in words. The order matters: a device that idles is not helped by faster
 * kernels, so waiting for data and for the host come first; then the side on which most kernel time
 * lies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "profile/profiler.h"

/* Shares of the step's time from which idling is what to look at first. */
#define INPUT_IDLE 0.10
#define HOST_IDLE 0.25
#define EXCHANGE_IDLE 0.20
/* A product that reaches this share of the reference leaves little to gain. */
#define WELL_USED 0.7
/* Below this share, memory traffic does not explain a kernel's time. */
#define HARDLY_USED 0.25
/* Kernels must be this share of what the device is busy for, to be what limits it. */
#define MOSTLY 0.5

const char *vkt_profile_verdict_name(vkt_profile_verdict v)
{
    static const char *const names[] = { "input-bound",   "host-bound",    "launch-bound",
                                         "memory-bound",  "compute-bound", "unclear",
                                         "exchange-bound" };
    return names[v];
}

const char *vkt_kernel_bound_name(vkt_kernel_bound b)
{
    static const char *const names[] = { "launch", "memory", "compute" };
    return names[b];
}

#define SAY(field, ...) snprintf(p->field, sizeof p->field, __VA_ARGS__)

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

static void judge_input(vkt_profile *p)
{
    double device_ms = p->busy * p->step_ms / p->accumulate;
    uint32_t need = (uint32_t)VKT_MIN(ceil(p->fill_ms / VKT_MAX(device_ms, 1e-6)), 1e6),
             workers = VKT_MIN(p->workers, p->slots);
    uint32_t more = VKT_MIN(need, VKT_MIN(VKT_MAX_SLOTS, vkt__cpu_count()));
    p->verdict = VKT_PROFILE_INPUT_BOUND;
    SAY(why,
        "the device was idle %.0f%% of the time, waiting for data: a batch takes %.3g ms to "
        "prepare and %.3g ms on the device, and %u thread%s prepare%s batches",
        100 * p->idle_input, p->fill_ms, device_ms, workers, plural(workers),
        workers == 1 ? "s" : "");
    if (more > workers)
        SAY(advice, "raise data.workers (now %u) to %u%s%s", p->workers, more,
            p->slots < more ? ", and data.prefetch to the same" : "",
            need > more ? "; this will not be enough: also store the data preprocessed (`vktrain "
                          "pack`) or smaller"
                        : "");
    else
        SAY(advice, "more loader threads will hardly help: store the data preprocessed (`vktrain "
                    "pack`) or smaller, so that a batch takes less time to prepare");
}

static void judge_host(vkt_profile *p)
{
    p->verdict = VKT_PROFILE_HOST_BOUND;
    SAY(why,
        "the device was idle %.0f%% of the time, waiting for the host: a step of %.3g ms takes "
        "%.3g ms on the device; on the host, submitting takes %.3g ms and reading results %.3g ms",
        100 * p->idle_host, p->step_ms, p->busy * p->step_ms, p->submit_ms, p->metrics_ms);
    SAY(advice, "raise train.batch (now %u): the host's work does not depend on the batch size",
        p->batch);
}

static void judge_exchange(vkt_profile *p)
{
    double least = INFINITY, most = 0;
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        least = fmin(least, p->rank[r].own_ms);
        most = fmax(most, p->rank[r].own_ms);
    }
    bool waits = most - least > 0.5 * p->idle_exchange * p->step_ms;
    p->verdict = VKT_PROFILE_EXCHANGE_BOUND;
    SAY(why,
        "the device was idle %.0f%% of the time, in the exchange between %u ranks: a step of %.3g "
        "ms takes them %.3g to %.3g ms without it, and each sends %.3g KiB",
        100 * p->idle_exchange, p->n_ranks, p->step_ms, least, most,
        (double)p->rank[0].bytes / 1024);
    SAY(advice,
        waits ? "the fast ranks wait for the slow: set train.balance: measured, or leave the "
                "slowest device out"
              : "raise train.batch (now %u), as a step's bytes do not depend on it; else "
                "train.compress: bf16, or train.sync.every, or fewer ranks",
        p->batch);
}

static void judge_launch(vkt_profile *p, double share, uint32_t n)
{
    p->verdict = VKT_PROFILE_LAUNCH_BOUND;
    SAY(why,
        "%u of the %u dispatches of a step take less than twice the %.3g us of an empty one, "
        "%.0f%% of all kernel time",
        n, p->n_dispatches, p->empty_us, 100 * share);
    SAY(advice,
        "raise train.batch (now %u), or widen the model: the same dispatches then do more work",
        p->batch);
}

static const vkt_profile_kernel *heaviest(const vkt_profile *p, vkt_kernel_bound bound)
{
    for (size_t i = 0; i < p->n_kernels; i++)
        if (p->kernels[i].bound == bound) return &p->kernels[i];
    return NULL;
}

/* Whether a layer's width, as the result's shape has it, is no multiple of 64. */
static bool odd_width(const vkt_profile_kernel *k)
{
    bool odd = false;
    for (const char *c = strchr(k->result, ','); c; c = strchr(c + 1, ','))
        odd |= strtoul(c + 1, NULL, 10) % 64 != 0;
    return odd;
}

/* Little arithmetic a byte makes memory the bound of these kernels, but they do not come near it.
 */
static void judge_far_from_memory(vkt_profile *p, const vkt_profile_kernel *k, double share)
{
    p->verdict = VKT_PROFILE_UNCLEAR;
    SAY(why,
        "%.0f%% of kernel time is in kernels of little arithmetic, but the slowest, %s%s%s, takes "
        "%.0f%% of it and reaches only %.0f%% of the memory reference, so memory does not limit it",
        100 * share, k->op, *k->result ? " " : "", k->result, 100 * k->ms / p->kernels_ms,
        100 * k->ceiling);
    SAY(advice,
        "the tensors are too small to fill the device, or the kernel is slow; raise train.batch "
        "(now %u) to find out which",
        p->batch);
}

static void judge_roofline(vkt_profile *p, vkt_kernel_bound bound, double share)
{
    const vkt_profile_kernel *k = heaviest(p, bound);
    bool memory = bound == VKT_KERNEL_BOUND_MEMORY;
    if (memory && strncmp(k->op, "optim", 5) != 0 && k->ceiling < HARDLY_USED) {
        judge_far_from_memory(p, k, share);
        return;
    }
    p->verdict = memory ? VKT_PROFILE_MEMORY_BOUND : VKT_PROFILE_COMPUTE_BOUND;
    SAY(why,
        "%.0f%% of kernel time is in kernels limited by %s; the slowest, %s%s%s, takes %.0f%% of "
        "it and reaches %.0f%% of the %s reference",
        100 * share, memory ? "memory" : "arithmetic", k->op, *k->result ? " " : "", k->result,
        100 * k->ms / p->kernels_ms, 100 * fmin(k->ceiling, 1), memory ? "memory" : "product");
    if (memory && !strncmp(k->op, "optim", 5))
        SAY(advice,
            "raise train.batch (now %u): the update reads and writes each parameter once per step, "
            "whatever the batch size",
            p->batch);
    else if (memory && !strcmp(k->op, "matmul"))
        SAY(advice,
            "raise train.batch (now %u): products with more rows do more arithmetic per byte",
            p->batch);
    else if (memory)
        SAY(advice, "use fewer or narrower elementwise and normalisation layers; a larger batch "
                    "does not help here");
    else if (k->ceiling >= WELL_USED)
        SAY(advice,
            "the device is well used: only a smaller model or a faster device makes steps faster");
    else
        SAY(advice,
            "the slowest product is too small to fill the device: raise train.batch (now %u)%s",
            p->batch, odd_width(k) ? ", or make layer widths multiples of 64" : "");
}

/* A share of kernel time says nothing of a step that is mostly something else. */
static void judge_unclear(vkt_profile *p)
{
    p->verdict = VKT_PROFILE_UNCLEAR;
    SAY(why,
        "kernels, timed one by one, are %.0f%% of a step of %.3g ms, and the device was busy for "
        "%.3g ms of it: the rest is between its %u kernels (an empty one takes %.3g us), "
        "or other programs use this machine",
        100 * p->kernels_ms / p->step_ms, p->step_ms, p->busy * p->step_ms, p->n_dispatches,
        p->empty_us);
    SAY(advice,
        "measure again when nothing else runs, with more --steps (now %llu); if it stays so, raise "
        "train.batch (now %u): longer kernels against what is between them",
        (unsigned long long)p->steps, p->batch);
}

/* Without kernel times: which of the three lower bounds of a step's device time is the largest. */
static void judge_estimate(vkt_profile *p)
{
    double launch = 1e-3 * p->empty_us * p->n_dispatches, memory = 1e-6 * p->bytes / p->memory_gbps,
           compute = 1e-6 * p->flops / p->matmul_gflops;
    double most = VKT_MAX(launch, VKT_MAX(memory, compute));
    p->verdict = most == launch   ? VKT_PROFILE_LAUNCH_BOUND
                 : most == memory ? VKT_PROFILE_MEMORY_BOUND
                                  : VKT_PROFILE_COMPUTE_BOUND;
    SAY(why,
        "an estimate, because the device has no timestamps: of %.3g ms on the device, launching %u "
        "kernels takes at least %.3g ms, moving %.3g MB at least %.3g ms, and %.3g Gflop at least "
        "%.3g ms",
        p->busy * p->step_ms, p->n_dispatches, launch, 1e-6 * p->bytes, memory, 1e-9 * p->flops,
        compute);
    if (most == compute)
        SAY(advice, "use a smaller model or a faster device");
    else
        SAY(advice, "raise train.batch (now %u): each kernel then does more work", p->batch);
}

void vkt__profile_judge(vkt_profile *p)
{
    double ms[3] = { 0 };
    uint32_t n[3] = { 0 };
    for (size_t i = 0; i < p->n_kernels; i++) {
        ms[p->kernels[i].bound] += p->kernels[i].ms;
        n[p->kernels[i].bound] += p->kernels[i].count;
    }
    vkt_kernel_bound most = VKT_KERNEL_BOUND_LAUNCH;
    for (vkt_kernel_bound b = VKT_KERNEL_BOUND_MEMORY; b <= VKT_KERNEL_BOUND_COMPUTE; b++)
        if (ms[b] > ms[most]) most = b;
    if (p->idle_input >= INPUT_IDLE && p->idle_input >= p->idle_host)
        judge_input(p);
    else if (p->n_ranks && p->idle_exchange >= EXCHANGE_IDLE && p->idle_exchange >= p->idle_host)
        judge_exchange(p);
    else if (p->idle_host >= HOST_IDLE)
        judge_host(p);
    else if (!p->timestamps || !(p->kernels_ms > 0))
        judge_estimate(p);
    else if (most == VKT_KERNEL_BOUND_LAUNCH)
        judge_launch(p, ms[most] / p->kernels_ms, n[most]);
    else if (p->kernels_ms < MOSTLY * p->busy * p->step_ms)
        judge_unclear(p);
    else
        judge_roofline(p, most, ms[most] / p->kernels_ms);
}
