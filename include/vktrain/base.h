/* vktrain base layer: status codes, the log sink, counter-based random numbers.
 * Every call that can fail returns a vkt_status; the place that detects a failure logs one line
 * (what, where, what to do) through the sink, and callers forward the status without logging. */
#ifndef VKTRAIN_BASE_H
#define VKTRAIN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VKT_VERSION "0.1.0"

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
    VKT_ARG,         /* a value given by the caller or user is wrong */
    VKT_SHAPE,       /* tensor shapes do not fit together */
    VKT_UNSUPPORTED, /* the device or build lacks what was asked for */
    VKT_OOM_HOST,
    VKT_OOM_DEVICE,
    VKT_NO_DEVICE,   /* no usable Vulkan device, or none that matches */
    VKT_DEVICE,      /* a Vulkan call failed or the device was lost */
    VKT_IO,          /* a file can't be opened, read or written */
    VKT_FORMAT,      /* a file's content is not what it must be */
    VKT_NUMERIC,     /* NaN or Inf where the policy says stop */
    VKT_COMM,        /* communication between ranks failed */
    VKT_INTERRUPTED, /* stopped on request after a clean checkpoint */
    VKT_FAILED,      /* the work itself failed, e.g. a self-test */
} vkt_status;

/* "shape", "out of device memory", ...: a static string, never NULL. */
const char *vkt_status_name(vkt_status st);

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
void vkt_log_set(vkt_log_fn fn, void *user, vkt_log_level max_level);

void vkt_log(vkt_log_level level, const char *area, const char *fmt, ...) VKT_PRINTF(3, 4);

/* The end of a message that refuses `word`: "; did you mean 'NAME'?" with the candidate nearest to
 * it, "" when none is near. Use: printf("no layer '%s'%s", word, vkt_did_you_mean(..).text) */
typedef struct vkt_hint {
    char text[96];
} vkt_hint;
vkt_hint vkt_did_you_mean(const char *word, const char *const *candidates, size_t n);

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
uint32_t vkt_rand_u32(uint64_t seed, vkt_purpose purpose, uint64_t index);
/* Uniform in [0, 1), 24 bits. */
double vkt_rand_uniform(uint64_t seed, vkt_purpose purpose, uint64_t index);
/* Standard normal by Box-Muller from words 2*index and 2*index+1. */
double vkt_rand_normal(uint64_t seed, vkt_purpose purpose, uint64_t index);
/* Integer in [0, n), n > 0, without modulo bias beyond 2^-32. */
uint32_t vkt_rand_below(uint64_t seed, vkt_purpose purpose, uint64_t index, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
