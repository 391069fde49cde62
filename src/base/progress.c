/* progress.h */
#include "base/progress.h"

#include "base/log.h"
#include "base/os.h"

/* Seconds between two lines: a tenth of the time so far, within these. */
enum { SOONEST = 1, LATEST = 10 };

vkt__progress vkt__progress_begin(const char *what)
{
    double now = vkt__now();
    return (vkt__progress) { what, now, now };
}

void vkt__progress_at(vkt__progress *p, uint64_t done, uint64_t all)
{
    double now = vkt__now(), spent = now - p->began;
    if (!done || done >= all || now - p->said < VKT_MIN(VKT_MAX(spent / 10, SOONEST), LATEST))
        return;
    p->said = now;
    vkt_log(VKT_LOG_INFO, "progress", "%s: %llu of %llu, about %.0f s left", p->what,
            (unsigned long long)done, (unsigned long long)all,
            spent / (double)done * (double)(all - done));
}
