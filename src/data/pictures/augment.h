/* Private to src/data: pictures changed at random. */
#ifndef VKT_DATA_AUGMENT_H
#define VKT_DATA_AUGMENT_H

#include "data/parts/parts.h"

/* Example `at` of a part of images, augmented. Order: random resized crop, shift, flip,
 * brightness and contrast, standardisation, erasing, cutout. */
vkt_status vkt__augment_fill(const vkt_dataset *ds, const vkt__part *part, uint32_t at,
                             const vkt__draw *draw, vkt__scratch *scratch, float *x);
bool vkt__augments(const vkt_augment *a); /* anything at all */
/* The share of the first picture of a mixed pair: Beta(alpha, alpha) at that position. */
float vkt__augment_mix(float alpha, uint64_t seed, uint64_t position);

#endif
