/* Records dispatches, barriers, timestamps. Knows no kernel by name and submits nothing. */
#include "gpu/gpu_vk.h"

vkt_status vkt__cmd_create(vkt_gpu *gpu, const char *label, uint32_t n_timestamps, vkt__cmd **out)
{
    vkt_status st = VKT_OK;
    vkt__cmd *c = vkt__alloc(sizeof *c);
    c->gpu = gpu;
    c->label = label;
    if (gpu->lost) VKT_TRY(VKT_E_DEVICE);
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
    if ((*cmd)->queries && !gpu->hung) vkDestroyQueryPool(gpu->dev, (*cmd)->queries, NULL);
    if ((*cmd)->cb && !gpu->hung) vkFreeCommandBuffers(gpu->dev, gpu->pool, 1, &(*cmd)->cb);
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

/* Kernels, copies and fills. */
static const VkPipelineStageFlags2 ALL_WORK = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT |
                                              VK_PIPELINE_STAGE_2_COPY_BIT |
                                              VK_PIPELINE_STAGE_2_CLEAR_BIT;

static void barrier(VkCommandBuffer cb, VkPipelineStageFlags2 dst_stage, VkAccessFlags2 dst_access)
{
    VkMemoryBarrier2 m = { VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                           NULL,
                           ALL_WORK,
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
    barrier(c->cb, ALL_WORK,
            VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
                VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

void vkt__cmd_timestamp(vkt__cmd *c, uint32_t index)
{
    if (index < c->n_timestamps)
        vkCmdWriteTimestamp2(c->cb, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, c->queries, index);
}

void vkt__cmd_expect(vkt__cmd *c, double ms)
{
    c->expected_ms = ms;
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

vkt_status vkt__cmd_times(vkt_gpu *gpu, vkt__cmd *cmd, double *ms)
{
    vkt_status st = VKT_OK;
    uint64_t *t = vkt__alloc(cmd->n_timestamps * sizeof *t);
    if (!cmd->n_timestamps) {
        st = vkt__fail(VKT_E_UNSUPPORTED, "gpu", "%s has no timestamps", gpu->caps.name);
        goto fail;
    }
    VKT_VK(vkGetQueryPoolResults(gpu->dev, cmd->queries, 0, cmd->n_timestamps,
                                 cmd->n_timestamps * sizeof *t, t, sizeof *t,
                                 VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    for (uint32_t i = 0; i < cmd->n_timestamps; i++)
        ms[i] = (double)vkt__ticks_between(t[0], t[i], gpu->caps.timestamp_bits) *
                gpu->caps.timestamp_ns * 1e-6;
fail:
    free(t);
    return st;
}
