/* The tables of kinds that layers.c and layers_image.c hold, each ended by name NULL. */
#ifndef VKT_NN_LAYERS_H
#define VKT_NN_LAYERS_H

#include "nn/params.h"

extern const vkt__layer_kind vkt__plain_kinds[];
extern const vkt__layer_kind vkt__act_kinds[];
extern const vkt__layer_kind vkt__image_kinds[];

#endif
