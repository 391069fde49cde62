/* findings_scores.h. Thresholds stand beside the finding that uses them. */
#include <math.h>
#include <stdio.h>

#include "report/findings_scores.h"
#include "runs/curve.h"

/* What the number of examples alone explains is within three standard errors; where the best of
 * many evaluations is looked at, within what luck gives the best one. */
static const double beyond = 3;

typedef struct scores {
    const vkt_history_eval **at; /* of the split that selects, one a step, rising */
    size_t n;
} scores;

static scores read_scores(const vkt__evidence *e)
{
    const vkt_history *h = e->h;
    scores s = { .at = vkt__alloc((h->n_evals + 1) * sizeof *s.at) };
    for (size_t i = 0; i < h->n_evals; i++) {
        const vkt_history_eval *x = &h->evals[i];
        if (strcmp(x->split, h->evals[0].split)) continue;
        if (s.n && x->step <= s.at[s.n - 1]->step) continue; /* the run's conclusion */
        s.at[s.n++] = x;
    }
    return s;
}

static const vkt_history_eval *last_of(const vkt_history *h, const char *split)
{
    for (size_t i = h->n_evals; i-- > 0;)
        if (!strcmp(h->evals[i].split, split)) return &h->evals[i];
    return NULL;
}

/* That of the best checkpoint, as training saw it. */
static const vkt_history_eval *best_of(const vkt__evidence *e)
{
    for (size_t i = 0; i < e->h->n_evals; i++)
        if (!strcmp(e->h->evals[i].split, "valid") && e->h->evals[i].step == e->best_step)
            return &e->h->evals[i];
    return NULL;
}

/* ---- no better than guessing ---- */

static uint64_t examples_of_classes(const vkt_history_eval *x, uint64_t *most)
{
    uint64_t n = 0;
    *most = 0;
    for (size_t k = 0; k < x->n_classes; k++) {
        *most = VKT_MAX(*most, x->class_count[k]);
        n += x->class_count[k];
    }
    return n;
}

/* Guesses that look at no input are right in 1 of n_classes, taken class by class. True: the
 * evaluation is three standard errors of such guesses above that. */
static bool tells_classes_apart(const vkt_history_eval *x)
{
    double sum = 0, variance = 0, k = 0, n = 0;
    for (size_t c = 0; c < x->n_classes; c++) n += (double)x->class_count[c];
    for (size_t c = 0; c < x->n_classes; c++) {
        double of = (double)x->class_count[c];
        if (of == 0) continue;
        sum += (double)x->class_correct[c] / of;
        variance += of / n * (1 - of / n) / of;
        k++;
    }
    return k > 1 && sum / k > 1 / k + beyond * sqrt(variance) / k;
}

/* Whether the probabilities rank the classes' examples better than guesses do: a half, with the
 * standard error of the rank sum, averaged over the classes. */
static bool ranks_them(const vkt_history_eval *x)
{
    double n = 0, error = 0, k = 0;
    if (isnan(x->roc_auc)) return false;
    for (size_t c = 0; c < x->n_classes; c++) n += (double)x->class_count[c];
    for (size_t c = 0; c < x->n_classes; c++) {
        double of = (double)x->class_count[c];
        if (of == 0 || of == n) continue;
        error += sqrt((n + 1) / (12 * of * (n - of)));
        k++;
    }
    return k > 0 && x->roc_auc > 0.5 + beyond * error / k;
}

/* What guesses reach: the share of the most frequent class, or an R2 of 0. */
typedef struct guessing {
    bool numbers;
    double level, error; /* error: of a share */
    uint64_t n;
} guessing;

static double score_of(const guessing *g, const vkt_history_eval *x)
{
    return g->numbers ? x->r2 : x->accuracy;
}

/* Numbers that have no relation to the target reach an R2 of (z standard errors)^2 / n at most. */
static double within(const guessing *g, double z)
{
    return g->numbers ? z * z / (double)g->n : g->level + z * g->error;
}

/* false: nothing to compare with, as with texts or several labels an example; or so few examples
 * that none could be better. */
static bool guesses_of(const vkt_history_eval *x, guessing *g)
{
    uint64_t most;
    *g = (guessing) { .numbers = !x->n_classes, .n = x->n };
    if (!x->n) return false;
    if (g->numbers) return !isnan(x->r2) && beyond * beyond < (double)x->n;
    if (examples_of_classes(x, &most) != x->n || isnan(x->accuracy)) return false;
    g->level = (double)most / (double)x->n;
    g->error = sqrt(g->level * (1 - g->level) / (double)x->n);
    return g->level + 2 * g->error < 1;
}

static bool is_guess(const guessing *g, const vkt_history_eval *x, double z)
{
    return score_of(g, x) <= within(g, z) &&
           (g->numbers || (!tells_classes_apart(x) && !ranks_them(x)));
}

/* Training loss of the last tenth of the steps is four fifths of the first's or less. */
static bool learns_by_heart(const vkt_history *h)
{
    size_t tenth = h->n_steps / 10;
    if (!tenth) return false;
    double *v = vkt__alloc(tenth * sizeof *v), first, last;
    for (size_t i = 0; i < tenth; i++) v[i] = h->steps[i].loss;
    first = vkt__median(v, tenth);
    for (size_t i = 0; i < tenth; i++) v[i] = h->steps[h->n_steps - tenth + i].loss;
    last = vkt__median(v, tenth);
    free(v);
    return last < 0.8 * first;
}

static const char *by_hundreds(const guessing *g, double v, char out[32])
{
    snprintf(out, 32, g->numbers ? "%.3g" : "%.2f%%", g->numbers ? v : 100 * v);
    return out;
}

static void say_chance(const vkt__evidence *e, const guessing *g, double best, vkt__str *text)
{
    char a[32], b[32];
    vkt__str_printf(text, "the best validation %s, %s of %llu examples, is within chance of that ",
                    g->numbers ? "R2" : "accuracy", by_hundreds(g, best, a),
                    (unsigned long long)g->n);
    if (g->numbers)
        vkt__str_printf(text, "of always naming the mean (0): ");
    else
        vkt__str_printf(
            text, "of always naming the most frequent class (%s): ", by_hundreds(g, g->level, b));
    vkt__str_printf(text, learns_by_heart(e->h)
                              ? "the training examples were learned by heart, and no learning rate "
                                "helps against that; "
                              : "nothing was learned; lower optim.lr (`vktrain study lr`), and ");
    vkt__str_printf(text, "check that inputs and labels belong together");
    if (g->numbers)
        vkt__str_printf(text, ", and whether a few extreme labels hide the others (loss.kind huber "
                              "counts them less)");
}

static void say_ends_by_chance(const guessing *g, const scores *s, size_t best, vkt__str *text)
{
    char a[32], b[32], c[32];
    vkt__str_printf(
        text,
        "the run ends no better than guessing: validation %s was %s at step %llu and is %s at the "
        "end (always naming the %s: %s): what was learned was lost; look for a learning rate or an "
        "optim.weight_decay that is too large (`vktrain study lr`)",
        g->numbers ? "R2" : "accuracy", by_hundreds(g, score_of(g, s->at[best]), a),
        (unsigned long long)s->at[best]->step, by_hundreds(g, score_of(g, s->at[s->n - 1]), b),
        g->numbers ? "mean" : "most frequent class", by_hundreds(g, g->level, c));
}

/* By the best evaluation: one is better by luck where there are many, which the middle one of them
 * does not share. By the end: the last quarter of at least four, after one that was clearly better.
 */
bool vkt__find_chance(const vkt__evidence *e, vkt__str *text)
{
    enum { FEW = 4 };
    scores s = read_scores(e);
    guessing g;
    bool found = false;
    if (s.n && guesses_of(s.at[0], &g)) {
        size_t best = 0, late = s.n - VKT_MIN(s.n, VKT_MAX(s.n / 4, 2));
        bool all = true, end = s.n >= FEW;
        double *v = vkt__alloc(s.n * sizeof *v), usual,
               luck = fmax(g.numbers ? beyond : 2, sqrt(2 * log((double)s.n)));
        for (size_t i = 0; i < s.n; i++) {
            v[i] = score_of(&g, s.at[i]);
            if (v[i] > v[best] || isnan(v[best])) best = i;
            all &= is_guess(&g, s.at[i], luck);
            if (i >= late) end &= is_guess(&g, s.at[i], 2);
        }
        usual = vkt__median(v, s.n);
        if (all && (v[best] <= within(&g, 2) || usual <= within(&g, 1)))
            say_chance(e, &g, v[best], text), found = true;
        else if (end && v[best] > within(&g, 2 * beyond))
            say_ends_by_chance(&g, &s, best, text), found = true;
        free(v);
    }
    free(s.at);
    return found;
}

/* ---- what the test set shows ---- */

/* Loss of one who is as sure of each example as he is right: of `wrong` of n examples, of k
 * classes.
 */
static double honest_loss(double wrong, double k)
{
    return wrong > 0 ? -(1 - wrong) * log(1 - wrong) - wrong * log(wrong / fmax(k - 1, 1)) : 0;
}

/* The validation loss is below what its examples can show, which is about one wrong of them that
 * are one more; the test loss is three times as large, and half again as large as that of one who
 * knows how often he errs. */
bool vkt__find_surer_than_right(const vkt__evidence *e, vkt__str *text)
{
    const vkt_history_eval *v = best_of(e), *t = last_of(e->h, "test");
    if (!v || !t || !v->n || !t->n || !v->n_classes || !(v->accuracy >= 1)) return false;
    if (!(t->accuracy < 1) || !(v->loss < 1 / ((double)v->n + 1))) return false;
    double honest = honest_loss(1 - t->accuracy, (double)t->n_classes);
    if (!(t->loss > 3 * v->loss) || !(t->loss > 1.5 * honest)) return false;
    vkt__str_printf(
        text,
        "the network is surer than it is right: all %llu validation examples are right, so their "
        "loss (%.2g) falls without end, but of %llu test examples %.2f%% are wrong, with a loss of "
        "%.3g where %.3g is that of knowing how often it errs: add regularisation "
        "(loss.label_smoothing, optim.weight_decay, dropout), raise data.valid_fraction, or end "
        "earlier (train.steps)",
        (unsigned long long)v->n, v->loss, (unsigned long long)t->n, 100 * (1 - t->accuracy),
        t->loss, honest);
    return true;
}

/* Shares by four standard errors of their difference, and two points: the best of many evaluations
 * is better by a little anyhow. Numbers by a root mean square that is larger by half at least, and
 * by five standard errors, where R2 falls by a fifth. */
bool vkt__find_test_differs(const vkt__evidence *e, vkt__str *text)
{
    const vkt_history_eval *v = best_of(e), *t = last_of(e->h, "test");
    if (!v || !t || !v->n || !t->n) return false;
    double nv = (double)v->n, nt = (double)t->n;
    if (v->n_classes && t->n_classes) {
        double p = (v->accuracy * nv + t->accuracy * nt) / (nv + nt),
               by = v->accuracy - t->accuracy,
               error = sqrt(fmax(p * (1 - p), 0) * (1 / nv + 1 / nt));
        if (!(by > 4 * error) || !(by > 0.02)) return false;
        vkt__str_printf(text,
                        "test accuracy is %.2f%% of %llu examples, validation accuracy %.2f%% of "
                        "%llu, %.1f standard errors apart",
                        100 * t->accuracy, (unsigned long long)t->n, 100 * v->accuracy,
                        (unsigned long long)v->n, by / error);
    } else {
        double error = sqrt(0.5 / nv + 0.5 / nt);
        if (!(v->r2 - t->r2 > 0.2) || !(v->rmse > 0)) return false;
        if (!(log(t->rmse / v->rmse) > fmax(log(1.5), 5 * error))) return false;
        vkt__str_printf(text,
                        "test R2 is %.3g of %llu examples, validation R2 %.3g of %llu, and the "
                        "errors are %.3g times as large (RMSE %.4g and %.4g)",
                        t->r2, (unsigned long long)t->n, v->r2, (unsigned long long)v->n,
                        t->rmse / v->rmse, t->rmse, v->rmse);
    }
    vkt__str_printf(text,
                    ": more than chance explains, so one of them does not stand for the data: look "
                    "at how the sets were split%s, and at the largest errors (`vktrain eval RUN "
                    "--split test --predictions errors.csv`)",
                    v->n_classes ? "" : ", at extreme labels (loss.kind huber counts them less)");
    return true;
}

/* Both sets together hold five examples or more of the class, enough that one of twenty such runs
 * would have none right by chance. A run that is no better than guessing has its own finding. */
bool vkt__find_never_right(const vkt__evidence *e, vkt__str *text)
{
    enum { LEAST = 5, NAMED = 5 };
    const vkt_history_eval *v = best_of(e), *t = last_of(e->h, "test");
    if (!v || !v->n_classes || !v->n || isnan(v->accuracy)) return false;
    bool both = t && t->n_classes == v->n_classes;
    vkt__str names = { 0 }, other = { 0 };
    size_t n = 0;
    for (size_t k = 0; k < v->n_classes; k++) {
        uint64_t of = v->class_count[k] + (both ? t->class_count[k] : 0),
                 right = v->class_correct[k] + (both ? t->class_correct[k] : 0);
        if (right || of < LEAST || pow(1 - v->accuracy, (double)of) > 0.05) continue;
        if (n++ >= NAMED) continue;
        const char *name = k < e->n_class_names ? e->class_names[k] : NULL;
        vkt__str_printf(&names, n > 1 ? ", " : "");
        if (name)
            vkt__str_printf(&names, "'%s'", vkt__show(name).s);
        else
            vkt__str_printf(&names, "class number %zu", k);
        vkt__str_printf(&names, " (0 of %llu)", (unsigned long long)of);
    }
    bool found = n && !vkt__find_chance(e, &other);
    if (found)
        vkt__str_printf(text,
                        "%zu of %u classes %s never right in the %s: %s%s: collect more examples "
                        "of %s, or weigh them more (loss.class_weight balanced, data.sampling "
                        "balanced), and see in the confusion matrix what they are taken for",
                        n, v->n_classes, n == 1 ? "is" : "are",
                        both ? "validation and test sets" : "validation set", names.data,
                        n > NAMED ? ", ..." : "", n == 1 ? "it" : "them");
    vkt__str_finish(&names);
    vkt__str_finish(&other);
    return found;
}
