/* What the curves of a run say, in words. Each finding is a pure function of what was measured: it
 * holds or not, and says why with its numbers and what to do. */
#ifndef VKT_REPORT_FINDINGS_H
#define VKT_REPORT_FINDINGS_H

#include "report/evidence.h"

typedef bool (*vkt__finding_fn)(const vkt__evidence *e, vkt__str *text);
typedef struct vkt__finding {
    const char *name, *title; /* "overfitting", "Overfitting" */
    vkt__finding_fn find;
} vkt__finding;
/* All of them, most urgent first; *n their number. */
const vkt__finding *vkt__findings(size_t *n);

#endif
