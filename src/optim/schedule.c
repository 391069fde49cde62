/* Learning-rate schedules: pure functions of the step, in double. With W warmup steps, N steps
 * after them and u = step - W counted from the first of those:
 *
 *   step < W     lr (step + 1) / (W + 1)
 *   constant     lr
 *   linear       lr ((1-p) + f p),         p = u / (N-1), f = final_ratio
 *   cosine       lr (c + f (1-c)),         c = (1 + cos(pi p)) / 2 (Loshchilov & Hutter 2017); with
 *                `cycles` the N steps are that many such falls of N / cycles steps, each from the
 *                peak (their warm restarts); what does not divide is the last one's
 *   polynomial   lr (q + f (1-q)),         q = (1-p)^power, power 0: 1
 *   rsqrt        lr sqrt(K / max(u, K)),   K = decay_every steps at the peak; 0: max(W, 1)
 *   exponential  lr gamma^(u / decay_every), decay_every 0: 1
 *   steps        lr gamma^(number of milestones <= u)
 *   wsd          lr for u < N-D, then linear in (u - (N-D) + 1) / D down to f;
 *                D = round(decay_ratio N)
 *   ramp         lr f^(1-p): rises in equal ratios from lr f, for a search of rates
 *
 * The first step after warmup has the peak rate, the last step lr f exactly (linear, cosine,
 * polynomial, wsd; one step alone has the peak), and every step past the end the last one's. In
 * torch.optim.lr_scheduler's terms T_max and total_iters are N - 1. */
#include <math.h>

#include "base/words.h"
#include "vktrain/optim.h"

const char *vkt_schedule_name(vkt_schedule_kind k)
{
    static const char *const names[VKT_N_SCHEDULES] = {
        [VKT_SCHED_CONSTANT] = "constant",
        [VKT_SCHED_LINEAR] = "linear",
        [VKT_SCHED_COSINE] = "cosine",
        [VKT_SCHED_RSQRT] = "rsqrt",
        [VKT_SCHED_EXPONENTIAL] = "exponential",
        [VKT_SCHED_POLYNOMIAL] = "polynomial",
        [VKT_SCHED_STEPS] = "steps",
        [VKT_SCHED_WSD] = "wsd",
        [VKT_SCHED_RAMP] = "ramp",
    };
    return (unsigned)k < VKT_N_SCHEDULES ? names[k] : "unknown";
}

static uint64_t steps_after_warmup(const vkt_schedule *s)
{
    if (!s->warmup_included) return s->steps;
    return s->steps > s->warmup ? s->steps - s->warmup : 0;
}

uint64_t vkt_schedule_total(const vkt_schedule *s)
{
    return s->warmup_included ? s->steps : s->steps + s->warmup;
}

/* Exactly 1 at share 1 and exactly `to` at share 0. */
static double between(double share, double to)
{
    return share + to * (1 - share);
}

/* Step *u of *n becomes the step of its cycle, and *n that cycle's length. */
static void within_cycle(const vkt_schedule *s, uint64_t *u, uint64_t *n)
{
    uint64_t cycles = VKT_MAX(s->cycles, 1), length = VKT_MAX(*n / cycles, 1);
    uint64_t start = VKT_MIN(*u / length, cycles - 1) * length;
    *n = start == (cycles - 1) * length ? *n - start : length;
    *u -= start;
}

static double decay(const vkt_schedule *s, uint64_t u, uint64_t n)
{
    if (s->kind == VKT_SCHED_COSINE) within_cycle(s, &u, &n);
    double p = n > 1 ? (double)u / (double)(n - 1) : 0, k;
    uint64_t d;
    switch (s->kind) {
    case VKT_SCHED_LINEAR:
        return between(1 - p, s->final_ratio);
    case VKT_SCHED_COSINE:
        return between(0.5 * (1 + cos(3.14159265358979323846 * p)), s->final_ratio);
    case VKT_SCHED_POLYNOMIAL:
        return between(pow(1 - p, s->power == 0 ? 1 : s->power), s->final_ratio);
    case VKT_SCHED_RSQRT:
        k = (double)(s->decay_every ? s->decay_every : VKT_MAX(s->warmup, 1));
        return (double)u > k ? sqrt(k / (double)u) : 1;
    case VKT_SCHED_EXPONENTIAL:
        return pow(s->gamma, (double)u / (double)VKT_MAX(s->decay_every, 1));
    case VKT_SCHED_STEPS:
        d = 0;
        while (d < s->n_milestones && s->milestones[d] <= u) d++;
        return pow(s->gamma, (double)d);
    case VKT_SCHED_WSD:
        d = (uint64_t)floor(s->decay_ratio * (double)n + 0.5);
        return u + d < n ? 1 : between(1 - (double)(u + d - n + 1) / (double)d, s->final_ratio);
    case VKT_SCHED_RAMP:
        return pow(s->final_ratio, 1 - p);
    default:
        return 1;
    }
}

double vkt_schedule_lr(const vkt_schedule *s, uint64_t step)
{
    uint64_t n = steps_after_warmup(s), total = vkt_schedule_total(s);
    step = total ? VKT_MIN(step, total - 1) : 0;
    if (step < s->warmup) return s->lr * ((double)(step + 1) / ((double)s->warmup + 1));
    return s->lr * decay(s, step - s->warmup, n);
}

vkt_status vkt_schedule_check(const vkt_schedule *s, const char *where)
{
    static const char area[] = "schedule";
    const uint64_t most = 1ull << 50;
    if (!where) where = "schedule";
    if ((unsigned)s->kind >= VKT_N_SCHEDULES)
        return vkt__fail(VKT_E_ARG, area, "%s: there is no schedule number %d", where,
                         (int)s->kind);
    if (!(s->lr >= 0 && s->lr <= 1e30))
        return vkt__fail(VKT_E_ARG, area, "%s: the learning rate is %g; it must not be below 0",
                         where, s->lr);
    if (s->steps == 0 || s->steps > most)
        return vkt__fail(VKT_E_ARG, area, "%s: %llu training steps; it takes 1 or more", where,
                         (unsigned long long)s->steps);
    if (s->warmup > most)
        return vkt__fail(VKT_E_ARG, area, "%s: %llu steps of warmup are too many", where,
                         (unsigned long long)s->warmup);
    if (s->warmup_included && s->warmup > s->steps)
        return vkt__fail(VKT_E_ARG, area,
                         "%s: warmup takes %llu of only %llu steps: shorten it, or set "
                         "schedule.warmup_included to false",
                         where, (unsigned long long)s->warmup, (unsigned long long)s->steps);
    if (!(s->final_ratio >= 0 && s->final_ratio <= 1))
        return vkt__fail(VKT_E_ARG, area,
                         "%s: final_ratio is %g; it must be in [0, 1], a share of the peak rate",
                         where, s->final_ratio);
    if (s->cycles > 1 && s->kind != VKT_SCHED_COSINE)
        return vkt__fail(VKT_E_ARG, area, "%s: %u cycles, but only the cosine schedule has cycles",
                         where, s->cycles);
    if (s->cycles > 1 && s->cycles > steps_after_warmup(s))
        return vkt__fail(VKT_E_ARG, area, "%s: %u cycles in %llu steps; each takes 1 or more",
                         where, s->cycles, (unsigned long long)steps_after_warmup(s));
    switch (s->kind) {
    case VKT_SCHED_RAMP:
        if (!(s->final_ratio > 0))
            return vkt__fail(VKT_E_ARG, area,
                             "%s: a ramp needs final_ratio above 0, the first rate / the last",
                             where);
        break;
    case VKT_SCHED_POLYNOMIAL:
        if (!(s->power >= 0 && s->power <= 1000))
            return vkt__fail(VKT_E_ARG, area, "%s: power is %g; it must be above 0", where,
                             s->power);
        break;
    case VKT_SCHED_EXPONENTIAL:
    case VKT_SCHED_STEPS:
        if (!(s->gamma > 0 && s->gamma <= 1))
            return vkt__fail(VKT_E_ARG, area, "%s: gamma is %g; it must be in (0, 1]", where,
                             s->gamma);
        break;
    case VKT_SCHED_WSD:
        if (!(s->decay_ratio >= 0 && s->decay_ratio <= 1))
            return vkt__fail(VKT_E_ARG, area,
                             "%s: decay_ratio is %g; it must be in [0, 1], a share of the steps",
                             where, s->decay_ratio);
        break;
    default:
        break;
    }
    if (s->kind != VKT_SCHED_STEPS) return VKT_OK;
    if (s->n_milestones == 0)
        return vkt__fail(VKT_E_ARG, area, "%s: schedule 'steps' needs milestones", where);
    if (s->n_milestones > VKT_MAX_MILESTONES)
        return vkt__fail(VKT_E_ARG, area, "%s: %u milestones; at most %d", where, s->n_milestones,
                         VKT_MAX_MILESTONES);
    for (uint32_t i = 1; i < s->n_milestones; i++)
        if (s->milestones[i] <= s->milestones[i - 1])
            return vkt__fail(VKT_E_ARG, area, "%s: milestones must rise, but %llu follows %llu",
                             where, (unsigned long long)s->milestones[i],
                             (unsigned long long)s->milestones[i - 1]);
    return VKT_OK;
}
