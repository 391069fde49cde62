/* Reports Vulkan's failures, a lost device among them, and names objects for debuggers. Calls
 * nothing of Vulkan's: vulkan_loader.c, which has volk, uses it. */
#include <stdio.h>

#include "base/format.h"
#include "gpu/gpu_vk.h"

vkt_status vkt__vk_fail(vkt_gpu *gpu, VkResult r, const char *call)
{
    const char *text = r == VK_ERROR_DEVICE_LOST             ? "device lost"
                       : r == VK_ERROR_OUT_OF_DEVICE_MEMORY  ? "out of device memory"
                       : r == VK_ERROR_OUT_OF_HOST_MEMORY    ? "out of host memory"
                       : r == VK_ERROR_INITIALIZATION_FAILED ? "initialization failed"
                       : r == VK_ERROR_MEMORY_MAP_FAILED     ? "no room to map memory"
                       : r == VK_TIMEOUT                     ? "timeout"
                                                             : "error";
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)VKT_MIN(strcspn(call, "("), 60), call);
    bool lost = r == VK_ERROR_DEVICE_LOST && gpu && gpu->dev;
    if (lost && gpu->lost) return VKT_E_DEVICE;
    vkt_status st = r == VK_ERROR_OUT_OF_DEVICE_MEMORY ? VKT_E_OOM_DEVICE
                    : r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_MEMORY_MAP_FAILED
                        ? VKT_E_OOM_HOST
                    : gpu && !gpu->dev ? VKT_E_NO_DEVICE
                                       : VKT_E_DEVICE;
    if (lost) return vkt__lose(gpu, "%s: %s (VkResult %d)", name, text, (int)r);
    if (!gpu || !gpu->settles)
        return vkt__fail(st, "gpu", "%s: %s (VkResult %d)", name, text, (int)r);
    vkt_log(VKT_LOG_DEBUG, "gpu", "%s: %s (VkResult %d)", name, text, (int)r);
    return st;
}

vkt_status vkt__lose(vkt_gpu *gpu, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vkt__vformat(gpu->why_lost, sizeof gpu->why_lost, fmt, ap);
    va_end(ap);
    gpu->lost = true;
    gpu->told_lost = !gpu->settles;
    if (!gpu->settles && !gpu->recovers) return vkt__fail(VKT_E_DEVICE, "gpu", "%s", gpu->why_lost);
    vkt_log(gpu->settles ? VKT_LOG_DEBUG : VKT_LOG_WARN, "gpu", "%s", gpu->why_lost);
    return VKT_E_DEVICE;
}

vkt_status vkt__gpu_tell_lost(vkt_gpu *gpu)
{
    bool told = gpu->told_lost || !gpu->why_lost[0];
    gpu->told_lost = true;
    return told ? VKT_E_DEVICE : vkt__fail(VKT_E_DEVICE, "gpu", "%s", gpu->why_lost);
}

bool vkt__gpu_lost(const vkt_gpu *gpu)
{
    return gpu->lost;
}

const char *vkt__gpu_why_lost(const vkt_gpu *gpu)
{
    return gpu->why_lost;
}

bool vkt__gpu_gets_over(const vkt_gpu *gpu)
{
    return gpu->lost && gpu->recovers;
}

void vkt__gpu_recovers(vkt_gpu *gpu, bool on)
{
    gpu->recovers = on;
}

void vkt__debug_name(vkt_gpu *gpu, VkObjectType type, uint64_t handle, const char *name)
{
    if (!gpu->debug_names) return;
    VkDebugUtilsObjectNameInfoEXT info = { VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, NULL,
                                           type, handle, name };
    gpu->set_name(gpu->dev, &info);
}
