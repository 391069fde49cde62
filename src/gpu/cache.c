/* The pipeline cache on disk. Our own header (driver identity, length, hash) is checked before the
 * driver sees a byte, quirk STALE_CACHES. */
#include <stdio.h>

#include "base/os.h"
#include "gpu/gpu_vk.h"

typedef struct {
    char magic[8];
    uint8_t device_uuid[16], driver_uuid[16], cache_uuid[16];
    uint32_t driver_version, reserved;
    uint64_t bytes, hash;
} cache_header;

static cache_header header_for(const vkt_gpu *gpu, const void *data, size_t n)
{
    cache_header h = { .magic = "vktpc1" };
    memcpy(h.device_uuid, gpu->caps.uuid, 16);
    memcpy(h.driver_uuid, gpu->caps.driver_uuid, 16);
    memcpy(h.cache_uuid, gpu->caps.cache_uuid, 16);
    h.driver_version = gpu->caps.driver_version;
    h.bytes = n;
    h.hash = vkt__hash(data, n, 0);
    return h;
}

bool vkt__cache_read(const char *path, size_t limit, char **file, size_t *n)
{
    if (vkt__file_size(path) <= 0 && !vkt__is_dir(path)) return false;
    vkt__log_hold(true);
    vkt_status st = vkt__file_read(path, limit, file, n);
    vkt__log_hold(false);
    if (st != VKT_OK) vkt_log(VKT_LOG_WARN, "gpu", "%s: done without it", vkt__last_failure());
    return st == VKT_OK;
}

void vkt__cache_write(vkt_gpu *gpu, const char *path, const void *data, size_t n)
{
    if (gpu->cache_fails) return;
    vkt__log_hold(true);
    gpu->cache_fails = vkt__file_replace(path, data, n) != VKT_OK;
    vkt__log_hold(false);
    if (gpu->cache_fails)
        vkt_log(VKT_LOG_WARN, "gpu", "%s: what was compiled and timed is not kept",
                vkt__last_failure());
}

bool vkt__cache_folder(char *out, size_t n)
{
    if (vkt__cache_dir(out, n)) return true;
    bool instead = vkt__cache_dir_instead(out, n);
    if (instead)
        vkt_log(VKT_LOG_INFO, "gpu",
                "neither XDG_CACHE_HOME nor HOME names a folder that can be written: what is "
                "compiled and timed is kept in '%s'",
                out);
    else
        vkt_log(VKT_LOG_WARN, "gpu",
                "no folder can be written to keep what is compiled: it is compiled at each start, "
                "and kernels are not tuned; set XDG_CACHE_HOME to a folder of yours");
    return instead;
}

/* The file at cache_path, to be freed; how many bytes of it, after the header, are the driver's. */
static size_t read_file(const vkt_gpu *gpu, char **file)
{
    size_t n = 0, use = 0;
    if (!vkt__cache_read(gpu->cache_path, 64u << 20, file, &n)) return 0;
    if (n > sizeof(cache_header)) {
        cache_header want = header_for(gpu, *file + sizeof want, n - sizeof want);
        if (!memcmp(*file, &want, sizeof want)) use = n - sizeof want;
    }
    if (!use)
        vkt_log(VKT_LOG_INFO, "gpu",
                "pipeline cache '%s' is damaged or from another driver: it is rebuilt",
                gpu->cache_path);
    return use;
}

static VkResult create(const vkt_gpu *gpu, const char *file, size_t use, VkPipelineCache *out)
{
    VkPipelineCacheCreateInfo info = { VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, NULL, 0, use,
                                       use ? file + sizeof(cache_header) : NULL };
    return vkCreatePipelineCache(gpu->dev, &info, NULL, out);
}

vkt_status vkt__cache_open(vkt_gpu *gpu, const char *dir)
{
    vkt_status st = VKT_OK;
    char *file = NULL;
    size_t use = 0;
    if (!dir) gpu->use_cache = false;
    if (gpu->use_cache) {
        uint64_t id = vkt__hash(gpu->caps.uuid, 16,
                                vkt__hash(gpu->caps.driver_uuid, 16, gpu->caps.driver_version));
        snprintf(gpu->cache_path, sizeof gpu->cache_path, "%.900s/pipelines-%016llx.bin", dir,
                 (unsigned long long)id);
    }
    if (gpu->use_cache) use = read_file(gpu, &file);
    VKT_VK(create(gpu, file, use, &gpu->cache));
    gpu->cache_loaded = use;
fail:
    free(file);
    return st;
}

void vkt__cache_merge(vkt_gpu *gpu)
{
    char *file = NULL;
    size_t use = gpu->use_cache && gpu->cache ? read_file(gpu, &file) : 0;
    VkPipelineCache other = VK_NULL_HANDLE;
    if (use && create(gpu, file, use, &other) == VK_SUCCESS) {
        vkMergePipelineCaches(gpu->dev, gpu->cache, 1, &other); /* a failure costs compile time */
        vkDestroyPipelineCache(gpu->dev, other, NULL);
    }
    free(file);
}

void vkt__gpu_keep_kernels(vkt_gpu *gpu)
{
    size_t n = 0;
    if (!gpu->cache || !gpu->use_cache || gpu->lost ||
        vkGetPipelineCacheData(gpu->dev, gpu->cache, &n, NULL) != VK_SUCCESS || !n ||
        n == gpu->cache_loaded)
        return;
    char *file = vkt__alloc(sizeof(cache_header) + n);
    if (vkGetPipelineCacheData(gpu->dev, gpu->cache, &n, file + sizeof(cache_header)) ==
        VK_SUCCESS) {
        cache_header h = header_for(gpu, file + sizeof h, n);
        memcpy(file, &h, sizeof h);
        vkt__cache_write(gpu, gpu->cache_path, file, sizeof h + n);
        gpu->cache_loaded = n;
    }
    free(file);
}

void vkt__cache_close(vkt_gpu *gpu)
{
    vkt__gpu_keep_kernels(gpu);
    if (gpu->cache) vkDestroyPipelineCache(gpu->dev, gpu->cache, NULL);
    gpu->cache = VK_NULL_HANDLE;
}
