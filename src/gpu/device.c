/* Instance, the list of devices, the choice of one, its creation. */
#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>

#define VOLK_IMPLEMENTATION
#include "base/os.h"
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
        if (gpu->lost) return VKT_DEVICE;
        gpu->lost = true;
    }
    vkt_status st = r == VK_ERROR_OUT_OF_DEVICE_MEMORY ? VKT_OOM_DEVICE
                    : r == VK_ERROR_OUT_OF_HOST_MEMORY ? VKT_OOM_HOST
                                                       : VKT_DEVICE;
    return vkt__fail(st, "gpu", "%s: %s (VkResult %d)", name, text, (int)r);
}

bool vkt__gpu_lost(const vkt_gpu *gpu)
{
    return gpu->lost;
}

void vkt__gpu_set_submit_ms(vkt_gpu *gpu, uint32_t ms)
{
    gpu->caps.submit_ms = ms;
}

void vkt__gpu_log_fault(vkt_gpu *gpu)
{
    PFN_vkGetDeviceFaultInfoEXT get = NULL;
    if (gpu->fault_info)
        get = (PFN_vkGetDeviceFaultInfoEXT)vkGetDeviceProcAddr(gpu->dev, "vkGetDeviceFaultInfoEXT");
    VkDeviceFaultCountsEXT n = { .sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_COUNTS_EXT };
    if (!get || get(gpu->dev, &n, NULL) != VK_SUCCESS) {
        vkt_log(VKT_LOG_WARN, "gpu", "%s says no more about it", gpu->caps.driver);
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

void vkt__debug_name(vkt_gpu *gpu, VkObjectType type, uint64_t handle, const char *name)
{
    if (!gpu->debug_names) return;
    VkDebugUtilsObjectNameInfoEXT info = { VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, NULL,
                                           type, handle, name };
    gpu->set_name(gpu->dev, &info);
}

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    vkt_gpu *gpu = user;
    if (types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) {
        gpu->stats.n_validation++;
        vkt_log(severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? VKT_LOG_ERROR
                                                                          : VKT_LOG_WARN,
                "gpu", "validation: %s", data->pMessage);
    }
    return VK_FALSE;
}

static bool instance_offers(const char *layer, const char *extension)
{
    uint32_t n = 0;
    bool found = false;
    if (!extension) {
        vkEnumerateInstanceLayerProperties(&n, NULL);
        VkLayerProperties *l = vkt__alloc(n * sizeof *l);
        vkEnumerateInstanceLayerProperties(&n, l);
        for (uint32_t i = 0; i < n && !found; i++) found = !strcmp(l[i].layerName, layer);
        free(l);
        return found;
    }
    vkEnumerateInstanceExtensionProperties(NULL, &n, NULL);
    VkExtensionProperties *e = vkt__alloc(n * sizeof *e);
    vkEnumerateInstanceExtensionProperties(NULL, &n, e);
    for (uint32_t i = 0; i < n && !found; i++) found = !strcmp(e[i].extensionName, extension);
    free(e);
    return found;
}

/* volk's table is one for all instances. It is loaded with the first of those that live at a time:
 * loading it again would write under the feet of threads that use another one. */
static struct {
    atomic_flag busy;
    unsigned n_users;
    bool initialized, loaded;
} table = { ATOMIC_FLAG_INIT, 0, false, false };

static void table_lock(void)
{
    while (atomic_flag_test_and_set(&table.busy)) vkt__sleep_ms(1);
}

static void table_unlock(void)
{
    atomic_flag_clear(&table.busy);
}

static bool table_take(vkt_gpu *gpu)
{
    table_lock();
    if (!table.n_users) table.initialized = volkInitialize() == VK_SUCCESS;
    table.n_users++;
    gpu->uses_table = true;
    bool ok = table.initialized;
    table_unlock();
    return ok;
}

static void table_load(const vkt_gpu *gpu)
{
    table_lock();
    if (!table.loaded) volkLoadInstance(gpu->instance);
    table.loaded = true;
    table_unlock();
}

static void table_release(vkt_gpu *gpu)
{
    if (!gpu->uses_table) return;
    gpu->uses_table = false;
    table_lock();
    if (!--table.n_users) table.loaded = false;
    table_unlock();
}

static vkt_status instance_create(vkt_gpu *gpu, bool validate)
{
    vkt_status st = VKT_OK;
    if (!table_take(gpu))
        return vkt__fail(VKT_NO_DEVICE, "gpu",
                         "no Vulkan loader (libvulkan) found; install it and a driver "
                         "(Debian/Ubuntu: apt install libvulkan1 mesa-vulkan-drivers)");
    if (volkGetInstanceVersion() < VK_API_VERSION_1_3)
        return vkt__fail(VKT_NO_DEVICE, "gpu",
                         "the Vulkan loader is older than 1.3; install a newer libvulkan");
    const char *extensions[4], *layers[1] = { "VK_LAYER_KHRONOS_validation" };
    uint32_t n_ext = 0;
    VkInstanceCreateFlags flags = 0;
    if (instance_offers(NULL, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
        extensions[n_ext++] = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
        flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
    if (validate) {
        if (!instance_offers(layers[0], NULL))
            return vkt__fail(VKT_UNSUPPORTED, "gpu",
                             "no validation layer; install it (Debian/Ubuntu: apt install "
                             "vulkan-validationlayers)");
        extensions[n_ext++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        gpu->debug_names = true;
    }
    VkApplicationInfo app = {
        VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "vktrain", 1, "vktrain", 1, VK_API_VERSION_1_3
    };
    VkDebugUtilsMessengerCreateInfoEXT messages = {
        VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        NULL,
        0,
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        on_message,
        gpu
    };
    VkInstanceCreateInfo info = { VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  validate ? &messages : NULL,
                                  flags,
                                  &app,
                                  validate,
                                  layers,
                                  n_ext,
                                  extensions };
    VkResult r = vkCreateInstance(&info, NULL, &gpu->instance);
    if (r == VK_ERROR_INCOMPATIBLE_DRIVER)
        return vkt__fail(
            VKT_NO_DEVICE, "gpu",
            "no Vulkan driver found; install your GPU's driver, or Mesa's "
            "(Debian/Ubuntu: apt install mesa-vulkan-drivers, which also runs on the CPU)");
    VKT_VK(r);
    table_load(gpu);
    /* What an extension brings is kept with the gpu that asked for it. */
    if (validate) {
        gpu->set_name = (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(
            gpu->instance, "vkSetDebugUtilsObjectNameEXT");
        gpu->messenger_destroy = (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
            gpu->instance, "vkDestroyDebugUtilsMessengerEXT");
        VKT_VK(vkCreateDebugUtilsMessengerEXT(gpu->instance, &messages, NULL, &gpu->messenger));
    }
fail:
    return st;
}

static void instance_destroy(vkt_gpu *gpu)
{
    if (gpu->messenger) gpu->messenger_destroy(gpu->instance, gpu->messenger, NULL);
    if (gpu->instance) vkDestroyInstance(gpu->instance, NULL);
    gpu->messenger = VK_NULL_HANDLE;
    gpu->instance = VK_NULL_HANDLE;
    table_release(gpu);
}

/* ---- the list ---- */

typedef struct {
    vkt_gpu_info info;
    VkPhysicalDevice phys;
} entry;

/* Among several drivers of one GPU: Mesa's before AMD's own, others as they come. */
static int driver_rank(const vkt_caps *c)
{
    return c->driver_id == VK_DRIVER_ID_MESA_RADV         ? 0
           : c->driver_id == VK_DRIVER_ID_AMD_OPEN_SOURCE ? 2
                                                          : 1;
}

static int type_rank(vkt_gpu_type t)
{
    static const int rank[] = { 3, 4, 1, 0, 2 }; /* other, cpu, integrated, discrete, virtual */
    return rank[t];
}

static int better_first(const void *pa, const void *pb)
{
    const vkt_gpu_info *a = &((const entry *)pa)->info, *b = &((const entry *)pb)->info;
    if (a->usable != b->usable) return a->usable ? -1 : 1;
    int d = type_rank(a->caps.type) - type_rank(b->caps.type);
    if (d) return d;
    if (a->caps.heap_bytes != b->caps.heap_bytes)
        return a->caps.heap_bytes > b->caps.heap_bytes ? -1 : 1;
    d = driver_rank(&a->caps) - driver_rank(&b->caps);
    return d ? d : (int)a->index - (int)b->index;
}

static vkt_status list_entries(vkt_gpu *gpu, entry **out, uint32_t *n_out)
{
    vkt_status st = VKT_OK;
    uint32_t n = 0;
    entry *e = NULL;
    VkPhysicalDevice *phys = NULL;
    VKT_VK(vkEnumeratePhysicalDevices(gpu->instance, &n, NULL));
    if (n == 0)
        return vkt__fail(
            VKT_NO_DEVICE, "gpu",
            "no Vulkan device; install your GPU's driver, or Mesa's "
            "(Debian/Ubuntu: apt install mesa-vulkan-drivers, which also runs on the CPU)");
    phys = vkt__alloc(n * sizeof *phys);
    VKT_VK(vkEnumeratePhysicalDevices(gpu->instance, &n, phys));
    e = vkt__alloc(n * sizeof *e);
    for (uint32_t i = 0; i < n; i++) {
        e[i].phys = phys[i];
        e[i].info.index = i;
        vkt__caps_query(phys[i], &e[i].info.caps, e[i].info.why_not);
        e[i].info.usable = !e[i].info.why_not[0];
    }
    qsort(e, n, sizeof *e, better_first);
    for (uint32_t i = 0; i < n; i++) {
        e[i].info.index = i;
        for (uint32_t j = 0; j < i; j++)
            if (e[i].info.usable && e[i].info.caps.type != VKT_GPU_CPU &&
                !memcmp(e[i].info.caps.uuid, e[j].info.caps.uuid, 16))
                e[i].info.duplicate = true;
    }
    *out = e;
    *n_out = n;
    free(phys);
    return VKT_OK;
fail:
    free(phys);
    free(e);
    return st;
}

vkt_status vkt_gpu_list(vkt_gpu_info **list, size_t *n)
{
    vkt_status st = VKT_OK;
    vkt_gpu gpu = { 0 };
    entry *e = NULL;
    uint32_t count = 0;
    *list = NULL;
    *n = 0;
    VKT_TRY(vkt__caps_prepare(NULL));
    VKT_TRY(instance_create(&gpu, false));
    VKT_TRY(list_entries(&gpu, &e, &count));
    *list = vkt__alloc(count * sizeof **list);
    for (uint32_t i = 0; i < count; i++) (*list)[i] = e[i].info;
    *n = count;
fail:
    free(e);
    instance_destroy(&gpu);
    return st;
}

/* ---- the choice ---- */

static bool contains_nocase(const char *text, const char *part)
{
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
        if (!part[i]) return true;
    }
    return false;
}

static bool uuid_matches(const uint8_t uuid[16], const char *text)
{
    char hex[33];
    size_t n = 0, i = 0;
    for (; *text && n < 33; text++)
        if (*text != '-') hex[n++] = (char)tolower((unsigned char)*text);
    if (n != 32) return false;
    for (; i < 16; i++) {
        char b[3];
        snprintf(b, 3, "%02x", uuid[i]);
        if (memcmp(b, hex + 2 * i, 2)) return false;
    }
    return true;
}

static bool matches(const entry *e, const char *want, bool by_index, unsigned long index)
{
    if (by_index) return e->info.index == index;
    if (!strcmp(want, "cpu")) return e->info.caps.type == VKT_GPU_CPU && e->info.usable;
    if (!strcmp(want, "gpu"))
        return e->info.usable && e->info.caps.type != VKT_GPU_CPU && !e->info.duplicate;
    return uuid_matches(e->info.caps.uuid, want) || contains_nocase(e->info.caps.name, want);
}

static vkt_status choose(const entry *e, uint32_t n, const char *want, uint32_t *out)
{
    const char *from = "--device";
    if (!want && (want = getenv("VKT_DEVICE"))) from = "VKT_DEVICE";
    if (want && !*want) want = NULL;
    if (!want) {
        if (!e[0].info.usable)
            return vkt__fail(VKT_NO_DEVICE, "gpu", "no usable device: %s can't be used: %s",
                             e[0].info.caps.name, e[0].info.why_not);
        *out = 0;
        return VKT_OK;
    }
    char *end;
    unsigned long index = strtoul(want, &end, 10);
    bool by_index = isdigit((unsigned char)want[0]) && !*end;
    uint32_t found = UINT32_MAX, count = 0;
    vkt__str names = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        if (!matches(&e[i], want, by_index, index)) continue;
        if (e[i].info.duplicate && count) continue;
        if (found == UINT32_MAX) found = i;
        count++;
        vkt__str_printf(&names, "%s%u: %s", count > 1 ? ", " : "", i, e[i].info.caps.name);
    }
    vkt_status st = VKT_OK;
    if (count == 0) {
        for (uint32_t i = 0; i < n; i++)
            vkt__str_printf(&names, "%s%u: %s", i ? ", " : "", i, e[i].info.caps.name);
        st = vkt__fail(VKT_NO_DEVICE, "gpu", "%s '%s' fits no device; the devices are %s", from,
                       want, names.data);
    } else if (count > 1 && strcmp(want, "gpu") && strcmp(want, "cpu")) {
        st = vkt__fail(VKT_NO_DEVICE, "gpu", "%s '%s' fits several devices (%s); give the index",
                       from, want, names.data);
    } else if (!e[found].info.usable) {
        st = vkt__fail(VKT_NO_DEVICE, "gpu", "%s can't be used: %s", e[found].info.caps.name,
                       e[found].info.why_not);
    }
    vkt__str_finish(&names);
    *out = found;
    return st;
}

vkt_status vkt_gpu_check(const vkt_gpu_desc *desc)
{
    vkt_status st = VKT_OK;
    vkt_gpu gpu = { 0 };
    entry *e = NULL;
    uint32_t n = 0, chosen;
    VKT_TRY(vkt__caps_prepare(desc->cap));
    VKT_TRY(instance_create(&gpu, false));
    VKT_TRY(list_entries(&gpu, &e, &n));
    VKT_TRY(choose(e, n, desc->device, &chosen));
fail:
    free(e);
    instance_destroy(&gpu);
    return st;
}

/* "AMD Radeon 780M (integrated, RADV, Vulkan 1.3), the best of 3: discrete before ..." */
static void log_choice(const entry *e, uint32_t n, uint32_t chosen, const char *want)
{
    const vkt_caps *c = &e[chosen].info.caps;
    char why[160];
    if (!want) want = getenv("VKT_DEVICE");
    if (want && *want)
        snprintf(why, sizeof why, "asked for by '%.80s'", want);
    else if (n == 1)
        snprintf(why, sizeof why, "the only one");
    else
        snprintf(why, sizeof why, "best of %u (discrete, then integrated, then CPU; then memory)",
                 n);
    vkt_log(VKT_LOG_INFO, "gpu", "device %u: %s (%s, %s %s, Vulkan %u.%u, %u lanes, %.1f GiB): %s",
            chosen, c->name, vkt_gpu_type_name(c->type), c->driver, c->driver_info,
            VK_API_VERSION_MAJOR(c->api_version), VK_API_VERSION_MINOR(c->api_version), c->subgroup,
            (double)c->budget_bytes / (1 << 30), why);
    if (c->type == VKT_GPU_CPU && !(want && *want))
        vkt_log(VKT_LOG_INFO, "gpu",
                "no GPU driver found: this trains on the CPU through Vulkan, which is slow; "
                "`vktrain devices` shows what is there");
}

/* ---- creation ---- */

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

vkt_status vkt_gpu_create(const vkt_gpu_desc *desc, vkt_gpu **out)
{
    vkt_status st = VKT_OK;
    vkt_gpu *gpu = vkt__alloc(sizeof *gpu);
    entry *e = NULL;
    uint32_t n = 0, chosen = 0;
    *out = NULL;
    VKT_TRY(vkt__caps_prepare(desc->cap));
    VKT_TRY(instance_create(gpu, desc->validate));
    VKT_TRY(list_entries(gpu, &e, &n));
    VKT_TRY(choose(e, n, desc->device, &chosen));
    if (vkt__caps_widen(&e[chosen].info.caps)) {
        /* Drivers are unloaded with the last instance. Whether they took the hint is read, not
         * assumed. */
        instance_destroy(gpu);
        free(e);
        e = NULL;
        VKT_TRY(instance_create(gpu, desc->validate));
        VKT_TRY(list_entries(gpu, &e, &n));
        VKT_TRY(choose(e, n, desc->device, &chosen));
    }
    gpu->phys = e[chosen].phys;
    gpu->caps = e[chosen].info.caps;
    VKT_TRY(vkt__caps_apply(desc->cap, &gpu->caps));
    gpu->caps.math = (vkt_math)desc->math;
    log_choice(e, n, chosen, desc->device);
    VKT_TRY(device_create(gpu));
    gpu->use_cache = !desc->no_cache;
    gpu->tunes =
        !desc->no_cache && !desc->no_tune && desc->deterministic != VKT_DETERMINISTIC_CROSS_RUN;
    VKT_TRY(vkt__cache_open(gpu, desc->cache_dir));
    if (gpu->use_cache && !desc->no_tune) vkt__choices_open(gpu, desc->cache_dir);
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
    vkt_gpu *gpu = *pgpu;
    if (!gpu) return;
    if (gpu->dev) {
        vkDeviceWaitIdle(gpu->dev);
        vkt_buffer_destroy(gpu, &gpu->staging);
        for (vkt__kernel *k = gpu->kernels, *next; k; k = next) {
            next = k->next;
            vkDestroyPipeline(gpu->dev, k->pipeline, NULL);
            free(k);
        }
        vkt__cache_close(gpu);
        vkt__slabs_finish(gpu);
        if (gpu->layout) vkDestroyPipelineLayout(gpu->dev, gpu->layout, NULL);
        if (gpu->timeline) vkDestroySemaphore(gpu->dev, gpu->timeline, NULL);
        if (gpu->pool) vkDestroyCommandPool(gpu->dev, gpu->pool, NULL);
        vkDestroyDevice(gpu->dev, NULL);
    }
    instance_destroy(gpu);
    free(gpu->choices);
    free(gpu);
    *pgpu = NULL;
}

const vkt_caps *vkt_gpu_caps(const vkt_gpu *gpu)
{
    return &gpu->caps;
}

vkt_gpu_stats vkt_gpu_get_stats(const vkt_gpu *gpu)
{
    return gpu->stats;
}
