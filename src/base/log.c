/* The version, status names, the log sink, assertion. Allocation (memory.c) stands above this file,
 * so a line is formatted without it: on the stack, or in a block from malloc where it is long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/log.h"
#include "base/log_thread.h"

const char *vkt_version(void)
{
    return VKT_VERSION;
}

int vkt_version_number(void)
{
    return VKT_VERSION_NUMBER;
}

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
    return (unsigned)st < sizeof names / sizeof names[0] ? names[st] : "unknown";
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
static _Thread_local int quiet, held, ignored;
static _Thread_local char last_error[512];
static _Thread_local bool failed; /* last_error is of the time since either was last begun */
static _Thread_local uint64_t had_failed; /* the same of those around it, a bit each */

/* A failure in an inner one counts for the outer one too; without one the outer keeps its own. */
static void begin_or_end(int *of, bool on)
{
    if (on) {
        had_failed = had_failed << 1 | (failed && (quiet > 0 || held > 0));
        failed = false;
    } else {
        failed |= had_failed & 1;
        had_failed >>= 1;
    }
    *of += on ? 1 : -1;
    VKT_ASSERT(*of >= 0); /* an end too many would let the next one's errors through */
}

void vkt__log_quiet(bool on)
{
    begin_or_end(&quiet, on);
}

void vkt__log_hold(bool on)
{
    begin_or_end(&held, on);
}

void vkt__log_ignore(bool on)
{
    ignored += on ? 1 : -1;
}

vkt__log_thread vkt__log_of_thread(void)
{
    vkt__log_thread l = { quiet, held, ignored, failed, "" };
    memcpy(l.last_error, last_error, sizeof last_error);
    return l;
}

void vkt__log_begin(const vkt__log_thread *of_starter)
{
    quiet = of_starter->quiet;
    held = of_starter->held;
    ignored = of_starter->ignored;
}

void vkt__log_joined(const vkt__log_thread *of_joined)
{
    if (failed || !of_joined->failed || (!quiet && !held)) return;
    memcpy(last_error, of_joined->last_error, sizeof last_error);
    failed = true;
}

const char *vkt__last_failure(void)
{
    return failed ? last_error : "";
}

const char *vkt_last_error(void)
{
    return last_error;
}

/* What is quoted in an error may have been read from anywhere: it is one line nevertheless. */
static void make_one_line(char *s)
{
    for (; *s; s++)
        if (*s == '\n' || *s == '\r') *s = ' ';
}

static void log_va(vkt_log_level level, const char *area, const char *fmt, va_list ap)
{
    bool error = level == VKT_LOG_ERROR, keep = error && (quiet > 0 || held > 0);
    if (keep || held > 0) level = VKT_LOG_DEBUG;
    if ((level > sink_level && !error) || (error && ignored > 0)) return;
    char line[512] = "";
    va_list again;
    va_copy(again, ap);
    int n = vkt__vformat(line, sizeof line, fmt, ap);
    char *whole = n >= (int)sizeof line ? malloc((size_t)n + 1) : NULL; /* none: the line is cut */
    if (whole) vkt__vformat(whole, (size_t)n + 1, fmt, again);
    va_end(again);
    if (error) make_one_line(line);
    if (error && whole) make_one_line(whole);
    if (error) memcpy(last_error, line, sizeof line);
    failed = failed || keep;
    if (level <= sink_level) sink(sink_user, level, area, whole ? whole : line);
    free(whole);
}

void vkt_log(vkt_log_level level, const char *area, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_va(level, area, fmt, ap);
    va_end(ap);
}

void vkt__log_through(vkt_log_level level, const char *area, const char *fmt, ...)
{
    int was_quiet = quiet, was_held = held;
    va_list ap;
    quiet = held = 0;
    va_start(ap, fmt);
    log_va(level, area, fmt, ap);
    va_end(ap);
    quiet = was_quiet;
    held = was_held;
}

vkt_status vkt__fail(vkt_status st, const char *area, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_va(VKT_LOG_ERROR, area, fmt, ap);
    va_end(ap);
    return st;
}

vkt_status vkt__fail_with(vkt_status st, const char *area, const char *lines, const char *fmt, ...)
{
    bool told = quiet <= 0 && held <= 0;
    va_list ap;
    va_start(ap, fmt);
    log_va(VKT_LOG_ERROR, area, fmt, ap);
    va_end(ap);
    if (told) vkt_log(VKT_LOG_WARN, area, "of which:\n%s", lines);
    return st;
}

void vkt__assert_fail(const char *cond, const char *file, int line)
{
    fprintf(stderr, "vktrain: internal error: %s:%d: assertion failed: %s\n", file, line, cond);
    abort();
}
