/* Submissions on the one queue, counted by one timeline semaphore; for tests, a device that is lost
 * or hangs on demand. Knows nothing of what the commands do, nor how they are waited for (wait.c).
 */
#include <stdio.h>

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

static uint64_t hang_left;

void vkt__gpu_hang_after(uint64_t submits)
{
    hang_left = submits;
}

/* What a device that hangs was given never ends, and nothing after it begins. */
static bool hangs_now(vkt_gpu *gpu)
{
    if (hang_left && --hang_left == 0) gpu->test_hangs = true;
    return gpu->test_hangs;
}

/* For whoever waits: what was submitted under this ticket, and how long it should take. */
static void note(vkt_gpu *gpu, vkt__cmd *const *cmds, uint32_t n, uint64_t ticket)
{
    vkt__sent *s = &gpu->sent[ticket % VKT_COUNT(gpu->sent)];
    *s = (vkt__sent) { .ticket = ticket };
    snprintf(s->label, sizeof s->label, "%s", cmds[0]->label);
    for (uint32_t i = 0; i < n; i++) s->expected_ms += cmds[i]->expected_ms;
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
    if (!hangs_now(gpu)) VKT_VK(vkQueueSubmit2(gpu->queue, 1, &info, VK_NULL_HANDLE));
    *ticket = ++gpu->submitted;
    note(gpu, cmds, n, *ticket);
fail:
    gpu->driver_cpu += vkt__thread_cpu() - start;
    return st;
}

vkt_status vkt__submit(vkt_gpu *gpu, vkt__cmd *cmd, uint64_t *ticket)
{
    return vkt__submit_all(gpu, &cmd, 1, ticket);
}

double vkt__gpu_driver_cpu(const vkt_gpu *gpu)
{
    return gpu->driver_cpu;
}
