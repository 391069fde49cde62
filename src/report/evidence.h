/* What the findings of a report are taken from. */
#ifndef VKT_REPORT_EVIDENCE_H
#define VKT_REPORT_EVIDENCE_H

#include "base/words.h"
#include "vktrain/train.h"

/* What is known of a run; NAN and 0 where it is not. */
typedef struct vkt__evidence {
    const vkt_history *h;
    const char *metric; /* that selects */
    int metric_sign;
    double clip;                          /* optim.clip; 0: none */
    uint32_t workers;                     /* data.workers */
    double weight_decay;                  /* optim.weight_decay */
    bool decoupled;                       /* it is the rule's own, beside the gradient */
    double weight_norm, best_weight_norm; /* of what is decayed: newest checkpoint, best one */
    double dropout, label_smoothing;      /* of the recipe; dropout: its largest */
    double steps_per_epoch;
    double full_loss, full_accuracy, full_mae; /* best checkpoint, full validation set */
    uint64_t best_step;
    uint64_t sample;           /* eval.sample; 0: all */
    uint64_t n_held;           /* validation and test examples */
    uint64_t n_shared, n_near; /* of those: in the training set too, or nearly */
    /* Of classes, as the run's end judged them (runs/run_folder.h); n_judged 0: it did not. */
    uint64_t n_judged, n_doubtful;
    double judged_wrong, surest_wrong, surest_quarter_wrong;
    const char *const *class_names; /* [n_class_names]; entries may be NULL */
    size_t n_class_names;
} vkt__evidence;

#endif
