/* vktrain base layer: status codes, the log sink, counter-based random numbers.
 * Every call that can fail returns a vkt_status; the place that detects a failure logs one line
 * (what, where, what to do) through the sink, and callers forward the status without logging.
 *
 * Threads: the functions of this header may be called from any thread at any time, except
 * vkt_log_set, which is called while no other thread is in the library. Each header adds its own
 * rules. Aborts: misuse that only a bug in the caller can cause (an index past the end, calls in
 * the wrong order; each header lists its own) ends the process with "internal error: FILE:LINE".
 * Wrong values, files and devices never abort. When host memory runs out, the call returns
 * OOM_HOST: until it does, small allocations (lists, names, texts) are served from a reserve of
 * 1 MiB, and only if that is used up, too, the process is ended (vkt_out_of_memory_set). jansson's
 * allocations are served in the same way, unless json_set_alloc_funcs was called.
 * Ownership: an object from `create` or `open` is freed by its `destroy`, which takes the address
 * of the pointer, sets it to NULL and accepts NULL. Descs and what they point to are read only
 * during the call, except where a field says otherwise. Texts returned as const char * belong to
 * the library.
 */
#ifndef VKTRAIN_BASE_H
#define VKTRAIN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Before 1.0 a minor version may change functions and structs (0.1 and 0.2 do not mix); a patch
 * version changes neither. Structs that the caller fills grow only at their end, and zero means the
 * default, so a program compiled for 0.2.0 runs with 0.2.1 if it passes them by pointer. */
#define VKT_VERSION "0.2.0"
#define VKT_VERSION_NUMBER 200 /* 10000 * major + 100 * minor + patch */

/* Marks the exported functions. vktrain's CMake package and pkg-config file set VKT_SHARED if a
 * shared library was installed; VKT_BUILD is set while the library itself is compiled. */
#if defined(_WIN32) && defined(VKT_SHARED) && defined(VKT_BUILD)
#define VKT_API __declspec(dllexport)
#elif defined(_WIN32) && defined(VKT_SHARED)
#define VKT_API __declspec(dllimport)
#elif defined(__GNUC__)
#define VKT_API __attribute__((visibility("default")))
#else
#define VKT_API
#endif

#if defined(__MINGW32__)
#define VKT_PRINTF(fmt, args)                                                                      \
    __attribute__((format(gnu_printf, fmt, args))) /* %zu: with __USE_MINGW_ANSI_STDIO */
#elif defined(__GNUC__)
#define VKT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define VKT_PRINTF(fmt, args)
#endif

typedef enum vkt_status {
    VKT_OK = 0,
    VKT_E_ARG,         /* a value given by the caller or user is wrong */
    VKT_E_SHAPE,       /* tensor shapes do not fit together */
    VKT_E_UNSUPPORTED, /* the device or build lacks what was asked for */
    VKT_E_OOM_HOST,
    VKT_E_OOM_DEVICE,
    VKT_E_NO_DEVICE,   /* no usable Vulkan device, or none that matches */
    VKT_E_DEVICE,      /* a Vulkan call failed or the device was lost */
    VKT_E_IO,          /* a file can't be opened, read or written */
    VKT_E_FORMAT,      /* a file's content is not what it must be */
    VKT_E_NUMERIC,     /* NaN or Inf where the policy says stop */
    VKT_E_COMM,        /* communication between ranks failed */
    VKT_E_INTERRUPTED, /* stopped on request after saving a checkpoint */
    VKT_E_FAILED,      /* the work itself failed, e.g. a self-test */
} vkt_status;

/* A number whose default is not 0: { 0 } means the default, { true, 0 } means 0. */
typedef struct vkt_maybe {
    bool given;
    uint32_t n;
} vkt_maybe;

/* The version of the library at run time. VKT_VERSION and VKT_VERSION_NUMBER are the version at
 * compile time. */
VKT_API const char *vkt_version(void);
VKT_API int vkt_version_number(void);

/* The operating system, its kernel and processor in one line, for bug reports: cut to n - 1 bytes.
 */
VKT_API void vkt_system_text(char *out, size_t n);

/* Frees memory that a comment says to free with vkt_free; NULL is allowed. The C library's free is
 * wrong if the program uses another allocator or, on Windows, another C runtime. */
VKT_API void vkt_free(void *p);
/* Writes a file whole: beside it, synced, then renamed over `path`, so that whatever happens it is
 * as it was or as it is meant. */
VKT_API vkt_status vkt_file_write(const char *path, const void *data, size_t n);
/* The user's folder for what vktrain keeps and can make again (~/.cache/vktrain, or where
 * XDG_CACHE_HOME or LOCALAPPDATA say), without a slash at the end, created. False: there is none.
 */
VKT_API bool vkt_cache_folder(char *out, size_t n);
/* Whether looking at this path says nothing to a stranger: Windows asks a server for \\SERVER\SHARE
 * with the user's name, so where VKT_WITHIN names folders, only servers below these are asked. */
VKT_API bool vkt_path_may_look(const char *path);
/* How the process is ended when no memory at all is left: `end` does not return. NULL: abort. */
VKT_API void vkt_out_of_memory_set(void (*end)(void));

/* "shape", "out of device memory", ...: a static string, never NULL. */
VKT_API const char *vkt_status_name(vkt_status st);

typedef enum vkt_log_level {
    VKT_LOG_ERROR,
    VKT_LOG_WARN,
    VKT_LOG_INFO,
    VKT_LOG_DEBUG
} vkt_log_level;

/* Receives each log line, without newline. `area` names the subsystem ("gpu", "data", ...);
 * "progress": how far long work is, "WHAT: 12 of 34, about 5 s left".
 * May be called from loader threads. */
typedef void (*vkt_log_fn)(void *user, vkt_log_level level, const char *area, const char *line);

/* Replace the sink; NULL restores the default (stderr, "vktrain: error: line"). Process wide. */
VKT_API void vkt_log_set(vkt_log_fn fn, void *user, vkt_log_level max_level);

/* The last error line of the calling thread, cut to 511 bytes, even if the sink did not show it; ""
 * if there was none. Valid until this thread's next error. An error in a thread of the library
 * (such as a loader's) appears here after the call that returns its status. */
VKT_API const char *vkt_last_error(void);

VKT_API void vkt_log(vkt_log_level level, const char *area, const char *fmt, ...) VKT_PRINTF(3, 4);

/* The end of a message about an unknown `word`: "; did you mean 'NAME'?" with the nearest
 * candidate, or "" if none is near. Use: printf("no layer '%s'%s", word, vkt_did_you_mean(..).text)
 */
typedef struct vkt_hint {
    char text[96];
} vkt_hint;
VKT_API vkt_hint vkt_did_you_mean(const char *word, const char *const *candidates, size_t n);

/* How numbers that are only read, such as a frozen base, are kept: in how many bits. In words of 32
 * bits, by superblocks of 256 numbers; the layouts are base/quant.h's. */
typedef enum vkt_quant {
    VKT_QUANT_AUTO, /* as the reader's comment says */
    VKT_QUANT_F32,  /* not packed */
    VKT_QUANT_F16,
    VKT_QUANT_BF16,
    VKT_QUANT_Q8_0, /* 8.5 bits: GGUF's, 32 whole numbers and their scale */
    VKT_QUANT_Q4_0, /* 4.5 bits: GGUF's, the same */
    VKT_QUANT_NF4, /* 4.25 bits: QLoRA's 16 quantiles of a normal distribution, 64 of them and their
                     scale, which has 8 bits itself (Dettmers et al. 2023, arXiv 2305.14314) */
    VKT_QUANT_Q4_K, /* 4.5 bits: GGUF's, 32 whole numbers, their scale and offset in 6 bits each */
    VKT_QUANT_Q6_K, /* 6.6 bits: GGUF's, 16 whole numbers and their scale in 8 bits */
    VKT_QUANT_COUNT,
    VKT_QUANT_FILE /* each as a GGUF file has it: vkt_lora.base */
} vkt_quant;

/* What randomness is used for; streams of different purpose never overlap. */
typedef enum vkt_purpose {
    VKT_RNG_INIT = 1,
    VKT_RNG_SHUFFLE,
    VKT_RNG_SPLIT,
    VKT_RNG_DROPOUT,
    VKT_RNG_SAMPLE,
    VKT_RNG_TEST,
    VKT_RNG_AUGMENT,
    VKT_RNG_MIXUP,
} vkt_purpose;

/* 32 random bits as a pure function of its arguments: no state, so any element can be recomputed.
 * Source: PCG output permutation over a Weyl-mixed counter (Jarzynski & Olano 2020, pcg3d family);
 * the same arithmetic runs in shaders (shaders/rng.h). */
VKT_API uint32_t vkt_rand_u32(uint64_t seed, vkt_purpose purpose, uint64_t index);
/* Uniform in [0, 1), 24 bits. */
VKT_API double vkt_rand_uniform(uint64_t seed, vkt_purpose purpose, uint64_t index);
/* Standard normal by Box-Muller from words 2*index and 2*index+1. */
VKT_API double vkt_rand_normal(uint64_t seed, vkt_purpose purpose, uint64_t index);
/* Integer in [0, n), n > 0, without modulo bias beyond 2^-32. */
VKT_API uint32_t vkt_rand_below(uint64_t seed, vkt_purpose purpose, uint64_t index, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
