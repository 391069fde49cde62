/* What a device is good for, as functions of what drivers report, so that reports of devices that
 * are not here can be tried: which of its memory types a buffer gets, which of its queue families
 * it has, how long its clock ran, whether its subgroups serve. */
#include "gpu/gpu_vk.h"

enum {
    LOCAL = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    VISIBLE = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
    COHERENT = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    CACHED = VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
    KNOWN = LOCAL | VISIBLE | COHERENT | CACHED, /* others need what is not asked for */
};

/* A type that has `with` and nothing of `without`; the first, as drivers put the faster before. */
static uint32_t find(const VkPhysicalDeviceMemoryProperties *p, uint32_t allowed,
                     VkMemoryPropertyFlags with, VkMemoryPropertyFlags without)
{
    for (uint32_t t = 0; t < p->memoryTypeCount; t++) {
        VkMemoryPropertyFlags f = p->memoryTypes[t].propertyFlags;
        if ((allowed & 1u << t) && (f & with) == with && !(f & (without | ~(uint32_t)KNOWN)))
            return t;
    }
    return UINT32_MAX;
}

bool vkt__subgroups_serve(const VkPhysicalDeviceVulkan11Properties *p)
{
    const VkSubgroupFeatureFlags all =
        VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT |
        VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
    return (p->subgroupSupportedOperations & all) == all &&
           (p->subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT);
}

uint32_t vkt__memory_type(const VkPhysicalDeviceMemoryProperties *p, bool unified, uint32_t allowed,
                          vkt_mem mem)
{
    /* Until one is found. Device memory that the host sees is write-combined on most: good to
     * write, and slow to read (veldrid issue 379). */
    const VkMemoryPropertyFlags seen = VISIBLE | COHERENT, bus = unified ? 0 : LOCAL;
    const struct {
        VkMemoryPropertyFlags with, without;
    } wish[4][5] = {
        [VKT_MEM_DEVICE] = { { unified ? LOCAL | seen : LOCAL, 0 }, { LOCAL, 0 } },
        [VKT_MEM_UPLOAD] = { { unified ? LOCAL | seen : seen, bus }, { seen, bus }, { seen, 0 } },
        [VKT_MEM_READBACK] = { { seen | CACHED, bus },
                               { VISIBLE | CACHED, bus },
                               { VISIBLE | CACHED, 0 },
                               { seen, bus },
                               { seen, 0 } },
        [VKT_MEM_HOST] = { { seen | CACHED, LOCAL },
                           { seen | CACHED, 0 },
                           { seen, LOCAL },
                           { seen, 0 } },
    };
    for (size_t i = 0; i < VKT_COUNT(wish[mem]); i++) {
        bool any = !wish[mem][i].with && mem != VKT_MEM_DEVICE;
        uint32_t t = any ? UINT32_MAX : find(p, allowed, wish[mem][i].with, wish[mem][i].without);
        if (t != UINT32_MAX) return t;
    }
    return UINT32_MAX;
}

uint32_t vkt__compute_family(const VkQueueFamilyProperties *q, uint32_t n)
{
    uint32_t best = UINT32_MAX;
    int most = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!(q[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
        int good =
            1 + 2 * (q[i].timestampValidBits > 0) + !(q[i].queueFlags & VK_QUEUE_GRAPHICS_BIT);
        if (good > most) best = i, most = good;
    }
    return best;
}

uint64_t vkt__ticks_between(uint64_t from, uint64_t to, uint32_t valid_bits)
{
    uint64_t mask = valid_bits >= 64 ? UINT64_MAX : (1ull << valid_bits) - 1;
    return (to - from) & mask;
}
