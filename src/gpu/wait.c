/* Waiting for submissions. No wait is endless: some drivers have no watchdog, and a kernel that
 * hangs would hang the program. A wait looks up once a second whether the device still gets on with
 * what it was given; where it does not, the device is given up as if its driver had said that it is
 * lost. */
#include "base/os.h"
#include "gpu/gpu_vk.h"

/* In slices, of a second: so that the time for which the program itself was stopped does not count.
 */
enum { WARN_AT = 30, LOST_AT = 4 * WARN_AT, STOP_AT = 5, SLICE_MS = 1000, OF_ESTIMATE = 10 };
/* CPU drivers compile a kernel when it first runs, which may take a minute beside other work. */
enum { FOR_CPU_DRIVERS = 10 };
static uint32_t slice_ms = SLICE_MS;

void vkt__gpu_wait_slice(uint32_t ms)
{
    slice_ms = ms ? ms : SLICE_MS;
}

void vkt__gpu_stop_by(vkt_gpu *gpu, const atomic_int *stop)
{
    gpu->stop = stop;
}

/* The submission that has not got on for `still` slices. */
static vkt_status look_up(vkt_gpu *gpu, uint64_t ticket, uint32_t still, bool *warned)
{
    const vkt__sent *s = &gpu->sent[ticket % VKT_COUNT(gpu->sent)];
    bool known = s->ticket == ticket;
    double expected_s = known ? s->expected_ms * 1e-3 : 0;
    double least = gpu->caps.klass == VKT_GPU_CLASS_CPU ? FOR_CPU_DRIVERS : 1,
           longer = VKT_MAX(least, OF_ESTIMATE * expected_s / WARN_AT);
    const char *label = known ? s->label : "a submission";
    if (still >= STOP_AT * longer && gpu->stop && *gpu->stop) {
        gpu->hung = true;
        return vkt__lose(gpu,
                         "asked to stop, but '%s' has not ended for %u s: the device is given up",
                         label, still);
    }
    if (still >= LOST_AT * longer) {
        gpu->hung = true;
        return vkt__lose(gpu,
                         "'%s' has been running for %u s, %.1f s were expected: the device hangs "
                         "and is treated as lost",
                         label, still, expected_s);
    }
    if (still >= WARN_AT * longer && !*warned) {
        *warned = true;
        vkt_log(VKT_LOG_WARN, "gpu",
                "'%s' has been running for %u s, %.1f s were expected: the device may hang; "
                "vktrain gives up after %.0f s",
                label, still, expected_s, LOST_AT * longer);
    }
    return VKT_OK;
}

/* tells: log and detect a hang; false: only wait, as in another thread. */
static vkt_status wait(vkt_gpu *gpu, uint64_t ticket, bool tells)
{
    vkt_status st = VKT_OK;
    uint64_t reached = 0, now = 0;
    uint32_t still = 0;
    bool warned = false;
    VkSemaphoreWaitInfo info = {
        VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, NULL, 0, 1, &gpu->timeline, &ticket
    };
    for (;;) {
        VkResult r = vkWaitSemaphores(gpu->dev, &info, slice_ms * 1000000ull);
        if (r == VK_SUCCESS) return VKT_OK;
        if (gpu->lost || (r != VK_TIMEOUT && !tells)) return VKT_E_DEVICE;
        if (r != VK_TIMEOUT) return vkt__vk_fail(gpu, r, "vkWaitSemaphores");
        if (!tells) continue;
        VKT_VK(vkGetSemaphoreCounterValue(gpu->dev, gpu->timeline, &now));
        still = now == reached ? still + 1 : 0;
        reached = now;
        VKT_TRY(look_up(gpu, now + 1, still, &warned));
    }
fail:
    return st;
}

vkt_status vkt_ticket_wait(vkt_gpu *gpu, uint64_t ticket)
{
    if (gpu->lost) return VKT_E_DEVICE;
    double start = vkt__thread_cpu();
    vkt_status st = wait(gpu, ticket, true);
    if (st == VKT_OK) vkt__slabs_refresh(gpu);
    gpu->driver_cpu += vkt__thread_cpu() - start;
    if (st != VKT_OK && !gpu->settles)
        vkt__gpu_settle(gpu); /* on this error the caller frees what it holds */
    return st;
}

vkt_status vkt__ticket_watch(vkt_gpu *gpu, uint64_t ticket)
{
    return wait(gpu, ticket, false);
}

bool vkt_ticket_done(vkt_gpu *gpu, uint64_t ticket)
{
    uint64_t value = 0;
    double start = vkt__thread_cpu();
    bool done =
        gpu->lost || (vkGetSemaphoreCounterValue(gpu->dev, gpu->timeline, &value) == VK_SUCCESS &&
                      value >= ticket);
    gpu->driver_cpu += vkt__thread_cpu() - start;
    return done;
}

vkt_status vkt_gpu_wait(vkt_gpu *gpu)
{
    if (gpu->hung) return VKT_E_DEVICE;
    if (gpu->lost)
        return vkDeviceWaitIdle(gpu->dev), VKT_E_DEVICE; /* what was submitted may still end */
    return gpu->submitted ? vkt_ticket_wait(gpu, gpu->submitted) : VKT_OK;
}

void vkt__gpu_settle(vkt_gpu *gpu)
{
    if (gpu->hung) return;
    gpu->settles = true;
    bool idle = !gpu->lost && (!gpu->submitted || vkt_ticket_wait(gpu, gpu->submitted) == VKT_OK);
    VkResult r = idle || gpu->hung ? VK_SUCCESS : vkDeviceWaitIdle(gpu->dev);
    gpu->settles = false;
    /* It may still run: what it uses is kept until the process ends. */
    if (r != VK_SUCCESS && r != VK_ERROR_DEVICE_LOST) {
        gpu->lost = gpu->hung = true;
        vkt_log(VKT_LOG_DEBUG, "gpu", "waiting for the device failed: its memory is not freed");
    }
}
