/* What goes on beside a measurement: other programs on the processor, a card that is too hot. */
#ifndef VKT_BENCH_CONDITIONS_H
#define VKT_BENCH_CONDITIONS_H

#include "gpu/nvml.h"

typedef struct vkt__conditions {
    const char *root; /* a folder that has proc/stat */
    vkt__nvml *nvml;  /* NULL: not such a card */
    double most;      /* CPUs that other programs may take without a word */
    double began, all, own, hot;
} vkt__conditions;

/* root, nvml: for tests; NULL: the system's. caps NULL: a CPU driver's. */
void vkt__conditions_open(vkt__conditions *c, const vkt_caps *caps, const char *root,
                          const char *nvml);
void vkt__conditions_close(vkt__conditions *c);
void vkt__conditions_begin(vkt__conditions *c);
/* Since then: why what was measured is doubtful, in a few words. False: nothing is known against
 * it, as also after less than a fifth of a second and where the system tells nothing. */
bool vkt__conditions_end(const vkt__conditions *c, char *why, size_t cap);

#endif
