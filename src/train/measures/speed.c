/* speed.h */
#include <math.h>

#include "train/measures/speed.h"

/* So few steps, or so short a time, say nothing. */
enum { FEW = 16 };
#define SHORT_S 0.1

void vkt__speed_add(vkt__speed *s, uint64_t done, double seconds)
{
    size_t i = s->n++ % VKT__SPEED_STEPS;
    s->at[i] = seconds;
    s->done[i] = done;
    if (s->n > 1) return;
    s->first_s = seconds;
    s->first = done;
}

static double rate(uint64_t steps, double seconds)
{
    return steps && seconds > 0 ? (double)steps / seconds : NAN;
}

double vkt__speed_recent(const vkt__speed *s)
{
    if (s->n < 2) return NAN;
    size_t newest = (s->n - 1) % VKT__SPEED_STEPS,
           oldest = s->n > VKT__SPEED_STEPS ? s->n % VKT__SPEED_STEPS : 0;
    uint64_t steps = s->done[newest] - s->done[oldest];
    double seconds = s->at[newest] - s->at[oldest];
    return steps < FEW && seconds < SHORT_S ? NAN : rate(steps, seconds);
}

double vkt__speed_all(const vkt__speed *s)
{
    if (s->n < 2) return NAN;
    size_t newest = (s->n - 1) % VKT__SPEED_STEPS;
    return rate(s->done[newest] - s->first, s->at[newest] - s->first_s);
}
