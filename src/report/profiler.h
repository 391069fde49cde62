/* The profiler's own view: what its files share. profile.c: the steps, the clock, the trace.
 * profile_kernels.c: times of single kernels, and the rates they are compared with.
 * profile_verdict.c: what limits the step, in words. */
#ifndef VKT_REPORT_PROFILER_H
#define VKT_REPORT_PROFILER_H

#include "train/session.h"
#include "vktrain/report.h"

/* Every dispatch of one run of a graph, in order. */
typedef struct vkt__dispatches {
    vkt_node_time *node;
    char (*label)[64]; /* [n] the result's name, or an input's */
    size_t n;
} vkt__dispatches;

/* Measures the references and the cost of timing; the device must be idle. */
vkt_status vkt__profile_references(vkt_gpu *gpu, vkt_profile *p);
/* Times the nodes of the training graph and of the update (may be absent), and makes kernels and
 * totals of them. Without timestamps the totals only. train, update: the caller frees .node and
 * .label. */
vkt_status vkt__profile_kernels(vkt__session *s, vkt_profile *p, vkt__dispatches *train,
                                vkt__dispatches *update);
/* What bounds a kernel of these costs and time, and the share of the reference that it reaches. */
vkt_bound vkt__profile_bound(const vkt_profile *p, double ms, double flops, double bytes,
                             double *ceiling);
/* Fills verdict, why and advice from all the rest. */
void vkt__profile_judge(vkt_profile *p);

#endif
