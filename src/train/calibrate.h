/* A session's calibration, fitted on what its model says about a split. */
#ifndef VKT_TRAIN_CALIBRATE_H
#define VKT_TRAIN_CALIBRATE_H

#include "train/evaluate.h"
#include "train/measures/calibration_fit.h"

/* Fits what config's calibration says into s->calibration, which evaluations use from then on; fits
 * nothing with fewer than VKT__CALIBRATION_EXAMPLES examples. With several ranks, each must call
 * it, and all get the same. The device must not be training. */
vkt_status vkt__calibrate(vkt__session *s, vkt_split split);
/* Back to the model's own probabilities. */
void vkt__calibration_reset(vkt__session *s);
/* The calibration of a checkpoint folder, if it has one. */
vkt_status vkt__calibration_load(vkt__session *s, const char *checkpoint);

#endif
