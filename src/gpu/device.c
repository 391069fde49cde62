/* Creates and destroys a device, and logs its driver's details about a loss. */
#include <stdatomic.h>

#include "base/os.h"
#include "gpu/gpu_vk.h"

void vkt__gpu_set_submit_ms(vkt_gpu *gpu, uint32_t ms)
{
    gpu->caps.submit_ms = ms;
}

void vkt__gpu_drop_units(vkt_gpu *gpu)
{
    gpu->caps.coopmat = gpu->caps.coopmat2 = false;
}

void vkt__gpu_drop_any_size(vkt_gpu *gpu)
{
    gpu->caps.coopmat2 = false;
}

void vkt__gpu_drop_attention(vkt_gpu *gpu)
{
    gpu->caps.plain_attention = true;
}

bool vkt__gpu_first_time(vkt_gpu *gpu, uint32_t bit)
{
    bool first = !(gpu->done & bit);
    gpu->done |= bit;
    return first;
}

void vkt__gpu_log_fault(vkt_gpu *gpu)
{
    PFN_vkGetDeviceFaultInfoEXT get = NULL;
    if (gpu->fault_info && !gpu->hung)
        get = (PFN_vkGetDeviceFaultInfoEXT)vkGetDeviceProcAddr(gpu->dev, "vkGetDeviceFaultInfoEXT");
    VkDeviceFaultCountsEXT n = { .sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_COUNTS_EXT };
    if (!get || get(gpu->dev, &n, NULL) != VK_SUCCESS) {
        vkt_log(VKT_LOG_WARN, "gpu", "%s gives no details", gpu->caps.driver);
        return;
    }
    n.vendorBinarySize = 0;
    VkDeviceFaultInfoEXT info = { .sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_INFO_EXT };
    info.pAddressInfos = vkt__alloc((n.addressInfoCount + 1) * sizeof *info.pAddressInfos);
    info.pVendorInfos = vkt__alloc((n.vendorInfoCount + 1) * sizeof *info.pVendorInfos);
    if (get(gpu->dev, &n, &info) >= 0) {
        vkt_log(VKT_LOG_WARN, "gpu", "device fault: %s", info.description);
        for (uint32_t i = 0; i < n.addressInfoCount; i++)
            vkt_log(VKT_LOG_WARN, "gpu", "device fault: address 0x%llx, within %llu bytes, type %d",
                    (unsigned long long)info.pAddressInfos[i].reportedAddress,
                    (unsigned long long)info.pAddressInfos[i].addressPrecision,
                    (int)info.pAddressInfos[i].addressType);
        for (uint32_t i = 0; i < n.vendorInfoCount; i++)
            vkt_log(VKT_LOG_WARN, "gpu", "device fault: %s (code 0x%llx, data 0x%llx)",
                    info.pVendorInfos[i].description,
                    (unsigned long long)info.pVendorInfos[i].vendorFaultCode,
                    (unsigned long long)info.pVendorInfos[i].vendorFaultData);
    }
    free(info.pAddressInfos);
    free(info.pVendorInfos);
}

static bool flows_uniformly(const vkt_gpu *gpu, const VkExtensionProperties *have, uint32_t n)
{
    VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR flow = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_FEATURES_KHR
    };
    VkPhysicalDeviceFeatures2 f = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &flow, { 0 } };
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(have[i].extensionName,
                   VK_KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME) != 0)
            continue;
        vkGetPhysicalDeviceFeatures2(gpu->phys, &f);
        return flow.shaderSubgroupUniformControlFlow;
    }
    return false;
}

static vkt_status device_create(vkt_gpu *gpu)
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
    VkPhysicalDeviceVulkan11Features f11 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             &f12 };
    f11.storageBuffer16BitAccess = c->coopmat2;
    VkPhysicalDeviceFeatures2 f2 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &f11, { 0 } };
    f2.features.shaderInt64 = c->int64;

    const char *extensions[10];
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
    gpu->uniform_flow = flows_uniformly(gpu, have, n);
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables;
    bool tells = vkt__statistics_ask(gpu, have, n, &executables);
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

    VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR flow = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_FEATURES_KHR
    };
    if (gpu->uniform_flow) {
        extensions[n_ext++] = VK_KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME;
        flow.shaderSubgroupUniformControlFlow = VK_TRUE;
        flow.pNext = f13.pNext;
        f13.pNext = &flow;
    }

    if (tells) {
        extensions[n_ext++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
        executables.pNext = f13.pNext;
        f13.pNext = &executables;
    }

    float priority = 1;
    vkt__coopmat_features matrix = { 0 };
    vkt__coopmat_ask(&matrix, c);
    f13.pNext = vkt__coopmat_chain(&matrix, c, f13.pNext);
    f12.vulkanMemoryModel = f12.vulkanMemoryModelDeviceScope = c->coopmat;
    if (c->coopmat) extensions[n_ext++] = "VK_KHR_cooperative_matrix";
    if (c->coopmat2) extensions[n_ext++] = "VK_NV_cooperative_matrix2";
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

static vkt_status open_chosen(vkt_gpu *gpu, const vkt_gpu_desc *desc, vkt__gpu_entry **e,
                              uint32_t *n, uint32_t *chosen)
{
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__instance_create(gpu, desc->validate));
    VKT_TRY(vkt__gpu_entries(gpu, e, n));
    VKT_TRY(vkt__gpu_choose(*e, *n, desc->device, chosen));
fail:
    return st;
}

/* Drivers read the environment meanwhile: one at a time. */
static vkt_status open_instance(vkt_gpu *gpu, const vkt_gpu_desc *desc, vkt__gpu_entry **e,
                                uint32_t *n, uint32_t *chosen)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    vkt_status st = VKT_OK;
    while (atomic_flag_test_and_set(&busy)) vkt__sleep_ms(1);
    bool serial = vkt__caps_serial_begin(desc->serial);
    VKT_TRY(open_chosen(gpu, desc, e, n, chosen));
    if (vkt__caps_widen(&(*e)[*chosen].info.caps)) {
        /* Drivers are unloaded with the last instance. Whether they took the hint is read, not
         * assumed. */
        vkt__instance_destroy(gpu);
        free(*e);
        *e = NULL;
        VKT_TRY(open_chosen(gpu, desc, e, n, chosen));
    }
fail:
    vkt__caps_serial_end(serial);
    atomic_flag_clear(&busy);
    return st;
}

vkt_status vkt__gpu_plan(const vkt_caps *caps, vkt_gpu **out)
{
    vkt_gpu *gpu = vkt__alloc(sizeof *gpu);
    gpu->caps = *caps;
    gpu->next_addr = 1 << 20;
    *out = gpu;
    return VKT_OK;
}

bool vkt__gpu_plans_only(const vkt_gpu *gpu)
{
    return !gpu->dev;
}

static vkt_status plan_for(const vkt_gpu_desc *desc, vkt_gpu **out)
{
    vkt_status st = VKT_OK;
    vkt_caps caps;
    *out = NULL;
    VKT_TRY(vkt__caps_read_profile(desc->profile, &caps));
    VKT_TRY(vkt__caps_apply(desc->cap, &caps));
    caps.math = desc->math;
    vkt_log(VKT_LOG_INFO, "gpu", "planned for %s as '%s' describes it; nothing is run", caps.name,
            desc->profile);
    VKT_TRY(vkt__gpu_plan(&caps, out));
fail:
    return st;
}

static char *copy(const char *text)
{
    return text ? strcpy(vkt__alloc(strlen(text) + 1), text) : NULL;
}

vkt_status vkt_gpu_create(const vkt_gpu_desc *desc, vkt_gpu **out)
{
    if (desc->profile) return plan_for(desc, out);
    vkt_status st = VKT_OK;
    vkt_gpu *gpu = vkt__alloc(sizeof *gpu);
    vkt__gpu_entry *e = NULL;
    uint32_t n = 0, chosen = 0;
    char folder[900];
    const char *dir = desc->cache_dir;
    *out = NULL;
    VKT_TRY(vkt__caps_prepare(desc->cap));
    VKT_TRY(open_instance(gpu, desc, &e, &n, &chosen));
    vkt__gpu_ask_units(gpu, &e[chosen]);
    gpu->phys = e[chosen].phys;
    gpu->index = chosen;
    gpu->asked_cap = copy(desc->cap);
    gpu->asked_dir = copy(desc->cache_dir);
    gpu->caps = e[chosen].info.caps;
    VKT_TRY(vkt__caps_apply(desc->cap, &gpu->caps));
    gpu->caps.math = (vkt_math)desc->math;
    vkt__gpu_log_choice(e, n, chosen, desc->device);
    if (*gpu->caps.kernel)
        vkt_log(VKT_LOG_INFO, "gpu", "kernel %s computes every product that it can",
                gpu->caps.kernel);
    gpu->statistics = desc->statistics;
    VKT_TRY(device_create(gpu));
    gpu->use_cache = !desc->no_cache;
    gpu->tune_seconds = desc->tune_seconds;
    gpu->tunes =
        !desc->no_cache && !desc->no_tune && desc->deterministic != VKT_DETERMINISTIC_CROSS_RUN;
    if (gpu->use_cache && !dir && vkt__cache_folder(folder, sizeof folder)) dir = folder;
    VKT_TRY(vkt__cache_open(gpu, dir));
    if (gpu->use_cache && !desc->no_tune) vkt__choices_open(gpu, dir);
    vkt__journal_open(gpu);
    free(e);
    *out = gpu;
    return VKT_OK;
fail:
    free(e);
    vkt_gpu_destroy(&gpu);
    return st;
}

void vkt_gpu_destroy(vkt_gpu **pgpu)
{
    static _Atomic(vkt_gpu *) hung;
    vkt_gpu *gpu = *pgpu;
    *pgpu = NULL;
    if (!gpu) return;
    if (gpu->dev) vkt__gpu_settle(gpu);
    if (gpu->hung) { /* what it runs uses all of it: the process's end will end it */
        gpu->next_hung = hung;
        while (!atomic_compare_exchange_weak(&hung, &gpu->next_hung, gpu)) {
        }
        return;
    }
    if (gpu->dev) {
        vkt_buffer_destroy(gpu, &gpu->staging);
        vkt__kernels_finish(gpu);
        vkt__cache_close(gpu);
        vkt__slabs_finish(gpu);
        if (gpu->layout) vkDestroyPipelineLayout(gpu->dev, gpu->layout, NULL);
        if (gpu->timeline) vkDestroySemaphore(gpu->dev, gpu->timeline, NULL);
        if (gpu->pool) vkDestroyCommandPool(gpu->dev, gpu->pool, NULL);
        vkDestroyDevice(gpu->dev, NULL);
    }
    vkt__instance_destroy(gpu);
    free(gpu->choices);
    free(gpu->culprits);
    free(gpu->asked_cap);
    free(gpu->asked_dir);
    free(gpu);
}

const vkt_caps *vkt_gpu_caps(const vkt_gpu *gpu)
{
    return &gpu->caps;
}

vkt_gpu_stats vkt_gpu_get_stats(const vkt_gpu *gpu)
{
    return gpu->stats;
}
