/* Kernels, recording, submission on one queue with one timeline semaphore, staging copies. */
#include "base/embedded.h"
#include "base/os.h"
#include "gpu/gpu_vk.h"

enum { STAGING_BYTES = 4 << 20, MAX_SPEC = 20 };

bool vkt__kernel_built(const char *name)
{
    const vkt__embedded_file *f = vkt__embedded_shaders;
    while (f->name && strcmp(f->name, name)) f++;
    return f->name != NULL;
}

vkt_status vkt__kernel_get(vkt_gpu *gpu, const char *name, const uint32_t *spec, uint32_t n_spec,
                           bool sliced, vkt__kernel **out)
{
    vkt_status st = VKT_OK;
    VkShaderModule module = VK_NULL_HANDLE;
    VKT_ASSERT(n_spec >= 3 && n_spec <= MAX_SPEC);
    uint64_t key = vkt__hash(spec, n_spec * sizeof *spec, vkt__hash(name, strlen(name), sliced));
    for (vkt__kernel *k = gpu->kernels; k; k = k->next) {
        if (k->key != key) continue;
        *out = k;
        return VKT_OK;
    }
    if (gpu->lost) return VKT_DEVICE;
    double start = vkt__now();
    const vkt__embedded_file *f = vkt__embedded_shaders;
    while (f->name && strcmp(f->name, name)) f++;
    if (!f->name) return vkt__fail(VKT_UNSUPPORTED, "gpu", "this build has no kernel '%s'", name);
    uint64_t invocations = (uint64_t)spec[0] * spec[1] * spec[2];
    VKT_ASSERT(invocations > 0 && invocations <= gpu->caps.workgroup);

    VkShaderModuleCreateInfo mod = { VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL, 0, f->bytes,
                                     (const uint32_t *)(const void *)f->data };
    VKT_VK(vkCreateShaderModule(gpu->dev, &mod, NULL, &module));
    VkSpecializationMapEntry map[MAX_SPEC];
    for (uint32_t i = 0; i < n_spec; i++) map[i] = (VkSpecializationMapEntry) { i, i * 4, 4 };
    VkSpecializationInfo sp = { n_spec, map, n_spec * sizeof *spec, spec };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, NULL,
        gpu->caps.subgroup
    };
    bool pin = gpu->caps.subgroup_control && spec[0] % gpu->caps.subgroup == 0 &&
               spec[0] / gpu->caps.subgroup <= gpu->caps.workgroup_subgroups;
    VkComputePipelineCreateInfo info = { VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO };
    info.stage = (VkPipelineShaderStageCreateInfo) {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        pin ? &size : NULL,
        pin ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0u,
        VK_SHADER_STAGE_COMPUTE_BIT,
        module,
        "main",
        &sp
    };
    info.layout = gpu->layout;
    info.flags = sliced ? VK_PIPELINE_CREATE_DISPATCH_BASE_BIT : 0u;
    VkPipeline pipeline;
    VKT_VK(vkCreateComputePipelines(gpu->dev, gpu->cache, 1, &info, NULL, &pipeline));
    vkt__debug_name(gpu, VK_OBJECT_TYPE_PIPELINE, (uint64_t)(uintptr_t)pipeline, name);
    vkt__kernel *k = vkt__alloc(sizeof *k);
    *k = (vkt__kernel) { gpu->kernels, key, f->name, pipeline };
    gpu->kernels = k;
    gpu->stats.n_pipelines++;
    gpu->stats.pipeline_s += vkt__now() - start;
    *out = k;
fail:
    if (module) vkDestroyShaderModule(gpu->dev, module, NULL);
    return st;
}

vkt_status vkt__cmd_create(vkt_gpu *gpu, const char *label, uint32_t n_timestamps, vkt__cmd **out)
{
    vkt_status st = VKT_OK;
    vkt__cmd *c = vkt__alloc(sizeof *c);
    c->gpu = gpu;
    c->label = label;
    if (gpu->lost) VKT_TRY(VKT_DEVICE);
    VkCommandBufferAllocateInfo info = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL,
                                         gpu->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1 };
    VKT_VK(vkAllocateCommandBuffers(gpu->dev, &info, &c->cb));
    VkCommandBufferBeginInfo begin = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    VKT_VK(vkBeginCommandBuffer(c->cb, &begin));
    if (n_timestamps && gpu->caps.timestamp_ns > 0) {
        VkQueryPoolCreateInfo q = { VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                    NULL,
                                    0,
                                    VK_QUERY_TYPE_TIMESTAMP,
                                    n_timestamps,
                                    0 };
        VKT_VK(vkCreateQueryPool(gpu->dev, &q, NULL, &c->queries));
        vkCmdResetQueryPool(c->cb, c->queries, 0, n_timestamps);
        c->n_timestamps = n_timestamps;
    }
    vkt__cmd_barrier(c);
    *out = c;
    return VKT_OK;
fail:
    vkt__cmd_destroy(gpu, &c);
    return st;
}

void vkt__cmd_destroy(vkt_gpu *gpu, vkt__cmd **cmd)
{
    if (!*cmd) return;
    if ((*cmd)->queries) vkDestroyQueryPool(gpu->dev, (*cmd)->queries, NULL);
    if ((*cmd)->cb) vkFreeCommandBuffers(gpu->dev, gpu->pool, 1, &(*cmd)->cb);
    free(*cmd);
    *cmd = NULL;
}

static void bind(vkt__cmd *c, const vkt__kernel *k, const void *push, uint32_t push_bytes)
{
    VKT_ASSERT(push_bytes <= 128);
    if (c->bound != k->pipeline)
        vkCmdBindPipeline(c->cb, VK_PIPELINE_BIND_POINT_COMPUTE, k->pipeline);
    c->bound = k->pipeline;
    vkCmdPushConstants(c->cb, c->gpu->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes, push);
}

void vkt__cmd_dispatch(vkt__cmd *c, vkt__kernel *k, const void *push, uint32_t push_bytes,
                       uint32_t groups)
{
    VKT_ASSERT(groups > 0);
    uint32_t x = VKT_MIN(groups, c->gpu->caps.groups_x), y = (groups + x - 1) / x;
    x = (groups + y - 1) / y; /* fewer than y too many */
    bind(c, k, push, push_bytes);
    vkCmdDispatch(c->cb, x, y, 1);
}

/* Parts are runs of rows: gl_WorkGroupID counts from the base, and gl_NumWorkGroups.x, by which
 * kernels flatten it, is the same in all parts. */
void vkt__cmd_dispatch_part(vkt__cmd *c, vkt__kernel *k, const void *push, uint32_t push_bytes,
                            uint32_t groups, uint32_t part, uint32_t n_parts)
{
    VKT_ASSERT(groups > 0 && part < n_parts);
    uint32_t x = VKT_MIN(groups, c->gpu->caps.groups_x),
             y = VKT_MAX((groups + x - 1) / x, VKT_MIN(groups, n_parts));
    x = (groups + y - 1) / y;
    y = (groups + x - 1) / x;
    uint32_t from = (uint32_t)((uint64_t)y * part / n_parts),
             to = (uint32_t)((uint64_t)y * (part + 1) / n_parts);
    if (from == to) return;
    bind(c, k, push, push_bytes);
    vkCmdDispatchBase(c->cb, 0, from, 0, x, to - from, 1);
}

static void barrier(VkCommandBuffer cb, VkPipelineStageFlags2 dst_stage, VkAccessFlags2 dst_access)
{
    VkMemoryBarrier2 m = { VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                           NULL,
                           VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_COPY_BIT,
                           VK_ACCESS_2_SHADER_STORAGE_READ_BIT |
                               VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
                               VK_ACCESS_2_TRANSFER_WRITE_BIT,
                           dst_stage,
                           dst_access };
    VkDependencyInfo dep = { .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                             .memoryBarrierCount = 1,
                             .pMemoryBarriers = &m };
    vkCmdPipelineBarrier2(cb, &dep);
}

void vkt__cmd_barrier(vkt__cmd *c)
{
    barrier(c->cb, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_COPY_BIT,
            VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
                VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

void vkt__cmd_timestamp(vkt__cmd *c, uint32_t index)
{
    if (index < c->n_timestamps)
        vkCmdWriteTimestamp2(c->cb, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, c->queries, index);
}

vkt_status vkt__cmd_end(vkt__cmd *c)
{
    vkt_status st = VKT_OK;
    vkt_gpu *gpu = c->gpu;
    barrier(c->cb, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
    VKT_VK(vkEndCommandBuffer(c->cb));
fail:
    return st;
}

static struct {
    uint64_t left, every;
    uint32_t times;
} lose;

void vkt__gpu_lose_after(uint64_t submits, uint32_t times)
{
    lose.left = lose.every = submits;
    lose.times = times;
}

static bool loses_now(void)
{
    if (!lose.times || --lose.left) return false;
    lose.left = lose.every;
    lose.times--;
    return true;
}

vkt_status vkt__submit_all(vkt_gpu *gpu, vkt__cmd *const *cmds, uint32_t n, uint64_t *ticket)
{
    vkt_status st = VKT_OK;
    VKT_ASSERT(n > 0 && n <= VKT__SUBMIT_MOST);
    if (gpu->lost) return VKT_DEVICE;
    VkCommandBufferSubmitInfo cb[VKT__SUBMIT_MOST];
    for (uint32_t i = 0; i < n; i++)
        cb[i] = (VkCommandBufferSubmitInfo) { VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, NULL,
                                              cmds[i]->cb, 0 };
    VkSemaphoreSubmitInfo signal = {
        VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, NULL, gpu->timeline, gpu->submitted + 1,
        VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,    0
    };
    VkSubmitInfo2 info = { VK_STRUCTURE_TYPE_SUBMIT_INFO_2, NULL, 0, 0, NULL, n, cb, 1, &signal };
    double start = vkt__thread_cpu();
    if (loses_now()) VKT_VK(VK_ERROR_DEVICE_LOST);
    VKT_VK(vkQueueSubmit2(gpu->queue, 1, &info, VK_NULL_HANDLE));
    *ticket = ++gpu->submitted;
fail:
    gpu->driver_cpu += vkt__thread_cpu() - start;
    return st;
}

vkt_status vkt__submit(vkt_gpu *gpu, vkt__cmd *cmd, uint64_t *ticket)
{
    return vkt__submit_all(gpu, &cmd, 1, ticket);
}

vkt_status vkt_ticket_wait(vkt_gpu *gpu, uint64_t ticket)
{
    vkt_status st = VKT_OK;
    if (gpu->lost) return VKT_DEVICE;
    double start = vkt__thread_cpu();
    VkSemaphoreWaitInfo info = {
        VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, NULL, 0, 1, &gpu->timeline, &ticket
    };
    VKT_VK(vkWaitSemaphores(gpu->dev, &info, UINT64_MAX));
fail:
    gpu->driver_cpu += vkt__thread_cpu() - start;
    return st;
}

vkt_status vkt__ticket_watch(vkt_gpu *gpu, uint64_t ticket)
{
    VkSemaphoreWaitInfo info = {
        VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, NULL, 0, 1, &gpu->timeline, &ticket
    };
    return vkWaitSemaphores(gpu->dev, &info, UINT64_MAX) == VK_SUCCESS ? VKT_OK : VKT_DEVICE;
}

bool vkt_ticket_done(vkt_gpu *gpu, uint64_t ticket)
{
    uint64_t value = 0;
    double start = vkt__thread_cpu();
    bool done =
        gpu->lost || (vkGetSemaphoreCounterValue(gpu->dev, gpu->timeline, &value) == VK_SUCCESS &&
                      value >= ticket);
    gpu->driver_cpu += vkt__thread_cpu() - start;
    return done;
}

vkt_status vkt_gpu_wait(vkt_gpu *gpu)
{
    if (gpu->lost)
        return vkDeviceWaitIdle(gpu->dev), VKT_DEVICE; /* what was submitted may still end */
    return gpu->submitted ? vkt_ticket_wait(gpu, gpu->submitted) : VKT_OK;
}

double vkt__gpu_driver_cpu(const vkt_gpu *gpu)
{
    return gpu->driver_cpu;
}

vkt_status vkt__cmd_times(vkt_gpu *gpu, vkt__cmd *cmd, double *ms)
{
    vkt_status st = VKT_OK;
    uint64_t *t = vkt__alloc(cmd->n_timestamps * sizeof *t);
    if (!cmd->n_timestamps) {
        st = vkt__fail(VKT_UNSUPPORTED, "gpu", "%s has no timestamps", gpu->caps.name);
        goto fail;
    }
    VKT_VK(vkGetQueryPoolResults(gpu->dev, cmd->queries, 0, cmd->n_timestamps,
                                 cmd->n_timestamps * sizeof *t, t, sizeof *t,
                                 VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    for (uint32_t i = 0; i < cmd->n_timestamps; i++)
        ms[i] = (double)(t[i] - t[0]) * gpu->caps.timestamp_ns * 1e-6;
fail:
    free(t);
    return st;
}

/* ---- staging: for devices whose memory the host can't map ---- */

static vkt_status staged_copy(vkt_gpu *gpu, const vkt_buffer *buf, uint64_t offset, void *data,
                              uint64_t bytes, bool write)
{
    vkt_status st = VKT_OK;
    vkt__cmd *c = NULL;
    uint64_t ticket = 0;
    uint64_t most = VKT_MIN((uint64_t)STAGING_BYTES, gpu->caps.max_alloc_bytes);
    if (!gpu->staging)
        VKT_TRY(vkt_buffer_create(gpu, &(vkt_buffer_desc) { most, VKT_MEM_READBACK, "staging" },
                                  &gpu->staging));
    for (uint64_t at = 0; at < bytes; at += most) {
        uint64_t n = VKT_MIN(bytes - at, most);
        if (write) memcpy(gpu->staging->host, (char *)data + at, n);
        VKT_TRY(vkt__cmd_create(gpu, "staging", 0, &c));
        VkBufferCopy to_device = { gpu->staging->offset, buf->offset + offset + at, n };
        VkBufferCopy to_host = { buf->offset + offset + at, gpu->staging->offset, n };
        if (write)
            vkCmdCopyBuffer(c->cb, gpu->staging->slab->buffer, buf->slab->buffer, 1, &to_device);
        else
            vkCmdCopyBuffer(c->cb, buf->slab->buffer, gpu->staging->slab->buffer, 1, &to_host);
        VKT_TRY(vkt__cmd_end(c));
        VKT_TRY(vkt__submit(gpu, c, &ticket));
        VKT_TRY(vkt_ticket_wait(gpu, ticket));
        vkt__cmd_destroy(gpu, &c);
        if (!write) memcpy((char *)data + at, gpu->staging->host, n);
    }
fail:
    vkt__cmd_destroy(gpu, &c);
    return st;
}

vkt_status vkt_buffer_write(vkt_gpu *gpu, vkt_buffer *buf, uint64_t offset, const void *data,
                            uint64_t bytes)
{
    VKT_ASSERT(offset <= buf->bytes && bytes <= buf->bytes - offset);
    if (!buf->host) return staged_copy(gpu, buf, offset, (void *)(uintptr_t)data, bytes, true);
    memcpy((char *)buf->host + offset, data, bytes);
    return VKT_OK;
}

vkt_status vkt_buffer_read(vkt_gpu *gpu, const vkt_buffer *buf, uint64_t offset, void *data,
                           uint64_t bytes)
{
    VKT_ASSERT(offset <= buf->bytes && bytes <= buf->bytes - offset);
    if (!buf->host) return staged_copy(gpu, buf, offset, data, bytes, false);
    memcpy(data, (char *)buf->host + offset, bytes);
    return VKT_OK;
}
