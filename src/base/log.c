/* Status names, the log sink, assertion. */
#include <stdio.h>

#include "base/memory.h"

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
