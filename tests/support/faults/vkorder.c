/* VK_LAYER_VKT_order: commands between two barriers reach the driver in the opposite order, which
 * Vulkan allows any device. So a missing barrier is seen on a CPU driver too, which runs one
 * command after the other: what depends on the command before it runs first, and the bits are
 * others. Dispatches, copies and barriers of command buffers are recorded here and played back when
 * a barrier, a timestamp or the end comes.
 *
 * VKORDER_COUNT=FILE: at exit a line "moved N barriers M": commands that another one overtook.
 *
 * Use: VK_LAYER_PATH=DIR VK_INSTANCE_LAYERS=VK_LAYER_VKT_order PROGRAM ... */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define KEY(handle)                                                                                \
    (*(void **)(handle)) /* the loader's dispatch table: of a device and its own                   \
                          */

/* The calls that are passed on: name, of the device's table. */
#define CALLS(X)                                                                                   \
    X(vkDestroyDevice)                                                                             \
    X(vkBeginCommandBuffer)                                                                        \
    X(vkEndCommandBuffer)                                                                          \
    X(vkFreeCommandBuffers)                                                                        \
    X(vkCmdBindPipeline)                                                                           \
    X(vkCmdPushConstants)                                                                          \
    X(vkCmdDispatch)                                                                               \
    X(vkCmdDispatchBase)                                                                           \
    X(vkCmdCopyBuffer)                                                                             \
    X(vkCmdPipelineBarrier2)                                                                       \
    X(vkCmdWriteTimestamp2)

enum { LIVE = 64, MOST_PUSH = 256 };

static struct device {
    void *key;
    PFN_vkGetDeviceProcAddr next;
#define X(name) PFN_##name name;
    CALLS(X)
#undef X
} devices[LIVE];

static struct instance {
    void *key;
    VkInstance inst;
    PFN_vkGetInstanceProcAddr next;
    PFN_vkDestroyInstance destroy;
} instances[LIVE];

/* What a dispatch runs with. */
typedef struct {
    VkPipeline pipeline;
    VkPipelineLayout layout;
    VkShaderStageFlags stages;
    uint32_t n_push;
    unsigned char push[MOST_PUSH];
} state;

typedef struct {
    state with;
    uint32_t base[3], groups[3];
    VkBuffer from, to; /* a copy; else a dispatch */
    VkBufferCopy copy;
} command;

/* A command buffer, with what has come since its last barrier. */
typedef struct {
    VkCommandBuffer cb;
    state now;
    command *list;
    size_t n, cap;
} recording;

static recording *recordings;
static size_t n_recordings, cap_recordings;
static long moved, barriers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("VKORDER_COUNT");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f) return;
    fprintf(f, "moved %ld barriers %ld\n", moved, barriers);
    fclose(f);
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

/* `list` with room for one more. */
static void *grown(void *list, size_t n, size_t *cap, size_t bytes)
{
    if (n < *cap) return list;
    *cap = *cap ? 2 * *cap : 64;
    list = realloc(list, *cap * bytes);
    if (!list) abort();
    return list;
}

/* The lock is held. */
static recording *recording_of(VkCommandBuffer cb)
{
    for (size_t i = 0; i < n_recordings; i++)
        if (recordings[i].cb == cb) return &recordings[i];
    recordings = grown(recordings, n_recordings, &cap_recordings, sizeof *recordings);
    recordings[n_recordings] = (recording) { .cb = cb };
    return &recordings[n_recordings++];
}

static command *add(VkCommandBuffer cb)
{
    recording *r = recording_of(cb);
    r->list = grown(r->list, r->n, &r->cap, sizeof *r->list);
    r->list[r->n] = (command) { .with = r->now };
    return &r->list[r->n++];
}

static void play(const struct device *d, VkCommandBuffer cb, const command *c)
{
    const state *s = &c->with;
    if (c->from) {
        d->vkCmdCopyBuffer(cb, c->from, c->to, 1, &c->copy);
        return;
    }
    d->vkCmdBindPipeline(cb, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline);
    if (s->n_push) d->vkCmdPushConstants(cb, s->layout, s->stages, 0, s->n_push, s->push);
    d->vkCmdDispatchBase(cb, c->base[0], c->base[1], c->base[2], c->groups[0], c->groups[1],
                         c->groups[2]);
}

/* What came since the last barrier, the last one first. */
static void play_all(VkCommandBuffer cb)
{
    const struct device *d = device_of(KEY(cb));
    recording *r = recording_of(cb);
    if (r->n > 1) moved += (long)r->n;
    while (r->n) play(d, cb, &r->list[--r->n]);
}

static void forget(VkCommandBuffer cb)
{
    for (size_t i = 0; i < n_recordings; i++)
        if (recordings[i].cb == cb) {
            free(recordings[i].list);
            recordings[i] = recordings[--n_recordings];
            return;
        }
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkBeginCommandBuffer(VkCommandBuffer cb,
                                                              const VkCommandBufferBeginInfo *info)
{
    pthread_mutex_lock(&lock);
    forget(cb);
    pthread_mutex_unlock(&lock);
    return device_of(KEY(cb))->vkBeginCommandBuffer(cb, info);
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkEndCommandBuffer(VkCommandBuffer cb)
{
    pthread_mutex_lock(&lock);
    play_all(cb);
    pthread_mutex_unlock(&lock);
    return device_of(KEY(cb))->vkEndCommandBuffer(cb);
}

static VKAPI_ATTR void VKAPI_CALL my_vkFreeCommandBuffers(VkDevice o, VkCommandPool pool,
                                                          uint32_t n, const VkCommandBuffer *cb)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < n; i++) forget(cb[i]);
    pthread_mutex_unlock(&lock);
    device_of(KEY(o))->vkFreeCommandBuffers(o, pool, n, cb);
}

static VKAPI_ATTR void VKAPI_CALL my_vkCmdBindPipeline(VkCommandBuffer cb, VkPipelineBindPoint at,
                                                       VkPipeline pipeline)
{
    (void)at;
    pthread_mutex_lock(&lock);
    recording_of(cb)->now.pipeline = pipeline;
    pthread_mutex_unlock(&lock);
}

static VKAPI_ATTR void VKAPI_CALL my_vkCmdPushConstants(VkCommandBuffer cb, VkPipelineLayout layout,
                                                        VkShaderStageFlags stages, uint32_t at,
                                                        uint32_t n, const void *bytes)
{
    if (at || n > MOST_PUSH) abort(); /* vktrain pushes all at once */
    pthread_mutex_lock(&lock);
    state *s = &recording_of(cb)->now;
    s->layout = layout;
    s->stages = stages;
    s->n_push = n;
    memcpy(s->push, bytes, n);
    pthread_mutex_unlock(&lock);
}

static VKAPI_ATTR void VKAPI_CALL my_vkCmdDispatchBase(VkCommandBuffer cb, uint32_t x0, uint32_t y0,
                                                       uint32_t z0, uint32_t x, uint32_t y,
                                                       uint32_t z)
{
    pthread_mutex_lock(&lock);
    command *c = add(cb);
    memcpy(c->base, (uint32_t[3]) { x0, y0, z0 }, sizeof c->base);
    memcpy(c->groups, (uint32_t[3]) { x, y, z }, sizeof c->groups);
    pthread_mutex_unlock(&lock);
}

static VKAPI_ATTR void VKAPI_CALL my_vkCmdDispatch(VkCommandBuffer cb, uint32_t x, uint32_t y,
                                                   uint32_t z)
{
    my_vkCmdDispatchBase(cb, 0, 0, 0, x, y, z);
}

static VKAPI_ATTR void VKAPI_CALL my_vkCmdCopyBuffer(VkCommandBuffer cb, VkBuffer from, VkBuffer to,
                                                     uint32_t n, const VkBufferCopy *copy)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < n; i++) {
        command *c = add(cb);
        c->from = from;
        c->to = to;
        c->copy = copy[i];
    }
    pthread_mutex_unlock(&lock);
}

static VKAPI_ATTR void VKAPI_CALL my_vkCmdPipelineBarrier2(VkCommandBuffer cb,
                                                           const VkDependencyInfo *info)
{
    pthread_mutex_lock(&lock);
    play_all(cb);
    barriers++;
    pthread_mutex_unlock(&lock);
    device_of(KEY(cb))->vkCmdPipelineBarrier2(cb, info);
}

static VKAPI_ATTR void VKAPI_CALL my_vkCmdWriteTimestamp2(VkCommandBuffer cb,
                                                          VkPipelineStageFlags2 stage,
                                                          VkQueryPool pool, uint32_t i)
{
    pthread_mutex_lock(&lock);
    play_all(cb);
    pthread_mutex_unlock(&lock);
    device_of(KEY(cb))->vkCmdWriteTimestamp2(cb, stage, pool, i);
}

static VKAPI_ATTR void VKAPI_CALL my_vkDestroyDevice(VkDevice o, const VkAllocationCallbacks *a)
{
    if (!o) return;
    struct device *d = device_of(KEY(o));
    PFN_vkDestroyDevice destroy = d->vkDestroyDevice;
    memset(d, 0, sizeof *d);
    destroy(o, a);
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkCreateInstance(const VkInstanceCreateInfo *info,
                                                          const VkAllocationCallbacks *a,
                                                          VkInstance *out)
{
    VkLayerInstanceCreateInfo *l = (void *)(uintptr_t)info->pNext;
    while (l && !(l->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                  l->function == VK_LAYER_LINK_INFO))
        l = (void *)(uintptr_t)l->pNext;
    PFN_vkGetInstanceProcAddr next = l->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    l->u.pLayerInfo = l->u.pLayerInfo->pNext;
    VkResult r = ((PFN_vkCreateInstance)next(NULL, "vkCreateInstance"))(info, a, out);
    if (r != VK_SUCCESS) return r;
    *instance_of(NULL) =
        (struct instance) { KEY(*out), *out, next,
                            (PFN_vkDestroyInstance)next(*out, "vkDestroyInstance") };
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

static VKAPI_ATTR VkResult VKAPI_CALL my_vkCreateDevice(VkPhysicalDevice o,
                                                        const VkDeviceCreateInfo *info,
                                                        const VkAllocationCallbacks *a,
                                                        VkDevice *out)
{
    VkLayerDeviceCreateInfo *l = (void *)(uintptr_t)info->pNext;
    while (l && !(l->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                  l->function == VK_LAYER_LINK_INFO))
        l = (void *)(uintptr_t)l->pNext;
    PFN_vkGetInstanceProcAddr of_instance = l->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr next = l->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    l->u.pLayerInfo = l->u.pLayerInfo->pNext;
    VkResult r = ((PFN_vkCreateDevice)of_instance(instance_of(KEY(o))->inst, "vkCreateDevice"))(
        o, info, a, out);
    if (r != VK_SUCCESS) return r;
    struct device *d = device_of(NULL);
    *d = (struct device) { .key = KEY(*out), .next = next };
#define X(name) d->name = (PFN_##name)next(*out, #name);
    CALLS(X)
#undef X
    return r;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL my_vkGetDeviceProcAddr(VkDevice o,
                                                                       const char *name);
#define MINE(f)                                                                                    \
    if (!strcmp(name, #f)) return (PFN_vkVoidFunction)my_##f;
static PFN_vkVoidFunction device_call(const char *name)
{
    CALLS(MINE)
    MINE(vkGetDeviceProcAddr)
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
    MINE(vkGetInstanceProcAddr)
    MINE(vkCreateInstance)
    MINE(vkDestroyInstance)
    MINE(vkCreateDevice)
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
