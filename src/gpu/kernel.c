/* Kernels: pipelines made from the embedded shaders at first use, kept by the gpu until its end. */
#include "base/embedded.h"
#include "base/os.h"
#include "gpu/gpu_vk.h"

enum { MAX_SPEC = 20 };

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

void vkt__kernels_finish(vkt_gpu *gpu)
{
    while (gpu->kernels) {
        vkt__kernel *k = gpu->kernels;
        gpu->kernels = k->next;
        vkDestroyPipeline(gpu->dev, k->pipeline, NULL);
        free(k);
    }
}
