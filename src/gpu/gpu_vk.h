/* The gpu layer's own view: Vulkan handles. Included by src/gpu only. */
#ifndef VKT_GPU_VK_H
#define VKT_GPU_VK_H

#include <stdatomic.h>
#include <volk.h>

#include "gpu/commands.h"

#define VKT_VK(call)                                                                               \
    do {                                                                                           \
        VkResult vk_r = (call);                                                                    \
        if (vk_r != VK_SUCCESS) {                                                                  \
            st = vkt__vk_fail(gpu, vk_r, #call);                                                   \
            goto fail;                                                                             \
        }                                                                                          \
    } while (0)

typedef struct vkt__slab {
    struct vkt__slab *next;
    VkDeviceMemory memory;
    VkBuffer buffer;
    VkDeviceAddress addr;
    uint64_t bytes, used;
    uint32_t n_live;
    vkt_mem mem;
    unsigned char *host;
    bool cached, coherent; /* as the host sees it */
} vkt__slab;

struct vkt__kernel {
    struct vkt__kernel *next;
    vkt__shader shader;
    uint32_t n_spec;
    vkt__constant spec[VKT__MAX_CONSTANTS];
    VkPipeline pipeline;
};

struct vkt__cmd {
    vkt_gpu *gpu;
    VkCommandBuffer cb;
    VkQueryPool queries;
    uint32_t n_timestamps;
    VkPipeline bound;
    const char *label;
    double expected_ms;
};

/* What was submitted under a ticket. */
typedef struct vkt__sent {
    uint64_t ticket;
    char label[40];
    double expected_ms;
} vkt__sent;

typedef struct vkt__choice {
    char key[40], value[40];
} vkt__choice;

/* A kernel that is left out: journal.c. */
typedef struct vkt__culprit {
    char kernel[40], key[40];
    bool lost;
} vkt__culprit;

struct vkt_gpu {
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    PFN_vkDestroyDebugUtilsMessengerEXT messenger_destroy;
    PFN_vkSetDebugUtilsObjectNameEXT set_name;
    VkPhysicalDevice phys;
    VkDevice dev;
    VkQueue queue;
    VkCommandPool pool;
    VkSemaphore timeline;
    uint64_t submitted;
    uint32_t done;      /* vkt__gpu_first_time */
    uint64_t next_addr; /* of a device that only plans */
    vkt__sent sent[64]; /* the last ones, by ticket */
    const atomic_int *stop;
    VkPipelineLayout layout;
    VkPipelineCache cache;
    uint32_t index;              /* in the list of devices */
    char *asked_cap, *asked_dir; /* of its description, or NULL */
    double tune_seconds;         /* as in vkt_gpu_desc */
    bool statistics;             /* drivers are asked what pipelines take */
    bool use_cache, tunes, debug_names, fault_info;
    bool uniform_flow;   /* shaders ask for it: uniform_flow.h */
    bool cache_fails;    /* it can't be written; a warning said so */
    bool choices_matter; /* what can't be written of them is an error */
    atomic_bool lost;    /* read by who watches from another thread, too */
    bool hung;           /* lost, with work on it that never ends: nothing of it may be destroyed */
    bool test_hangs;
    struct vkt_gpu *next_hung;
    bool uses_table; /* volk's: see instance.c */
    bool recovers;   /* the caller gets over a loss: it is a warning */
    bool settles;    /* nothing is expected of the device any more, but its end */
    char why_lost[256];
    bool told_lost; /* in an error line or a warning */
    char cache_path[1024];
    size_t cache_loaded; /* bytes of its data on the disk */
    char choices_path[1024];
    vkt__choice *choices;
    size_t n_choices, cap_choices;
    char journal_path[1040];
    vkt__culprit *culprits, trying;
    size_t n_culprits, cap_culprits;
    vkt_caps caps;
    VkPhysicalDeviceMemoryProperties mem_props;
    vkt__slab *slabs;
    vkt__kernel *kernels, *wishes; /* wishes: to be made, without a pipeline yet */
    vkt_buffer *staging;
    vkt_gpu_stats stats;
    double driver_cpu;
};

/* vk.c */
/* Logs the call and result; sets the lost flag; DEVICE, OOM_DEVICE or OOM_HOST; NO_DEVICE before
 * there is one. */
vkt_status vkt__vk_fail(vkt_gpu *gpu, VkResult r, const char *call);
/* The device is lost for this reason, which is logged. DEVICE. */
vkt_status vkt__lose(vkt_gpu *gpu, const char *fmt, ...) VKT_PRINTF(2, 3);
void vkt__debug_name(vkt_gpu *gpu, VkObjectType type, uint64_t handle, const char *name);

/* vulkan_loader.c */
/* Opens the Vulkan loader and fills volk's table of its functions; false where there is none. */
bool vkt__loader_open(void);

/* instance.c */
/* NO_DEVICE without a loader or a driver, UNSUPPORTED without the validation layer asked for. What
 * it made is destroyed with vkt__instance_destroy, also after a failure. */
vkt_status vkt__instance_create(vkt_gpu *gpu, vkt_validation validate);
void vkt__instance_destroy(vkt_gpu *gpu);

/* device_list.c */
typedef struct vkt__gpu_entry {
    vkt_gpu_info info;
    VkPhysicalDevice phys;
} vkt__gpu_entry;
/* The instance's devices, best first; to be freed. Their matrix units are not asked about. */
vkt_status vkt__gpu_entries(vkt_gpu *gpu, vkt__gpu_entry **out, uint32_t *n_out);
/* The one that `want`, else VKT_DEVICE, else their order names; NO_DEVICE with their names. */
vkt_status vkt__gpu_choose(const vkt__gpu_entry *e, uint32_t n, const char *want, uint32_t *out);
/* Asks about the matrix units of one of them. */
void vkt__gpu_ask_units(const vkt_gpu *gpu, vkt__gpu_entry *e);
/* "device 0: AMD Radeon 780M (integrated, RADV ..., Vulkan 1.3, ...): best of 3 (discrete, ...)" */
void vkt__gpu_log_choice(const vkt__gpu_entry *e, uint32_t n, uint32_t chosen, const char *want);

/* choices.c */
void vkt__choices_open(vkt_gpu *gpu, const char *dir);
/* The first lines of the files that are of this device, driver and kernels only. */
void vkt__choices_heading(const vkt_gpu *gpu, vkt__str *s);

/* "matmul=NAME" into caps->kernel; caps NULL: only checked. ARG: it is not of that form; whether
 * there is such a kernel, who knows kernels checks. */
vkt_status vkt__choice_hold(const char *what, vkt_caps *caps);

/* journal.c */
/* Beside the choices. Again: with n_culprits set to 0, after another process wrote to it. */
void vkt__journal_open(vkt_gpu *gpu);

/* caps.c */
/* Asks the driver, through the environment, for wider vectors where they pay; true if a new
 * instance may have them. */
bool vkt__caps_widen(const vkt_caps *caps);
/* Around an instance and its list of devices: CPU drivers are asked to run without threads of their
 * own, if `serial` and the user has not set the variable. */
bool vkt__caps_serial_begin(bool serial);
void vkt__caps_serial_end(bool begun);
/* All but what vkt__coopmat_query completes: of that, whether the extensions are there. */
void vkt__caps_query(VkPhysicalDevice phys, vkt_caps *caps, char why_not[128]);
/* Environment that must be set before drivers are loaded, from --cap and the processor. */
vkt_status vkt__caps_prepare(const char *cap);
vkt_status vkt__caps_apply(const char *cap, vkt_caps *caps);
/* What follows from the rest, and is the same for all. */
void vkt__caps_complete(vkt_caps *caps);

/* coopmat.c */
typedef struct vkt__coopmat_features {
    struct {
        VkStructureType sType;
        void *pNext;
        VkBool32 on, robust;
    } matrix;
    struct {
        VkStructureType sType;
        void *pNext;
        VkBool32 type, dot, matrix;
    } bf16;
    struct {
        VkStructureType sType;
        void *pNext;
        VkBool32 workgroup, any_size, reductions, conversions, per_element, layouts, blocks;
    } matrix2;
} vkt__coopmat_features;
/* Those of the extensions that c has, before `next`, for a query or a device's creation. */
void *vkt__coopmat_chain(vkt__coopmat_features *f, const vkt_caps *c, void *next);
/* Completes c->coopmat, c->coopmat2, c->bf16, the fragments' sizes; expects the extensions'
 * presence in them. Drivers have crashed in it, so it is for the device that is to be used, and for
 * who asked about each: quirk UNITS_QUERY. What a loader or driver does not tell is a warning. */
void vkt__coopmat_query(VkInstance instance, VkPhysicalDevice phys, bool on_windows, vkt_caps *c);
/* The features that kernels use: enabled where the device has them. */
void vkt__coopmat_ask(vkt__coopmat_features *f, const vkt_caps *c);
/* A row of the extension's table of what the sizes of matrices must be multiples of. */
typedef struct vkt__matrix_size {
    VkStructureType sType;
    void *pNext;
    uint32_t m, n, k;
    int32_t a, b, c, result;
    VkBool32 saturating;
    int32_t scope;
    uint32_t invocations;
} vkt__matrix_size;
/* Completes c->coopmat2 and its sizes from the table. whole: workgroups, of at most `whole`
 * invocations, hold matrices, whose layouts are known; 0: subgroups hold them, which is of use on
 * CPU drivers only, for tests. */
void vkt__coopmat2_sizes(const vkt__matrix_size *sizes, uint32_t n, uint32_t whole, vkt_caps *c);

/* cache.c */
/* The user's folder, else another, else none (false); a line in the log reports the latter two. */
bool vkt__cache_folder(char *out, size_t n);
/* dir NULL: there is no cache. */
vkt_status vkt__cache_open(vkt_gpu *gpu, const char *dir);
void vkt__cache_close(vkt_gpu *gpu);
/* What another process has written meanwhile is taken in. */
void vkt__cache_merge(vkt_gpu *gpu);
/* A file of the cache folder, which is done without where it can't be read: a warning says so. */
bool vkt__cache_read(const char *path, size_t limit, char **file, size_t *n);
/* Writes one, or says in a warning that it is done without, once for each device. */
void vkt__cache_write(vkt_gpu *gpu, const char *path, const void *data, size_t n);

/* kernel.c */
void vkt__kernels_finish(vkt_gpu *gpu);

/* statistics.c */
/* If gpu->statistics, completes the features that give them. Returns whether this device has them,
 * and sets gpu->statistics to that. */
bool vkt__statistics_ask(vkt_gpu *gpu, const VkExtensionProperties *have, uint32_t n,
                         VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR *f);

/* slab.c */
enum { VKT__SLAB_ALIGN = 256 };
/* The slab whose last `bytes` used, a multiple of VKT__SLAB_ALIGN, are the caller's. */
vkt_status vkt__slab_take(vkt_gpu *gpu, uint64_t bytes, vkt_mem mem, const char *label,
                          vkt__slab **out);
void vkt__slab_give_back(vkt_gpu *gpu, vkt__slab *s);
void vkt__slabs_finish(vkt_gpu *gpu);
/* Where the host's caches do not follow the device's memory by themselves: what the host wrote
 * reaches the device; what the device wrote, all that was waited for, the host. */
void vkt__slab_written(vkt_gpu *gpu, const vkt__slab *s);
void vkt__slabs_refresh(vkt_gpu *gpu);

/* memory_type.c */
/* UINT32_MAX: none of those allowed. */
uint32_t vkt__memory_type(const VkPhysicalDeviceMemoryProperties *p, bool unified, uint32_t allowed,
                          vkt_mem mem);
/* Whether kernels may use subgroup operations: all kinds that any of them uses. */
bool vkt__subgroups_serve(const VkPhysicalDeviceVulkan11Properties *p);
/* One that computes: if possible with timestamps, then without graphics; UINT32_MAX: none. */
uint32_t vkt__compute_family(const VkQueueFamilyProperties *q, uint32_t n);
/* For a clock with this number of bits. */
uint64_t vkt__ticks_between(uint64_t from, uint64_t to, uint32_t valid_bits);

#endif
