/* What is fitted on validation examples once a model is trained, and done to its probabilities from
 * then on: a temperature for classes, thresholds for several labels or of two classes. Kept as
 * calibration.json in the checkpoint. Knows numbers, and no session. */
#ifndef VKT_TRAIN_CALIBRATION_H
#define VKT_TRAIN_CALIBRATION_H

#include "vktrain/recipe.h"

/* { 0 }: probabilities are not changed. */
typedef struct vkt__calibration {
    double temperature; /* of classes: softmax(logits / temperature); 0: none */
    float *threshold;   /* [n] from which on a label is predicted; of two classes that of the second
                           is   in [1]; NULL: one half, or the likeliest class */
    uint32_t n;         /* outputs */
    uint64_t n_examples; /* that it was fitted on; 0: it was not */
} vkt__calibration;
/* Nothing fitted: of several labels each is predicted from one half on. */
vkt__calibration vkt__calibration_none(vkt_task task, uint32_t n);
void vkt__calibration_finish(vkt__calibration *c);

/* p [n] of one example, in place: p^(1 / temperature), summing to 1. */
void vkt__calibration_apply(const vkt__calibration *c, float *p, uint32_t n);
/* The class that is predicted: the first of the likeliest, or of two by the threshold. */
uint32_t vkt__calibration_class(const vkt__calibration *c, const float *p, uint32_t n);

/* The temperature that lowers the mean cross-entropy of p [n, n_classes] against target [n] most,
 * from 0.25 to 10. Source: Guo et al. 2017 (arXiv 1706.04599), section 4.2. */
double vkt__fit_temperature(const float *p, const uint32_t *target, uint64_t n, uint32_t n_classes);
/* Whether examples gain by a temperature that was fitted without them: each fifth's mean
 * cross-entropy with that of the other four, and without any. */
bool vkt__temperature_helps(const float *p, const uint32_t *target, uint64_t n, uint32_t n_classes,
                            double *without, double *with);
/* How a threshold is chosen: the highest F1; or the lowest cost, where a positive example that is
 * missed costs miss_cost times as much as another one that is taken for positive. */
typedef enum vkt__threshold_by { VKT__BY_F1, VKT__BY_COST } vkt__threshold_by;
/* The score from which on examples are best taken for positive, of score[0], score[stride], .. [n]:
 * in the middle between the lowest that is taken and the next one, the lowest of equally good ones;
 * 0.5 where no example is positive, or every one. is: as score, > 0 of positive ones. OOM_HOST. */
vkt_status vkt__fit_threshold(const float *score, const float *is, uint64_t n, uint32_t stride,
                              vkt__threshold_by by, double miss_cost, float *out);

/* DIR/calibration.json. names [n] of the outputs. */
vkt_status vkt__calibration_write(const char *dir, const vkt__calibration *c,
                                  const char *const *names);
/* Its absence is vkt__calibration_none. FORMAT: it is of another model, or was changed. */
vkt_status vkt__calibration_read(const char *dir, vkt_task task, uint32_t n,
                                 const char *const *names, vkt__calibration *out);

#endif
