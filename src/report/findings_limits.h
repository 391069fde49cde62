/* Findings about what keeps training back: see findings.h. */
#ifndef VKT_REPORT_FINDINGS_LIMITS_H
#define VKT_REPORT_FINDINGS_LIMITS_H

#include "report/evidence.h"

/* Median over the last tenth of the steps; NAN: too few. */
double vkt__last_training_loss(const vkt_history *h);
double vkt__last_training_accuracy(const vkt_history *h);
/* Dropout or label smoothing is so strong that it decides how far the loss can fall. */
bool vkt__find_held_back(const vkt__evidence *e, vkt__str *text);

#endif
