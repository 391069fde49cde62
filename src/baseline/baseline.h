/* Private to the library: a linear model of a data set, fitted on the host: what a network's result
 * stands beside. Ridge regression of numbers, L2-regularised logistic regression of classes and of
 * several labels, its strength chosen by inner folds of the training rows. Inputs are a table's
 * columns, a picture's pixels at no more than 16 x 16, or a text's words and pairs of words. In
 * double, in one thread: the same data and the same allowance give the same bits. Language models
 * have none. It knows no network and no device. */
#ifndef VKT_BASELINE_BASELINE_H
#define VKT_BASELINE_BASELINE_H

#include "vktrain/data.h"

typedef struct vkt__baseline vkt__baseline;

/* Fits one on the training split with about this many multiply-adds: rows are left out where all of
 * them would take more, but 200 stay. *out NULL: there is none for such data (`why`, which may be
 * NULL, says it in words, or is empty where nothing is to be said). ignore: the class that does not
 * count. OOM_HOST, IO. */
vkt_status vkt__baseline_fit(const vkt_dataset *ds, vkt_maybe ignore, double work,
                             vkt__baseline **out, const char **why);
void vkt__baseline_destroy(vkt__baseline **b);

/* "ridge regression", "logistic regression". */
const char *vkt__baseline_name(const vkt__baseline *b);
/* What it was fitted on and with which strength: "on 1,200 rows, 24 columns, strength 10 ...". */
const char *vkt__baseline_about(const vkt__baseline *b);
double vkt__baseline_strength(const vkt__baseline *b);
/* Examples of a split whose prediction is cheap enough within the allowance. */
uint64_t vkt__baseline_affords(const vkt__baseline *b, uint64_t n);

/* Of example i of a split: out [n_outputs], probabilities, or standardised targets. constant: the
 * same without inputs: shares of the classes, or the mean. *read false: its picture can't be read.
 */
vkt_status vkt__baseline_predict(vkt__baseline *b, vkt_split split, uint64_t i, double *out,
                                 bool *read);
void vkt__baseline_constant(const vkt__baseline *b, double *out);

#endif
