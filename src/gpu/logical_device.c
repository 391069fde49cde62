/* Vulkan's logical device: what vktrain asks of a physical one by its caps, the queue, what command
 * buffers and pipelines are made with. */
#include "gpu/gpu_vk.h"

vkt_status vkt__device_open(vkt_gpu *gpu)
{
    vkt_status st = VKT_OK;
    const vkt_caps *c = &gpu->caps;
    VkPhysicalDeviceVulkan13Features f13 = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES
    };
    f13.synchronization2 = VK_TRUE;
    f13.maintenance4 = VK_TRUE;
    f13.subgroupSizeControl = f13.computeFullSubgroups = c->subgroup_control;
    VkPhysicalDeviceVulkan12Features f12 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             &f13 };
    f12.bufferDeviceAddress = f12.timelineSemaphore = f12.scalarBlockLayout = VK_TRUE;
    f12.shaderFloat16 = c->fp16;
    f12.storageBuffer8BitAccess = c->storage8;
    VkPhysicalDeviceFeatures2 f2 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &f12, { 0 } };
    f2.features.shaderInt64 = c->int64;

    const char *extensions[6];
    uint32_t n_ext = 0, n = 0;
    vkEnumerateDeviceExtensionProperties(gpu->phys, NULL, &n, NULL);
    VkExtensionProperties *have = vkt__alloc(n * sizeof *have);
    vkEnumerateDeviceExtensionProperties(gpu->phys, NULL, &n, have);
    static const char *const wanted[] = { VK_EXT_MEMORY_BUDGET_EXTENSION_NAME,
                                          "VK_KHR_portability_subset",
                                          VK_EXT_DEVICE_FAULT_EXTENSION_NAME };
    for (size_t w = 0; w < VKT_COUNT(wanted); w++)
        for (uint32_t i = 0; i < n; i++)
            if (!strcmp(have[i].extensionName, wanted[w])) extensions[n_ext++] = wanted[w];
    free(have);
    VkPhysicalDeviceFaultFeaturesEXT fault = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FAULT_FEATURES_EXT
    };
    if (n_ext && !strcmp(extensions[n_ext - 1], VK_EXT_DEVICE_FAULT_EXTENSION_NAME)) {
        VkPhysicalDeviceFeatures2 has = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          &fault,
                                          { 0 } };
        vkGetPhysicalDeviceFeatures2(gpu->phys, &has);
        fault.deviceFaultVendorBinary = VK_FALSE;
        if (fault.deviceFault) f13.pNext = &fault;
        gpu->fault_info = fault.deviceFault;
    }

    float priority = 1;
    vkt__coopmat_features matrix = { 0 };
    matrix.matrix.on = c->coopmat;
    matrix.bf16.type = c->bf16;
    matrix.bf16.matrix = c->coopmat_bf16[0] > 0;
    f13.pNext = vkt__coopmat_chain(&matrix, c->coopmat, c->bf16, f13.pNext);
    f12.vulkanMemoryModel = f12.vulkanMemoryModelDeviceScope = c->coopmat;
    if (c->coopmat) extensions[n_ext++] = "VK_KHR_cooperative_matrix";
    if (c->bf16) extensions[n_ext++] = "VK_KHR_shader_bfloat16";
    VkDeviceQueueCreateInfo queue = {
        VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, c->compute_queue_family, 1, &priority
    };
    VkDeviceCreateInfo info = {
        VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &f2, 0, 1, &queue, 0, NULL, n_ext, extensions, NULL
    };
    VKT_VK(vkCreateDevice(gpu->phys, &info, NULL, &gpu->dev));
    vkGetDeviceQueue(gpu->dev, c->compute_queue_family, 0, &gpu->queue);
    vkGetPhysicalDeviceMemoryProperties(gpu->phys, &gpu->mem_props);

    VkCommandPoolCreateInfo pool = { VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL, 0,
                                     c->compute_queue_family };
    VKT_VK(vkCreateCommandPool(gpu->dev, &pool, NULL, &gpu->pool));
    VkSemaphoreTypeCreateInfo type = { VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, NULL,
                                       VK_SEMAPHORE_TYPE_TIMELINE, 0 };
    VkSemaphoreCreateInfo sem = { VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0 };
    VKT_VK(vkCreateSemaphore(gpu->dev, &sem, NULL, &gpu->timeline));
    VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, 128 };
    VkPipelineLayoutCreateInfo layout = {
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, 0, NULL, 1, &push
    };
    VKT_VK(vkCreatePipelineLayout(gpu->dev, &layout, NULL, &gpu->layout));
fail:
    return st;
}

void vkt__device_close(vkt_gpu *gpu)
{
    if (!gpu->dev) return;
    if (gpu->layout) vkDestroyPipelineLayout(gpu->dev, gpu->layout, NULL);
    if (gpu->timeline) vkDestroySemaphore(gpu->dev, gpu->timeline, NULL);
    if (gpu->pool) vkDestroyCommandPool(gpu->dev, gpu->pool, NULL);
    vkDestroyDevice(gpu->dev, NULL);
}
