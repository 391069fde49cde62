/* What the labels are worth, by which of them the best checkpoint contradicts. */
#ifndef VKT_REPORT_FINDINGS_LABELS_H
#define VKT_REPORT_FINDINGS_LABELS_H

#include "report/evidence.h"

/* Labels that are wrong where the network is sure; a run's folder lists them. */
bool vkt__find_doubtful_labels(const vkt__evidence *e, vkt__str *text);
/* As many labels are wrong where it is sure as where it is not: a part of them belongs to other
 * rows. */
bool vkt__find_shuffled_labels(const vkt__evidence *e, vkt__str *text);

#endif
