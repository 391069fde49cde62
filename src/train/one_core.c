/* one_core.h. What handing over costs is measured, as it differs tenfold among machines; the work
 * of a step is estimated, as running it would compile its kernels twice. */
#include "train/one_core.h"
#include "base/os.h"
#include "tensor/graph/graph.h"

/* What one core reaches in the small products and updates of such steps. */
static const double CORE_GFLOPS = 30, CORE_GBPS = 5;
/* More than handing over has ever taken: longer steps need no measurement. */
static const double HAND_OVER_MOST_US = 100;

bool vkt__one_core_pays(double work_us, uint32_t n_dispatches, double hand_over_us, uint32_t cpus)
{
    return work_us * (1 - 1.0 / cpus) < n_dispatches * hand_over_us;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of a few runs of nothing but dispatches: what is usual here counts, not what is
 * possible. */
static vkt_status measure_hand_over(vkt_gpu *gpu, const vkt_buffer *scratch, double *us)
{
    enum { DISPATCHES = 32, RUNS = 7 };
    vkt_status st = VKT_OK;
    double each[RUNS];
    vkt_graph *g = vkt__graph_new(gpu);
    for (int i = 0; i < DISPATCHES; i++) /* into memory that is there: there may be no other */
        vkt_bind(vkt_fill(g, vkt_shape1(1), 0), VKT_ALL_SLOTS, scratch, 0);
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "handing over" }));
    for (int i = 0; i < RUNS; i++) {
        double start = vkt__now();
        VKT_TRY(vkt_graph_run(g));
        each[i] = 1e6 * (vkt__now() - start) / DISPATCHES;
    }
    qsort(each, RUNS, sizeof *each, by_size);
    *us = each[RUNS / 2];
fail:
    vkt_graph_destroy(&g);
    return st;
}

vkt_status vkt__one_core_wanted(vkt_gpu *gpu, const vkt_graph *g, const vkt_buffer *scratch,
                                const char *what, vkt_log_level level, bool *wanted)
{
    vkt_status st = VKT_OK;
    uint32_t cpus = vkt__cpu_count();
    size_t n_nodes;
    double work = 1e6 * vkt_graph_seconds(g, 1e9 * CORE_GFLOPS, 1e9 * CORE_GBPS, &n_nodes),
           hand_over = 0;
    uint32_t n = (uint32_t)n_nodes;
    *wanted = false;
    if (!vkt_gpu_caps(gpu)->hands_over || !vkt__one_core_pays(work, n, HAND_OVER_MOST_US, cpus))
        return VKT_OK;
    VKT_TRY(measure_hand_over(gpu, scratch, &hand_over));
    *wanted = vkt__one_core_pays(work, n, hand_over, cpus);
    vkt_log(*wanted ? level : VKT_LOG_DEBUG, "train",
            "a %s is about %.0f us of work for one core, and the driver needs %.0f us to hand its "
            "%u kernels to its threads: %s",
            what, work, n * hand_over, n,
            *wanted ? "all run on one core" : "the threads share them");
fail:
    return st;
}

vkt_status vkt__one_core_open(const vkt_gpu_desc *desc, uint32_t submit_ms, vkt_gpu **serial)
{
    vkt_gpu_desc again = *desc;
    again.serial = true;
    vkt__log_hold(true); /* the line of the choice was said */
    vkt_status st = vkt_gpu_create(&again, serial);
    vkt__log_hold(false);
    if (st != VKT_OK)
        vkt_log(VKT_LOG_ERROR, "train", "the device can't be opened a second time: %s",
                vkt__last_failure());
    else
        vkt__gpu_set_submit_ms(*serial, submit_ms);
    return st;
}

vkt_status vkt__session_reopen(const vkt_gpu_desc *desc, vkt__session **ps, vkt_gpu **serial)
{
    vkt_status st = VKT_OK;
    const vkt_config *c = (*ps)->config;
    const vkt_dataset *data = (*ps)->data;
    uint32_t submit_ms = vkt_gpu_caps((*ps)->gpu)->submit_ms;
    bool wanted;
    *serial = NULL;
    VKT_TRY(vkt__one_core_wanted((*ps)->gpu, (*ps)->train.graph, (*ps)->train.readback[0], "step",
                                 VKT_LOG_INFO, &wanted));
    if (wanted) {
        vkt__session_destroy(ps);
        VKT_TRY(vkt__one_core_open(desc, submit_ms, serial));
        VKT_TRY(vkt__session_create(*serial, c, data, true, ps));
    }
    VKT_TRY(vkt__session_prepare(*ps));
fail:
    if (st != VKT_OK) {
        vkt__session_destroy(ps);
        vkt_gpu_destroy(serial);
    }
    return st;
}
