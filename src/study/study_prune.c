/* Pruning by asynchronous successive halving: a trial that is not among the best third of those
 * that reached a rung ends there. Each trial has the schedule of its whole budget, so what goes on
 * is what it would have been. */
#include <math.h>

#include "study/study_run.h"

enum { ETA = 3 };

size_t vkt__prune_rungs(uint64_t total, uint64_t eval_every, uint64_t *out)
{
    size_t n = 0;
    uint64_t part = ETA * ETA * ETA;
    for (size_t i = 0; i < VKT_STUDY_RUNGS; i++, part /= ETA) {
        uint64_t at = total / part;
        /* At the first evaluation at or after it; two rungs need two evaluations. */
        uint64_t every = VKT_MAX(eval_every, 1), seen = (at + every - 1) / every * every;
        if (at >= every && seen < total && (!n || seen > out[n - 1])) out[n++] = seen;
    }
    return n;
}

bool vkt__prune_now(vkt_study *s, vkt_study_trial *t, const uint64_t *rung, size_t n_rungs,
                    uint64_t step, double best)
{
    size_t k = 0, reached = 0, better = 0;
    while (k < n_rungs && !isnan(t->rung[k])) k++;
    if (k == n_rungs || step < rung[k] || isnan(best)) return false;
    t->rung[k] = best;
    for (size_t i = 0; i < s->n_trials; i++) {
        const vkt_study_trial *o = &s->trials[i];
        if (isnan(o->rung[k])) continue;
        reached++;
        better += vkt__study_better(s, o->rung[k], best);
    }
    size_t stay = (reached + ETA - 1) / ETA;
    if (reached < ETA || better < stay) return false;
    t->why = vkt__study_text(s,
                             "at step %llu its best %s, %.4g, is not among the best %zu of %zu "
                             "trials there",
                             (unsigned long long)step, s->metric, best, stay, reached);
    return true;
}
