/* bench_conditions.h */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_conditions.h"

/* The counters of the processor tick a hundred times a second. */
#define LEAST_S 0.2

/* A CPU driver needs every CPU; a GPU needs some for its loader. */
#define SHARE_CPU 0.1
#define SHARE_GPU 0.5

void vkt__conditions_open(vkt__conditions *c, const vkt_caps *caps, const char *root,
                          const char *nvml)
{
    bool cpu = !caps || caps->klass == VKT_GPU_CLASS_CPU;
    *c = (vkt__conditions) { .root = root ? root : "",
                             .most = (cpu ? SHARE_CPU : SHARE_GPU) * vkt__cpu_count() };
    if (caps && caps->klass == VKT_GPU_CLASS_NVIDIA) c->nvml = vkt__nvml_open(caps, nvml);
}

void vkt__conditions_close(vkt__conditions *c)
{
    if (c->nvml) vkt__nvml_close(&c->nvml);
}

void vkt__conditions_begin(vkt__conditions *c)
{
    c->began = vkt__now();
    c->all = vkt__machine_cpu_s(c->root);
    c->own = vkt__process_cpu_s();
    c->hot = c->nvml ? vkt__nvml_too_hot_s(c->nvml) : NAN;
}

bool vkt__conditions_end(const vkt__conditions *c, char *why, size_t cap)
{
    double seconds = vkt__now() - c->began,
           others = vkt__machine_cpu_s(c->root) - c->all - (vkt__process_cpu_s() - c->own),
           hot = c->nvml ? vkt__nvml_too_hot_s(c->nvml) - c->hot : NAN;
    if (seconds < LEAST_S) return false;
    if (hot > 0.05 * seconds) {
        snprintf(why, cap, "the card was too hot and held its clock back for %.0f%% of the time",
                 100 * fmin(hot / seconds, 1));
        return true;
    }
    if (others > c->most * seconds) {
        snprintf(why, cap, "other programs took %.1f of %u CPUs meanwhile", others / seconds,
                 vkt__cpu_count());
        return true;
    }
    return false;
}
