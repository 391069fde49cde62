/* Matrix units: VK_KHR_cooperative_matrix and VK_NV_cooperative_matrix2, whose declarations are
 * younger than Debian 12's headers. Numbers and layouts are the Vulkan specification's. */
#include "gpu/gpu_vk.h"

enum {
    TYPE_FEATURES = 1000506000,
    TYPE_PROPERTIES = 1000506001,
    TYPE_BFLOAT16_FEATURES = 1000141000,
    TYPE_2_FEATURES = 1000593000,
    TYPE_2_SIZES = 1000593001,
    TYPE_2_PROPERTIES = 1000593002,
    COMPONENT_FLOAT16 = 0,
    COMPONENT_FLOAT32 = 1,
    COMPONENT_BFLOAT16 = 1000141000,
    SCOPE_WORKGROUP = 2,
    SCOPE_SUBGROUP = 3,
    MOST_KINDS = 128,
    HOLDERS = 256 /* invocations of the workgroups that hold a matrix: those of matmul_units.c's */
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
typedef VkResult(VKAPI_PTR *query2_fn)(VkPhysicalDevice, uint32_t *, vkt__matrix_size *);

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

/* The smallest that the type's sizes are multiples of, with f32 sums. */
static void finest(const vkt__matrix_size *sizes, uint32_t n, int32_t type, bool whole,
                   uint32_t out[4])
{
    for (uint32_t i = 0; i < n; i++) {
        const vkt__matrix_size *s = &sizes[i];
        if (s->a != type || s->b != type || s->c != COMPONENT_FLOAT32 ||
            s->result != COMPONENT_FLOAT32 || s->saturating ||
            s->scope != (whole ? SCOPE_WORKGROUP : SCOPE_SUBGROUP) ||
            (whole && s->invocations != HOLDERS))
            continue;
        if (out[0] && s->m * s->n * s->k >= out[0] * out[1] * out[2]) continue;
        out[0] = s->m;
        out[1] = s->n;
        out[2] = s->k;
        out[3] = whole ? HOLDERS : 0;
    }
}

void vkt__coopmat2_sizes(const vkt__matrix_size *sizes, uint32_t n, uint32_t whole, vkt_caps *c)
{
    if (whole ? whole < HOLDERS : c->type != VKT_GPU_CPU) n = 0;
    if (c->fp16) finest(sizes, n, COMPONENT_FLOAT16, whole, c->coopmat2_f16);
    /* What subgroups hold has one type: see matmul_matrix2.comp. */
    if (whole && c->coopmat_bf16[0]) finest(sizes, n, COMPONENT_BFLOAT16, whole, c->coopmat2_bf16);
    c->coopmat2 = c->coopmat2_f16[0] || c->coopmat2_bf16[0];
}

static void query_sizes(VkInstance instance, VkPhysicalDevice phys, const vkt__coopmat_features *f,
                        vkt_caps *c)
{
    vkt__matrix_size sizes[MOST_KINDS];
    uint32_t n = MOST_KINDS;
    query2_fn query = (query2_fn)vkGetInstanceProcAddr(
        instance, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV");
    struct {
        VkStructureType sType;
        void *pNext;
        uint32_t workgroup, most, shared;
    } limits = { .sType = (VkStructureType)TYPE_2_PROPERTIES };
    VkPhysicalDeviceProperties2 p = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                      &limits,
                                      { 0 } };
    c->coopmat2 = query && f->matrix2.any_size && f->matrix2.conversions && f->matrix2.per_element;
    if (!c->coopmat2) return;
    vkGetPhysicalDeviceProperties2(phys, &p);
    for (uint32_t i = 0; i < n; i++)
        sizes[i] = (vkt__matrix_size) { .sType = (VkStructureType)TYPE_2_SIZES };
    VkResult r = query(phys, &n, sizes);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE) n = 0;
    bool whole = f->matrix2.workgroup && f->matrix2.layouts;
    c->coopmat2_most = limits.most;
    vkt__coopmat2_sizes(sizes, n, whole ? limits.workgroup : 0, c);
}

void vkt__coopmat_query(VkInstance instance, VkPhysicalDevice phys, vkt_caps *c)
{
    kind kinds[MOST_KINDS];
    uint32_t n = MOST_KINDS;
    query_fn query = (query_fn)vkGetInstanceProcAddr(
        instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    vkt__coopmat_features f = { 0 };
    VkPhysicalDeviceFeatures2 has = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, NULL, { 0 } };
    has.pNext = vkt__coopmat_chain(&f, c, NULL);
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
    c->coopmat2 = c->coopmat2 && c->coopmat;
    if (c->coopmat2) query_sizes(instance, phys, &f, c);
}

void vkt__coopmat_ask(vkt__coopmat_features *f, const vkt_caps *c)
{
    bool whole = c->coopmat2_f16[3] || c->coopmat2_bf16[3];
    f->matrix.on = c->coopmat;
    f->bf16.type = c->bf16;
    f->bf16.matrix = c->coopmat_bf16[0] > 0;
    f->matrix2.any_size = f->matrix2.conversions = f->matrix2.per_element = c->coopmat2;
    f->matrix2.workgroup = f->matrix2.layouts = c->coopmat2 && whole;
}

void *vkt__coopmat_chain(vkt__coopmat_features *f, const vkt_caps *c, void *next)
{
    if (c->coopmat) {
        f->matrix.sType = (VkStructureType)TYPE_FEATURES;
        f->matrix.pNext = next;
        next = &f->matrix;
    }
    if (c->coopmat2) {
        f->matrix2.sType = (VkStructureType)TYPE_2_FEATURES;
        f->matrix2.pNext = next;
        next = &f->matrix2;
    }
    if (c->bf16) {
        f->bf16.sType = (VkStructureType)TYPE_BFLOAT16_FEATURES;
        f->bf16.pNext = next;
        next = &f->bf16;
    }
    return next;
}
