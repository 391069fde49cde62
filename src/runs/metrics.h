/* metrics.jsonl and metrics.csv of a run: one line a row, appended and flushed; on resume cut back
 * to the checkpoint's step. And the CSV of predictions. */
#ifndef VKT_RUNS_METRICS_H
#define VKT_RUNS_METRICS_H

#include "vktrain/data.h"
#include "base/words.h"

/* NAN: not measured, left out (but a loss that is NaN or Inf is written as null). */
typedef struct vkt__metrics_row {
    uint64_t step;     /* steps done when it was measured */
    const char *split; /* NULL: a training step; else an evaluation of "valid", "test", ... */
    double loss, accuracy, balanced_accuracy, macro_f1, micro_f1, roc_auc, average_precision, ece;
    double mean_iou, psnr, ssim;      /* of masks; of pictures */
    double map, map50;                /* of boxes */
    double oks_ap, pck, point_error;  /* of points */
    double instance_ap50;             /* of instances */
    double mae, rmse, r2;             /* of a regression, in units of the target */
    double perplexity, bits_per_byte; /* of text */
    double rewards_chosen, rewards_rejected, rewards_margin; /* of preferences */
    double grad_norm, clip, lr, items_per_s, input_wait, update_ok;
    double loss_scale;  /* fp16: that the step's gradient was computed with */
    double skipped;     /* updates left out since the run began; given with loss_scale */
    double seconds;     /* since the run began */
    double checkpoint;  /* of the run's conclusion: the step of the best checkpoint, which it is of;
                           NAN: the evaluation is of `step` */
    uint64_t n;         /* examples: of the evaluation; 0: not given */
    uint32_t n_classes; /* evaluations of classifiers: examples, correct and predicted ones per
                           class; 0: not given */
    const uint64_t *class_count, *class_correct, *class_predicted;
    uint32_t n_losses; /* evaluations with several losses: each one's name and mean; 0: not given */
    const char *const *loss_names;
    const double *losses;
} vkt__metrics_row;
/* All numbers NAN. */
vkt__metrics_row vkt__metrics_row_empty(uint64_t step, const char *split);

typedef struct vkt__metrics vkt__metrics;
#define VKT__METRICS_NEW UINT64_MAX
/* resume_step: rows past it are cut off, a half-written last line and the concluding evaluation
 * too; VKT__METRICS_NEW: files begin empty. run_dir NULL: rows are formatted and discarded. */
vkt_status vkt__metrics_open(const char *run_dir, uint64_t resume_step, vkt__metrics **out);
vkt_status vkt__metrics_add(vkt__metrics *m, const vkt__metrics_row *row);
/* Syncs the added rows to disk; called before a checkpoint is written. */
vkt_status vkt__metrics_sync(vkt__metrics *m);
void vkt__metrics_close(vkt__metrics **m);

/* What a model said about examples. */
typedef struct vkt__predictions {
    uint64_t n;
    uint32_t n_outputs;     /* classes, or numbers of a regression */
    bool several;           /* any of the classes is right: target_value is 1 for those */
    const float *threshold; /* [n_outputs] several: from which on each is predicted; of two classes
                               in [1] for the second; NULL: one half, the likeliest class */
    const uint64_t *index;  /* [n] example in its split; NULL: 0.. */
    const float *value;     /* [n, n_outputs] probabilities, or the target in its own units */
    const uint32_t *target; /* [n] class; NULL: no labels */
    const double *number; /* [n, 2, n_outputs] of regression the values and the targets as no float
                             keeps them; NULL: value and target_value are all there is */
    const float *target_value;       /* [n, n_outputs] regression, several; NULL: no labels */
    const char *const *class_names;  /* [n_outputs]; NULL: regression */
    const char *const *target_names; /* [n_outputs] of regression; else NULL */
    const vkt_output_of *outputs;    /* [n_outputs] of regression with classes; else NULL */
} vkt__predictions;
/* index,target,predicted,correct,p(CLASS)...; several: with a|b as target and predicted; or
 * index,target,predicted, of several numbers index,target(NAME),predicted(NAME),..., where labels
 * that are classes have these by name and behind all p(LABEL=CLASS),... Replaces the file whole. */
vkt_status vkt__predictions_write(const char *path, const vkt__predictions *p);
/* RUN/predictions/step-00001200.csv */
vkt_status vkt__predictions_save(const char *run_dir, uint64_t step, const vkt__predictions *p);

#endif
