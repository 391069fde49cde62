/* vktrain gpu layer: one Vulkan device, its capabilities, memory and kernels. Knows bytes and
 * addresses, not tensors.
 *
 * Threads: one thread at a time for a vkt_gpu and everything made with it (buffers, graphs, models,
 * optimizers); other threads may use other vkt_gpus. vkt_gpu_caps may be read from any thread.
 * Aborts: vkt_buffer_write and vkt_buffer_read beyond the buffer's end. Ownership: a vkt_gpu must
 * outlive everything made with it; a buffer is destroyed with the gpu that made it, after the
 * device's last use of it.
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

/* Selects the family of kernels and tile sizes; decided once, from driver and type. */
typedef enum vkt_gpu_class {
    VKT_GPU_CLASS_GENERIC,
    VKT_GPU_CLASS_CPU,
    VKT_GPU_CLASS_NVIDIA,
    VKT_GPU_CLASS_AMD,
    VKT_GPU_CLASS_INTEL,
    VKT_GPU_CLASS_APPLE
} vkt_gpu_class;

/* How fp32 matrix products are computed. STRICT: operands are never rounded. FAST: where tuning
 * finds it faster, products run on matrix units with each operand split into parts that keep at
 * least 22 bits (matmul_split.comp). */
typedef enum vkt_math { VKT_MATH_STRICT, VKT_MATH_FAST } vkt_math;

/* What the device can do, after `--cap` has reduced it. Filled once at creation; every choice of a
 * kernel reads only this struct. */
typedef struct vkt_caps {
    char name[256], driver[256], driver_info[256];
    uint8_t uuid[16], driver_uuid[16], cache_uuid[16];
    uint32_t vendor_id, device_id, driver_id, driver_version;
    uint32_t api_version; /* Vulkan's packed form */
    vkt_gpu_type type;
    vkt_gpu_class klass;
    uint32_t subgroup; /* lanes that kernels are compiled for */
    uint32_t subgroup_min, subgroup_max;
    uint32_t workgroup_subgroups; /* most subgroups in a workgroup with a required subgroup size */
    bool subgroup_arith;          /* subgroup add and max work; else reductions use shared memory */
    bool subgroup_control;        /* a required subgroup size can be set on compute stages */
    uint32_t workgroup;           /* most invocations in a workgroup */
    uint32_t groups_x;            /* most workgroups along x */
    uint32_t shared_bytes, push_bytes;
    uint32_t cores; /* multiprocessors or compute units, which run workgroups; 0: not told */
    uint64_t max_alloc_bytes, max_buffer_bytes;
    uint64_t heap_bytes;   /* device-local heap */
    uint64_t budget_bytes; /* what may be used now: VK_EXT_memory_budget, else 80% of the heap */
    bool memory_budget;    /* budget_bytes comes from the driver */
    bool unified;          /* device memory is host-visible: no staging */
    bool fp16, int64, storage8, bf16, coopmat; /* shader types and matrix units that are present */
    uint32_t coopmat_f16[3],
        coopmat_bf16[3]; /* M, N, K of the matrix units' fragments, f32 sums; 0: none */
    bool coopmat2;       /* matrices of any size on them: VK_NV_cooperative_matrix2 */
    uint32_t coopmat2_f16[4],
        coopmat2_bf16[4];   /* M, N, K that such sizes are multiples of; the invocations of the
                               workgroup that holds them together, 0: a subgroup does */
    uint32_t coopmat2_most; /* rows or columns of one */
    bool plain_attention;   /* attention is not computed on matrix units: it was wrong there */
    bool memory_model;      /* the Vulkan memory model, which matrix units need */
    vkt_math math;          /* as requested in vkt_gpu_desc */
    bool exact_split; /* math: fast splits fp32 into bf16 parts only, which have the same range */
    bool hands_over;  /* a CPU driver that runs dispatches on its own threads but could run them on
                         one: see vkt_gpu_desc.serial */
    double timestamp_ns;     /* nanoseconds per tick; 0: no timestamps */
    uint32_t timestamp_bits; /* of a timestamp, before it starts again at 0 */
    uint32_t submit_ms; /* target duration of one submission: watchdogs fire after 2 s, desktops
                           stutter sooner */
    uint32_t compute_queue_family;
    char kernel[40];    /* a matmul kernel that is taken wherever it can compute a product: `--cap
                           kernel=matmul=NAME`, else VKT_KERNEL; "": none */
    uint32_t attention; /* number of a kernel of attention that 16-bit recipes take where it runs,
                           to time it: `--cap attention=N`; 0: the device's own */
} vkt_caps;

/* One Vulkan device as `vktrain devices` lists it. */
typedef struct vkt_gpu_info {
    vkt_caps caps;
    bool usable;
    char why_not[128]; /* one line, when not usable */
    bool duplicate;    /* another driver of a GPU listed before (same device UUID) */
    uint32_t index;    /* what `--device` takes */
} vkt_gpu_info;

/* RUN: a run and its resumption give the same bits once kernels are tuned for this device.
 * CROSS_RUN: all runs do, because nothing is tuned automatically: kernels come from the cache, else
 * from the built-in table. */
typedef enum vkt_deterministic {
    VKT_DETERMINISTIC_RUN,
    VKT_DETERMINISTIC_CROSS_RUN
} vkt_deterministic;

/* CALLS: VK_LAYER_KHRONOS_validation, with synchronization validation. GPU: its GPU-assisted
 * validation too, which has kernels check each address that they read or write. */
typedef enum vkt_validation {
    VKT_VALIDATION_NONE,
    VKT_VALIDATION_CALLS,
    VKT_VALIDATION_GPU
} vkt_validation;

typedef struct vkt_gpu_desc {
    const char
        *device; /* index, "cpu", "gpu", part of a name, UUID; NULL: VKT_DEVICE, else the best */
    const char
        *cap; /* "fp16=0,subgroup=4,workgroup=128,shared=16384,alloc=67108864": see vkt_cap_help */
    vkt_validation validate; /* UNSUPPORTED if VK_LAYER_KHRONOS_validation is absent */
    bool no_cache; /* neither read nor write the cache folder (pipelines, tuning results) */
    bool no_tune;  /* choose kernels by the built-in table and ignore the results of vkt_tune */
    double tune_seconds; /* at most for kernels that are timed automatically, in a job; 0: 20 */
    bool statistics;     /* for vkt_tune_candidate.registers; pipelines are compiled again for it */
    bool serial; /* on a CPU driver with vkt_caps.hands_over: run dispatches on the queue's own
                    thread, one workgroup after the other; faster for very short kernels. Ignored on
                    other devices, and if LP_NUM_THREADS is set */
    vkt_deterministic deterministic;
    vkt_math math;
    const char *cache_dir; /* NULL: the user's cache folder */
    const char *profile; /* a file written from vkt_caps_profile: no device is opened, and work for
                            the described device can only be planned (vkt_train_desc.explain); NULL:
                            open a device */
} vkt_gpu_desc;

/* The Vulkan loader's version in Vulkan's packed form; 0: there is no loader. */
VKT_API uint32_t vkt_loader_version(void);
/* Lists every device that any driver offers, usable or not, best first; *n is their number.
 * Returns NO_DEVICE (and says why: no loader, no driver) when there is none. Free with vkt_free. */
VKT_API vkt_status vkt_gpu_list(vkt_gpu_info **list, size_t *n);
/* The same for who only counts or names them: no driver is asked about matrix units and bfloat16, a
 * question that has crashed some, and caps says that there are none. */
VKT_API vkt_status vkt_gpu_list_names(vkt_gpu_info **list, size_t *n);

/* Checks that the device named by desc exists and is usable, without opening it. Errors: NO_DEVICE
 * (the message lists the devices), ARG (an unknown capability). */
VKT_API vkt_status vkt_gpu_check(const vkt_gpu_desc *desc);
/* Opens a device and logs one line with its name and why it was chosen. Errors: NO_DEVICE, ARG (an
 * unknown capability), UNSUPPORTED, DEVICE. */
VKT_API vkt_status vkt_gpu_create(const vkt_gpu_desc *desc, vkt_gpu **out);
VKT_API void vkt_gpu_destroy(vkt_gpu **gpu);

/* A driver's compiler may crash in kernels of matrix units, which are therefore tried before they
 * are used. With `on`, they are tried in another process, once for each driver: the program is
 * started again, and must hand its arguments to vkt_helper_main before it does anything else.
 * Without (the default), in this one, which such a crash ends once. */
VKT_API void vkt_helper_set(bool on);
/* True: the program was started for that, which is done, and ends with *rc. say: writes a line to
 * the standard output at once. */
VKT_API bool vkt_helper_main(int argc, char **argv, void (*say)(const char *line), int *rc);

/* The number of messages from validation layers in this process, also for devices that are closed.
 * Each was logged. */
VKT_API uint32_t vkt_validation_count(void);

VKT_API const vkt_caps *vkt_gpu_caps(const vkt_gpu *gpu);
/* Everything that choices and plans depend on, as JSON: see vkt_gpu_desc.profile. Free with
 * vkt_free.
 */
VKT_API char *vkt_caps_profile(const vkt_caps *caps);
VKT_API const char *vkt_gpu_type_name(vkt_gpu_type type); /* "discrete", "cpu", ... */
VKT_API const char *vkt_gpu_class_name(vkt_gpu_class klass);
/* The names that --cap takes, one "name  meaning" per line. */
VKT_API const char *vkt_cap_help(void);

/* Bytes of device memory allocated now and at most (host_bytes: VKT_MEM_HOST, counted separately),
 * allocations since creation, and messages from the validation layer (each was logged). */
typedef struct vkt_gpu_stats {
    uint64_t bytes, peak_bytes, host_bytes, n_allocs;
    uint32_t n_validation, n_pipelines;
    double pipeline_s; /* seconds spent creating pipelines */
} vkt_gpu_stats;
VKT_API vkt_gpu_stats vkt_gpu_get_stats(const vkt_gpu *gpu);

/* Device memory by its address. Fields are read-only for callers. A buffer in pieces has neither
 * address nor host pointer of its own: its pieces have. */
typedef struct vkt_buffer {
    uint64_t addr; /* device address, 256-byte aligned */
    uint64_t bytes;
    void *host; /* mapped, or NULL */
    const char *label;
    struct vkt__slab *slab;
    uint64_t offset;            /* within the slab's VkBuffer */
    bool on_host;               /* VKT_MEM_HOST */
    uint64_t from;              /* of a piece: where in the whole it begins */
    struct vkt_buffer **pieces; /* [n_pieces], in order, without gaps; NULL: it is one */
    size_t n_pieces;
} vkt_buffer;

typedef enum vkt_mem {
    VKT_MEM_DEVICE,   /* fast for the device; mapped only where memory is unified */
    VKT_MEM_UPLOAD,   /* host writes, device reads; mapped, coherent */
    VKT_MEM_READBACK, /* device writes, host reads; mapped, cached */
    VKT_MEM_HOST, /* host memory that the device reads and writes over the bus, for data that does
                     not fit into device memory; mapped, cached; not part of the device's budget */
} vkt_mem;

typedef struct vkt_buffer_desc {
    uint64_t bytes; /* > 0 */
    vkt_mem mem;
    const char *label; /* for debug names, plans and error lines; copied; NULL: "unnamed" */
    /* Where a buffer is cut that is larger than one allocation may be: n_cuts rising offsets,
     * multiples of 256 bytes, below `bytes`. No tensor may be bound across one. */
    const uint64_t *cuts;
    size_t n_cuts;
} vkt_buffer_desc;

/* Zero-filled. OOM_DEVICE names the label, the size and what was left. */
VKT_API vkt_status vkt_buffer_create(vkt_gpu *gpu, const vkt_buffer_desc *desc, vkt_buffer **out);
/* The caller must have waited for the device's last use of the buffer. */
VKT_API void vkt_buffer_destroy(vkt_gpu *gpu, vkt_buffer **buf);
/* Blocking copies between host and device; the device must not be using the range. */
VKT_API vkt_status vkt_buffer_write(vkt_gpu *gpu, vkt_buffer *buf, uint64_t offset,
                                    const void *data, uint64_t bytes);
VKT_API vkt_status vkt_buffer_read(vkt_gpu *gpu, const vkt_buffer *buf, uint64_t offset, void *data,
                                   uint64_t bytes);
/* A ticket identifies a submission (vkt_graph_submit): wait for its end, or ask whether it has
 * ended.
 */
VKT_API vkt_status vkt_ticket_wait(vkt_gpu *gpu, uint64_t ticket);
VKT_API bool vkt_ticket_done(vkt_gpu *gpu, uint64_t ticket);
/* Wait until the device is idle. DEVICE when it was lost. */
VKT_API vkt_status vkt_gpu_wait(vkt_gpu *gpu);

#ifdef __cplusplus
}
#endif
#endif
