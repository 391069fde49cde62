/* The profiler's own view: what its files share. profile.c: the steps and the clock.
 * profile_trace.c: both for a trace viewer.
 * profile_ranks.c: the same for several ranks, on rank 0.
 * profile_kernels.c: times of single kernels, and the rates they are compared with.
 * profile_verdict.c: what limits the step, in words. */
#ifndef VKT_PROFILE_PROFILER_H
#define VKT_PROFILE_PROFILER_H

#include "train/session.h"
#include "vktrain/profile.h"

/* Every dispatch of one run of a graph, in order. */
typedef struct vkt__dispatches {
    vkt_node_time *node;
    char (*label)[64]; /* [n] the result's name, or an input's */
    size_t n;
} vkt__dispatches;

/* What the training thread was about, or a thread of the loader. */
typedef enum vkt__span_kind {
    VKT__SPAN_STEP,
    VKT__SPAN_LOADER_WAIT,
    VKT__SPAN_PREPARE,
    VKT__SPAN_SUBMIT,
    VKT__SPAN_READBACK,
    VKT__SPAN_METRICS,
    VKT__SPAN_FILL,
    VKT__SPAN_EXCHANGE_HIDDEN, /* while the device computes */
    VKT__SPAN_EXCHANGE,        /* the device waits */
    VKT__N_SPANS
} vkt__span_kind;

typedef struct vkt__span {
    vkt__span_kind kind;
    uint32_t thread; /* of the loader */
    uint64_t number; /* step from 0; batch of a fill */
    uint32_t id;     /* submit: index of the submission */
    double start, end;
} vkt__span;

/* One command buffer given to the device. */
typedef struct vkt__submission {
    uint64_t ticket, step;
    uint32_t micro;
    bool update;       /* accumulation: the step's last one */
    double submitted;  /* by the host */
    double start, end; /* on the device: from the submission, or the end of the one before */
} vkt__submission;

/* What was seen of the steps. */
typedef struct vkt__watched {
    vkt__span *span;
    size_t n_spans, cap_spans;
    vkt__submission *sub;
    size_t n_sub, cap_sub;
    size_t first_sub; /* of the first measured step */
    double from, to;  /* the measured part, on the device's side */
    vkt_comm *comm;   /* with several ranks, else NULL */
    double met;       /* the clock when all ranks had met: their clocks have nothing in common */
} vkt__watched;

/* Milliseconds of each of n steps that end at end[i], the first began at `from`, seconds: steps
 * whose ends are seen less than a quarter of a mean step apart ended in a bunch, and take the same
 * share of its time. Returns the number of bunches. */
size_t vkt__step_times(const double *end, size_t n, double from, double *ms);
/* Measures the references and the cost of timing; the device must be idle. */
vkt_status vkt__profile_references(vkt_gpu *gpu, vkt_profile *p);
/* Times the nodes of the training graph and of the update (may be absent), and makes kernels and
 * totals of them. Without timestamps the totals only. train, update: the caller frees .node and
 * .label. */
vkt_status vkt__profile_kernels(vkt__session *s, vkt_profile *p, vkt__dispatches *train,
                                vkt__dispatches *update);
/* What bounds a kernel of these costs and time, and the share of the reference that it reaches. */
vkt_kernel_bound vkt__profile_bound(const vkt_profile *p, double ms, double flops, double bytes,
                                    double *ceiling);
/* Writes the measured steps to `path` in the trace event format; train, update: of
 * vkt__profile_kernels. With several ranks, all call it, and rank 0 writes the results of all. */
vkt_status vkt__profile_trace(const vkt_profile *p, const vkt__watched *w,
                              const vkt__dispatches *train, const vkt__dispatches *update,
                              const char *command, const char *path);
/* With several ranks: each rank's times, into p->rank. exchange: of the measured steps. */
vkt_status vkt__profile_ranks(vkt_comm *c, const vkt_config *config, const vkt__exchange *before,
                              const vkt__exchange *after, vkt_profile *p);
/* The earliest of the ranks' times since they met; at_s is each one's. */
vkt_status vkt__profile_first(vkt_comm *c, double *at_s);
/* All ranks' texts, one after the other with a comma between them, in *text of rank 0. */
vkt_status vkt__profile_texts(vkt_comm *c, vkt__str *text);
/* Fills verdict, why and advice from all the rest. */
void vkt__profile_judge(vkt_profile *p);

#endif
