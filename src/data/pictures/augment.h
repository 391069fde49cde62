/* Private to src/data: pictures changed at random. */
#ifndef VKT_DATA_AUGMENT_H
#define VKT_DATA_AUGMENT_H

#include "data/parts/parts.h"
#include "data/pictures/picture.h"

/* Example i of a split of images, augmented. Order: mosaic or random resized crop, rotation
 * and perspective, RandAugment, saturation, hue, shift, flips, brightness and contrast,
 * standardisation, erasing, cutout, and of boxes mixup: pairs of other data are the loader's. */
vkt_status vkt__augment_fill(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__draw *draw, vkt__scratch *scratch, float *x);
bool vkt__augments(const vkt_augment *a); /* anything at all */
/* ARG: it is not for such data. */
vkt_status vkt__augment_check(const vkt_augment *a, const vkt_dataset_info *info);
/* The share of the first picture of a mixed pair: Beta(alpha, alpha) at that position. */
float vkt__augment_mix(float alpha, uint64_t seed, uint64_t position);
/* Whether the pair at that position is cut, not blended: always, or half of them where there is
 * mixup, too. */
bool vkt__augment_cuts(const vkt_augment *a, uint64_t seed, uint64_t position);
/* The box of the second picture in the first, w x h: its share of the area Beta(alpha, alpha), less
 * where it passes the edge; it may be empty. */
vkt__box vkt__augment_cut(float alpha, uint64_t seed, uint64_t position, uint32_t w, uint32_t h);

#endif
