/* Comparing results: matching rows, ratios, geometric means, regressions. */
#include <math.h>
#include <string.h>

#include "vktrain/bench.h"

const vkt_bench_row *vkt_bench_find(const vkt_bench *b, vkt_bench_group group, const char *name)
{
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->rows[i].group == group && !strcmp(b->rows[i].name, name)) return &b->rows[i];
    return NULL;
}

double vkt_bench_speedup(const vkt_bench_row *a, const vkt_bench_row *b)
{
    if (!a || !b || a->refused || b->refused || a->higher != b->higher ||
        strcmp(a->unit, b->unit) != 0)
        return NAN;
    if (!(a->value > 0) || !(b->value > 0)) return NAN;
    return a->higher ? b->value / a->value : a->value / b->value;
}

double vkt_bench_group_speedup(const vkt_bench *const *files, size_t n, size_t which,
                               vkt_bench_group group, size_t *n_rows)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < files[0]->n_rows; i++) {
        const vkt_bench_row *a = &files[0]->rows[i];
        bool all = a->group == group && (group != VKT_BENCH_CEILINGS || a->higher);
        for (size_t f = 0; f < n && all; f++)
            all = isfinite(vkt_bench_speedup(a, vkt_bench_find(files[f], group, a->name)));
        if (!all) continue;
        sum += log(vkt_bench_speedup(a, vkt_bench_find(files[which], group, a->name)));
        count++;
    }
    if (n_rows) *n_rows = count;
    return count ? exp(sum / (double)count) : NAN;
}

static double spread(const vkt_bench_row *r)
{
    return r->value > 0 ? (r->q3 - r->q1) / r->value : 0;
}

vkt_bench_verdict vkt_bench_judge(const vkt_bench_row *base, const vkt_bench_row *now,
                                  double tolerance, double *speedup, double *noise)
{
    *speedup = vkt_bench_speedup(base, now);
    *noise = NAN;
    if (!base || base->refused || !now) return VKT_BENCH_NO_VERDICT;
    if (now->refused) return VKT_BENCH_BROKEN;
    if (!isfinite(*speedup)) return VKT_BENCH_NO_VERDICT;
    *noise = fmax(tolerance, spread(base) + spread(now));
    /* The best runs must agree: they are what other programs on the machine disturb least. */
    double best = base->higher ? now->max / base->max : base->min / now->min;
    if (*speedup < 1 / (1 + *noise) && best < 1 / (1 + tolerance)) return VKT_BENCH_SLOWER;
    if (*speedup > 1 + *noise && best > 1 + tolerance) return VKT_BENCH_FASTER;
    return VKT_BENCH_SAME;
}

size_t vkt_bench_agree(const vkt_bench *a, const vkt_bench *b, double within, size_t *n)
{
    size_t agree = 0;
    *n = 0;
    for (size_t i = 0; i < a->n_rows; i++) {
        const vkt_bench_row *r = &a->rows[i];
        double speedup = vkt_bench_speedup(r, vkt_bench_find(b, r->group, r->name));
        if (!isfinite(speedup)) continue;
        ++*n;
        agree += speedup <= 1 + within && speedup >= 1 / (1 + within);
    }
    return agree;
}

/* "NAME CODE:COMPILED, ...": the lengths of a kernel's parts. */
typedef struct kernel_text {
    const char *at;
    size_t name, code, all;
} kernel_text;

static kernel_text kernel_at(const char *at)
{
    kernel_text k = { .at = at, .all = strcspn(at, ",") };
    k.name = strcspn(at, " ,");
    k.code = strcspn(at, ":,");
    return k;
}

vkt_bench_kernels vkt_bench_kernels_compare(const vkt_bench_row *a, const vkt_bench_row *b,
                                            char which[64])
{
    vkt_bench_kernels told = VKT_BENCH_KERNELS_SAME;
    which[0] = 0;
    if (!a || !b || !a->kernels || !b->kernels) return VKT_BENCH_KERNELS_UNKNOWN;
    const char *s = a->kernels, *t = b->kernels;
    while (*s || *t) {
        kernel_text x = kernel_at(s), y = kernel_at(t), named = *t ? y : x;
        bool same_code = x.code == y.code && !memcmp(s, t, x.code),
             both_tell = x.all > x.code && y.all > y.code,
             same = same_code && both_tell && x.all == y.all && !memcmp(s, t, x.all);
        vkt_bench_kernels now = !same_code  ? VKT_BENCH_KERNELS_OTHER
                                : same      ? VKT_BENCH_KERNELS_SAME
                                : both_tell ? VKT_BENCH_KERNELS_RECOMPILED
                                            : VKT_BENCH_KERNELS_SAME_CODE;
        if (now >= VKT_BENCH_KERNELS_RECOMPILED && now > told) {
            size_t n = named.name < 63 ? named.name : 63;
            memcpy(which, named.at, n);
            which[n] = 0;
        }
        told = now > told ? now : told;
        s += x.all;
        t += y.all;
        s += strspn(s, ", ");
        t += strspn(t, ", ");
    }
    return told;
}
