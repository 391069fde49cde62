/* The findings about the course of the training loss: see findings.h. */
#ifndef VKT_REPORT_FINDINGS_COURSE_H
#define VKT_REPORT_FINDINGS_COURSE_H

#include "report/evidence.h"
#include "runs/curve.h"

/* Where the training loss rises while it should fall. What a planned restart of the rate raises,
 * and what goes round with the order of the examples, is no such rise. */
vkt__rise vkt__course_rise(const vkt__evidence *e);
/* Of how the training loss varies around its trend, the share that the place in the epoch explains:
 * near 0 where the examples are shuffled. 0 where there are too few steps or epochs to tell. */
double vkt__course_by_epoch(const vkt__evidence *e);
/* Such a share means that the examples come in an order of their own. */
#define VKT__ORDERED 0.5

/* The run is unstable or ends at chance, and weight decay is strong enough to be the cause. */
bool vkt__find_decay(const vkt__evidence *e, vkt__str *text);

#endif
