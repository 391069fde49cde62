/* target_numbers.h */
#include <math.h>

#include "train/measures/target_numbers.h"

double vkt__number_as_given(const vkt__target *t, double v, float y)
{
    enum { DIGITS = 17 };
    if ((float)vkt__target_learned(t, 0) == y) return 0;
    if (v == 0 || !isfinite(v)) return v;
    int above = (int)floor(log10(fabs(v)));
    for (int digits = 1; digits < DIGITS; digits++) {
        int places = digits - 1 - above;
        double ten = pow(10, abs(places)),
               near = places < 0 ? round(v / ten) * ten : round(v * ten) / ten;
        if ((float)vkt__target_learned(t, near) == y) return near;
    }
    return v;
}

bool vkt__numbers_take(const vkt__target *targets, uint32_t n, const float *out, const vkt_label *y,
                       bool shortest, const vkt__numbers *to, vkt__eval_sums *sums)
{
    bool finite = true;
    for (uint32_t k = 0; k < n; k++) {
        const vkt__target *t = &targets[k];
        double *predicted = &to->number[k], *target = &to->number[n + k];
        if (t->label) { /* a class: a probability, which is not standardised */
            if (t->n_classes) vkt__eval_add_right(sums, k, out + k, y + k);
            *predicted = (double)out[k];
            *target = (double)y[k].f;
        } else {
            double around = t->curve == VKT_TARGET_PLAIN ? t->mean : 0;
            vkt__target beside = *t;
            beside.mean -= around;
            *predicted = vkt__target_given(&beside, (double)out[k]);
            *target = vkt__target_given(&beside, (double)y[k].f);
            vkt__eval_add_error(sums, k, *predicted, *target);
            *predicted += around;
            *target += around;
            if (shortest) *target = vkt__number_as_given(t, *target, y[k].f);
        }
        to->row[k] = (float)*predicted;
        to->labels[k].f = (float)*target;
        finite = finite && isfinite(*predicted);
    }
    return finite;
}
