/* findings_labels.h. Examples that are hard lie where the network is unsure; labels that are wrong
 * lie anywhere. Thresholds: tables and digits with 0 to 50% of their labels changed, beside healthy
 * ones whose classes overlap, each with two seeds: those stay below a third (of the surest quarter)
 * and three quarters (of the half) of the rate over all. */
#include <math.h>

#include "report/findings_course.h"
#include "report/findings_labels.h"

enum { FEWEST_JUDGED = 100 };

/* The share that always naming the most frequent class gets wrong; NAN: not known. */
static double guessing_wrong(const vkt_history *h)
{
    for (size_t i = h->n_evals; i-- > 0;) {
        const vkt_history_eval *x = &h->evals[i];
        uint64_t most = 0, n = 0;
        if (!x->n_classes || strcmp(x->split, h->evals[0].split)) continue;
        for (size_t k = 0; k < x->n_classes; k++) {
            n += x->class_count[k];
            most = VKT_MAX(most, x->class_count[k]);
        }
        return n ? 1 - (double)most / (double)n : NAN;
    }
    return NAN;
}

bool vkt__find_shuffled_labels(const vkt__evidence *e, vkt__str *text)
{
    enum { FEWEST_WRONG = 20 };
    double n = (double)e->n_judged, w = e->judged_wrong, half = e->surest_wrong,
           quarter = e->surest_quarter_wrong, guess = guessing_wrong(e->h);
    if (e->n_judged < FEWEST_JUDGED || !(w > 0.15) || !(w < 0.8 * guess)) return false;
    if (vkt__course_rise(e).rises) return false; /* a net that broke down is sure of anything */
    if (!(half > 0.78 * w) || !(quarter > 0.7 * w) || !(half * n / 2 >= FEWEST_WRONG)) return false;
    vkt__str_printf(text,
                    "however sure the network is, it is wrong as often: %.1f%% of %llu validation "
                    "examples, %.1f%% of the quarter that it is surest of, as if about %.0f%% of "
                    "the labels belonged to other rows: check how labels and inputs were joined, "
                    "and whether a part of the file was shuffled or sorted by itself; more steps, "
                    "another rate or regularisation do not make up for that",
                    100 * w, (unsigned long long)e->n_judged, 100 * quarter,
                    100 * fmin(quarter / guess, 1));
    return true;
}

bool vkt__find_doubtful_labels(const vkt__evidence *e, vkt__str *text)
{
    enum { FEWEST_WRONG = 5 };
    double n = (double)e->n_judged, w = e->judged_wrong, half = e->surest_wrong,
           quarter = e->surest_quarter_wrong;
    vkt__str other = { 0 };
    if (e->n_judged < FEWEST_JUDGED || !e->n_doubtful || !(w < 0.28)) return false;
    if (!(half > 0.4 * w) || !(quarter > 0.3 * w) || !(half >= 0.03) || !(quarter >= 0.02) ||
        !(half * n / 2 >= FEWEST_WRONG))
        return false;
    bool shuffled = vkt__find_shuffled_labels(e, &other);
    vkt__str_finish(&other);
    if (shuffled || vkt__course_rise(e).rises) return false;
    vkt__str_printf(
        text,
        "the network contradicts %llu of %llu validation labels, and not only where it "
        "is unsure: it is wrong in %.1f%% of the half that it is surest of, %.1f%% of "
        "all: some of those labels are probably wrong. Look at them: valid-doubtful.csv "
        "in the run's folder, the surest first; `vktrain study folds RECIPE --labels` lists "
        "those of all examples that are not for test",
        (unsigned long long)e->n_doubtful, (unsigned long long)e->n_judged, 100 * half, 100 * w);
    return true;
}
