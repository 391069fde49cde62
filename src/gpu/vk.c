/* How Vulkan's failures are told, a lost device among them, and names for debuggers. Calls nothing
 * of Vulkan's: instance.c, which has volk, uses it. */
#include <stdio.h>

#include "gpu/gpu_vk.h"

vkt_status vkt__vk_fail(vkt_gpu *gpu, VkResult r, const char *call)
{
    const char *text = r == VK_ERROR_DEVICE_LOST             ? "device lost"
                       : r == VK_ERROR_OUT_OF_DEVICE_MEMORY  ? "out of device memory"
                       : r == VK_ERROR_OUT_OF_HOST_MEMORY    ? "out of host memory"
                       : r == VK_ERROR_INITIALIZATION_FAILED ? "initialization failed"
                                                             : "error";
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)VKT_MIN(strcspn(call, "("), 60), call);
    if (r == VK_ERROR_DEVICE_LOST && gpu) {
        if (gpu->lost) return VKT_E_DEVICE;
        gpu->lost = true;
    }
    vkt_status st = r == VK_ERROR_OUT_OF_DEVICE_MEMORY ? VKT_E_OOM_DEVICE
                    : r == VK_ERROR_OUT_OF_HOST_MEMORY ? VKT_E_OOM_HOST
                                                       : VKT_E_DEVICE;
    return vkt__fail(st, "gpu", "%s: %s (VkResult %d)", name, text, (int)r);
}

bool vkt__gpu_lost(const vkt_gpu *gpu)
{
    return gpu->lost;
}

void vkt__debug_name(vkt_gpu *gpu, VkObjectType type, uint64_t handle, const char *name)
{
    if (!gpu->debug_names) return;
    VkDebugUtilsObjectNameInfoEXT info = { VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, NULL,
                                           type, handle, name };
    gpu->set_name(gpu->dev, &info);
}
