/* What a model says about examples, collected for a file of predictions. */
#ifndef VKT_TRAIN_PREDICTIONS_H
#define VKT_TRAIN_PREDICTIONS_H

#include "runs/metrics.h"
#include "train/evaluate.h"

/* Rows of predictions; p points to the other members. */
typedef struct vkt__collected {
    vkt__predictions p;
    uint64_t *index;
    float *value, *target_value;
    double *number; /* [n, 2, n_outputs] of regression */
    uint32_t *target, n_labels;
    bool classify;
} vkt__collected;
/* Room for n examples of the data that info describes. */
vkt__collected vkt__collected_create(const vkt_dataset_info *info, uint64_t n);
void vkt__collected_finish(vkt__collected *c);
/* Adds an example: a vkt__example_fn, whose user is a vkt__collected. */
void vkt__collect(void *user, uint64_t index, const float *out, const vkt_label *y,
                  const double *number);

/* What the model says now about a fixed sample, into the run's predictions folder. */
vkt_status vkt__predictions_sample(vkt__session *s, vkt_split split, uint64_t limit,
                                   const char *run_dir, uint64_t step);

#endif
