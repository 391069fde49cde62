/* Measures of how a classifier ranks examples, which need every score at once: the area under the
 * ROC curve and average precision. */
#ifndef VKT_TRAIN_RANKS_H
#define VKT_TRAIN_RANKS_H

#include "base/words.h"
#include "vktrain/data.h"

/* Unless the metric is requested, at most this many scores are kept and sorted: 64 MiB. */
#define VKT__RANKED_SCORES (UINT64_C(1) << 24)

typedef struct vkt__ranks {
    uint64_t n, cap; /* examples there are, and room for */
    uint32_t n_classes, n_scores;
    bool several;     /* labels of an example: target [cap, n_classes] is 1 for each that it has */
    float *score;     /* [cap, n_scores] of two classes that of the second, else of each */
    uint32_t *target; /* [cap] */
} vkt__ranks;

uint64_t vkt__ranks_scores(uint64_t n, uint32_t n_classes, bool several); /* that would be kept */
vkt_status vkt__ranks_create(uint64_t n, uint32_t n_classes, bool several, vkt__ranks *out);
void vkt__ranks_finish(vkt__ranks *r);
void vkt__ranks_add(vkt__ranks *r, const float *probability, uint32_t target);
void vkt__ranks_add_labels(vkt__ranks *r, const float *probability, const vkt_label *y);
/* What a threshold makes of a class: as classes whose score is at least `threshold` it finds
 * `recall` of its examples and takes `false_positive_rate` of the others for it; `precision` of
 * what it finds are its examples. */
typedef struct vkt__rank_point {
    uint32_t class;
    float threshold;
    double recall, false_positive_rate, precision;
} vkt__rank_point;

/* Two classes: the second against the first. More: each class against all others, the mean over the
 * classes that have both examples and others. NAN: no such class, or a score is no number. class_ap
 * [n_classes] (may be NULL): average precision of each, NAN where it was not measured. Equal scores
 * are one threshold. Source: scikit-learn's roc_auc_score(multi_class="ovr") and
 * average_precision_score, both with average="macro". */
vkt_status vkt__ranks_measure(const vkt__ranks *r, double *roc_auc, double *average_precision,
                              double *class_ap);
/* The points of the ROC and the precision-recall curve of a class, by falling threshold: of two
 * classes of the second; of up to VKT__CURVES each; of more those of the lowest class_ap
 * [n_classes]. Of many points those that lie side by side are one: no curve is off by more than a
 * 512th. Caller frees *out; NULL, *n 0: nothing could be measured. Source: scikit-learn's
 * roc_curve(drop_intermediate=False) and precision_recall_curve, without the points that they add.
 */
enum { VKT__CURVES = 8 };
vkt_status vkt__ranks_curves(const vkt__ranks *r, const double *class_ap, vkt__rank_point **out,
                             size_t *n);

#endif
