/* Preloaded: the time of day that the program reads is an hour ahead of the system's. A deadline
 * taken from it is an hour too late for who waits by the system's clock: as where the clock is set
 * back by an hour just after each look. Use: LD_PRELOAD=DIR/libclock.so PROGRAM ... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

enum { AHEAD_S = 3600 };

int clock_gettime(clockid_t id, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int r = real(id, t);
    if (!r && id == CLOCK_REALTIME) t->tv_sec += AHEAD_S;
    return r;
}

int timespec_get(struct timespec *t, int base)
{
    return clock_gettime(CLOCK_REALTIME, t) ? 0 : base;
}

time_t time(time_t *at)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (at) *at = t.tv_sec;
    return t.tv_sec;
}
