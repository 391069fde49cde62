/* worst_result.h */
#include "train/ranks/trainer_ranks.h"
#include "train/worst.h"
#include "train/worst_result.h"

/* Into the run's record, which findings read. */
static void note_doubts(vkt__trainer *t, const vkt__doubts *d)
{
    if (!d->n_examples) return;
    t->record.n_judged = d->n_examples;
    t->record.n_doubtful = d->n;
    t->record.judged_wrong = d->wrong;
    t->record.surest_wrong = d->half;
    t->record.surest_quarter_wrong = d->quarter;
}

/* The evaluation that is the result, whose errors are listed. With several ranks each evaluates a
 * part, and the lead goes through all examples by itself for the list. */
vkt_status vkt__trainer_list_errors(vkt__trainer *t, vkt_split split, vkt__eval_sums *e)
{
    vkt_status st = VKT_OK;
    vkt__worst *worst = NULL;
    vkt__doubts doubts = { 0 };
    vkt__eval_sums own = { 0 };
    bool alone = !t->s->comm, listed = vkt__ranks_lead(t) && split != VKT_SPLIT_TRAIN;
    if (listed) VKT_TRY(vkt__worst_create(t->s, split, &worst));
    VKT_TRY(vkt__evaluate(t->s, NULL, split, 0, e, alone && worst ? vkt__worst_take : NULL, worst));
    if (worst && !alone) VKT_TRY(vkt__evaluate(t->s, NULL, split, 0, &own, vkt__worst_take, worst));
    if (worst) VKT_TRY(vkt__worst_write(worst, t->run->dir, &doubts));
    note_doubts(t, &doubts);
fail:
    vkt__eval_sums_finish(&own);
    free(doubts.doubt);
    vkt__worst_destroy(&worst);
    return st;
}
