/* What the tuners of products (tune.c) and of convolutions (tune_conv.c) share. */
#ifndef VKT_TENSOR_TUNE_H
#define VKT_TENSOR_TUNE_H

#include "tensor/check/tune_time.h"
#include "tensor/kernels/matmul.h"

/* A kernel must take less than this share of the table's time, lest noise undo its choice. */
#define VKT__TUNE_GAIN 0.95

/* Around wishes for many kernels (gpu/specialization.h), which are then made at the same time. That
 * is tried as a kernel is (gpu/journal.h): where it ended the program, begin is false, and they are
 * compiled one by one, so that the culprit shows. A kernel that fails is reported when it is asked
 * for; DEVICE: the device was lost. */
bool vkt__at_once_begin(vkt_gpu *gpu, const char *key);
vkt_status vkt__at_once_end(vkt_gpu *gpu, const char *area);

/* Whether to try a candidate for a key: not if the journal excludes it (gpu/journal.h). If true,
 * the caller must end the trial with its result. */
bool vkt__tune_begin(vkt_gpu *gpu, const char *kernel, const char *key);
/* DEVICE, after a line: this kernel lost it. An error, or a warning where the caller gets over it.
 */
vkt_status vkt__lost_by(vkt_gpu *gpu, const char *area, const char *kernel);
/* OK after a failure too, told in a line, unless the device was lost; *ms is INFINITY then. */
vkt_status vkt__tune_end(vkt_gpu *gpu, const char *kernel, vkt_status st, double *ms);
/* The kernels to time, the table's first; returns how many. Where that one multiplies on matrix
 * units no other class wins: the others come in pass 1 only, which is for when none of pass 0 was
 * right. all: in pass 0, too, and those that are unlikely to win. */
uint32_t vkt__tune_candidates(const vkt_caps *caps, const vkt__product *p, bool all, int pass,
                              uint32_t *out, uint32_t most);
/* Flops of a product, as often as its choice is used, that a better kernel than the table's might
 * save: what is best timed first where time is short. */
double vkt__tune_gain(const vkt_gpu *gpu, const vkt_tune_shape *s);
/* Says where choices are kept. */
void vkt__tune_told(const char *path);

#endif
