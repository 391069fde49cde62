/* vktrain base layer: status codes, the log sink, counter-based random numbers.
 * Every call that can fail returns a vkt_status; the place that detects a failure logs one line
 * (what, where, what to do) through the sink, and callers forward the status without logging.
 *
 * Threads: the functions of this header may be called from any thread at any time, but for
 * vkt_log_set, which is called while no other thread is in the library. Each header says what else
 * holds for it. Aborts: a broken rule of the kind that only a bug breaks (an index past the end, a
 * call out of order; each header lists its own) ends the process with "internal error: FILE:LINE".
 * So does the failure of a small host allocation (lists, names, texts). All that is as large as a
 * file, a data set or a model is checked: OOM_HOST. Wrong values, files and devices never abort.
 * Ownership: what a `create` or `open` returns is ended by its `destroy`, which takes the address
 * of the pointer, sets it to NULL and accepts NULL. Descs and what they point to are read during
 * the call only, except where a field says otherwise. Texts that are returned as const char *
 * belong to the library.
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
 * version changes neither. Structs that the caller fills grow at their end only, and zero means the
 * default, so that a program compiled for 0.1.0 runs with 0.1.1 where it passes them by pointer. */
#define VKT_VERSION "0.1.0"
#define VKT_VERSION_NUMBER 100 /* 10000 * major + 100 * minor + patch */

/* What a shared library shows of itself. VKT_SHARED is set by vktrain's CMake package and
 * pkg-config file where that is what was installed, VKT_BUILD while the library is compiled. */
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
    VKT_E_INTERRUPTED, /* stopped on request after a clean checkpoint */
    VKT_E_FAILED,      /* the work itself failed, e.g. a self-test */
} vkt_status;

/* A number that has a default other than 0: { 0 } is that default, { true, 0 } is none. */
typedef struct vkt_maybe {
    bool given;
    uint32_t n;
} vkt_maybe;

/* Of the library that runs: VKT_VERSION and VKT_VERSION_NUMBER are of the one compiled with. */
VKT_API const char *vkt_version(void);
VKT_API int vkt_version_number(void);

/* Frees what the library hands out with "free it with vkt_free"; NULL is fine. The C library's free
 * would be wrong where the program has another allocator or, on Windows, another C runtime. */
VKT_API void vkt_free(void *p);

/* "shape", "out of device memory", ...: a static string, never NULL. */
VKT_API const char *vkt_status_name(vkt_status st);

typedef enum vkt_log_level {
    VKT_LOG_ERROR,
    VKT_LOG_WARN,
    VKT_LOG_INFO,
    VKT_LOG_DEBUG
} vkt_log_level;

/* Receives each log line, without newline. `area` names the subsystem ("gpu", "data", ...).
 * May be called from loader threads. */
typedef void (*vkt_log_fn)(void *user, vkt_log_level level, const char *area, const char *line);

/* Replace the sink; NULL restores the default (stderr, "vktrain: error: line"). Process wide. */
VKT_API void vkt_log_set(vkt_log_fn fn, void *user, vkt_log_level max_level);

/* The newest error line of the calling thread, cut to 511 bytes, whatever the sink showed; "" if it
 * had none. Valid until this thread's next error. What a thread of the library met (a loader's) is
 * in the line of the call that returned its status. */
VKT_API const char *vkt_last_error(void);

VKT_API void vkt_log(vkt_log_level level, const char *area, const char *fmt, ...) VKT_PRINTF(3, 4);

/* The end of a message that refuses `word`: "; did you mean 'NAME'?" with the candidate nearest to
 * it, "" when none is near. Use: printf("no layer '%s'%s", word, vkt_did_you_mean(..).text) */
typedef struct vkt_hint {
    char text[96];
} vkt_hint;
VKT_API vkt_hint vkt_did_you_mean(const char *word, const char *const *candidates, size_t n);

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
