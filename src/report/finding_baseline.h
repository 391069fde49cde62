/* What a run's result says beside that of a linear model. */
#ifndef VKT_REPORT_FINDING_BASELINE_H
#define VKT_REPORT_FINDING_BASELINE_H

#include "base/words.h"
#include "runs/run_folder.h"

/* The network is worse than the linear model, or not better by more than noise. false: it is
 * better, or there is no linear model. */
bool vkt__finding_baseline(const vkt__run_record *r, const vkt_history *h, vkt__str *text);
/* "logistic regression: accuracy 81.70%, the network 79.00%; on test ...", in the arena. NULL:
 * there is none. */
const char *vkt__baseline_text(const vkt__run_record *r, vkt__arena *a);

#endif
