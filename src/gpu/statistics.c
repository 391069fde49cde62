/* What a driver tells of the pipelines that it compiled: VK_KHR_pipeline_executable_properties. */
#include "gpu/gpu_vk.h"

bool vkt__statistics_ask(vkt_gpu *gpu, const VkExtensionProperties *have, uint32_t n,
                         VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR *f)
{
    *f = (VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR) {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR
    };
    VkPhysicalDeviceFeatures2 has = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, f, { 0 } };
    for (uint32_t i = 0; i < n && gpu->statistics; i++)
        if (!strcmp(have[i].extensionName, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME))
            vkGetPhysicalDeviceFeatures2(gpu->phys, &has);
    f->pNext = NULL;
    return gpu->statistics = f->pipelineExecutableInfo;
}

/* As drivers call it: NVIDIA's, RADV, NVK, Honeykrisp, ANV, Turnip. */
static bool is_registers(const char *name)
{
    static const char *const names[] = { "Register Count", "VGPRs",          "Number of GPRs",
                                         "GPRs",           "Registers used", "Max live registers" };
    for (size_t i = 0; i < VKT_COUNT(names); i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* Registers of the pipeline's only stage. */
static uint32_t registers_of(const vkt_gpu *gpu, VkPipeline pipeline)
{
    enum { MOST = 64 };
    VkPipelineExecutableStatisticKHR s[MOST];
    VkPipelineExecutableInfoKHR info = { VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, NULL,
                                         pipeline, 0 };
    uint32_t n = MOST;
    for (uint32_t i = 0; i < MOST; i++)
        s[i] = (VkPipelineExecutableStatisticKHR) {
            VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR
        };
    VkResult r = vkGetPipelineExecutableStatisticsKHR(gpu->dev, &info, &n, s);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE) return 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_registers(s[i].name) &&
            s[i].format != VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR &&
            s[i].format != VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR)
            return (uint32_t)VKT_MIN(s[i].value.u64, UINT32_MAX);
    return 0;
}

uint32_t vkt__kernel_registers(const vkt_gpu *gpu, const vkt__kernel *k)
{
    uint32_t n = 0;
    VkPipelineInfoKHR info = { VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, NULL, k->pipeline };
    if (!gpu->statistics ||
        vkGetPipelineExecutablePropertiesKHR(gpu->dev, &info, &n, NULL) != VK_SUCCESS || !n)
        return 0;
    return registers_of(gpu, k->pipeline);
}
