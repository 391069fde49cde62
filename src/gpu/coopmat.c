/* Matrix units: VK_KHR_cooperative_matrix, whose declarations are younger than Debian 12's headers.
 * Numbers and layouts are the Vulkan specification's. */
#include "gpu/gpu_vk.h"

enum {
    TYPE_FEATURES = 1000506000,
    TYPE_PROPERTIES = 1000506001,
    TYPE_BFLOAT16_FEATURES = 1000141000,
    COMPONENT_FLOAT16 = 0,
    COMPONENT_FLOAT32 = 1,
    COMPONENT_BFLOAT16 = 1000141000,
    SCOPE_SUBGROUP = 3,
    MOST_KINDS = 128
};

typedef struct {
    VkStructureType sType;
    void *pNext;
    uint32_t m, n, k;
    int32_t a, b, c, result;
    VkBool32 saturating;
    int32_t scope;
} kind;
typedef VkResult(VKAPI_PTR *query_fn)(VkPhysicalDevice, uint32_t *, kind *);

/* The largest product of f32 sums that the type has. */
static void best(const kind *kinds, uint32_t n, int32_t type, uint32_t tile[3])
{
    for (uint32_t i = 0; i < n; i++) {
        const kind *k = &kinds[i];
        if (k->a != type || k->b != type || k->c != COMPONENT_FLOAT32 ||
            k->result != COMPONENT_FLOAT32 || k->scope != SCOPE_SUBGROUP || k->saturating)
            continue;
        if (k->m * k->n * k->k <= tile[0] * tile[1] * tile[2]) continue;
        tile[0] = k->m;
        tile[1] = k->n;
        tile[2] = k->k;
    }
}

void vkt__coopmat_query(VkInstance instance, VkPhysicalDevice phys, vkt_caps *c)
{
    kind kinds[MOST_KINDS];
    uint32_t n = MOST_KINDS;
    query_fn query = (query_fn)vkGetInstanceProcAddr(
        instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    vkt__coopmat_features f = { 0 };
    VkPhysicalDeviceFeatures2 has = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, NULL, { 0 } };
    has.pNext = vkt__coopmat_chain(&f, c->coopmat, c->bf16, NULL);
    vkGetPhysicalDeviceFeatures2(phys, &has);
    c->bf16 = c->bf16 && f.bf16.type;
    c->coopmat = c->coopmat && query && f.matrix.on;
    if (!c->coopmat) return;
    for (uint32_t i = 0; i < n; i++)
        kinds[i] = (kind) { .sType = (VkStructureType)TYPE_PROPERTIES };
    VkResult r = query(phys, &n, kinds);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE) n = 0;
    if (c->fp16) best(kinds, n, COMPONENT_FLOAT16, c->coopmat_f16);
    if (c->bf16 && f.bf16.matrix) best(kinds, n, COMPONENT_BFLOAT16, c->coopmat_bf16);
    c->coopmat = c->coopmat_f16[0] || c->coopmat_bf16[0];
}

void *vkt__coopmat_chain(vkt__coopmat_features *f, bool matrix, bool bf16, void *next)
{
    if (matrix) {
        f->matrix.sType = (VkStructureType)TYPE_FEATURES;
        f->matrix.pNext = next;
        next = &f->matrix;
    }
    if (bf16) {
        f->bf16.sType = (VkStructureType)TYPE_BFLOAT16_FEATURES;
        f->bf16.pNext = next;
        next = &f->bf16;
    }
    return next;
}
