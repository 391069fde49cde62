/* All kinds of layers that a model may have. */
#ifndef VKT_NN_LAYER_KINDS_H
#define VKT_NN_LAYER_KINDS_H

#include "nn/params.h"

/* Tables, each ended by name NULL; after the last one, NULL. */
extern const vkt__layer_kind *const vkt__layer_kinds[];

#endif
