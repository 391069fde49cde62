/* Submissions on the one queue, counted by one timeline semaphore, and waits for them; for tests, a
 * device that is lost on demand. Knows nothing of what the commands do. */
#include "base/os.h"
#include "gpu/gpu_vk.h"

static struct {
    uint64_t left, every;
    uint32_t times;
} lose;

void vkt__gpu_lose_after(uint64_t submits, uint32_t times)
{
    lose.left = lose.every = submits;
    lose.times = times;
}

static bool loses_now(void)
{
    if (!lose.times || --lose.left) return false;
    lose.left = lose.every;
    lose.times--;
    return true;
}

vkt_status vkt__submit_all(vkt_gpu *gpu, vkt__cmd *const *cmds, uint32_t n, uint64_t *ticket)
{
    vkt_status st = VKT_OK;
    VKT_ASSERT(n > 0 && n <= VKT__SUBMIT_MOST);
    if (gpu->lost) return VKT_E_DEVICE;
    VkCommandBufferSubmitInfo cb[VKT__SUBMIT_MOST];
    for (uint32_t i = 0; i < n; i++)
        cb[i] = (VkCommandBufferSubmitInfo) { VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, NULL,
                                              cmds[i]->cb, 0 };
    VkSemaphoreSubmitInfo signal = {
        VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, NULL, gpu->timeline, gpu->submitted + 1,
        VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,    0
    };
    VkSubmitInfo2 info = { VK_STRUCTURE_TYPE_SUBMIT_INFO_2, NULL, 0, 0, NULL, n, cb, 1, &signal };
    double start = vkt__thread_cpu();
    if (loses_now()) VKT_VK(VK_ERROR_DEVICE_LOST);
    VKT_VK(vkQueueSubmit2(gpu->queue, 1, &info, VK_NULL_HANDLE));
    *ticket = ++gpu->submitted;
fail:
    gpu->driver_cpu += vkt__thread_cpu() - start;
    return st;
}

vkt_status vkt__submit(vkt_gpu *gpu, vkt__cmd *cmd, uint64_t *ticket)
{
    return vkt__submit_all(gpu, &cmd, 1, ticket);
}

vkt_status vkt_ticket_wait(vkt_gpu *gpu, uint64_t ticket)
{
    vkt_status st = VKT_OK;
    if (gpu->lost) return VKT_E_DEVICE;
    double start = vkt__thread_cpu();
    VkSemaphoreWaitInfo info = {
        VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, NULL, 0, 1, &gpu->timeline, &ticket
    };
    VKT_VK(vkWaitSemaphores(gpu->dev, &info, UINT64_MAX));
fail:
    gpu->driver_cpu += vkt__thread_cpu() - start;
    return st;
}

vkt_status vkt__ticket_watch(vkt_gpu *gpu, uint64_t ticket)
{
    VkSemaphoreWaitInfo info = {
        VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, NULL, 0, 1, &gpu->timeline, &ticket
    };
    return vkWaitSemaphores(gpu->dev, &info, UINT64_MAX) == VK_SUCCESS ? VKT_OK : VKT_E_DEVICE;
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
    if (gpu->lost)
        return vkDeviceWaitIdle(gpu->dev), VKT_E_DEVICE; /* what was submitted may still end */
    return gpu->submitted ? vkt_ticket_wait(gpu, gpu->submitted) : VKT_OK;
}

double vkt__gpu_driver_cpu(const vkt_gpu *gpu)
{
    return gpu->driver_cpu;
}
