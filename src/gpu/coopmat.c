/* Matrix units: VK_KHR_cooperative_matrix and VK_NV_cooperative_matrix2, whose declarations are
 * younger than Debian 12's headers. Numbers and layouts are the Vulkan specification's. */
#include "gpu/gpu_vk.h"
#include "gpu/what_to_install.h"

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
    MOST_ROWS = 4096, /* of a driver's table; NVIDIA's have some 90 */
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
typedef VkResult(VKAPI_PTR *query_fn)(VkPhysicalDevice, uint32_t *, void *);

/* An instance's function that asks a device. Loaders older than the extension hand the name on to
 * the driver, if it takes that. */
static query_fn find_query(VkInstance instance, const vkt_caps *c, const char *name,
                           const char *what)
{
    query_fn query = (query_fn)vkGetInstanceProcAddr(instance, name);
    uint32_t v = volkGetInstanceVersion();
    if (!query)
        vkt_log(VKT_LOG_WARN, "gpu",
                "%s has %s, and the Vulkan loader, %u.%u.%u, does not find %s: they are not "
                "used; " VKT_INSTALL_NEWER " (1.3.275 knows it)",
                c->name, what, VK_API_VERSION_MAJOR(v), VK_API_VERSION_MINOR(v),
                VK_API_VERSION_PATCH(v), name);
    return query;
}

/* The rows of the table that the query fills, each of `bytes` bytes and that structure type; NULL
 * and 0 after a warning if it failed. */
static void *rows_of(query_fn query, VkPhysicalDevice phys, const vkt_caps *c, size_t bytes,
                     int type, uint32_t *n)
{
    VkResult r = VK_INCOMPLETE;
    unsigned char *rows = NULL;
    for (int tries = 0; r == VK_INCOMPLETE && tries < 3; tries++) { /* it may grow in between */
        uint32_t room = 0;
        free(rows);
        rows = NULL;
        if ((r = query(phys, &room, NULL)) != VK_SUCCESS) break;
        *n = room = VKT_MIN(room, MOST_ROWS);
        rows = vkt__alloc((room + 1) * bytes);
        for (uint32_t i = 0; i < room; i++)
            *(VkStructureType *)(void *)(rows + i * bytes) = (VkStructureType)type;
        r = query(phys, n, rows);
        *n = VKT_MIN(*n, room);
    }
    if (r == VK_SUCCESS || (r == VK_INCOMPLETE && rows)) return rows;
    vkt_log(VKT_LOG_WARN, "gpu",
            "the driver of %s does not tell what its matrix units multiply (VkResult %d): they are "
            "not used",
            c->name, (int)r);
    free(rows);
    *n = 0;
    return NULL;
}

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
    uint32_t n = 0;
    query_fn query = NULL;
    struct {
        VkStructureType sType;
        void *pNext;
        uint32_t workgroup, most, shared;
    } limits = { .sType = (VkStructureType)TYPE_2_PROPERTIES };
    VkPhysicalDeviceProperties2 p = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                      &limits,
                                      { 0 } };
    c->coopmat2 = f->matrix2.any_size && f->matrix2.conversions && f->matrix2.per_element;
    if (c->coopmat2)
        query = find_query(instance, c,
                           "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
                           "matrices of any size on its matrix units");
    c->coopmat2 = query != NULL;
    if (!c->coopmat2) return;
    vkGetPhysicalDeviceProperties2(phys, &p);
    vkt__matrix_size *sizes = rows_of(query, phys, c, sizeof *sizes, TYPE_2_SIZES, &n);
    bool whole = f->matrix2.workgroup && f->matrix2.layouts;
    c->coopmat2_most = limits.most;
    vkt__coopmat2_sizes(sizes, n, whole ? limits.workgroup : 0, c);
    free(sizes);
}

/* Quirk UNITS_QUERY. */
static bool crashes_when_asked(const vkt_caps *c, bool on_windows)
{
    return on_windows && c->driver_id == VK_DRIVER_ID_AMD_PROPRIETARY &&
           c->type == VKT_GPU_INTEGRATED;
}

void vkt__coopmat_query(VkInstance instance, VkPhysicalDevice phys, bool on_windows, vkt_caps *c)
{
    uint32_t n = 0;
    query_fn query = NULL;
    if (!c->coopmat && !c->bf16) return;
    if (c->coopmat && crashes_when_asked(c, on_windows)) {
        vkt_log(VKT_LOG_INFO, "gpu",
                "the matrix units of %s are not used: asking this driver about them can crash it",
                c->name);
        c->coopmat = c->coopmat2 = false;
    }
    vkt__coopmat_features f = { 0 };
    VkPhysicalDeviceFeatures2 has = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, NULL, { 0 } };
    has.pNext = vkt__coopmat_chain(&f, c, NULL);
    vkGetPhysicalDeviceFeatures2(phys, &has);
    c->bf16 = c->bf16 && f.bf16.type;
    if (c->coopmat && f.matrix.on)
        query = find_query(instance, c, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
                           "matrix units");
    c->coopmat = query != NULL;
    c->coopmat2 = c->coopmat2 && c->coopmat;
    if (!c->coopmat) return;
    kind *kinds = rows_of(query, phys, c, sizeof *kinds, TYPE_PROPERTIES, &n);
    if (c->fp16) best(kinds, n, COMPONENT_FLOAT16, c->coopmat_f16);
    if (c->bf16 && f.bf16.matrix) best(kinds, n, COMPONENT_BFLOAT16, c->coopmat_bf16);
    free(kinds);
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
