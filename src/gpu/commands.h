/* What the tensor layer sees of the gpu layer beside kernels: recorded commands, submissions, tuned
 * choices. No Vulkan types. One thread at a time may use a gpu's calls. */
#ifndef VKT_GPU_COMMANDS_H
#define VKT_GPU_COMMANDS_H

#include <stdatomic.h>

#include "base/words.h"
#include "gpu/specialization.h"

typedef struct vkt__cmd vkt__cmd;

/* A command buffer being recorded, opening with a barrier against everything submitted before. */
vkt_status vkt__cmd_create(vkt_gpu *gpu, const char *label, uint32_t n_timestamps, vkt__cmd **out);
void vkt__cmd_destroy(vkt_gpu *gpu, vkt__cmd **cmd);
/* `groups` workgroups, folded into two dimensions where they exceed the device's limit: the kernel
 * computes its flat index and returns past the end. */
void vkt__cmd_dispatch(vkt__cmd *cmd, vkt__kernel *k, const void *push, uint32_t push_bytes,
                       uint32_t groups);
/* Part `part` of `n_parts` of the same workgroups. Each workgroup runs in exactly one part, so a
 * dispatch too long for one submission can be spread over several. */
void vkt__cmd_dispatch_part(vkt__cmd *cmd, vkt__kernel *k, const void *push, uint32_t push_bytes,
                            uint32_t groups, uint32_t part, uint32_t n_parts);
/* All compute and copies before are finished and visible to all after. */
void vkt__cmd_barrier(vkt__cmd *cmd);
/* Bytes from one buffer to another. */
void vkt__cmd_copy(vkt__cmd *cmd, const vkt_buffer *from, uint64_t from_at, const vkt_buffer *to,
                   uint64_t to_at, uint64_t bytes);
void vkt__cmd_timestamp(vkt__cmd *cmd, uint32_t index);
/* Makes device writes visible to the host and ends recording. */
vkt_status vkt__cmd_end(vkt__cmd *cmd);

/* About how long it will run, by which a wait tells a hang from a long submission. */
void vkt__cmd_expect(vkt__cmd *cmd, double ms);

/* Writes what was compiled into the cache folder now, not at the end only, which a process that is
 * killed does not reach. Nothing happens where nothing is new. */
void vkt__gpu_keep_kernels(vkt_gpu *gpu);

/* Starts a recorded command buffer; *ticket is the timeline value that signals its end. */
vkt_status vkt__submit(vkt_gpu *gpu, vkt__cmd *cmd, uint64_t *ticket);
/* The same of n, 1 to VKT__SUBMIT_MOST, in order, as one submission. */
enum { VKT__SUBMIT_MOST = 16 };
vkt_status vkt__submit_all(vkt_gpu *gpu, vkt__cmd *const *cmds, uint32_t n, uint64_t *ticket);
/* Waits for a ticket like vkt_ticket_wait, but from any thread beside the one that submits; logs
 * and counts nothing. */
vkt_status vkt__ticket_watch(vkt_gpu *gpu, uint64_t ticket);
/* Milliseconds between timestamps 0..n-1 and timestamp 0, after the ticket was waited for. */
vkt_status vkt__cmd_times(vkt_gpu *gpu, vkt__cmd *cmd, double *ms);

/* Before what was submitted may use is freed: waits for its end. Where that can't be waited for,
 * nothing is freed until the process ends. Says nothing: what failed before was said. */
void vkt__gpu_settle(vkt_gpu *gpu);
/* The device was lost: all calls return DEVICE until the gpu is destroyed. */
bool vkt__gpu_lost(const vkt_gpu *gpu);
/* DEVICE, of a device that is lost; with the error line that it did not have where settling found
 * the loss, which is quiet. */
vkt_status vkt__gpu_tell_lost(vkt_gpu *gpu);
const char *vkt__gpu_why_lost(const vkt_gpu *gpu); /* "vkQueueSubmit2: device lost (VkResult -4)" */
/* The caller can recover from a loss, so it is logged as a warning, not as an error. */
void vkt__gpu_recovers(vkt_gpu *gpu, bool on);
bool vkt__gpu_gets_over(const vkt_gpu *gpu); /* it is lost, and the caller can recover */
/* Logs the driver's details about the loss (VK_EXT_device_fault), if it has any. */
void vkt__gpu_log_fault(vkt_gpu *gpu);
/* Before graphs are compiled. */
void vkt__gpu_set_submit_ms(vkt_gpu *gpu, uint32_t ms);
/* For tests: the `submits`-th submission from now, on any gpu, fails as if the device were lost,
 * and so do the following ones, `times` in all. 0, 0: none. */
void vkt__gpu_lose_after(uint64_t submits, uint32_t times);
/* For tests: what is submitted by the `submits`-th submission from now never ends; 0: never. A
 * second of a wait lasts `ms`; 0: 1000. */
void vkt__gpu_hang_after(uint64_t submits);
void vkt__gpu_wait_slice(uint32_t ms);
/* For tests: the n-th pipeline created from now, on any gpu, fails to compile; 0: none. */
void vkt__gpu_fail_pipeline(uint32_t n);
/* While *stop is not 0, a wait for what does not get on ends after 5 s, the device being lost. */
void vkt__gpu_stop_by(vkt_gpu *gpu, const atomic_int *stop);
/* Peak memory counts from now on: after something was tried that did not fit. */
void vkt__gpu_forget_peak(vkt_gpu *gpu);
/* Choices among kernels, from the user's cache folder: found by `vktrain tune`, read at creation
 * (unless the gpu has no_cache or no_tune), so that all later runs make the same. Keys without '=',
 * values without spaces, 39 characters. */
const char *vkt__choice_get(const vkt_gpu *gpu, const char *key); /* NULL: none */
void vkt__choice_set(vkt_gpu *gpu, const char *key, const char *value);
/* Whether what no choice is kept for should be timed when it is met: on GPUs with a cache folder,
 * unless kernels are pinned. */
bool vkt__gpu_tunes(const vkt_gpu *gpu);
double vkt__gpu_tune_seconds(const vkt_gpu *gpu); /* at most, in a job */
/* Whether what can't be written of them is an error, as where they were asked for, or a warning
 * (default): training goes on without a cache. */
void vkt__choices_matter(vkt_gpu *gpu, bool they_do);
/* *path: the file, "" where there is none to write, NULL where it could not be written. */
vkt_status vkt__choices_save(vkt_gpu *gpu, const char **path);

/* Stops using the device's matrix units: graphs that were planned before must be planned again.
 */
void vkt__gpu_drop_units(vkt_gpu *gpu);
/* Only matrices of any size on them. */
void vkt__gpu_drop_any_size(vkt_gpu *gpu);
void vkt__gpu_drop_attention(vkt_gpu *gpu);
/* True the first time for each bit of what was not yet done on this device. */
bool vkt__gpu_first_time(vkt_gpu *gpu, uint32_t bit);
/* A device that only plans, of these capabilities: there is none (dev is NULL). Its buffers have
 * addresses and, for what the host fills, memory; graphs are planned when they are compiled, and
 * can't be run. */
vkt_status vkt__gpu_plan(const vkt_caps *caps, vkt_gpu **out);
bool vkt__gpu_plans_only(const vkt_gpu *gpu);
/* Mesa's CPU driver, by the text in which it tells its version: 512-bit vectors, 16 lanes, were
 * measured there, and are right and fast. A version that nobody measured is not. */
bool vkt__mesa_is_right_wide(const char *driver_info);
/* What vkt_caps_profile wrote. FORMAT: it is no profile, or of no device that there can be. */
vkt_status vkt__caps_read_profile(const char *path, vkt_caps *out);

/* Seconds the calling thread has spent inside Vulkan's submit and wait calls since creation. */
double vkt__gpu_driver_cpu(const vkt_gpu *gpu);

/* The piece of buf that has byte `at`, or buf itself; *end: where it ends in the whole. */
const vkt_buffer *vkt__buffer_piece(const vkt_buffer *buf, uint64_t at, uint64_t *end);

/* What lies in the first `unit` bytes from `at` on again and again, until it fills `bytes`: on the
 * device, where the host does not reach it. Not of a buffer in pieces. */
vkt_status vkt__buffer_repeat(vkt_gpu *gpu, vkt_buffer *buf, uint64_t at, uint64_t unit,
                              uint64_t bytes);
/* The host may read the buffer's memory in place, as fast as its own. */
bool vkt__buffer_reads_fast(const vkt_buffer *buf);
/* The host has written to buf->host. */
void vkt__buffer_written(vkt_gpu *gpu, vkt_buffer *buf);

#endif
