/* findings_limits.h. Thresholds stand beside what uses them. */
#include <math.h>
#include <stddef.h>

#include "report/findings_limits.h"
#include "runs/curve.h"

static double last_tenth(const vkt_history *h, size_t field)
{
    size_t tenth = h->n_steps / 10;
    if (tenth < 3) return NAN;
    double *v = vkt__alloc(tenth * sizeof *v);
    for (size_t i = 0; i < tenth; i++)
        memcpy(&v[i], (const char *)&h->steps[h->n_steps - tenth + i] + field, sizeof v[i]);
    double m = vkt__median(v, tenth);
    free(v);
    return m;
}

double vkt__last_training_loss(const vkt_history *h)
{
    return last_tenth(h, offsetof(vkt_history_step, loss));
}

double vkt__last_training_accuracy(const vkt_history *h)
{
    return last_tenth(h, offsetof(vkt_history_step, accuracy));
}

/* The lower loss of the last two evaluations of the split that selects; of the last one how many
 * were right. */
static double last_loss(const vkt_history *h, uint32_t *n_classes, double *right)
{
    double low = NAN;
    size_t seen = 0;
    for (size_t i = h->n_evals; i-- > 0 && seen < 2;) {
        if (strcmp(h->evals[i].split, h->evals[0].split) != 0) continue;
        low = fmin(low, h->evals[i].loss);
        *n_classes = h->evals[i].n_classes;
        if (!seen++) *right = h->evals[i].accuracy;
    }
    return seen == 2 ? low : NAN;
}

/* A network that has learned smoothed labels by heart names the right class with a probability of
 * 1 - s + s / k, whose loss is the least; half of that again is still its work. */
static bool smoothed_away(const vkt__evidence *e, double valid, uint32_t k, vkt__str *text)
{
    static const double strong = 0.3;
    double s = e->label_smoothing, most = 1 - s + s / (double)k;
    if (!(s >= strong) || k < 2 || !(valid > -0.7 * log(most))) return false;
    vkt__str_printf(text,
                    "label smoothing %.2g asks for a probability of %.2g for the right class, so "
                    "validation loss (%.4g at the end) can hardly fall below %.4g: lower "
                    "loss.label_smoothing (0.1 is usual)",
                    s, most, valid, -log(most));
    return true;
}

/* Half of the units or more are left out, and with them the training loss is half as large again as
 * the validation loss without, or a fifth fewer are right: what is trained is the noise. */
bool vkt__find_held_back(const vkt__evidence *e, vkt__str *text)
{
    static const double strong = 0.5, far = 1.5, fewer = 0.2, nothing_left = 0.05;
    uint32_t k = 0;
    double train = vkt__last_training_loss(e->h), right = vkt__last_training_accuracy(e->h),
           valid_right = NAN, valid = last_loss(e->h, &k, &valid_right);
    if (isnan(train) || isnan(valid)) return false;
    if (e->label_smoothing > 0) return smoothed_away(e, valid, k, text);
    bool apart = train > far * valid || right < valid_right - fewer;
    if (!(e->dropout >= strong) || !apart || !(valid > nothing_left)) return false;
    vkt__str_printf(text,
                    "dropout of %.2g holds training back: with it the training loss ends at %.4g, "
                    "without it the validation loss is %.4g",
                    e->dropout, train, valid);
    if (right < valid_right)
        vkt__str_printf(text, ", and %.3g%% of the examples are right where %.3g%% are without it",
                        100 * right, 100 * valid_right);
    vkt__str_printf(text, ": lower dropout, until the two losses come near each other");
    return true;
}
