/* Device memory comes in slabs. A slab is one VkDeviceMemory with one VkBuffer over it; a large
 * piece has a slab of its own, small ones share. Pieces of a shared slab are given out in order and
 * the slab starts again when the last is returned: vktrain's buffers live as long as their graph.
 * Knows sizes and kinds of memory, not buffers. */
#include "gpu/gpu_vk.h"

enum { SLAB_BYTES = 1 << 20, ALIGN = VKT__SLAB_ALIGN };

static uint32_t memory_type(const vkt_gpu *gpu, uint32_t allowed, vkt_mem mem)
{
    enum {
        LOCAL = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
        VISIBLE = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
        COHERENT = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
        CACHED = VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
    };
    static const VkMemoryPropertyFlags wish[4][3] = {
        [VKT_MEM_DEVICE] = { LOCAL, 0, 0 },
        [VKT_MEM_UPLOAD] = { VISIBLE | COHERENT, VISIBLE | COHERENT, VISIBLE | COHERENT },
        [VKT_MEM_READBACK] = { VISIBLE | COHERENT | CACHED, VISIBLE | COHERENT,
                               VISIBLE | COHERENT },
        [VKT_MEM_HOST] = { VISIBLE | COHERENT | CACHED, VISIBLE | COHERENT, VISIBLE | COHERENT },
    };
    VkMemoryPropertyFlags unified = LOCAL | VISIBLE | COHERENT;
    for (uint32_t t = 0; t < gpu->mem_props.memoryTypeCount && mem == VKT_MEM_HOST; t++) {
        VkMemoryPropertyFlags f = gpu->mem_props.memoryTypes[t].propertyFlags;
        if ((allowed & 1u << t) && !(f & LOCAL) && (f & wish[mem][0]) == wish[mem][0]) return t;
    }
    for (int i = -1; i < 3; i++) {
        VkMemoryPropertyFlags want = i < 0 ? unified : wish[mem][i];
        if (i < 0 && !gpu->caps.unified) continue;
        for (uint32_t t = 0; t < gpu->mem_props.memoryTypeCount; t++)
            if ((allowed & 1u << t) && (gpu->mem_props.memoryTypes[t].propertyFlags & want) == want)
                return t;
    }
    return UINT32_MAX;
}

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
    uint32_t type = memory_type(gpu, req.memoryTypeBits, mem);
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
    if (r == VK_ERROR_DEVICE_LOST) VKT_VK(r);
    if (r != VK_SUCCESS) {
        st = vkt__fail(VKT_E_OOM_DEVICE, "gpu",
                       "no device memory for '%s': asked %.1f MiB, %.1f MiB in use, budget %.1f "
                       "MiB (VkResult %d)",
                       label, (double)bytes / 1048576, (double)gpu->stats.bytes / 1048576,
                       (double)gpu->caps.budget_bytes / 1048576, (int)r);
        goto fail;
    }
    gpu->stats.n_allocs++;
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
