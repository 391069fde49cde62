/* Two models' outputs for the same labelled examples: each one's value of a measure, and how far
 * chance alone moves the difference. Knows no device and no model. */
#ifndef VKT_TRAIN_BESIDE_H
#define VKT_TRAIN_BESIDE_H

#include "vktrain/data.h"

typedef struct vkt__beside {
    vkt_task task;
    uint32_t n_outputs, n_labels;
    size_t n;
    const vkt_label *y;               /* [n, n_labels] as vkt_dataset_example gives them */
    const struct vkt__target *target; /* [n_outputs] of numbers; NULL: their units are 1 */
} vkt__beside;

/* The value of a measure (vkt__measure_named) of outputs [n, n_outputs]: probabilities, or
 * standardised numbers. `loss` is the cross-entropy or the mean squared error, whatever was trained
 * with. pick [n]: the examples that count, with repetitions; NULL: each once. OOM_HOST. */
vkt_status vkt__beside_metric(const vkt__beside *b, const double *out, const char *metric,
                              const uint32_t *pick, double *value);
/* The standard error of the difference between the values of two models' outputs: of measures that
 * are means over examples that of the paired differences (of accuracy: McNemar's), else from a
 * paired bootstrap. OOM_HOST. */
vkt_status vkt__beside_error(const vkt__beside *b, const double *one, const double *other,
                             const char *metric, double *error);

/* By what a model is ahead (negative: behind, NAN: it was not measured), with its standard error.
 */
typedef struct vkt__lead {
    double by, error;
} vkt__lead;
/* "better", "worse", "level" (within noise), "partly" (better, but level in the share that is
 * right) or "mixed": in the measure that selects, and of classes in the share that is right. Noise
 * is what two of three in a hundred equal models would show by Student's t of n examples; a model
 * that was chosen as the best of `looks` evaluations on these very examples is better only beyond
 * what the luckiest of them would show by chance (Bonferroni). */
const char *vkt__beside_verdict(vkt__lead chosen, vkt__lead right, size_t n, uint64_t looks);

/* What a comparison on n examples gives; by.error NAN: there was none. */
typedef struct vkt__leads {
    vkt__lead by, right;
    size_t n;
} vkt__leads;
/* The verdict by the test examples alone where they are enough, since these chose nothing; else by
 * the validation examples, on which the network is the best of its `evaluations` (0: it was not
 * chosen there). by_test: which of them it was. */
const char *vkt__beside_judge(const vkt__leads *valid, uint64_t evaluations, const vkt__leads *test,
                              bool *by_test);

#endif
