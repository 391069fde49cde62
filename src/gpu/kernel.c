/* Kernels: pipelines made from the embedded shaders at first use, kept by the gpu until its end. */
#include <zlib.h>

#include "base/embedded.h"
#include "base/os.h"
#include "gpu/gpu_vk.h"

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

/* The shader's SPIR-V, out of the binary; to be freed. */
static uint32_t *spirv(const vkt__embedded_file *f)
{
    uint32_t *code = vkt__alloc(f->bytes);
    uLongf n = f->bytes;
    int z = uncompress((Bytef *)code, &n, f->data, f->stored);
    VKT_ASSERT(z == Z_OK && n == f->bytes);
    return code;
}

/* Lanes of its subgroups: those that it asks for, else the device's. */
static uint32_t lanes_of(const vkt_caps *c, const vkt__constant *spec, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (spec[i].id == VKT_SPEC_LANES) return spec[i].value;
    return c->subgroup;
}

static vkt__kernel *find(const vkt_gpu *gpu, vkt__shader shader, const vkt__constant *spec,
                         uint32_t n)
{
    vkt__kernel *k = gpu->kernels;
    while (k &&
           (k->shader != shader || k->n_spec != n || memcmp(k->spec, spec, n * sizeof *spec) != 0))
        k = k->next;
    return k;
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
    VkShaderModule module = VK_NULL_HANDLE;
    uint32_t *code = NULL;
    VKT_ASSERT(n >= 1 && n <= VKT__MAX_CONSTANTS && spec[0].id == VKT_SPEC_WORKGROUP);
    *out = find(gpu, shader, spec, n);
    if (*out) return VKT_OK;
    if (gpu->lost) return VKT_E_DEVICE;
    double start = vkt__now();
    const vkt__embedded_file *f = &vkt__embedded_shaders[shader];
    if (!f->data)
        return vkt__fail(VKT_E_UNSUPPORTED, "gpu", "this build has no kernel '%s'", f->name);
    uint32_t invocations = spec[0].value;
    VKT_ASSERT(invocations > 0 && invocations <= gpu->caps.workgroup);
    code = spirv(f);
    VKT_ASSERT(gives_all(code, f->bytes / 4, spec, n));

    VkShaderModuleCreateInfo mod = { VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL, 0, f->bytes,
                                     code };
    VKT_VK(vkCreateShaderModule(gpu->dev, &mod, NULL, &module));
    VkSpecializationMapEntry map[VKT__MAX_CONSTANTS];
    for (uint32_t i = 0; i < n; i++)
        map[i] = (VkSpecializationMapEntry) {
            spec[i].id, (uint32_t)(i * sizeof *spec + offsetof(vkt__constant, value)), 4
        };
    VkSpecializationInfo sp = { n, map, n * sizeof *spec, spec };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, NULL,
        lanes_of(&gpu->caps, spec, n)
    };
    uint32_t lanes = size.requiredSubgroupSize;
    bool pin = gpu->caps.subgroup_control && invocations % lanes == 0 &&
               invocations / lanes <= gpu->caps.workgroup_subgroups;
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
    VkPipeline pipeline;
    if (fail_left && --fail_left == 0) {
        st = vkt__vk_fail(gpu, VK_ERROR_INITIALIZATION_FAILED, "vkCreateComputePipelines");
        goto fail;
    }
    VKT_VK(vkCreateComputePipelines(gpu->dev, gpu->cache, 1, &info, NULL, &pipeline));
    vkt__debug_name(gpu, VK_OBJECT_TYPE_PIPELINE, (uint64_t)(uintptr_t)pipeline, f->name);
    vkt__kernel *k = vkt__alloc(sizeof *k);
    *k =
        (vkt__kernel) { .next = gpu->kernels, .shader = shader, .n_spec = n, .pipeline = pipeline };
    memcpy(k->spec, spec, n * sizeof *spec);
    gpu->kernels = k;
    gpu->stats.n_pipelines++;
    gpu->stats.pipeline_s += vkt__now() - start;
    *out = k;
fail:
    if (module) vkDestroyShaderModule(gpu->dev, module, NULL);
    free(code);
    return st;
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
