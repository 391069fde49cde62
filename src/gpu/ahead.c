/* Quirk LATE_COMPILER. While the queue's thread translates the first of the kernels that it was
 * given, threads here translate the last ones: on devices of their own, from which the result
 * reaches the first by the driver's cache on disk. Nothing waits for them, and what they can't do
 * is left to the queue. Knows no graph. */
#include "base/os.h"
#include "gpu/gpu_vk.h"

enum { MOST_HELPERS = 8 };
/* For a submission whose kernels are in the driver's cache. */
static const uint64_t SOON_NS = 30000000;

struct vkt__ahead {
    const vkt_gpu *gpu;
    vkt__mutex *lock;
    vkt__kernel *left; /* the last of those to run first */
    vkt__thread *threads[MOST_HELPERS];
    atomic_uint n_running, n_made;
    atomic_ullong ticket; /* of the last submission that runs kernels for the first time */
    atomic_bool end;
};

bool vkt__late_compiler(const vkt_gpu *gpu)
{
    return gpu->caps.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE && vkt__cpu_count() > 1;
}

static vkt__kernel *take(vkt__ahead *a)
{
    vkt__mutex_lock(a->lock);
    vkt__kernel *k = a->left;
    if (k) a->left = k->next;
    vkt__mutex_unlock(a->lock);
    return k;
}

/* Whether the queue has run them all, or does within `ns`. */
static bool too_late(const vkt__ahead *a, uint64_t ns)
{
    uint64_t ticket = atomic_load(&a->ticket);
    VkSemaphoreWaitInfo info = {
        VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, NULL, 0, 1, &a->gpu->timeline, &ticket
    };
    return atomic_load(&a->end) || vkWaitSemaphores(a->gpu->dev, &info, ns) != VK_TIMEOUT;
}

/* A dispatch of no workgroups: the driver translates the kernel and runs nothing. */
static VkResult translate(const vkt_gpu *own, vkt__kernel *k)
{
    const char *call;
    static const unsigned char zeros[128];
    VkCommandBuffer cb = VK_NULL_HANDLE;
    VkCommandBufferAllocateInfo info = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL,
                                         own->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1 };
    VkCommandBufferBeginInfo begin = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    VkSubmitInfo submit = { VK_STRUCTURE_TYPE_SUBMIT_INFO };
    uint32_t *code = vkt__spirv(k->shader);
    VkResult r = code ? vkt__pipeline_create(own, k, code, &call) : VK_ERROR_OUT_OF_HOST_MEMORY;
    free(code);
    if (r != VK_SUCCESS) return r;
    if ((r = vkAllocateCommandBuffers(own->dev, &info, &cb)) != VK_SUCCESS) goto done;
    if ((r = vkBeginCommandBuffer(cb, &begin)) != VK_SUCCESS) goto done;
    vkCmdBindPipeline(cb, VK_PIPELINE_BIND_POINT_COMPUTE, k->pipeline);
    vkCmdPushConstants(cb, own->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof zeros, zeros);
    vkCmdDispatch(cb, 0, 0, 0);
    if ((r = vkEndCommandBuffer(cb)) != VK_SUCCESS) goto done;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &cb;
    if ((r = vkQueueSubmit(own->queue, 1, &submit, VK_NULL_HANDLE)) == VK_SUCCESS)
        r = vkQueueWaitIdle(own->queue);
done:
    if (cb) vkFreeCommandBuffers(own->dev, own->pool, 1, &cb);
    vkDestroyPipeline(own->dev, k->pipeline, NULL);
    return r;
}

static void help(void *arg)
{
    vkt__ahead *a = arg;
    vkt_gpu *own = vkt__alloc(sizeof *own);
    own->phys = a->gpu->phys;
    own->caps = a->gpu->caps;
    vkt__kernel *k;
    vkt__log_hold(true); /* nothing is lost where there is no second device */
    if (!too_late(a, SOON_NS) && vkt__device_open(own) == VKT_OK) {
        while (!too_late(a, 0) && (k = take(a))) {
            bool did = translate(own, k) == VK_SUCCESS;
            free(k);
            if (!did) break;
            atomic_fetch_add(&a->n_made, 1);
        }
    }
    vkt__device_close(own);
    vkt__log_hold(false);
    free(own);
    atomic_fetch_sub(&a->n_running, 1);
}

static void join(vkt__ahead *a)
{
    for (size_t i = 0; i < MOST_HELPERS; i++)
        if (a->threads[i]) vkt__thread_join(&a->threads[i]);
    while (a->left) free(take(a));
}

void vkt__ahead_add(vkt_gpu *gpu, vkt__kernel *const *kernels, size_t n, uint64_t ticket)
{
    size_t n_fresh = 0;
    vkt__ahead *a = gpu->ahead;
    for (size_t i = 0; i < n; i++) n_fresh += !kernels[i]->ran;
    if (!a && n_fresh > 1) {
        a = gpu->ahead = vkt__alloc(sizeof *a);
        a->gpu = gpu;
        a->lock = vkt__mutex_create();
    }
    if (a && !atomic_load(&a->n_running)) join(a);
    for (size_t i = 0; i < n; i++) {
        if (!kernels[i]->ran && n_fresh > 1) {
            vkt__kernel *k = vkt__alloc(sizeof *k);
            *k = *kernels[i];
            vkt__mutex_lock(a->lock);
            k->next = a->left;
            a->left = k;
            vkt__mutex_unlock(a->lock);
        }
        kernels[i]->ran = true;
    }
    if (n_fresh < 2) return;
    atomic_store(&a->ticket, ticket);
    size_t n_helpers = VKT_MIN(VKT_MIN(vkt__cpu_count() - 1, n_fresh - 1), MOST_HELPERS);
    for (size_t i = 0; i < n_helpers && !a->threads[i]; i++) {
        atomic_fetch_add(&a->n_running, 1);
        if (vkt__thread_start(help, a, &a->threads[i]) == VKT_OK) continue;
        atomic_fetch_sub(&a->n_running, 1);
        break;
    }
}

uint32_t vkt__ahead_made(const vkt_gpu *gpu)
{
    return gpu->ahead ? atomic_load(&gpu->ahead->n_made) : 0;
}

void vkt__ahead_finish(vkt_gpu *gpu)
{
    vkt__ahead *a = gpu->ahead;
    if (!a) return;
    atomic_store(&a->end, true);
    join(a);
    if (a->n_made)
        vkt_log(VKT_LOG_DEBUG, "gpu",
                "%u kernels were compiled by other threads while the first ran", a->n_made);
    vkt__mutex_destroy(&a->lock);
    free(a);
    gpu->ahead = NULL;
}
