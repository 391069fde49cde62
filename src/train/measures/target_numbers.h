/* An example of numbers to predict: what the model gave and what is right, from standardised
 * values to the data's own units. */
#ifndef VKT_TRAIN_TARGET_NUMBERS_H
#define VKT_TRAIN_TARGET_NUMBERS_H

#include "data/parts/parts.h"
#include "train/measures/eval_sums.h"

typedef struct vkt__numbers {
    double *number;    /* [2, n] predictions, then labels */
    float *row;        /* [n] the predictions */
    vkt_label *labels; /* [n] */
} vkt__numbers;

/* The shortest number that the data can have given as the label: training keeps
 * vkt__target_learned of it as a float, y, and v is the number for y. */
double vkt__number_as_given(const vkt__target *t, double v, float y);
/* Of outputs and labels [n], as training has them: fills `to`, adds the errors to the sums. Errors
 * are those around the training targets' mean, beside which they may be small. shortest: labels as
 * the data has given them. false: a prediction is no finite number. */
bool vkt__numbers_take(const vkt__target *targets, uint32_t n, const float *out, const vkt_label *y,
                       bool shortest, const vkt__numbers *to, vkt__eval_sums *sums);

#endif
