/* VK_LAYER_VKT_fault: makes chosen Vulkan calls fail, so that a program's error paths can be walked
 * one by one. Settings, all from the environment:
 *
 * VKFAULT: CALL:N:RESULT, or several with commas: the N-th CALL of the process (1 is the first)
 *   returns RESULT and does nothing; "N+" is every one from the N-th on, "N/M" the N-th and every
 *   M-th after it. CALL may be "any" (any call below counts). RESULT is a name without VK_ and
 *   ERROR_ (OUT_OF_DEVICE_MEMORY, DEVICE_LOST, TIMEOUT, ...) or a number.
 *
 * VKFAULT_STICKY=1: after DEVICE_LOST every call of that VkDevice fails with it until destroyed.
 *
 * VKFAULT_LATE=1: submissions and waits are done, then reported as failed.
 *
 * VKFAULT_HEAP=BYTES: vkAllocateMemory fails if more than BYTES would be alive, as on a full
 * device.
 *
 * VKFAULT_PORTABILITY=1: the device has VK_KHR_portability_subset, and is not created without it,
 * as on macOS.
 *
 * VKFAULT_FORK=N: with libiofault.so preloaded, the process forks at each call's first N times and
 * then at times further and further apart, for each result that the call can have: fork_at.c.
 *
 * VKFAULT_COUNT=FILE: at exit "CALL COUNT" lines, and "fired N".
 *
 * VKFAULT_TRACE=1: a line on stderr when a fault fires.
 *
 * Use: VK_LAYER_PATH=DIR VK_INSTANCE_LAYERS=VK_LAYER_VKT_fault PROGRAM ... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define SUBSET "VK_KHR_portability_subset"
#define KEY(handle)                                                                                \
    (*(void **)(handle)) /* the loader's dispatch table: one a device, and its queues and command  \
                            buffers */

/* clang-format off: a table, a row a call. */
/* Device calls that return a VkResult: name, parameters, arguments; the first parameter is `o`. */
#define DEVICE_CALLS(X)                                                                            \
    X(vkAllocateMemory,                                                                            \
      (VkDevice o, const VkMemoryAllocateInfo *a, const VkAllocationCallbacks *b,                  \
       VkDeviceMemory *c),                                                                         \
      (o, a, b, c))                                                                                \
    X(vkMapMemory,                                                                                 \
      (VkDevice o, VkDeviceMemory a, VkDeviceSize b, VkDeviceSize c, VkMemoryMapFlags d,           \
       void **e),                                                                                  \
      (o, a, b, c, d, e))                                                                          \
    X(vkFlushMappedMemoryRanges, (VkDevice o, uint32_t a, const VkMappedMemoryRange *b),           \
      (o, a, b))                                                                                   \
    X(vkInvalidateMappedMemoryRanges, (VkDevice o, uint32_t a, const VkMappedMemoryRange *b),      \
      (o, a, b))                                                                                   \
    X(vkBindBufferMemory, (VkDevice o, VkBuffer a, VkDeviceMemory b, VkDeviceSize c),              \
      (o, a, b, c))                                                                                \
    X(vkCreateBuffer,                                                                              \
      (VkDevice o, const VkBufferCreateInfo *a, const VkAllocationCallbacks *b, VkBuffer *c),      \
      (o, a, b, c))                                                                                \
    X(vkCreateCommandPool,                                                                         \
      (VkDevice o, const VkCommandPoolCreateInfo *a, const VkAllocationCallbacks *b,               \
       VkCommandPool *c),                                                                          \
      (o, a, b, c))                                                                                \
    X(vkAllocateCommandBuffers,                                                                    \
      (VkDevice o, const VkCommandBufferAllocateInfo *a, VkCommandBuffer *b), (o, a, b))           \
    X(vkBeginCommandBuffer, (VkCommandBuffer o, const VkCommandBufferBeginInfo *a), (o, a))        \
    X(vkEndCommandBuffer, (VkCommandBuffer o), (o))                                                \
    X(vkResetCommandBuffer, (VkCommandBuffer o, VkCommandBufferResetFlags a), (o, a))              \
    X(vkCreateSemaphore,                                                                           \
      (VkDevice o, const VkSemaphoreCreateInfo *a, const VkAllocationCallbacks *b,                 \
       VkSemaphore *c),                                                                            \
      (o, a, b, c))                                                                                \
    X(vkCreateFence,                                                                               \
      (VkDevice o, const VkFenceCreateInfo *a, const VkAllocationCallbacks *b, VkFence *c),        \
      (o, a, b, c))                                                                                \
    X(vkCreateQueryPool,                                                                           \
      (VkDevice o, const VkQueryPoolCreateInfo *a, const VkAllocationCallbacks *b,                 \
       VkQueryPool *c),                                                                            \
      (o, a, b, c))                                                                                \
    X(vkCreateShaderModule,                                                                        \
      (VkDevice o, const VkShaderModuleCreateInfo *a, const VkAllocationCallbacks *b,              \
       VkShaderModule *c),                                                                         \
      (o, a, b, c))                                                                                \
    X(vkCreatePipelineCache,                                                                       \
      (VkDevice o, const VkPipelineCacheCreateInfo *a, const VkAllocationCallbacks *b,             \
       VkPipelineCache *c),                                                                        \
      (o, a, b, c))                                                                                \
    X(vkGetPipelineCacheData, (VkDevice o, VkPipelineCache a, size_t * b, void *c), (o, a, b, c))  \
    X(vkCreatePipelineLayout,                                                                      \
      (VkDevice o, const VkPipelineLayoutCreateInfo *a, const VkAllocationCallbacks *b,            \
       VkPipelineLayout *c),                                                                       \
      (o, a, b, c))                                                                                \
    X(vkCreateComputePipelines,                                                                    \
      (VkDevice o, VkPipelineCache a, uint32_t b, const VkComputePipelineCreateInfo *c,            \
       const VkAllocationCallbacks *d, VkPipeline *e),                                             \
      (o, a, b, c, d, e))                                                                          \
    X(vkQueueSubmit, (VkQueue o, uint32_t a, const VkSubmitInfo *b, VkFence c), (o, a, b, c))      \
    X(vkQueueSubmit2, (VkQueue o, uint32_t a, const VkSubmitInfo2 *b, VkFence c), (o, a, b, c))    \
    X(vkQueueWaitIdle, (VkQueue o), (o))                                                           \
    X(vkDeviceWaitIdle, (VkDevice o), (o))                                                         \
    X(vkWaitSemaphores, (VkDevice o, const VkSemaphoreWaitInfo *a, uint64_t b), (o, a, b))         \
    X(vkWaitForFences, (VkDevice o, uint32_t a, const VkFence *b, VkBool32 c, uint64_t d),         \
      (o, a, b, c, d))                                                                             \
    X(vkGetSemaphoreCounterValue, (VkDevice o, VkSemaphore a, uint64_t * b), (o, a, b))            \
    X(vkGetQueryPoolResults,                                                                       \
      (VkDevice o, VkQueryPool a, uint32_t b, uint32_t c, size_t d, void *e, VkDeviceSize f,       \
       VkQueryResultFlags g),                                                                      \
      (o, a, b, c, d, e, f, g))

/* clang-format on */

/* Instance calls, counted and failed too; written out below. */
#define INSTANCE_CALLS(X)                                                                          \
    X(vkCreateInstance)                                                                            \
    X(vkEnumeratePhysicalDevices) X(vkEnumerateDeviceExtensionProperties) X(vkCreateDevice)

enum {
#define X(name, params, args) I_##name,
    DEVICE_CALLS(X)
#undef X
#define X(name) I_##name,
        INSTANCE_CALLS(X)
#undef X
            N_CALLS
};
static const char *const names[] = {
#define X(name, params, args) #name,
    DEVICE_CALLS(X)
#undef X
#define X(name) #name,
        INSTANCE_CALLS(X)
#undef X
};

static const struct {
    const char *name;
    VkResult r;
} results[] = {
    { "OUT_OF_HOST_MEMORY", VK_ERROR_OUT_OF_HOST_MEMORY },
    { "OUT_OF_DEVICE_MEMORY", VK_ERROR_OUT_OF_DEVICE_MEMORY },
    { "INITIALIZATION_FAILED", VK_ERROR_INITIALIZATION_FAILED },
    { "DEVICE_LOST", VK_ERROR_DEVICE_LOST },
    { "MEMORY_MAP_FAILED", VK_ERROR_MEMORY_MAP_FAILED },
    { "LAYER_NOT_PRESENT", VK_ERROR_LAYER_NOT_PRESENT },
    { "EXTENSION_NOT_PRESENT", VK_ERROR_EXTENSION_NOT_PRESENT },
    { "FEATURE_NOT_PRESENT", VK_ERROR_FEATURE_NOT_PRESENT },
    { "INCOMPATIBLE_DRIVER", VK_ERROR_INCOMPATIBLE_DRIVER },
    { "TOO_MANY_OBJECTS", VK_ERROR_TOO_MANY_OBJECTS },
    { "UNKNOWN", VK_ERROR_UNKNOWN },
    { "NOT_READY", VK_NOT_READY },
    { "TIMEOUT", VK_TIMEOUT },
    { "INCOMPLETE", VK_INCOMPLETE },
    { "INVALID_OPAQUE_CAPTURE_ADDRESS", VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS },
};

typedef struct {
    int call;
    long n, every;
    VkResult r;
} fault; /* call -1: any */
static fault faults[16];
static int n_faults, sticky, late, trace, portability;
static long forks; /* VKFAULT_FORK */
static long counts[N_CALLS], total, fired;
static unsigned long long heap, heap_used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define LIVE 64
static struct device {
    void *key;
    VkDevice dev;
    int lost;
    PFN_vkGetDeviceProcAddr next;
    PFN_vkDestroyDevice destroy;
    PFN_vkFreeMemory free_memory;
    PFN_vkDeviceWaitIdle idle;
#define X(name, params, args) PFN_##name name;
    DEVICE_CALLS(X)
#undef X
} devices[LIVE];
static struct instance {
    void *key;
    VkInstance inst;
    PFN_vkGetInstanceProcAddr next;
    PFN_vkDestroyInstance destroy;
    PFN_vkEnumeratePhysicalDevices physical;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
} instances[LIVE];
static struct {
    VkDeviceMemory m;
    VkDeviceSize n;
} live[4096];

static void configure(void)
{
    static int done;
    if (done) return;
    done = 1;
    sticky = getenv("VKFAULT_STICKY") && atoi(getenv("VKFAULT_STICKY"));
    late = getenv("VKFAULT_LATE") && atoi(getenv("VKFAULT_LATE"));
    trace = getenv("VKFAULT_TRACE") && atoi(getenv("VKFAULT_TRACE"));
    portability = getenv("VKFAULT_PORTABILITY") && atoi(getenv("VKFAULT_PORTABILITY"));
    forks = getenv("VKFAULT_FORK") ? atol(getenv("VKFAULT_FORK")) : 0;
    heap = getenv("VKFAULT_HEAP") ? strtoull(getenv("VKFAULT_HEAP"), NULL, 10) : 0;
    char *spec = getenv("VKFAULT") ? strdup(getenv("VKFAULT")) : NULL, *save = NULL;
    for (char *p = spec ? strtok_r(spec, ",", &save) : NULL; p && n_faults < 16;
         p = strtok_r(NULL, ",", &save)) {
        char call[64], when[32], what[64], *end;
        fault f = { -2, 0, 0, VK_ERROR_UNKNOWN };
        if (sscanf(p, "%63[^:]:%31[^:]:%63s", call, when, what) != 3) {
            fprintf(stderr, "vkfault: '%s' is not CALL:N:RESULT\n", p);
            exit(99);
        }
        if (!strcmp(call, "any")) f.call = -1;
        for (int i = 0; i < N_CALLS; i++)
            if (!strcmp(call, names[i])) f.call = i;
        f.n = strtol(when, &end, 10);
        f.every = *end == '+' ? 1 : *end == '/' ? strtol(end + 1, NULL, 10) : 0;
        int known = 0;
        for (size_t i = 0; i < sizeof results / sizeof *results; i++)
            if (!strcmp(what, results[i].name)) f.r = results[i].r, known = 1;
        if (!known) f.r = (VkResult)strtol(what, &end, 10), known = end != what;
        if (f.call == -2 || f.n < 1 || !known) {
            fprintf(stderr, "vkfault: '%s': no such call, count or result\n", p);
            exit(99);
        }
        faults[n_faults++] = f;
    }
    free(spec);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("VKFAULT_COUNT");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f) return;
    for (int i = 0; i < N_CALLS; i++)
        if (counts[i]) fprintf(f, "%s %ld\n", names[i], counts[i]);
    fprintf(f, "any %ld\nfired %ld\n", total, fired);
    fclose(f);
}

/* In a child that VKFAULT_FORK asks for: what its call returns. */
static VkResult forked(int call)
{
    static const struct {
        int call; /* -1: all others */
        const char *results;
    } ways[] = {
        { I_vkCreateInstance, "INITIALIZATION_FAILED OUT_OF_HOST_MEMORY" },
        { I_vkEnumeratePhysicalDevices, "INITIALIZATION_FAILED OUT_OF_HOST_MEMORY" },
        { I_vkEnumerateDeviceExtensionProperties, "INITIALIZATION_FAILED OUT_OF_HOST_MEMORY" },
        { I_vkCreateDevice,
          "INITIALIZATION_FAILED OUT_OF_HOST_MEMORY OUT_OF_DEVICE_MEMORY DEVICE_LOST" },
        { I_vkMapMemory, "MEMORY_MAP_FAILED OUT_OF_HOST_MEMORY DEVICE_LOST" },
        { I_vkWaitSemaphores,
          "TIMEOUT OUT_OF_HOST_MEMORY OUT_OF_DEVICE_MEMORY DEVICE_LOST DEVICE_LOST_ONCE" },
        { -1, "INITIALIZATION_FAILED OUT_OF_HOST_MEMORY OUT_OF_DEVICE_MEMORY DEVICE_LOST "
              "DEVICE_LOST_ONCE" },
    };
    int (*fork_at)(const char *, long, const char *, void (*)(const char *, const char *)) =
        (__typeof__(fork_at))dlsym(RTLD_DEFAULT, "vkt_fork_at");
    long n = counts[call], step = 1;
    while (2 * step * forks <= n) step *= 2;
    if (!fork_at || n % step) return VK_SUCCESS;
    size_t row = 0;
    while (ways[row].call != call && ways[row].call != -1) row++;
    for (const char *p = ways[row].results; *p; p += strcspn(p, " "), p += *p == ' ') {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
        if (!fork_at(names[call], n, name, NULL)) continue;
        forks = 0;
        sticky = strcmp(name, "DEVICE_LOST") == 0;
        if (!strcmp(name, "DEVICE_LOST_ONCE")) name[strlen("DEVICE_LOST")] = 0;
        for (size_t i = 0; i < sizeof results / sizeof *results; i++)
            if (!strcmp(name, results[i].name)) return fired++, results[i].r;
    }
    return VK_SUCCESS;
}

/* VK_SUCCESS: let it through. */
static VkResult check(int call, struct device *d)
{
    VkResult r = VK_SUCCESS;
    pthread_mutex_lock(&lock);
    counts[call]++, total++;
    if (forks && (r = forked(call)) != VK_SUCCESS && trace)
        fprintf(stderr, "vkfault: %s no. %ld returns %d\n", names[call], counts[call], (int)r);
    if (sticky && d && d->lost) r = VK_ERROR_DEVICE_LOST;
    for (int i = 0; i < n_faults && r == VK_SUCCESS; i++) {
        if (faults[i].call != call && faults[i].call != -1) continue;
        long now = (faults[i].call == -1 ? total : counts[call]) - faults[i].n;
        if (now != 0 && !(faults[i].every && now > 0 && now % faults[i].every == 0)) continue;
        r = faults[i].r, fired++;
        if (trace)
            fprintf(stderr, "vkfault: %s no. %ld returns %d\n", names[call], counts[call], (int)r);
    }
    if (r == VK_ERROR_DEVICE_LOST && d) d->lost = 1;
    pthread_mutex_unlock(&lock);
    return r;
}

static struct device *device_of(void *key)
{
    for (int i = 0; i < LIVE; i++)
        if (devices[i].key == key) return &devices[i];
    abort();
}
static struct instance *instance_of(void *key)
{
    for (int i = 0; i < LIVE; i++)
        if (instances[i].key == key) return &instances[i];
    abort();
}

/* ---- device calls */
static int goes_through(
    int call) /* what must not be skipped even on a lost device, or is done first in late mode */
{
    return call == I_vkDeviceWaitIdle || call == I_vkQueueWaitIdle ||
           (late && (call == I_vkQueueSubmit || call == I_vkQueueSubmit2 ||
                     call == I_vkWaitSemaphores || call == I_vkWaitForFences));
}
#define X(name, params, args)                                                                      \
    static VKAPI_ATTR VkResult VKAPI_CALL raw_##name params                                        \
    {                                                                                              \
        struct device *dev = device_of(KEY(o));                                                    \
        VkResult r = check(I_##name, dev);                                                         \
        if (r != VK_SUCCESS) {                                                                     \
            if (goes_through(I_##name)) dev->name args;                                            \
            return r;                                                                              \
        }                                                                                          \
        return dev->name args;                                                                     \
    }
DEVICE_CALLS(X)
#undef X

static VKAPI_ATTR VkResult VKAPI_CALL heap_vkAllocateMemory(VkDevice o,
                                                            const VkMemoryAllocateInfo *a,
                                                            const VkAllocationCallbacks *b,
                                                            VkDeviceMemory *c)
{
    if (heap && heap_used + a->allocationSize > heap) {
        counts[I_vkAllocateMemory]++, total++, fired++;
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    VkResult r = raw_vkAllocateMemory(o, a, b, c);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; r == VK_SUCCESS && i < sizeof live / sizeof *live; i++)
        if (!live[i].m) {
            live[i].m = *c, live[i].n = a->allocationSize, heap_used += a->allocationSize;
            break;
        }
    pthread_mutex_unlock(&lock);
    return r;
}
static VKAPI_ATTR void VKAPI_CALL my_vkFreeMemory(VkDevice o, VkDeviceMemory m,
                                                  const VkAllocationCallbacks *b)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; m && i < sizeof live / sizeof *live; i++)
        if (live[i].m == m) {
            heap_used -= live[i].n, live[i].m = VK_NULL_HANDLE;
            break;
        }
    pthread_mutex_unlock(&lock);
    device_of(KEY(o))->free_memory(o, m, b);
}
static VKAPI_ATTR void VKAPI_CALL my_vkDestroyDevice(VkDevice o, const VkAllocationCallbacks *b)
{
    if (!o) return;
    struct device *d = device_of(KEY(o));
    PFN_vkDestroyDevice destroy = d->destroy;
    d->idle(o);
    memset(d, 0, sizeof *d);
    destroy(o, b);
}

/* ---- instance calls */
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL my_vkGetDeviceProcAddr(VkDevice o,
                                                                       const char *name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL my_vkGetInstanceProcAddr(VkInstance o,
                                                                         const char *name);

static VKAPI_ATTR VkResult VKAPI_CALL my_vkCreateInstance(const VkInstanceCreateInfo *info,
                                                          const VkAllocationCallbacks *a,
                                                          VkInstance *out)
{
    configure();
    VkResult r = check(I_vkCreateInstance, NULL);
    if (r != VK_SUCCESS) return r;
    VkLayerInstanceCreateInfo *l = (void *)(uintptr_t)info->pNext;
    while (l && !(l->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                  l->function == VK_LAYER_LINK_INFO))
        l = (void *)(uintptr_t)l->pNext;
    PFN_vkGetInstanceProcAddr next = l->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    l->u.pLayerInfo = l->u.pLayerInfo->pNext;
    r = ((PFN_vkCreateInstance)next(NULL, "vkCreateInstance"))(info, a, out);
    if (r != VK_SUCCESS) return r;
    struct instance *i = instance_of(NULL);
    *i = (struct instance) { KEY(*out),
                             *out,
                             next,
                             (PFN_vkDestroyInstance)next(*out, "vkDestroyInstance"),
                             (PFN_vkEnumeratePhysicalDevices)next(*out,
                                                                  "vkEnumeratePhysicalDevices"),
                             (PFN_vkEnumerateDeviceExtensionProperties)next(
                                 *out, "vkEnumerateDeviceExtensionProperties") };
    return r;
}
static VKAPI_ATTR void VKAPI_CALL my_vkDestroyInstance(VkInstance o, const VkAllocationCallbacks *a)
{
    if (!o) return;
    struct instance *i = instance_of(KEY(o));
    PFN_vkDestroyInstance destroy = i->destroy;
    memset(i, 0, sizeof *i);
    destroy(o, a);
}
static VKAPI_ATTR VkResult VKAPI_CALL my_vkEnumeratePhysicalDevices(VkInstance o, uint32_t *n,
                                                                    VkPhysicalDevice *d)
{
    VkResult r = check(I_vkEnumeratePhysicalDevices, NULL);
    return r != VK_SUCCESS ? r : instance_of(KEY(o))->physical(o, n, d);
}
static VKAPI_ATTR VkResult VKAPI_CALL my_vkEnumerateDeviceExtensionProperties(
    VkPhysicalDevice o, const char *layer, uint32_t *n, VkExtensionProperties *p)
{
    VkResult r = check(I_vkEnumerateDeviceExtensionProperties, NULL);
    if (r != VK_SUCCESS) return r;
    uint32_t room = *n;
    if (!portability || layer) return instance_of(KEY(o))->extensions(o, layer, n, p);
    if (p && room) --*n;
    r = instance_of(KEY(o))->extensions(o, layer, n, p);
    if (p && room) p[*n] = (VkExtensionProperties) { SUBSET, 1 };
    ++*n;
    return r;
}
/* `info` without the extension that the driver does not know; false where it was not asked for. */
static int without_subset(VkDeviceCreateInfo *info, const char **names, uint32_t room)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < info->enabledExtensionCount && n < room; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], SUBSET) != 0)
            names[n++] = info->ppEnabledExtensionNames[i];
    int asked = n < info->enabledExtensionCount;
    info->enabledExtensionCount = n;
    info->ppEnabledExtensionNames = names;
    return asked;
}
static VKAPI_ATTR VkResult VKAPI_CALL my_vkCreateDevice(VkPhysicalDevice o,
                                                        const VkDeviceCreateInfo *info,
                                                        const VkAllocationCallbacks *a,
                                                        VkDevice *out)
{
    VkResult r = check(I_vkCreateDevice, NULL);
    const char *names[32];
    VkDeviceCreateInfo fewer = *info;
    if (r != VK_SUCCESS) return r;
    if (portability) {
        info = &fewer;
        if (!without_subset(&fewer, names, 32)) return VK_ERROR_INITIALIZATION_FAILED;
    }
    VkLayerDeviceCreateInfo *l = (void *)(uintptr_t)info->pNext;
    while (l && !(l->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                  l->function == VK_LAYER_LINK_INFO))
        l = (void *)(uintptr_t)l->pNext;
    PFN_vkGetInstanceProcAddr gipa = l->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr gdpa = l->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    l->u.pLayerInfo = l->u.pLayerInfo->pNext;
    r = ((PFN_vkCreateDevice)gipa(instance_of(KEY(o))->inst, "vkCreateDevice"))(o, info, a, out);
    if (r != VK_SUCCESS) return r;
    struct device *d = device_of(NULL);
    *d = (struct device) { .key = KEY(*out), .dev = *out, .next = gdpa };
#define X(name, params, args) d->name = (PFN_##name)gdpa(*out, #name);
    DEVICE_CALLS(X)
#undef X
    d->destroy = (PFN_vkDestroyDevice)gdpa(*out, "vkDestroyDevice");
    d->free_memory = (PFN_vkFreeMemory)gdpa(*out, "vkFreeMemory");
    d->idle = (PFN_vkDeviceWaitIdle)gdpa(*out, "vkDeviceWaitIdle");
    return r;
}

#define MINE(f)                                                                                    \
    if (!strcmp(name, #f)) return (PFN_vkVoidFunction)my_##f
static PFN_vkVoidFunction device_call(const char *name)
{
    if (!strcmp(name, "vkAllocateMemory")) return (PFN_vkVoidFunction)heap_vkAllocateMemory;
    MINE(vkFreeMemory);
    MINE(vkDestroyDevice);
    MINE(vkGetDeviceProcAddr);
#define X(f, params, args)                                                                         \
    if (!strcmp(name, #f)) return (PFN_vkVoidFunction)raw_##f;
    DEVICE_CALLS(X)
#undef X
    return NULL;
}
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL my_vkGetDeviceProcAddr(VkDevice o, const char *name)
{
    PFN_vkVoidFunction f = device_call(name);
    return f ? f : device_of(KEY(o))->next(o, name);
}
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL my_vkGetInstanceProcAddr(VkInstance o,
                                                                         const char *name)
{
    MINE(vkGetInstanceProcAddr);
    MINE(vkCreateInstance);
    MINE(vkDestroyInstance);
    MINE(vkEnumeratePhysicalDevices);
    MINE(vkEnumerateDeviceExtensionProperties);
    MINE(vkCreateDevice);
    PFN_vkVoidFunction f = device_call(name);
    return f ? f : o ? instance_of(KEY(o))->next(o, name) : NULL;
}
VK_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *v)
{
    if (v->loaderLayerInterfaceVersion > 2) v->loaderLayerInterfaceVersion = 2;
    v->pfnGetInstanceProcAddr = my_vkGetInstanceProcAddr;
    v->pfnGetDeviceProcAddr = my_vkGetDeviceProcAddr;
    v->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
