/* What a classifier got right, class by class, from counts; and its confusion matrix as files. */
#ifndef VKT_TRAIN_CLASSES_H
#define VKT_TRAIN_CLASSES_H

#include "train/measures/eval_sums.h"

/* NAN where there is nothing to divide by: recall of a class without examples, precision of one
 * that was never predicted. */
typedef struct vkt__class_scores {
    double precision, recall, f1; /* f1: 0 where one of the two is 0 or NAN, and the class occurs */
} vkt__class_scores;
vkt__class_scores vkt__class_scores_of(const vkt__eval_sums *e, uint32_t c);
/* Mean recall of the classes that have examples. NAN: several labels of an example. */
/* Of masks: the pixels that both have over those that either has. NAN: no masks, or neither has
 * any; the mean is over the others. */
double vkt__class_iou(const vkt__eval_sums *e, uint32_t c);
double vkt__mean_iou(const vkt__eval_sums *e);
/* Of pictures, the means over examples; NAN: no pictures. */
double vkt__mean_psnr(const vkt__eval_sums *e);
double vkt__mean_ssim(const vkt__eval_sums *e);
double vkt__balanced_accuracy(const vkt__eval_sums *e);
/* Mean F1 of the classes that have examples or were predicted. */
double vkt__macro_f1(const vkt__eval_sums *e);

/* F1 of all classes' counts together, of several labels of an example. NAN: one, or none. */
double vkt__micro_f1(const vkt__eval_sums *e);

/* The value of a checkpoint.metric (recipe/measure.h has the names) out of an evaluation. */
double vkt__eval_metric(const vkt__eval_sums *e, const char *name);

/* PATH.csv: a row a target class, a column a prediction, examples counted; PATH.png: the same in
 * colours, with the numbers where they fit. Nothing where there are too many classes for a matrix.
 */
/* PATH-ranking.csv, a row a point of the curves of ROC and of precision and recall, and
 * PATH-reliability.csv, a row a bin of the likeliest class's probability, the model's own and with
 * the temperature. What was not measured is not written. IO. */
vkt_status vkt__curves_write(const vkt__eval_sums *e, const char *const *names, const char *path);
vkt_status vkt__confusion_write(const vkt__eval_sums *e, const char *const *names,
                                const char *path);

#endif
