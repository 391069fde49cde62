/* Labels that a model contradicts: confident learning. Source: Northcutt et al. 2021 (arXiv
 * 1911.00068), with the predictions of examples that were not trained on. */
#ifndef VKT_TRAIN_LABEL_DOUBT_H
#define VKT_TRAIN_LABEL_DOUBT_H

#include "vktrain/data.h"

enum { VKT__LIKELIEST = 8 };

/* An example with its likeliest classes, by falling probability; p 0: there are no more. */
typedef struct vkt__judged {
    uint64_t index;
    uint32_t label;
    float p_label;
    struct {
        uint32_t class;
        float p;
    } top[VKT__LIKELIEST];
} vkt__judged;
/* out [n_classes]: probabilities. */
void vkt__judged_set(vkt__judged *e, uint64_t index, uint32_t label, const float *out,
                     uint32_t n_classes);

typedef struct vkt__doubt {
    size_t at;       /* of the examples */
    uint32_t likely; /* the class that is likelier than its label */
    float p;
} vkt__doubt;
typedef struct vkt__doubts {
    vkt__doubt *doubt; /* [n] those first whose label has least for it; free it */
    size_t n, n_examples;
    /* Shares that are wrong: of all; of the half, and of the quarter, that the model is surest of.
     * Examples that are hard are wrong where it is unsure, labels that are wrong are so anywhere.
     */
    double wrong, half, quarter;
} vkt__doubts;
/* A label is doubtful where another class is at least as probable as it is on average for the
 * examples that bear its name, and likelier than the label. OOM_HOST. */
vkt_status vkt__label_doubts(const vkt__judged *e, size_t n, uint32_t n_classes, vkt__doubts *out);

#endif
