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

enum { MOST = 64 };

/* Statistics of one of a pipeline's executables: how many of s were filled. */
static uint32_t statistics_of(const vkt_gpu *gpu, VkPipeline pipeline, uint32_t executable,
                              VkPipelineExecutableStatisticKHR s[MOST])
{
    VkPipelineExecutableInfoKHR info = { VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, NULL,
                                         pipeline, executable };
    uint32_t n = MOST;
    for (uint32_t i = 0; i < MOST; i++)
        s[i] = (VkPipelineExecutableStatisticKHR) {
            VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR
        };
    VkResult r = vkGetPipelineExecutableStatisticsKHR(gpu->dev, &info, &n, s);
    return r == VK_SUCCESS || r == VK_INCOMPLETE ? n : 0;
}

/* Registers of the pipeline's only stage. */
static uint32_t registers_of(const vkt_gpu *gpu, VkPipeline pipeline)
{
    VkPipelineExecutableStatisticKHR s[MOST];
    uint32_t n = statistics_of(gpu, pipeline, 0, s);
    for (uint32_t i = 0; i < n; i++)
        if (is_registers(s[i].name) &&
            s[i].format != VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR &&
            s[i].format != VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR)
            return (uint32_t)VKT_MIN(s[i].value.u64, UINT32_MAX);
    return 0;
}

/* How many executables a pipeline has; 0: the driver does not tell. */
static uint32_t executables_of(const vkt_gpu *gpu, const vkt__kernel *k)
{
    uint32_t n = 0;
    VkPipelineInfoKHR info = { VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, NULL, k->pipeline };
    if (!gpu->statistics ||
        vkGetPipelineExecutablePropertiesKHR(gpu->dev, &info, &n, NULL) != VK_SUCCESS)
        return 0;
    return n;
}

uint32_t vkt__kernel_registers(const vkt_gpu *gpu, const vkt__kernel *k)
{
    return executables_of(gpu, k) ? registers_of(gpu, k->pipeline) : 0;
}

uint64_t vkt__kernel_compiled(const vkt_gpu *gpu, const vkt__kernel *k)
{
    uint64_t h = 0;
    uint32_t n = executables_of(gpu, k);
    for (uint32_t e = 0; e < n; e++) {
        VkPipelineExecutableStatisticKHR s[MOST];
        uint32_t n_stat = statistics_of(gpu, k->pipeline, e, s);
        for (uint32_t i = 0; i < n_stat; i++) {
            bool narrow = s[i].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR;
            h = vkt__hash(s[i].name, strlen(s[i].name), h);
            h = vkt__hash(&s[i].value, narrow ? sizeof s[i].value.b32 : sizeof s[i].value.u64, h);
        }
    }
    return h;
}
