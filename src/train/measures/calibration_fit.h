/* A calibration fitted on what a model says of examples: which of them count, what is fitted and in
 * which order. Knows numbers, and no session. */
#ifndef VKT_TRAIN_CALIBRATION_FIT_H
#define VKT_TRAIN_CALIBRATION_FIT_H

#include "train/measures/calibration.h"
#include "vktrain/data.h"

enum { VKT__CALIBRATION_EXAMPLES = 100 }; /* of fewer nothing can be said */

typedef struct vkt__calibrates {
    bool temperature, thresholds;
} vkt__calibrates;
/* What the recipe asks for, and the data can have: a temperature of classes, thresholds of several
 * labels or of two classes; nothing of numbers, texts and pictures. */
vkt__calibrates vkt__calibration_wanted(const vkt_config *c, const vkt_dataset_info *info);

/* What a model says of examples, and what is right. */
typedef struct vkt__said {
    uint32_t n_outputs;
    bool several; /* labels of an example */
    vkt_maybe ignore;
    uint64_t n;
    float *p, *is;    /* [n, n_outputs]; is: NULL without thresholds */
    uint32_t *target; /* [n] classes */
} vkt__said;
/* Room for `most` examples. */
void vkt__said_begin(vkt__said *s, vkt__calibrates what, uint32_t n_outputs, bool several,
                     vkt_maybe ignore, uint64_t most);
/* out [n_outputs], y: its class, or its labels. A class that does not count is left out. */
void vkt__said_add(vkt__said *s, const float *out, const vkt_label *y);
void vkt__said_finish(vkt__said *s);

/* Into *out, which has nothing fitted: a temperature, where it helps, and thresholds of the
 * probabilities that it makes. *few: there are fewer than VKT__CALIBRATION_EXAMPLES that count, and
 * nothing was fitted. s->p becomes the calibrated ones. */
vkt_status vkt__calibration_fit(vkt__said *s, const vkt_config *c, vkt__calibrates what,
                                vkt__calibration *out, bool *few);

#endif
