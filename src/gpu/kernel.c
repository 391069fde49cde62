/* Kernels: pipelines made from the embedded shaders at first use, kept by the gpu until its end. */
#include <zlib.h>

#include "base/embedded.h"
#include "base/os.h"
#include "gpu/cast_addresses.h"
#include "gpu/gpu_vk.h"
#include "gpu/uniform_flow.h"

const char *vkt__shader_name(vkt__shader shader)
{
    return vkt__embedded_shaders[shader].name;
}

/* What the shader declares is given: its own defaults are there to be compiled, not to be run. The
 * workgroup's y and z (ids 1 and 2) are 1. */
static bool gives_all(const uint32_t *w, size_t words, const vkt__constant *spec, uint32_t n)
{
    enum { HEADER = 5, OP_DECORATE = 71, SPEC_ID = 1 };
    for (size_t at = HEADER; at < words; at += w[at] >> 16) {
        if ((w[at] & 0xffff) != OP_DECORATE || w[at + 2] != SPEC_ID) continue;
        uint32_t id = w[at + 3], i = 0;
        while (i < n && spec[i].id != id) i++;
        if (i == n && id != VKT_SPEC_WORKGROUP + 1 && id != VKT_SPEC_WORKGROUP + 2) return false;
    }
    return true;
}

/* A shader's SPIR-V. */
typedef struct spirv {
    uint32_t *code; /* to be freed; NULL: no memory */
    size_t words;
} spirv;

static void become(spirv *s, uint32_t *code)
{
    free(s->code);
    s->code = code;
}

/* Out of the binary, as the device is to have it. */
static spirv unpack(const vkt_gpu *gpu, const vkt__embedded_file *f)
{
    spirv s = { vkt__alloc(f->bytes), f->bytes / 4 };
    uLongf n = f->bytes;
    int z = uncompress((Bytef *)s.code, &n, f->data, f->stored);
    VKT_ASSERT(z == Z_MEM_ERROR || (z == Z_OK && n == f->bytes));
    if (z != Z_OK) become(&s, NULL);
    if (s.code && gpu->uniform_flow) become(&s, vkt__uniform_flow_declare(s.code, &s.words));
    if (s.code && gpu->caps.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER) /* CAST_ADDRESSES */
        become(&s, vkt__cast_addresses(s.code, &s.words));
    return s;
}

/* Lanes of its subgroups: those that it asks for, else the device's. */
static uint32_t lanes_of(const vkt_caps *c, const vkt__constant *spec, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (spec[i].id == VKT_SPEC_LANES) return spec[i].value;
    return c->subgroup;
}

/* Whether its subgroups are full ones of that size by request. */
static bool is_pinned(const vkt_caps *c, uint32_t invocations, uint32_t lanes)
{
    return c->subgroup_control && invocations % lanes == 0 &&
           invocations / lanes <= c->workgroup_subgroups;
}

uint32_t vkt__kernel_lanes(const vkt_gpu *gpu, const vkt__constant *spec, uint32_t n)
{
    uint32_t lanes = lanes_of(&gpu->caps, spec, n);
    return is_pinned(&gpu->caps, spec[0].value, lanes) ? lanes : 0;
}

uint32_t *vkt__kernel_spirv(const vkt_gpu *gpu, vkt__shader shader, size_t *words)
{
    const vkt__embedded_file *f = &vkt__embedded_shaders[shader];
    spirv s = { NULL, 0 };
    if (f->data) s = unpack(gpu, f);
    *words = s.words;
    return s.code;
}

uint64_t vkt__kernel_digest(const vkt_gpu *gpu, vkt__shader shader, const vkt__constant *spec,
                            uint32_t n)
{
    size_t words;
    uint32_t *code = vkt__kernel_spirv(gpu, shader, &words);
    uint64_t h = code ? vkt__hash(code, words * 4, 0) : 0;
    free(code);
    return vkt__hash(spec, n * sizeof *spec, h);
}

static vkt__kernel *find(vkt__kernel *k, vkt__shader shader, const vkt__constant *spec, uint32_t n)
{
    while (k &&
           (k->shader != shader || k->n_spec != n || memcmp(k->spec, spec, n * sizeof *spec) != 0))
        k = k->next;
    return k;
}

/* Without a pipeline yet; in the list. */
static vkt__kernel *add(vkt__kernel **list, vkt__shader shader, const vkt__constant *spec,
                        uint32_t n)
{
    vkt__kernel *k = vkt__alloc(sizeof *k);
    *k = (vkt__kernel) { .next = *list, .shader = shader, .n_spec = n };
    memcpy(k->spec, spec, n * sizeof *spec);
    return *list = k;
}

/* Creates k's pipeline; changes nothing else, so that several threads may. *call: what gave the
 * result. */
static VkResult create(const vkt_gpu *gpu, vkt__kernel *k, spirv s, const char **call)
{
    uint32_t invocations = k->spec[0].value, lanes = lanes_of(&gpu->caps, k->spec, k->n_spec);
    VkShaderModule module = VK_NULL_HANDLE;
    VkShaderModuleCreateInfo mod = { VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL, 0,
                                     s.words * 4, s.code };
    *call = "vkCreateShaderModule";
    VkResult r = vkCreateShaderModule(gpu->dev, &mod, NULL, &module);
    if (r != VK_SUCCESS) return r;
    VkSpecializationMapEntry map[VKT__MAX_CONSTANTS];
    for (uint32_t i = 0; i < k->n_spec; i++)
        map[i] = (VkSpecializationMapEntry) {
            k->spec[i].id, (uint32_t)(i * sizeof *k->spec + offsetof(vkt__constant, value)), 4
        };
    VkSpecializationInfo sp = { k->n_spec, map, k->n_spec * sizeof *k->spec, k->spec };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, NULL, lanes
    };
    bool pin = is_pinned(&gpu->caps, invocations, lanes);
    VKT_ASSERT(pin || lanes == gpu->caps.subgroup);
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
    /* All of them: what is dispatched whole now may be cut into parts later. */
    info.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
    if (gpu->statistics) info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    *call = "vkCreateComputePipelines";
    r = vkCreateComputePipelines(gpu->dev, gpu->cache, 1, &info, NULL, &k->pipeline);
    vkDestroyShaderModule(gpu->dev, module, NULL);
    return r;
}

static void made(vkt_gpu *gpu, const vkt__kernel *k)
{
    vkt__debug_name(gpu, VK_OBJECT_TYPE_PIPELINE, (uint64_t)(uintptr_t)k->pipeline,
                    vkt__shader_name(k->shader));
    gpu->stats.n_pipelines++;
}

static uint32_t fail_left;

void vkt__gpu_fail_pipeline(uint32_t n)
{
    fail_left = n;
}

vkt_status vkt__kernel_get(vkt_gpu *gpu, vkt__shader shader, const vkt__constant *spec, uint32_t n,
                           vkt__kernel **out)
{
    vkt_status st = VKT_OK;
    VKT_ASSERT(n >= 1 && n <= VKT__MAX_CONSTANTS && spec[0].id == VKT_SPEC_WORKGROUP);
    *out = find(gpu->kernels, shader, spec, n);
    if (*out) return VKT_OK;
    if (gpu->lost) return VKT_E_DEVICE;
    double start = vkt__now();
    const vkt__embedded_file *f = &vkt__embedded_shaders[shader];
    if (!f->data)
        return vkt__fail(VKT_E_UNSUPPORTED, "gpu", "this build has no kernel '%s'", f->name);
    VKT_ASSERT(spec[0].value > 0 && spec[0].value <= gpu->caps.workgroup);
    vkt__kernel *list = NULL, *k = add(&list, shader, spec, n);
    spirv s = unpack(gpu, f);
    if (!s.code) {
        free(k);
        return vkt__fail(VKT_E_OOM_HOST, "gpu", "no memory to unpack the kernel '%s'", f->name);
    }
    VKT_ASSERT(gives_all(s.code, s.words, spec, n));
    const char *call = "vkCreateComputePipelines";
    VkResult r =
        fail_left && --fail_left == 0 ? VK_ERROR_INITIALIZATION_FAILED : create(gpu, k, s, &call);
    free(s.code);
    if (r != VK_SUCCESS) {
        st = vkt__vk_fail(gpu, r, call);
        goto fail;
    }
    made(gpu, k);
    gpu->stats.pipeline_s += vkt__now() - start;
    k->next = gpu->kernels;
    *out = gpu->kernels = k;
    return VKT_OK;
fail:
    free(k);
    return st;
}

/* ---- several at the same time ---- */

void vkt__kernel_wish(vkt_gpu *gpu, vkt__shader shader, const vkt__constant *spec, uint32_t n)
{
    VKT_ASSERT(n >= 1 && n <= VKT__MAX_CONSTANTS && spec[0].id == VKT_SPEC_WORKGROUP);
    if (vkt__embedded_shaders[shader].data && !find(gpu->kernels, shader, spec, n) &&
        !find(gpu->wishes, shader, spec, n))
        add(&gpu->wishes, shader, spec, n);
}

enum { MOST_THREADS = 16 };
static const double WORTH_KEEPING_S = 1; /* of compiling: whoever is killed has it next time */

typedef struct making {
    const vkt_gpu *gpu;
    vkt__kernel **kernels;
    size_t n;
    spirv codes[VKT_N_SHADERS]; /* of those shaders that the kernels are of */
    atomic_size_t next;
    _Atomic(const char *) lost; /* the call that lost the device, or NULL */
} making;

static void work(void *arg)
{
    making *m = arg;
    const char *call;
    for (size_t i; (i = atomic_fetch_add(&m->next, 1)) < m->n;) {
        vkt__kernel *k = m->kernels[i];
        spirv s = m->codes[k->shader];
        VkResult r = s.code ? create(m->gpu, k, s, &call) : VK_ERROR_OUT_OF_HOST_MEMORY;
        if (r != VK_SUCCESS)
            k->pipeline = VK_NULL_HANDLE; /* vkt__kernel_get tries again, and tells */
        const char *none = NULL;
        if (r == VK_ERROR_DEVICE_LOST) atomic_compare_exchange_strong(&m->lost, &none, call);
    }
}

void vkt__kernels_make(vkt_gpu *gpu)
{
    making m = { .gpu = gpu };
    vkt__thread *threads[MOST_THREADS] = { NULL };
    double start = vkt__now();
    for (const vkt__kernel *k = gpu->wishes; k; k = k->next) m.n++;
    m.kernels = vkt__alloc((m.n + 1) * sizeof *m.kernels);
    size_t at = m.n, n = VKT_MIN(VKT_MIN(vkt__cpu_count(), m.n), MOST_THREADS);
    for (vkt__kernel *k = gpu->wishes; k; k = k->next) {
        m.kernels[--at] = k;
        if (!m.codes[k->shader].code)
            m.codes[k->shader] = unpack(gpu, &vkt__embedded_shaders[k->shader]);
    }
    if (n > 1 && !fail_left && !gpu->lost) {
        for (size_t i = 1; i < n; i++)
            if (vkt__thread_start(work, &m, &threads[i]) != VKT_OK) break;
        work(&m);
        for (size_t i = 1; i < n; i++)
            if (threads[i]) vkt__thread_join(&threads[i]);
    }
    for (size_t i = 0; i < m.n; i++) {
        vkt__kernel *k = m.kernels[i];
        if (k->pipeline) {
            made(gpu, k);
            k->next = gpu->kernels;
            gpu->kernels = k;
        } else {
            free(k);
        }
    }
    if (atomic_load(&m.lost)) vkt__vk_fail(gpu, VK_ERROR_DEVICE_LOST, atomic_load(&m.lost));
    for (uint32_t i = 0; i < VKT_N_SHADERS; i++) free(m.codes[i].code);
    free(m.kernels);
    gpu->wishes = NULL;
    vkt_log(VKT_LOG_DEBUG, "gpu", "%zu kernels in %.2f s by %zu threads", m.n, vkt__now() - start,
            VKT_MAX(n, 1));
    gpu->stats.pipeline_s += vkt__now() - start;
    if (vkt__now() - start >= WORTH_KEEPING_S) vkt__gpu_keep_kernels(gpu);
}

void vkt__kernels_finish(vkt_gpu *gpu)
{
    while (gpu->kernels) {
        vkt__kernel *k = gpu->kernels;
        gpu->kernels = k->next;
        vkDestroyPipeline(gpu->dev, k->pipeline, NULL);
        free(k);
    }
}
