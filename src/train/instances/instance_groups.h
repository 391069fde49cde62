/* The instances that a model's numbers mean, on the host. */
#ifndef VKT_TRAIN_INSTANCE_GROUPS_H
#define VKT_TRAIN_INSTANCE_GROUPS_H

#include "base/words.h"

typedef struct vkt__centre {
    uint32_t x, y;
    float score;     /* 0 to 1 */
    uint32_t pixels; /* that belong to it */
} vkt__centre;

/* Zeroed to begin with. */
typedef struct vkt__instance_groups {
    uint16_t *map;       /* [h, w] numbers of instances from 1 on, 0: none */
    vkt__centre *centre; /* [n] of number k + 1, row by row */
    uint32_t n;
    uint32_t n_more; /* centres beyond the most that there may be; their pixels go to the nearest */
    size_t map_cap, centre_cap;
} vkt__instance_groups;

#define VKT__HEAT_LEAST 0.1f /* of a centre */

/* out [h, w, 4] as instance_loss.h has it. Centres: the highest of the pixels within three in every
 * direction, the first of equal ones, from VKT__HEAT_LEAST on, the first 65,535; the rest is
 * counted. Pixels whose logit is above 0 belong to the centre that is nearest to where their
 * offsets point, the first of equal ones; where there is no centre, to none. Centres without pixels
 * are left out. Source: Cheng et al. 2020 (arXiv 1911.10194), with its window of 7 and its
 * threshold. OOM_HOST. */
vkt_status vkt__instance_group(vkt__instance_groups *g, const float *out, uint32_t h, uint32_t w);
void vkt__instance_groups_finish(vkt__instance_groups *g);

#endif
