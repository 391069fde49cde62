/* vktrain runs layer: run folders, their metrics, and requests to a run in progress.
 *
 * Threads: any; a vkt_history is for one thread at a time. Other processes may write the run
 * meanwhile. Aborts: nothing but a small host allocation. Ownership: a history owns its lists.
 */
#ifndef VKTRAIN_RUNS_H
#define VKTRAIN_RUNS_H

#include "vktrain/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a run measured, read from its metrics.jsonl. NAN: not measured; a loss or norm that was NaN
 * reads NAN, one that was infinite INFINITY. */
typedef struct vkt_history_step {
    uint64_t step; /* steps done */
    double loss, accuracy, grad_norm, clip, lr, items_per_s, input_wait, seconds;
    double loss_scale; /* fp16; 1 without */
    bool updated;      /* false: NaN or Inf, the update was skipped */
    bool overflow;     /* ... with a finite loss and a loss scale that could still fall: what it is
                          there for, no sign of trouble */
} vkt_history_step;
typedef struct vkt_history_eval {
    uint64_t step;
    char split[16];
    double loss, accuracy, balanced_accuracy, macro_f1, micro_f1, roc_auc, average_precision, ece;
    double mean_iou, psnr, ssim, map, map50, oks_ap, pck, point_error, instance_ap50;
    double mae, rmse, r2, seconds; /* regression, in units of the target */
    uint64_t n;                    /* examples */
    uint32_t n_classes;            /* 0: no counts */
    uint64_t *class_count, *class_correct;
} vkt_history_eval;
typedef struct vkt_history {
    vkt_history_step *steps;
    vkt_history_eval *evals;
    size_t n_steps, n_evals;
    uint64_t n_damaged,
        first_damaged; /* lines left out (one warning says so); line number, from 1 */
    struct vkt__history_private *priv;
} vkt_history;
/* IO: the folder has no metrics.jsonl. Free with vkt_history_destroy. */
VKT_API vkt_status vkt_history_load(const char *run_dir, vkt_history **out);
/* Reads the lines appended since the last call, or the whole file again if a resumed run has
 * truncated it. */
VKT_API vkt_status vkt_history_update(vkt_history *h);
/* The same in parts, so that other work can be done between them: open reads nothing yet, and read
 * about most_bytes; *more: some are left. */
VKT_API vkt_status vkt_history_open(const char *run_dir, vkt_history **out);
VKT_API vkt_status vkt_history_read(vkt_history *h, uint64_t most_bytes, bool *more);
VKT_API void vkt_history_destroy(vkt_history **h);
/* An evaluation's value of a metric by its name, as checkpoint.metric has it; NAN: not measured. */
VKT_API double vkt_history_metric(const vkt_history_eval *e, const char *metric);

/* The newest text in RUN/samples, as UTF-8 without control characters except tabs and newlines;
 * NULL if there is none. Free it with vkt_free. */
VKT_API char *vkt_run_sample(const char *run_dir, uint64_t *step);

/* Requests to a run in progress in another process, which checks for them twice a second. */
typedef enum vkt_run_order {
    VKT_RUN_ORDER_CHECKPOINT, /* save a checkpoint now, without an evaluation, and continue */
    VKT_RUN_ORDER_STOP_AFTER_EVALUATION, /* end as if interrupted after the next evaluation */
    VKT_RUN_ORDER_STOP                   /* end as if interrupted now, with a checkpoint */
} vkt_run_order;
/* ARG: no process is training in this folder. */
VKT_API vkt_status vkt_run_control(const char *run_dir, vkt_run_order order);
VKT_API bool vkt_run_alive(const char *run_dir); /* a process is training in this folder now */
/* None is. Both are false where that can't be told: another user's folder, a file system without
 * locks. For a study's folder as well. */
VKT_API bool vkt_run_abandoned(const char *run_dir);

/* Changes the note of a run, in progress or not: RUN/note.txt, which counts instead of the recipe's
 * until the run is resumed with another; "" is an empty one. ARG: no run's folder, or no line of
 * UTF-8 of at most 1000 bytes.
 */
VKT_API vkt_status vkt_run_set_note(const char *run_dir, const char *note);

/* A run folder as `vktrain runs` shows it. Strings belong to the list. */
typedef struct vkt_run_info {
    const char *dir, *name, *note, *status, *started, *device, *metric, *command, *error;
    const char *recipe, *config;  /* path or name; resolved YAML, for vkt_config_parse */
    const char *commit, *changes; /* of the git checkout that the recipe lies in; changes: "" all
                                     was committed; NULL: unknown */
    uint64_t step, total, best_step, n_params, ranks;
    double best_metric, test_loss, test_accuracy, test_mae, items_per_s,
        seconds;                             /* NAN: unknown, or not of this task */
    double exchange_share, exchange_overlap; /* with several ranks; else NAN */
    const char *baseline, *baseline_verdict; /* the linear model beside it, and what the network is
                                                against it, as in vkt_train_result; NULL: none */
    double baseline_metric, baseline_error;  /* its `metric`, and the standard error of the
                                                difference to the network's; NAN: none */
} vkt_run_info;
/* Every run folder under dir (or dir itself, or some folders deeper), oldest first. A damaged one
 * has `error` set, a failed one too (why it failed, with status "failed"). status: running, done,
 * interrupted, failed, or killed (its process ended without a word). IO: no such folder. Folders
 * below it that can't be read are left out: vkt_runs_unread. */
VKT_API vkt_status vkt_runs_list(const char *dir, vkt_run_info **list, size_t *n);
/* Which folder below it could not be read, and why, in a sentence of the list's; NULL: all could.
 */
VKT_API const char *vkt_runs_unread(const vkt_run_info *list);
VKT_API void vkt_runs_free(vkt_run_info **list);

#ifdef __cplusplus
}
#endif
#endif
