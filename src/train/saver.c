/* saver.h. The thread keeps its error line back, so that a run that ends for another reason at the
 * same time still ends with one line: whoever waits for it tells the line. */
#include "train/saver.h"

static atomic_bool held;

void vkt__saver_hold(bool on)
{
    atomic_store(&held, on);
}

/* run.json is for readers while a run goes on. One that holds it, where the system lets it, must
 * not end the training: it is written again at the next checkpoint, and at the end. */
static vkt_status save_record(const vkt__save_job *j)
{
    vkt__log_quiet(true);
    vkt_status st = vkt__run_save(j->run, &j->record);
    vkt__log_quiet(false);
    if (st == VKT_E_IO)
        vkt_log(VKT_LOG_WARN, "train", "%s: it is written again at the next checkpoint",
                vkt__last_failure());
    else if (st != VKT_OK)
        vkt__fail(st, "train", "%s", vkt__last_failure());
    return st == VKT_E_IO ? VKT_OK : st;
}

/* Where a reader holds `best`, it names an older one until the next checkpoint, and nothing is
 * removed. */
vkt_status vkt__saver_sort_out(const vkt__run *run, const char *best, uint32_t keep, int sign,
                               bool last)
{
    vkt_status st = VKT_OK;
    if (*best) {
        vkt__log_quiet(true);
        st = vkt__checkpoint_link_best(run->dir, best);
        vkt__log_quiet(false);
    }
    if (st == VKT_E_IO && !last) {
        vkt_log(VKT_LOG_WARN, "train", "%s: it is written again at the next checkpoint",
                vkt__last_failure());
        return VKT_OK;
    }
    if (st != VKT_OK) return vkt__fail(st, "train", "%s", vkt__last_failure());
    return vkt__checkpoint_prune(run->dir, keep, sign, NULL);
}

static vkt_status save(vkt__save_job *j)
{
    vkt_status st = VKT_OK;
    vkt__weights *w = j->weights;
    vkt__checkpoint_desc desc = { .run_dir = j->run->dir,
                                  .state = j->state,
                                  .model = w->saved,
                                  .n_model = w->n_saved,
                                  .optim = w->optim,
                                  .n_optim = w->n_optim };
    desc.state.extra = *j->extra ? j->extra : NULL;
    vkt__weights_arrange(j->model, j->optim, w);
    VKT_TRY(vkt__metrics_sync(j->metrics)); /* the rows up to a checkpoint are there before it */
    vkt__weights_swap_average(j->model, j->optim, w);
    st = vkt__checkpoint_write(&desc);
    vkt__weights_swap_average(j->model, j->optim, w);
    VKT_TRY(st);
    VKT_TRY(vkt__saver_sort_out(j->run, j->best, j->keep, j->sign, j->last));
    VKT_TRY(save_record(j));
    VKT_TRY(vkt__sync_dir(j->run->dir));
fail:
    return st;
}

static void thread(void *user)
{
    vkt__saver *s = user;
    while (atomic_load(&held)) vkt__sleep_ms(1);
    vkt__log_quiet(true);
    double start = vkt__now();
    s->st = save(&s->job);
    s->seconds = vkt__now() - start;
    snprintf(s->why, sizeof s->why, "%s", vkt__last_failure());
    vkt__log_quiet(false);
    atomic_store(&s->ended, true);
}

vkt_status vkt__saver_begin(vkt__saver *s, const vkt__save_job *job)
{
    VKT_ASSERT(!s->thread);
    s->job = *job;
    s->st = VKT_OK;
    s->why[0] = 0;
    atomic_store(&s->ended, false);
    return vkt__thread_start(thread, s, &s->thread);
}

bool vkt__saver_ended(const vkt__saver *s)
{
    return s->thread && atomic_load(&s->ended);
}

vkt_status vkt__saver_wait(vkt__saver *s)
{
    if (!s->thread) return VKT_OK;
    vkt__thread_join(&s->thread);
    return s->st;
}
