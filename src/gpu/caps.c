/* What a device can do, and the --cap switches that pretend it can do less. */
#include "base/os.h"
#include "gpu/gpu_vk.h"

static vkt_gpu_class class_of(const vkt_caps *c)
{
    if (c->type == VKT_GPU_CPU) return VKT_GPU_CLASS_CPU;
    switch (c->vendor_id) {
    case 0x10de:
        return VKT_GPU_CLASS_NVIDIA;
    case 0x1002:
    case 0x1022:
        return VKT_GPU_CLASS_AMD;
    case 0x8086:
        return VKT_GPU_CLASS_INTEL;
    case 0x106b:
        return VKT_GPU_CLASS_APPLE;
    default:
        return VKT_GPU_CLASS_GENERIC;
    }
}

void vkt__caps_complete(vkt_caps *c)
{
    c->klass = class_of(c);
    c->exact_split = true;
    c->submit_ms = 100;
}

const char *vkt_gpu_class_name(vkt_gpu_class k)
{
    static const char *const names[] = { "generic", "cpu", "nvidia", "amd", "intel", "apple" };
    return names[k];
}

const char *vkt_gpu_type_name(vkt_gpu_type t)
{
    static const char *const names[] = { "other", "cpu", "integrated", "discrete", "virtual" };
    return names[t];
}

static bool has_extension(VkPhysicalDevice phys, const char *name)
{
    uint32_t n = 0;
    bool found = false;
    vkEnumerateDeviceExtensionProperties(phys, NULL, &n, NULL);
    VkExtensionProperties *e = vkt__alloc(n * sizeof *e);
    vkEnumerateDeviceExtensionProperties(phys, NULL, &n, e);
    for (uint32_t i = 0; i < n && !found; i++) found = !strcmp(e[i].extensionName, name);
    free(e);
    return found;
}

static uint32_t compute_family(VkPhysicalDevice phys, uint32_t *timestamp_bits)
{
    VkQueueFamilyProperties q[32];
    uint32_t n = VKT_COUNT(q);
    vkGetPhysicalDeviceQueueFamilyProperties(phys, &n, q);
    uint32_t best = vkt__compute_family(q, n);
    *timestamp_bits = best == UINT32_MAX ? 0 : q[best].timestampValidBits;
    return best;
}

static void query_memory(VkPhysicalDevice phys, vkt_caps *c)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT
    };
    VkPhysicalDeviceMemoryProperties2 m = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2 };
    c->memory_budget = has_extension(phys, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    if (c->memory_budget) m.pNext = &budget;
    vkGetPhysicalDeviceMemoryProperties2(phys, &m);
    const VkPhysicalDeviceMemoryProperties *p = &m.memoryProperties;
    uint32_t heap = UINT32_MAX;
    for (uint32_t i = 0; i < p->memoryHeapCount; i++) {
        if (!(p->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)) continue;
        if (heap == UINT32_MAX || p->memoryHeaps[i].size > p->memoryHeaps[heap].size) heap = i;
    }
    if (heap == UINT32_MAX) return;
    c->heap_bytes = p->memoryHeaps[heap].size;
    c->budget_bytes = c->heap_bytes / 10 * 8;
    if (c->memory_budget && budget.heapBudget[heap] > budget.heapUsage[heap])
        c->budget_bytes = budget.heapBudget[heap] - budget.heapUsage[heap];
    for (uint32_t i = 0; i < p->memoryTypeCount; i++) {
        VkMemoryPropertyFlags f = p->memoryTypes[i].propertyFlags;
        const VkMemoryPropertyFlags want = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                           VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                           VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        /* A discrete card's host-visible window is for small things only: quirk MAPPED_WINDOW. */
        if ((f & want) == want && c->type != VKT_GPU_DISCRETE &&
            p->memoryTypes[i].heapIndex == heap)
            c->unified = true;
    }
}

/* Mesa's CPU driver reads how many threads its kernels run on, 0 for none of their own, when it
 * lists its device; the variable is there for as long as that takes. */
static const char driver_threads[] = "LP_NUM_THREADS";

bool vkt__caps_serial_begin(bool serial)
{
    if (!serial || getenv(driver_threads)) return false;
    vkt__setenv(driver_threads, "0");
    return true;
}

void vkt__caps_serial_end(bool begun)
{
    if (begun) vkt__setenv(driver_threads, NULL);
}

/* Whether it hands dispatches over, though it could be opened so that it does not. */
static bool hands_over(const vkt_caps *caps)
{
    return caps->driver_id == VK_DRIVER_ID_MESA_LLVMPIPE && !getenv(driver_threads) &&
           vkt__cpu_count() > 1;
}

/* What runs workgroups, as the vendors' extensions count it; 0: no extension tells. */
static uint32_t query_cores(VkPhysicalDevice phys)
{
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nv = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV
    };
    VkPhysicalDeviceShaderCoreProperties2AMD amd = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD
    };
    VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM
    };
    const struct {
        const char *extension;
        void *asked;
        const uint32_t *cores;
    } rows[] = {
        { VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME, &nv, &nv.shaderSMCount },
        { VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME, &amd, &amd.activeComputeUnitCount },
        { VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME, &arm, &arm.shaderCoreCount },
    };
    for (uint32_t i = 0; i < VKT_COUNT(rows); i++) {
        if (!has_extension(phys, rows[i].extension)) continue;
        VkPhysicalDeviceProperties2 p = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                          rows[i].asked,
                                          { 0 } };
        vkGetPhysicalDeviceProperties2(phys, &p);
        return *rows[i].cores;
    }
    return 0;
}

void vkt__caps_query(VkPhysicalDevice phys, vkt_caps *c, char why_not[128])
{
    *c = (vkt_caps) { 0 };
    why_not[0] = 0;
    VkPhysicalDeviceProperties first;
    vkGetPhysicalDeviceProperties(phys, &first);
    snprintf(c->name, sizeof c->name, "%s", first.deviceName);
    c->api_version = first.apiVersion;
    c->vendor_id = first.vendorID;
    c->device_id = first.deviceID;
    c->driver_version = first.driverVersion;
    static const vkt_gpu_type types[] = { VKT_GPU_OTHER, VKT_GPU_INTEGRATED, VKT_GPU_DISCRETE,
                                          VKT_GPU_VIRTUAL, VKT_GPU_CPU };
    c->type = first.deviceType < VKT_COUNT(types) ? types[first.deviceType] : VKT_GPU_OTHER;
    if (first.apiVersion < VK_API_VERSION_1_3) {
        snprintf(why_not, 128, "it offers Vulkan %u.%u, vktrain needs 1.3: a newer driver may help",
                 VK_API_VERSION_MAJOR(first.apiVersion), VK_API_VERSION_MINOR(first.apiVersion));
        return;
    }
    VkPhysicalDeviceVulkan13Properties p13 = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES
    };
    VkPhysicalDeviceVulkan12Properties p12 = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES, &p13
    };
    VkPhysicalDeviceVulkan11Properties p11 = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, &p12
    };
    VkPhysicalDeviceProperties2 p2 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       &p11,
                                       { 0 } };
    vkGetPhysicalDeviceProperties2(phys, &p2);
    VkPhysicalDeviceVulkan13Features f13 = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES
    };
    VkPhysicalDeviceVulkan12Features f12 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             &f13 };
    VkPhysicalDeviceVulkan11Features f11 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             &f12 };
    VkPhysicalDeviceFeatures2 f2 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &f11, { 0 } };
    vkGetPhysicalDeviceFeatures2(phys, &f2);
    const VkPhysicalDeviceLimits *l = &p2.properties.limits;

    snprintf(c->driver, sizeof c->driver, "%s", p12.driverName);
    snprintf(c->driver_info, sizeof c->driver_info, "%s", p12.driverInfo);
    memcpy(c->uuid, p11.deviceUUID, 16);
    memcpy(c->driver_uuid, p11.driverUUID, 16);
    memcpy(c->cache_uuid, p2.properties.pipelineCacheUUID, 16);
    c->driver_id = (uint32_t)p12.driverID;
    vkt__caps_complete(c);
    c->subgroup = p11.subgroupSize;
    c->subgroup_min = p13.minSubgroupSize;
    c->subgroup_max = p13.maxSubgroupSize;
    c->workgroup_subgroups = p13.maxComputeWorkgroupSubgroups;
    c->subgroup_arith = vkt__subgroups_serve(&p11);
    /* Quirk MOLTEN_SUBGROUPS. */
    if (p12.driverID == VK_DRIVER_ID_MOLTENVK && c->vendor_id != 0x106b) c->subgroup_arith = false;
    c->subgroup_control = f13.subgroupSizeControl && f13.computeFullSubgroups &&
                          (p13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
    /* RDNA runs compute best as wave32; Intel's size varies per shader unless one is required. */
    if (c->subgroup_control && c->subgroup_min <= 32 && c->subgroup_max >= 32 &&
        c->klass != VKT_GPU_CLASS_CPU)
        c->subgroup = 32;
    c->workgroup = VKT_MIN(l->maxComputeWorkGroupInvocations, l->maxComputeWorkGroupSize[0]);
    c->groups_x = l->maxComputeWorkGroupCount[0];
    c->shared_bytes = l->maxComputeSharedMemorySize;
    c->push_bytes = l->maxPushConstantsSize;
    c->cores = query_cores(phys);
    c->max_alloc_bytes = p11.maxMemoryAllocationSize;
    c->max_buffer_bytes = p13.maxBufferSize;
    c->fp16 = f12.shaderFloat16;
    c->int64 = f2.features.shaderInt64;
    c->storage8 = f12.storageBuffer8BitAccess;
    c->bf16 = has_extension(phys, "VK_KHR_shader_bfloat16");
    c->memory_model = f12.vulkanMemoryModel && f12.vulkanMemoryModelDeviceScope;
    c->coopmat = c->memory_model && has_extension(phys, "VK_KHR_cooperative_matrix");
    c->coopmat2 = c->coopmat && f11.storageBuffer16BitAccess &&
                  has_extension(phys, "VK_NV_cooperative_matrix2");
    c->compute_queue_family = compute_family(phys, &c->timestamp_bits);
    c->timestamp_ns = c->timestamp_bits ? l->timestampPeriod : 0;
    c->hands_over = hands_over(c);
    query_memory(phys, c);

    const char *lacks = NULL;
    if (c->compute_queue_family == UINT32_MAX)
        lacks = "a compute queue";
    else if (!f12.bufferDeviceAddress)
        lacks = "bufferDeviceAddress";
    else if (!f12.timelineSemaphore)
        lacks = "timelineSemaphore";
    else if (!f12.scalarBlockLayout)
        lacks = "scalarBlockLayout";
    else if (!f13.synchronization2)
        lacks = "synchronization2";
    else if (!f13.maintenance4)
        lacks = "maintenance4";
    else if (!c->heap_bytes)
        lacks = "a device-local memory heap";
    if (lacks) snprintf(why_not, 128, "its driver lacks %s: a newer driver may help", lacks);
}

/* ---- --cap switches: each can only take away ---- */

typedef enum { CAP_FLAG, CAP_U32, CAP_U64 } cap_type;
typedef struct {
    const char *name;
    cap_type type;
    size_t offset;
    uint64_t min;
    const char *help;
} cap_row;

#define CAP(field) offsetof(vkt_caps, field)
/* The last of the kernels that attention's row numbers. */
enum { MOST_ATTENTION = 7 };

static const cap_row rows[] = {
    { "fp16", CAP_FLAG, CAP(fp16), 0, "16-bit floats in shaders (0 takes them away)" },
    { "bf16", CAP_FLAG, CAP(bf16), 0, "bfloat16 in shaders" },
    { "int64", CAP_FLAG, CAP(int64), 0, "64-bit integers in shaders" },
    { "storage8", CAP_FLAG, CAP(storage8), 0, "8-bit loads in shaders" },
    { "coopmat", CAP_FLAG, CAP(coopmat), 0, "matrix units" },
    { "coopmat2", CAP_FLAG, CAP(coopmat2), 0, "matrices of any size on them" },
    { "exact-split", CAP_FLAG, CAP(exact_split), 0,
      "math: fast splits into bf16 only, which has fp32's range (0: into fp16 too, for tests)" },
    { "subgroup-arith", CAP_FLAG, CAP(subgroup_arith), 0,
      "subgroup add and max (0: reductions in shared memory)" },
    { "subgroup-control", CAP_FLAG, CAP(subgroup_control), 0,
      "shaders that require a subgroup size" },
    { "cpu-kernels", CAP_FLAG, CAP(klass), 0,
      "kernels shaped for CPU drivers (0: those for GPUs)" },
    { "unified", CAP_FLAG, CAP(unified), 0,
      "device memory mapped by the host (0: copies through staging buffers)" },
    { "hands-over", CAP_FLAG, CAP(hands_over), 0,
      "on a CPU driver, short steps run on one core (0: never)" },
    { "timestamps", CAP_FLAG, CAP(timestamp_ns), 0,
      "timestamps of single kernels, for profile and bench" },
    { "subgroup", CAP_U32, CAP(subgroup), 4,
      "lanes of a subgroup (CPU drivers of Mesa: 4, 8, 16)" },
    { "workgroup", CAP_U32, CAP(workgroup), 32, "invocations of a workgroup" },
    { "groups", CAP_U32, CAP(groups_x), 16, "workgroups along x" },
    { "shared", CAP_U32, CAP(shared_bytes), 8192, "bytes of shared memory" },
    { "alloc", CAP_U64, CAP(max_alloc_bytes), 1 << 20, "bytes of the largest allocation" },
    { "memory", CAP_U64, CAP(budget_bytes), 1 << 20, "bytes of device memory that may be used" },
    { "submit", CAP_U32, CAP(submit_ms), 0,
      "longest time of a submission in ms (0: three submissions per level)" },
    { "attention", CAP_U32, CAP(attention), 5,
      "a kernel of attention in 16 bits, to time it: 5 twice the keys at a time, 6 twice the rows, "
      "7 both" },
};

const char *vkt_cap_help(void)
{
    static char text[2048];
    size_t n = 0;
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%-18s%s\n", rows[i].name, rows[i].help);
    n += (size_t)snprintf(text + n, sizeof text - n, "%-18s%s\n", "kernel",
                          "matmul=NAME: the kernel of every product that it can compute, e.g. "
                          "kernel=matmul=tiled.64x64 (as VKT_KERNEL=matmul=NAME)");
    return text;
}

/* Calls fn for each "name=value" of the list. */
static vkt_status each_cap(const char *cap, vkt_caps *caps,
                           vkt_status (*fn)(const cap_row *, uint64_t, vkt_caps *))
{
    for (const char *p = cap; p && *p;) {
        char item[64];
        size_t n = strcspn(p, ","), eq;
        if (n >= sizeof item)
            return vkt__fail(VKT_E_ARG, "gpu", "--cap: '%.60s...' is too long", p);
        memcpy(item, p, n);
        item[n] = 0;
        p += n + (p[n] == ',');
        if (!strncmp(item, "kernel=", 7)) {
            vkt_status st = vkt__choice_hold(item + 7, caps);
            if (st != VKT_OK) return st;
            continue;
        }
        eq = strcspn(item, "=");
        char *end = NULL;
        uint64_t v = item[eq] ? strtoull(item + eq + 1, &end, 0) : 0;
        if (!end || end == item + eq + 1 || *end)
            return vkt__fail(VKT_E_ARG, "gpu", "--cap: '%s' is not name=number, e.g. subgroup=4",
                             item);
        item[eq] = 0;
        const cap_row *row = NULL;
        const char *names[VKT_COUNT(rows)];
        for (size_t i = 0; i < VKT_COUNT(rows); i++) {
            names[i] = rows[i].name;
            if (!strcmp(names[i], item)) row = &rows[i];
        }
        if (!row) {
            return vkt__fail(VKT_E_ARG, "gpu",
                             "--cap: no capability '%s' (`vktrain devices --help` lists them)%s",
                             item, vkt_did_you_mean(item, names, VKT_COUNT(rows)).text);
        }
        if (v < row->min || (row->type == CAP_FLAG && v > 1))
            return vkt__fail(VKT_E_ARG, "gpu",
                             "--cap: %s=%llu is below the least useful value %llu or not a flag",
                             item, (unsigned long long)v, (unsigned long long)row->min);
        vkt_status st = fn(row, v, caps);
        if (st != VKT_OK) return st;
    }
    return VKT_OK;
}

static vkt_status prepare_one(const cap_row *row, uint64_t v, vkt_caps *caps)
{
    (void)caps;
    if (row->offset == CAP(subgroup) && (v & (v - 1)) != 0)
        return vkt__fail(VKT_E_ARG, "gpu", "--cap subgroup=%u: a subgroup has a power of two lanes",
                         (unsigned)v);
    if (row->offset == CAP(attention) && v > MOST_ATTENTION)
        return vkt__fail(VKT_E_ARG, "gpu",
                         "--cap attention=%llu: there is no such kernel (5 to %d, `vktrain help "
                         "cap`)",
                         (unsigned long long)v, MOST_ATTENTION);
    /* Mesa's CPU driver takes its vector width, hence its subgroup size, from the environment. */
    if (row->offset == CAP(subgroup)) {
        char bits[16];
        snprintf(bits, sizeof bits, "%u", (unsigned)v * 32);
        vkt__setenv_default("LP_NATIVE_VECTOR_WIDTH", bits);
    }
    return VKT_OK;
}

vkt_status vkt__caps_prepare(const char *cap)
{
    return each_cap(cap, NULL, prepare_one);
}

static bool has_avx512(void)
{
#if defined(__GNUC__) && defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

/* Quirks WIDE_VECTORS, WIDE_STACK. */
bool vkt__mesa_is_right_wide(const char *driver_info)
{
    static const struct {
        unsigned major, minor;
    } measured[] = { { 25, 0 } };
    unsigned major, minor;
    int end = 0;
    if (sscanf(driver_info, "Mesa %u.%u%n", &major, &minor, &end) != 2) return false;
    /* "25.0.0-devel (git-...)", "25.0.0-rc2": on the way to it; "25.0.7-2~bpo12+1": a package's. */
    const char *version = driver_info + end;
    size_t n = strcspn(version, " ");
    for (size_t i = 0; i < n; i++)
        if (!strncmp(version + i, "-devel", 6) || !strncmp(version + i, "-rc", 3)) return false;
    for (size_t i = 0; i < VKT_COUNT(measured); i++)
        if (measured[i].major == major && measured[i].minor == minor) return true;
    return false;
}

bool vkt__caps_widen(const vkt_caps *caps)
{
    static const char name[] = "LP_NATIVE_VECTOR_WIDTH";
    if (caps->driver_id != VK_DRIVER_ID_MESA_LLVMPIPE || caps->subgroup != 8 || getenv(name) ||
        !has_avx512() || !vkt__mesa_is_right_wide(caps->driver_info))
        return false;
    vkt__setenv_default(name, "512");
    return true;
}

static vkt_status apply_one(const cap_row *row, uint64_t v, vkt_caps *caps)
{
    void *field = (char *)caps + row->offset;
    if (row->offset == CAP(subgroup)) {
        bool in_range = v >= caps->subgroup_min && v <= caps->subgroup_max && (v & (v - 1)) == 0;
        if (v != caps->subgroup && !(caps->subgroup_control && in_range))
            return vkt__fail(VKT_E_UNSUPPORTED, "gpu",
                             "--cap subgroup=%u: %s runs %u lanes and offers %u to %u", (unsigned)v,
                             caps->name, caps->subgroup, caps->subgroup_min, caps->subgroup_max);
    }
    if (row->offset == CAP(klass))
        caps->klass = v ? caps->klass : VKT_GPU_CLASS_GENERIC;
    else if (row->offset == CAP(timestamp_ns))
        caps->timestamp_ns *= (double)v;
    else if (row->type == CAP_FLAG)
        *(bool *)field = *(bool *)field && v;
    else if (row->offset == CAP(attention))
        caps->attention = (uint32_t)v;
    else if (row->type == CAP_U32)
        *(uint32_t *)field = (uint32_t)VKT_MIN(*(uint32_t *)field, v);
    else
        *(uint64_t *)field = VKT_MIN(*(uint64_t *)field, v);
    return VKT_OK;
}

vkt_status vkt__caps_apply(const char *cap, vkt_caps *caps)
{
    const char *held = getenv("VKT_KERNEL");
    vkt_status st = each_cap(cap, caps, apply_one);
    if (st == VKT_OK && held && *held && !*caps->kernel) st = vkt__choice_hold(held, caps);
    caps->coopmat2 = caps->coopmat2 && caps->coopmat;
    return st;
}
