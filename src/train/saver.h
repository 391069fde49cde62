/* Checkpoints beside the steps: what of a run goes to disk is copied while the device is idle, and
 * a thread writes it while the next steps go on. One at a time: the next checkpoint waits for the
 * one before. Who comes to need the files, or the host copy of the weights, waits by
 * vkt__saver_wait first. */
#ifndef VKT_TRAIN_SAVER_H
#define VKT_TRAIN_SAVER_H

#include <stdatomic.h>

#include "base/os.h"
#include "models/weights.h"
#include "runs/checkpoint_set.h"
#include "runs/metrics.h"
#include "runs/run_folder.h"

/* What a checkpoint is made of. The thread has the weights until it is waited for, and shares the
 * metrics, which may be added to; nothing else that these point to changes meanwhile. */
typedef struct vkt__save_job {
    const vkt__run *run;
    vkt__run_record record; /* run.json, once the checkpoint is there */
    vkt__metrics *metrics;
    vkt__checkpoint_state state; /* `extra` is taken from below */
    char extra[96];              /* or "" */
    const vkt_model *model;
    const vkt_optim *optim;
    vkt__weights *weights; /* as vkt__weights_fetch left them */
    char best[32];         /* the best checkpoint's name with this one among them; or "" */
    uint32_t keep;
    int sign;
    bool last; /* of the run: `best` must name it now */
} vkt__save_job;

typedef struct vkt__saver {
    vkt__thread *thread; /* NULL: nothing is being written */
    atomic_bool ended;
    vkt__save_job job;
    vkt_status st;
    double seconds; /* that it took to write */
    char why[512];
} vkt__saver;

/* Begins to write. Nothing is being written; *job is copied. */
vkt_status vkt__saver_begin(vkt__saver *s, const vkt__save_job *job);
/* It has been written, or has failed, and nobody waited for it yet: waiting takes no time. */
bool vkt__saver_ended(const vkt__saver *s);
/* Waits for what is being written and gives its status; OK where nothing is. A failure is not
 * logged yet: s->why says it. */
vkt_status vkt__saver_wait(vkt__saver *s);

/* RUN/best names this checkpoint ("": there is none), and those that are not to be kept are
 * removed. Where a reader holds `best`, that is an error only at the last one. */
vkt_status vkt__saver_sort_out(const vkt__run *run, const char *best, uint32_t keep, int sign,
                               bool last);

/* For tests: what is begun from now on waits before it touches a file, until this is false. */
void vkt__saver_hold(bool on);

#endif
