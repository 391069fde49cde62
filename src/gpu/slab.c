/* Device memory comes in slabs. A slab is one VkDeviceMemory with one VkBuffer over it; a large
 * piece has a slab of its own, small ones share. Pieces of a shared slab are given out in order and
 * the slab starts again when the last is returned: vktrain's buffers live as long as their graph.
 * Knows sizes and kinds of memory, not buffers. */
#include "gpu/gpu_vk.h"

enum { SLAB_BYTES = 1 << 20, ALIGN = VKT__SLAB_ALIGN };

static void slab_destroy(vkt_gpu *gpu, vkt__slab *s)
{
    if (!s) return;
    if (s->buffer) vkDestroyBuffer(gpu->dev, s->buffer, NULL);
    if (s->memory) vkFreeMemory(gpu->dev, s->memory, NULL);
    free(s);
}

static vkt_status slab_create(vkt_gpu *gpu, uint64_t bytes, vkt_mem mem, const char *label,
                              vkt__slab **out)
{
    vkt_status st = VKT_OK;
    vkt__slab *s = vkt__alloc(sizeof *s);
    s->bytes = bytes;
    s->mem = mem;
    VkBufferCreateInfo info = { VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                NULL,
                                0,
                                bytes,
                                VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                    VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                    VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                VK_SHARING_MODE_EXCLUSIVE,
                                0,
                                NULL };
    VKT_VK(vkCreateBuffer(gpu->dev, &info, NULL, &s->buffer));
    VkMemoryRequirements req;
    vkGetBufferMemoryRequirements(gpu->dev, s->buffer, &req);
    uint32_t type = vkt__memory_type(&gpu->mem_props, gpu->caps.unified, req.memoryTypeBits, mem);
    if (type == UINT32_MAX) {
        st = vkt__fail(VKT_E_UNSUPPORTED, "gpu", "no memory type fits buffer '%s'", label);
        goto fail;
    }
    VkMemoryAllocateFlagsInfo flags = { VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, NULL,
                                        VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, 0 };
    /* A load one element past a tensor's end may be made: the last tensor of a slab needs memory
     * there too. Quirk SHARED_LOADS. */
    VkDeviceSize size = VKT_MAX(req.size, VKT_MIN(req.size + ALIGN, gpu->caps.max_alloc_bytes));
    VkMemoryAllocateInfo alloc = { VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags, size, type };
    VkResult r = vkAllocateMemory(gpu->dev, &alloc, NULL, &s->memory);
    if (r == VK_ERROR_DEVICE_LOST) {
        st = vkt__vk_fail(gpu, r, "vkAllocateMemory");
        goto fail;
    }
    if (r != VK_SUCCESS) {
        st = vkt__fail(VKT_E_OOM_DEVICE, "gpu",
                       "no device memory for '%s': asked %.1f MiB, %.1f MiB in use, budget %.1f "
                       "MiB (VkResult %d)",
                       label, (double)bytes / 1048576, (double)gpu->stats.bytes / 1048576,
                       (double)gpu->caps.budget_bytes / 1048576, (int)r);
        goto fail;
    }
    gpu->stats.n_allocs++;
    VkMemoryPropertyFlags has = gpu->mem_props.memoryTypes[type].propertyFlags;
    s->cached = has & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    s->coherent = has & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VKT_VK(vkBindBufferMemory(gpu->dev, s->buffer, s->memory, 0));
    VkBufferDeviceAddressInfo addr = { VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, NULL,
                                       s->buffer };
    s->addr = vkGetBufferDeviceAddress(gpu->dev, &addr);
    if (mem != VKT_MEM_DEVICE || gpu->caps.unified) {
        void *p;
        VKT_VK(vkMapMemory(gpu->dev, s->memory, 0, VK_WHOLE_SIZE, 0, &p));
        s->host = p;
    }
    vkt__debug_name(gpu, VK_OBJECT_TYPE_BUFFER, (uint64_t)(uintptr_t)s->buffer, label);
    s->next = gpu->slabs;
    gpu->slabs = s;
    *out = s;
    return VKT_OK;
fail:
    slab_destroy(gpu, s);
    return st;
}

vkt_status vkt__slab_take(vkt_gpu *gpu, uint64_t bytes, vkt_mem mem, const char *label,
                          vkt__slab **out)
{
    vkt_status st = VKT_OK;
    vkt__slab *s = NULL;
    uint64_t limit = VKT_MIN(gpu->caps.max_alloc_bytes, gpu->caps.max_buffer_bytes);
    if (bytes < SLAB_BYTES / 2) {
        for (s = gpu->slabs; s; s = s->next)
            if (s->mem == mem && s->bytes == SLAB_BYTES && s->bytes - s->used >= bytes) break;
        if (!s)
            VKT_TRY(slab_create(gpu, VKT_MIN((uint64_t)SLAB_BYTES, limit), mem, "shared slab", &s));
    } else {
        /* One byte off the shared size, so that small pieces never move in. */
        VKT_TRY(slab_create(gpu, bytes == SLAB_BYTES ? bytes + ALIGN : bytes, mem, label, &s));
    }
    s->used += bytes;
    s->n_live++;
    *out = s;
fail:
    return st;
}

void vkt__slab_give_back(vkt_gpu *gpu, vkt__slab *s)
{
    if (--s->n_live || gpu->hung) return;
    s->used = 0;
    if (s->bytes == SLAB_BYTES) return;
    for (vkt__slab **p = &gpu->slabs; *p; p = &(*p)->next) {
        if (*p != s) continue;
        *p = s->next;
        break;
    }
    slab_destroy(gpu, s);
}

void vkt__slabs_finish(vkt_gpu *gpu)
{
    while (gpu->slabs) {
        vkt__slab *s = gpu->slabs;
        gpu->slabs = s->next;
        slab_destroy(gpu, s);
    }
}

void vkt__slab_written(vkt_gpu *gpu, const vkt__slab *s)
{
    VkMappedMemoryRange all = { VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, NULL, s->memory, 0,
                                VK_WHOLE_SIZE };
    if (s->host && !s->coherent) vkFlushMappedMemoryRanges(gpu->dev, 1, &all);
}

void vkt__slabs_refresh(vkt_gpu *gpu)
{
    for (const vkt__slab *s = gpu->slabs; s; s = s->next) {
        VkMappedMemoryRange all = { VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, NULL, s->memory, 0,
                                    VK_WHOLE_SIZE };
        if (s->host && !s->coherent) vkInvalidateMappedMemoryRanges(gpu->dev, 1, &all);
    }
}
