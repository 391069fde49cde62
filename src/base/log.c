/* Status names, log sink, assertion, random numbers, hash, names that match and the nearest. */
#include <math.h>
#include <stdio.h>

#include "base/util.h"
#include "shaders/rng.h"

const char *vkt_status_name(vkt_status st)
{
    static const char *const names[] = {
        "ok",
        "bad argument",
        "shape",
        "unsupported",
        "out of host memory",
        "out of device memory",
        "no device",
        "device",
        "io",
        "format",
        "numeric",
        "communication",
        "interrupted",
        "failed",
    };
    return (unsigned)st < VKT_COUNT(names) ? names[st] : "unknown";
}

static void default_sink(void *user, vkt_log_level level, const char *area, const char *line)
{
    static const char *const names[] = { "error: ", "warning: ", "", "debug: " };
    (void)user;
    (void)area;
    fprintf(stderr, "vktrain: %s%s\n", names[level], line);
}

static vkt_log_fn sink = default_sink;
static void *sink_user;
static vkt_log_level sink_level = VKT_LOG_INFO;

void vkt_log_set(vkt_log_fn fn, void *user, vkt_log_level max_level)
{
    sink = fn ? fn : default_sink;
    sink_user = user;
    sink_level = max_level;
}

/* How often each was asked for: calls nest. */
static _Thread_local int quiet, held;
static _Thread_local char failure[512];

void vkt__log_quiet(bool on)
{
    quiet += on ? 1 : -1;
    if (on) failure[0] = 0;
}

void vkt__log_hold(bool on)
{
    held += on ? 1 : -1;
    if (on) failure[0] = 0;
}

const char *vkt__last_failure(void)
{
    return failure;
}

static void log_va(vkt_log_level level, const char *area, const char *fmt, va_list ap)
{
    bool keep = level == VKT_LOG_ERROR && (quiet > 0 || held > 0);
    if (keep || held > 0) level = VKT_LOG_DEBUG;
    if (level > sink_level && !keep) return;
    vkt__str s = { 0 };
    vkt__str_vprintf(&s, fmt, ap);
    if (keep) snprintf(failure, sizeof failure, "%s", s.data ? s.data : "");
    if (level <= sink_level) sink(sink_user, level, area, s.data ? s.data : "");
    vkt__str_finish(&s);
}

void vkt_log(vkt_log_level level, const char *area, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_va(level, area, fmt, ap);
    va_end(ap);
}

vkt_status vkt__fail(vkt_status st, const char *area, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_va(VKT_LOG_ERROR, area, fmt, ap);
    va_end(ap);
    return st;
}

void vkt__assert_fail(const char *cond, const char *file, int line)
{
    fprintf(stderr, "vktrain: internal error: %s:%d: assertion failed: %s\n", file, line, cond);
    abort();
}

uint32_t vkt_rand_u32(uint64_t seed, vkt_purpose purpose, uint64_t index)
{
    uint32_t key = vkt_rng_key((uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)purpose);
    return vkt_pcg3((uint32_t)index, (uint32_t)(index >> 32), key);
}

double vkt_rand_uniform(uint64_t seed, vkt_purpose purpose, uint64_t index)
{
    return (vkt_rand_u32(seed, purpose, index) >> 8) * (1.0 / 16777216.0);
}

double vkt_rand_normal(uint64_t seed, vkt_purpose purpose, uint64_t index)
{
    double u = (vkt_rand_u32(seed, purpose, 2 * index) + 0.5) * (1.0 / 4294967296.0);
    double v = vkt_rand_u32(seed, purpose, 2 * index + 1) * (1.0 / 4294967296.0);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

uint32_t vkt_rand_below(uint64_t seed, vkt_purpose purpose, uint64_t index, uint32_t n)
{
    VKT_ASSERT(n > 0);
    return (uint32_t)(((uint64_t)vkt_rand_u32(seed, purpose, index) * n) >> 32);
}

uint64_t vkt__hash(const void *data, size_t n, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h = 1469598103934665603u ^ seed;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* Greedy with one point to come back to: the last '*' and what it has swallowed so far. */
bool vkt__glob(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == 0;
}

static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(b), row[65];
    if (n > 64 || strlen(a) > 64) return 99;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diag = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t sub = diag + (a[i - 1] != b[j - 1]);
            diag = row[j];
            row[j] = VKT_MIN(sub, VKT_MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

const char *vkt_nearest(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t best_d = VKT_MAX(strlen(word) / 2, 2) + 1;
    for (size_t i = 0; i < n; i++) {
        const char *dot = strrchr(candidates[i], '.'); /* "lr" is near "optim.lr" */
        size_t d = edit_distance(word, candidates[i]);
        if (strlen(word) > 3 && !strncmp(word, candidates[i], strlen(word)))
            d = VKT_MIN(d, 1); /* "--pred" */
        if (dot && !strchr(word, '.')) d = VKT_MIN(d, edit_distance(word, dot + 1) + (d > 0));
        if (d < best_d) best_d = d, best = candidates[i];
    }
    return best;
}
