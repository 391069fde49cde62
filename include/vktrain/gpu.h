/* vktrain gpu layer: one Vulkan device, its capabilities, memory and kernels. Knows bytes and
 * addresses, not tensors.
 *
 * Threads: one thread at a time for a vkt_gpu and for all that was made with it (buffers, graphs,
 * models, optimizers); other threads may use other vkt_gpu. vkt_gpu_caps may be read from any
 * thread. Aborts: vkt_buffer_write and vkt_buffer_read beyond the buffer's end. Ownership: a
 * vkt_gpu outlives all that was made with it; a buffer is destroyed with the gpu that made it,
 * after the device's last use of it.
 */
#ifndef VKTRAIN_GPU_H
#define VKTRAIN_GPU_H

#include "vktrain/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vkt_gpu vkt_gpu;

typedef enum vkt_gpu_type {
    VKT_GPU_OTHER,
    VKT_GPU_CPU,
    VKT_GPU_INTEGRATED,
    VKT_GPU_DISCRETE,
    VKT_GPU_VIRTUAL
} vkt_gpu_type;

/* Which family of kernels and tile sizes fits: decided once, from driver and type. */
typedef enum vkt_gpu_class {
    VKT_GPU_CLASS_GENERIC,
    VKT_GPU_CLASS_CPU,
    VKT_GPU_CLASS_NVIDIA,
    VKT_GPU_CLASS_AMD,
    VKT_GPU_CLASS_INTEL,
    VKT_GPU_CLASS_APPLE
} vkt_gpu_class;

/* What may happen to products of fp32 operands. STRICT: operands are never rounded. FAST: they may
 * run on matrix units as split products, which keep at least 22 bits of each (matmul_split.comp),
 * where tuning finds that faster. */
typedef enum vkt_math { VKT_MATH_STRICT, VKT_MATH_FAST } vkt_math;

/* What the device can do, after `--cap` switches have taken things away. Decided once at creation;
 * every choice of a kernel reads this struct and nothing else. */
typedef struct vkt_caps {
    char name[256], driver[256], driver_info[256];
    uint8_t uuid[16], driver_uuid[16], cache_uuid[16];
    uint32_t vendor_id, device_id, driver_id, driver_version;
    uint32_t api_version; /* Vulkan's packed form */
    vkt_gpu_type type;
    vkt_gpu_class klass;
    uint32_t subgroup; /* lanes that kernels are compiled for */
    uint32_t subgroup_min, subgroup_max;
    uint32_t workgroup_subgroups; /* most of a workgroup whose subgroup size is asked for */
    bool subgroup_arith;          /* subgroup add/max usable; else shared-memory trees */
    bool subgroup_control;        /* a required subgroup size can be set on compute stages */
    uint32_t workgroup;           /* most invocations in a workgroup */
    uint32_t groups_x;            /* most workgroups along x */
    uint32_t shared_bytes, push_bytes;
    uint64_t max_alloc_bytes, max_buffer_bytes;
    uint64_t heap_bytes;   /* device-local heap */
    uint64_t budget_bytes; /* what may be used now: VK_EXT_memory_budget, else 80% of the heap */
    bool memory_budget;    /* budget_bytes comes from the driver */
    bool unified;          /* device memory is host-visible: no staging */
    bool fp16, int64, storage8, bf16, coopmat; /* shader types and matrix units that are present */
    uint32_t coopmat_f16[3],
        coopmat_bf16[3]; /* M, N, K of the matrix units' fragments, f32 sums; 0: none */
    bool memory_model;   /* Vulkan's, which matrix units need */
    vkt_math math;       /* as asked for */
    bool exact_split;    /* math: fast may split fp32 into bf16 pieces only, which have its range */
    bool hands_over;     /* a CPU driver that hands each dispatch to threads of its own and could do
                            without: see vkt_gpu_desc.serial */
    double timestamp_ns; /* nanoseconds per tick; 0: no timestamps */
    uint32_t timestamp_bits; /* of a timestamp, before it starts again at 0 */
    uint32_t submit_ms; /* how long one submission should last: watchdogs fire after 2 s, desktops
                           stutter sooner */
    uint32_t compute_queue_family;
} vkt_caps;

/* One Vulkan device as `vktrain devices` lists it. */
typedef struct vkt_gpu_info {
    vkt_caps caps;
    bool usable;
    char why_not[128]; /* one line, when not usable */
    bool duplicate;    /* another driver of a GPU listed before (same device UUID) */
    uint32_t index;    /* what `--device` takes */
} vkt_gpu_info;

/* Same bits for a run and its resumption, once kernels are tuned for this device; or from the first
 * run on, for which nothing is timed unasked: choices as the cache has them, else the table's. */
typedef enum vkt_deterministic {
    VKT_DETERMINISTIC_RUN,
    VKT_DETERMINISTIC_CROSS_RUN
} vkt_deterministic;

typedef struct vkt_gpu_desc {
    const char
        *device; /* index, "cpu", "gpu", part of a name, UUID; NULL: VKT_DEVICE, else the best */
    const char
        *cap; /* "fp16=0,subgroup=4,workgroup=128,shared=16384,alloc=67108864": see vkt_cap_help */
    bool validate; /* load VK_LAYER_KHRONOS_validation, with synchronization validation; UNSUPPORTED
                      if it is absent */
    bool no_cache; /* neither read nor write the cache folder: pipelines, tuned choices */
    bool no_tune;  /* kernels by the built-in table, whatever `vktrain tune` found: see vkt_tune */
    bool serial;   /* on a device that hands over: dispatches run one workgroup after the other on
                      the queue's own thread, for kernels so short that waking others costs more
                      than they save; else, and where LP_NUM_THREADS is set, ignored */
    vkt_deterministic deterministic;
    vkt_math math;
    const char *cache_dir; /* NULL: the user's cache folder */
    const char *profile;   /* a file of vkt_caps_profile: no device is opened, and what would run on
                              such a one is planned only (vkt_train_desc.explain); else NULL */
} vkt_gpu_desc;

/* Lists every device that any driver offers, usable or not, best first; *n is their number.
 * Returns NO_DEVICE (and says why: no loader, no driver) when there is none. Free with vkt_free. */
VKT_API vkt_status vkt_gpu_list(vkt_gpu_info **list, size_t *n);

/* Whether the device that desc names is there and can be used; opens nothing. NO_DEVICE says which
 * ones there are; ARG (a cap unknown). */
VKT_API vkt_status vkt_gpu_check(const vkt_gpu_desc *desc);
/* Opens a device. Logs one line that says which and why. Errors: NO_DEVICE, ARG (a cap unknown),
 * UNSUPPORTED, DEVICE. */
VKT_API vkt_status vkt_gpu_create(const vkt_gpu_desc *desc, vkt_gpu **out);
VKT_API void vkt_gpu_destroy(vkt_gpu **gpu);

/* How many messages validation layers have sent to this process, whatever became of the devices.
 * Each was logged. */
VKT_API uint32_t vkt_validation_count(void);

VKT_API const vkt_caps *vkt_gpu_caps(const vkt_gpu *gpu);
/* All of it that choices and plans depend on, as JSON: see vkt_gpu_desc.profile. Free with
 * vkt_free.
 */
VKT_API char *vkt_caps_profile(const vkt_caps *caps);
VKT_API const char *vkt_gpu_type_name(vkt_gpu_type type); /* "discrete", "cpu", ... */
VKT_API const char *vkt_gpu_class_name(vkt_gpu_class klass);
/* The names that --cap takes, one "name  meaning" per line. */
VKT_API const char *vkt_cap_help(void);

/* How many bytes of device memory are allocated now (and of VKT_MEM_HOST, apart), how many
 * allocations were made since creation,
 * and how many messages the validation layer has sent (each was logged). */
typedef struct vkt_gpu_stats {
    uint64_t bytes, peak_bytes, host_bytes, n_allocs;
    uint32_t n_validation, n_pipelines;
    double pipeline_s; /* seconds spent creating pipelines */
} vkt_gpu_stats;
VKT_API vkt_gpu_stats vkt_gpu_get_stats(const vkt_gpu *gpu);

/* Device memory by its address. Fields are read-only for callers. */
typedef struct vkt_buffer {
    uint64_t addr; /* device address, 256-byte aligned */
    uint64_t bytes;
    void *host; /* mapped, or NULL */
    const char *label;
    struct vkt__slab *slab;
    uint64_t offset; /* within the slab's VkBuffer */
    bool on_host;    /* VKT_MEM_HOST */
} vkt_buffer;

typedef enum vkt_mem {
    VKT_MEM_DEVICE,   /* fast for the device; mapped only where memory is unified */
    VKT_MEM_UPLOAD,   /* host writes, device reads; mapped, coherent */
    VKT_MEM_READBACK, /* device writes, host reads; mapped, cached */
    VKT_MEM_HOST,     /* the host's own, for what the device's has no room for: read and written by
                         the device over its bus; mapped, cached; not of the device's budget */
} vkt_mem;

typedef struct vkt_buffer_desc {
    uint64_t bytes; /* > 0 */
    vkt_mem mem;
    const char *label; /* for debug names, plans and error lines; copied; NULL: "unnamed" */
} vkt_buffer_desc;

/* Zero-filled. OOM_DEVICE names the label, the size and what was left. */
VKT_API vkt_status vkt_buffer_create(vkt_gpu *gpu, const vkt_buffer_desc *desc, vkt_buffer **out);
/* The caller has waited for the device's last use. */
VKT_API void vkt_buffer_destroy(vkt_gpu *gpu, vkt_buffer **buf);
/* Blocking copies between host and device; the device must not be using the range. */
VKT_API vkt_status vkt_buffer_write(vkt_gpu *gpu, vkt_buffer *buf, uint64_t offset,
                                    const void *data, uint64_t bytes);
VKT_API vkt_status vkt_buffer_read(vkt_gpu *gpu, const vkt_buffer *buf, uint64_t offset, void *data,
                                   uint64_t bytes);
/* A ticket names a submission (vkt_graph_submit): wait until it has ended, or ask whether it has.
 */
VKT_API vkt_status vkt_ticket_wait(vkt_gpu *gpu, uint64_t ticket);
VKT_API bool vkt_ticket_done(vkt_gpu *gpu, uint64_t ticket);
/* Wait until the device is idle. DEVICE when it was lost. */
VKT_API vkt_status vkt_gpu_wait(vkt_gpu *gpu);

#ifdef __cplusplus
}
#endif
#endif
