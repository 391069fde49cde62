/* Statistics of curves, shared by studies and by the findings of reports: plain functions over
 * arrays of double; NAN entries are left out unless said. */
#ifndef VKT_RUNS_CURVE_H
#define VKT_RUNS_CURVE_H

#include "base/words.h"

/* The q-quantile (0..1) by linear interpolation between order statistics; NAN if n is 0. */
double vkt__quantile(const double *v, size_t n, double q);
double vkt__median(const double *v, size_t n);

/* Exponential mean with the weight of what is missing taken out, so that it begins at v[0].
 * out [n]: NAN until the first number. alpha in (0, 1]: weight of a new value. */
void vkt__smooth(const double *v, size_t n, double alpha, double *out);

/* Whether a loss rose while it should have fallen. Medians of consecutive windows are compared with
 * the lowest one before: their distance must exceed a tenth of the whole fall, a hundredth of the
 * first median, and five standard errors (of a median: 1.2533 * 1.4826 * MAD / sqrt(window), and
 * at least the usual one of the windows around it), by their values or by their logarithms.
 * Spikes of single steps count within the first 20 only: there they tell of an unstable start. */
typedef struct vkt__rise {
    bool rises;
    bool early;      /* a spike in the first 20 steps is among it */
    double by;       /* largest rise of a window's median above the lowest one before */
    double fall;     /* of the medians, from the first to the lowest */
    double before;   /* how far it had fallen before that rise */
    size_t from, to; /* indices: the lowest window before the rise, the window at its top */
} vkt__rise;
/* v: loss per step; infinite entries, and NAN, count as a rise without limit (`by` is INFINITY).
 * Fewer than 20 values: rises is false unless one of them is not finite. */
vkt__rise vkt__curve_rise(const double *v, size_t n);

/* Strength (0..1) of the strongest period of a curve after its trend is taken out: the largest
 * autocorrelation at lags 2..n/3 beyond the first negative one; *lag its lag. 0 where n < 12. */
double vkt__periodicity(const double *v, size_t n, size_t *lag);

#endif
