/* How alike two pictures are, numbers from 0 to 1. Knows no file and no device. */
#ifndef VKT_TRAIN_PICTURE_SCORES_H
#define VKT_TRAIN_PICTURE_SCORES_H

#include "base/words.h"

/* 10 log10(1 / mean squared error), `got` brought to 0 to 1 first; equal pictures have 100 dB.
 * Source of the convention: scikit-image's peak_signal_noise_ratio(data_range=1). */
double vkt__psnr(const float *got, const float *wanted, size_t n);
/* The mean over channels and windows of 7 x 7 pixels inside, shape [H, W, C], `got` brought to 0 to
 * 1 first. NAN: smaller than a window. Source: Wang et al. 2004, with the sample covariance, as
 * scikit-image's structural_similarity(data_range=1, channel_axis=2). */
double vkt__ssim(const float *got, const float *wanted, const uint32_t shape[3]);

#endif
