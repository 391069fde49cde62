/* One row of `vktrain bench`, alone: plain Vulkan 1.3, no other library.
 *
 *   cc -O2 -o replay replay_row.c -lvulkan -lm
 *   ./replay [FOLDER] [--device N] [--runs N]
 *
 * Reads FOLDER/row.txt (default: this folder), which `vktrain bench --row NAME --dump FOLDER` wrote
 * beside this file: buffers, what is in them before, kernels with their constants, dispatches with
 * push constants and the addresses in these, and numbers that must come out, each with what it may
 * be off. Runs it, compares, then times it. Exit code 0: all agree; 1: some number is wrong; 2: it
 * could not be run. */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vulkan/vulkan.h>

enum { MOST = 64, MOST_BUFFERS = MOST + 1, PUSH = 128, SLACK = 256 };
typedef struct buffer {
    VkBuffer buffer;
    VkDeviceAddress addr;
    VkDeviceSize bytes;
    unsigned char *host;
} buffer;
typedef struct dispatch {
    uint32_t kernel, x, y, push_bytes;
    unsigned char push[PUSH];
    bool barrier; /* before it */
} dispatch;

static const char *dir = ".";
static VkPhysicalDevice phys;
static VkDevice dev;
static VkQueue queue;
static VkPipelineLayout layout;
static VkPipeline pipelines[MOST];
static buffer buffers[MOST_BUFFERS];
static dispatch dispatches[MOST];
static uint32_t n_buffers, n_dispatches, family;

static void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "replay: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    exit(2);
}
static void vk(VkResult r, const char *call)
{
    if (r != VK_SUCCESS) die("%s: VkResult %d", call, r);
}
#define VK(call) vk(call, #call)

static void *file(const char *name, size_t *n)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f) die("cannot open '%s'", path);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *data = malloc(*n + 1);
    if (!data || fread(data, 1, *n, f) != *n) die("cannot read '%s'", path);
    data[*n] = 0;
    fclose(f);
    return data;
}

/* Enables each feature of the device but robust access, which costs time. */
static void open_device(uint32_t which, const char *needs)
{
    VkApplicationInfo app = { VK_STRUCTURE_TYPE_APPLICATION_INFO,
                              .apiVersion = VK_API_VERSION_1_3 };
    VkInstanceCreateInfo info = { VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &app };
    VkInstance instance;
    VkPhysicalDevice all[16];
    uint32_t n = 16, n_family = 16, n_ext = 0, matrix = 0, matrix2 = 0, bf16 = 0;
    VK(vkCreateInstance(&info, NULL, &instance));
    vkEnumeratePhysicalDevices(instance, &n, all);
    if (which >= n) die("there is no device %u; there are %u", which, n);
    phys = all[which];
    VkQueueFamilyProperties f[16];
    vkGetPhysicalDeviceQueueFamilyProperties(phys, &n_family, f);
    while (family < n_family && !(f[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) family++;
    /* extensions of matrix units: structures of features, by number, as headers may be older */
    struct more {
        int32_t type;
        void *next;
        VkBool32 on[16];
    } more[3] = { { 1000506000, NULL, { 0 } },
                  { 1000593000, NULL, { 0 } },
                  { 1000141000, NULL, { 0 } } };
    const char *names[3] = { "VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix2",
                             "VK_KHR_shader_bfloat16" };
    const char *ext[3];
    sscanf(needs, "matrix %u matrix2 %u bf16 %u", &matrix, &matrix2, &bf16);
    uint32_t wanted[3] = { matrix, matrix2, bf16 };
    VkPhysicalDeviceVulkan13Features f13 = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES
    };
    VkPhysicalDeviceVulkan12Features f12 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             &f13 };
    VkPhysicalDeviceVulkan11Features f11 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             &f12 };
    VkPhysicalDeviceFeatures2 f2 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &f11 };
    for (int i = 0; i < 3; i++)
        if (wanted[i]) {
            ext[n_ext++] = names[i];
            more[i].next = f13.pNext;
            f13.pNext = &more[i];
        }
    vkGetPhysicalDeviceFeatures2(phys, &f2);
    f2.features.robustBufferAccess = VK_FALSE;
    f13.robustImageAccess = VK_FALSE;
    float priority = 1;
    VkDeviceQueueCreateInfo q = { VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                  .queueFamilyIndex = family, .queueCount = 1,
                                  .pQueuePriorities = &priority };
    VkDeviceCreateInfo d = { VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             &f2,
                             .queueCreateInfoCount = 1,
                             .pQueueCreateInfos = &q,
                             .enabledExtensionCount = n_ext,
                             .ppEnabledExtensionNames = ext };
    VK(vkCreateDevice(phys, &d, NULL, &dev));
    vkGetDeviceQueue(dev, family, 0, &queue);
    VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, PUSH };
    VkPipelineLayoutCreateInfo l = { VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                     .pushConstantRangeCount = 1, .pPushConstantRanges = &push };
    VK(vkCreatePipelineLayout(dev, &l, NULL, &layout));
    VkPhysicalDeviceProperties p;
    vkGetPhysicalDeviceProperties(phys, &p);
    printf("device   %s, driver version 0x%x\n", p.deviceName, p.driverVersion);
}

/* In memory that the host sees, of the device if there is such: filled with bytes 255, so that what
 * nothing wrote shows. With room behind: kernels may load one element past the end. */
static void add_buffer(VkDeviceSize bytes)
{
    if (n_buffers == MOST_BUFFERS) die("row.txt has more than %d buffers", MOST_BUFFERS);
    if (bytes > UINT64_MAX / 4)
        die("a buffer of %llu bytes is too much", (unsigned long long)bytes);
    buffer *b = &buffers[n_buffers++];
    b->bytes = bytes;
    bytes += SLACK;
    VkBufferCreateInfo info = { VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes,
                                .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                         VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT };
    VK(vkCreateBuffer(dev, &info, NULL, &b->buffer));
    VkMemoryRequirements need;
    vkGetBufferMemoryRequirements(dev, b->buffer, &need);
    VkPhysicalDeviceMemoryProperties m;
    vkGetPhysicalDeviceMemoryProperties(phys, &m);
    VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                 VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                          want[] = { host | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, host };
    uint32_t type = UINT32_MAX;
    for (int w = 0; w < 2; w++)
        for (uint32_t i = 0; i < m.memoryTypeCount; i++)
            if (type == UINT32_MAX && need.memoryTypeBits >> i & 1 &&
                (m.memoryTypes[i].propertyFlags & want[w]) == want[w] &&
                m.memoryHeaps[m.memoryTypes[i].heapIndex].size > 2 * bytes)
                type = i;
    if (type == UINT32_MAX)
        die("no memory that the host sees has room for %llu bytes", (unsigned long long)bytes);
    VkMemoryAllocateFlagsInfo flags = { VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
    VkMemoryAllocateInfo a = { VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags, need.size, type };
    VkDeviceMemory memory;
    VK(vkAllocateMemory(dev, &a, NULL, &memory));
    VK(vkBindBufferMemory(dev, b->buffer, memory, 0));
    VK(vkMapMemory(dev, memory, 0, VK_WHOLE_SIZE, 0, (void **)&b->host));
    VkBufferDeviceAddressInfo address = { VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, NULL,
                                          b->buffer };
    b->addr = vkGetBufferDeviceAddress(dev, &address);
    memset(b->host, 255, bytes);
}

static void add_kernel(uint32_t k, const char *name, uint32_t lanes, const uint32_t *spec,
                       uint32_t n)
{
    VkShaderModuleCreateInfo mod = { VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO };
    mod.pCode = file(name, &mod.codeSize);
    VkShaderModule module;
    VK(vkCreateShaderModule(dev, &mod, NULL, &module));
    VkSpecializationMapEntry map[32];
    for (uint32_t i = 0; i < n; i++)
        map[i] = (VkSpecializationMapEntry) { spec[2 * i], i * 8 + 4, 4 };
    VkSpecializationInfo sp = { n, map, n * 8, spec };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, NULL, lanes
    };
    VkComputePipelineCreateInfo info = { VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                         .layout = layout };
    info.stage = (VkPipelineShaderStageCreateInfo) {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        lanes ? &size : NULL,
        lanes ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
        VK_SHADER_STAGE_COMPUTE_BIT,
        module,
        "main",
        &sp
    };
    VK(vkCreateComputePipelines(dev, VK_NULL_HANDLE, 1, &info, NULL, &pipelines[k]));
    free((void *)mod.pCode);
}

/* first: devices and buffers, before kernels and what is in buffers. */
static void read_row(char *text, uint32_t which)
{
    char name[256];
    uint32_t k = 0, lanes = 0, n_spec = 0, spec[64], got = 0;
    unsigned long long a, b, c;
    bool barrier = false;
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        uint32_t i, x, y, n;
        int at = 0;
        if (!strncmp(line, "name ", 5) || !strncmp(line, "measured ", 9)) printf("%s\n", line);
        if (!strncmp(line, "needs ", 6)) open_device(which, line + 6);
        if (sscanf(line, "buffer %llu", &a) == 1) add_buffer(a);
        if (sscanf(line, "data %u %llu %llu %llu %255s", &i, &a, &b, &c, name) == 5) {
            size_t bytes;
            unsigned char *data = file(name, &bytes);
            if (i >= n_buffers || a > buffers[i].bytes || b > buffers[i].bytes - a || !bytes)
                die("'%s' does not fit", line);
            for (unsigned long long p = 0; p < b; p++) buffers[i].host[a + p] = data[p % bytes];
            free(data);
        }
        if (sscanf(line, "kernel %u %255s %u %u", &k, name, &lanes, &n_spec) == 4) got = 0;
        if (n_spec > 32 || k >= MOST) die("'%s' is too much", line);
        if (sscanf(line, "constant %u %u", &x, &y) == 2 && got < n_spec) {
            spec[2 * got] = x;
            spec[2 * got++ + 1] = y;
            if (got == n_spec) add_kernel(k, name, lanes, spec, n_spec);
        }
        if (!strcmp(line, "barrier")) barrier = true;
        if (sscanf(line, "dispatch %u %u %u %u %n", &i, &x, &y, &n, &at) == 4 && i < MOST &&
            n <= PUSH) {
            if (n_dispatches == MOST) die("row.txt has more than %d dispatches", MOST);
            dispatch *d = &dispatches[n_dispatches++];
            *d = (dispatch) { .kernel = i, .x = x, .y = y, .push_bytes = n, .barrier = barrier };
            for (uint32_t p = 0; p < n && sscanf(line + at + 2 * p, "%2x", &x) == 1; p++)
                d->push[p] = (unsigned char)x;
            barrier = false;
        }
        if (sscanf(line, "address %u %u %llu", &x, &i, &a) == 3 && n_dispatches && i < n_buffers &&
            x + 8 <= PUSH) {
            VkDeviceAddress address = buffers[i].addr + a;
            memcpy(dispatches[n_dispatches - 1].push + x, &address, 8);
        }
    }
    if (!n_dispatches) die("row.txt has no dispatch");
}

static void wait_for_all(VkCommandBuffer cb)
{
    VkMemoryBarrier2 m = { VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                           NULL,
                           VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                           VK_ACCESS_2_MEMORY_WRITE_BIT,
                           VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
                           VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT |
                               VK_ACCESS_2_HOST_READ_BIT };
    VkDependencyInfo dep = { VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1,
                             .pMemoryBarriers = &m };
    vkCmdPipelineBarrier2(cb, &dep);
}

/* Microseconds of `reps` repetitions, waiting included. */
static double run(uint32_t reps)
{
    VkCommandPoolCreateInfo info = { VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .queueFamilyIndex = family };
    VkCommandPool pool;
    VkCommandBuffer cb;
    VK(vkCreateCommandPool(dev, &info, NULL, &pool));
    VkCommandBufferAllocateInfo a = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool,
                                      VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1 };
    VK(vkAllocateCommandBuffers(dev, &a, &cb));
    VkCommandBufferBeginInfo begin = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    VK(vkBeginCommandBuffer(cb, &begin));
    for (uint32_t r = 0; r < reps; r++) {
        for (uint32_t i = 0; i < n_dispatches; i++) {
            const dispatch *d = &dispatches[i];
            if (d->barrier) wait_for_all(cb);
            vkCmdBindPipeline(cb, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[d->kernel]);
            vkCmdPushConstants(cb, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, d->push_bytes, d->push);
            vkCmdDispatch(cb, d->x, d->y, 1);
        }
        wait_for_all(cb);
    }
    VK(vkEndCommandBuffer(cb));
    struct timespec from, to;
    VkSubmitInfo s = { VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                       .pCommandBuffers = &cb };
    timespec_get(&from, TIME_UTC);
    VK(vkQueueSubmit(queue, 1, &s, VK_NULL_HANDLE));
    VK(vkQueueWaitIdle(queue));
    timespec_get(&to, TIME_UTC);
    vkDestroyCommandPool(dev, pool, NULL);
    return (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) * 1e-3;
}

static uint32_t element_bytes(const char *type)
{
    return !strcmp(type, "f32") || !strcmp(type, "u32") ? 4 : 2;
}

static double element(const unsigned char *at, const char *type, uint64_t i)
{
    uint32_t u = 0;
    float f;
    uint32_t unit = element_bytes(type);
    memcpy(&u, at + i * unit, unit);
    if (!strcmp(type, "u32")) return u;
    if (!strcmp(type, "f16")) {
        uint32_t e = u >> 10 & 31, m = u & 1023;
        double v = e == 31 ? (m ? NAN : INFINITY)
                   : e     ? ldexp(1024 + m, (int)e - 25)
                           : ldexp(m, -24);
        return u & 0x8000 ? -v : v;
    }
    if (unit == 2) u <<= 16; /* bf16 */
    memcpy(&f, &u, 4);
    return f;
}

/* How many numbers are wrong. */
static size_t compare(const char *text)
{
    size_t wrong = 0, all = 0;
    double worst = 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        uint32_t b;
        unsigned long long at, n;
        size_t bytes;
        char type[8], name[256];
        if (sscanf(line, "expect %u %llu %7s %llu %255s", &b, &at, type, &n, name) != 5) continue;
        double *t = file(name, &bytes);
        uint64_t unit = element_bytes(type), has = b < n_buffers ? buffers[b].bytes : 0;
        if (b >= n_buffers || bytes != n * 24) die("'%s' does not fit", name);
        for (unsigned long long k = 0; k < n; k++, all++) {
            if (at > has || !(t[3 * k] >= 0 && t[3 * k] < (double)((has - at) / unit)))
                die("'%s' has an element that no buffer has", name);
            double got = element(buffers[b].host + at, type, (uint64_t)t[3 * k]),
                   off = fabs(got - t[3 * k + 1]), limit = t[3 * k + 2];
            bool bad = !(off <= limit);
            if (bad && !wrong++)
                printf("WRONG    %s element %.0f is %.9g, should be %.9g within %.3g\n", name,
                       t[3 * k], got, t[3 * k + 1], limit);
            if (!bad && limit > 0) worst = fmax(worst, off / limit);
        }
        free(t);
    }
    if (!all) die("row.txt expects nothing");
    printf("numbers  %zu of %zu wrong; the others use at most %.0f%% of what they may be off\n",
           wrong, all, 100 * worst);
    return wrong;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    uint32_t which = 0, runs = 11, reps;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--device") && i + 1 < argc)
            which = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--runs") && i + 1 < argc)
            runs = (uint32_t)strtoul(argv[++i], NULL, 10);
        else
            dir = argv[i];
    size_t n;
    char *text = file("row.txt", &n), *lines = file("row.txt", &n);
    read_row(lines, which);
    run(1);
    size_t wrong = compare(text);
    if (wrong || !runs) return wrong ? 1 : 0;
    double once = run(1), *us = calloc(runs, sizeof *us);
    reps = (uint32_t)fmin(fmax(20000 / fmax(once, 1), 1), 2000);
    for (uint32_t i = 0; i < runs && us; i++) us[i] = run(reps) / reps;
    if (us) qsort(us, runs, sizeof *us, rising);
    if (us)
        printf("time     %.6g us (%.6g to %.6g in %u runs of %u), by the wall clock\n",
               us[runs / 2], us[0], us[runs - 1], runs, reps);
    return 0;
}
