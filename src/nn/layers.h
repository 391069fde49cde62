/* The tables of kinds that layers.c, layers_image.c, layers_vision.c, layers_graph.c,
 * layers_onnx.c, layers_sequence.c and layers_members.c hold, each ended by name NULL. */
#ifndef VKT_NN_LAYERS_H
#define VKT_NN_LAYERS_H

#include "nn/params.h"

extern const vkt__layer_kind vkt__plain_kinds[];
extern const vkt__layer_kind vkt__act_kinds[];
extern const vkt__layer_kind vkt__image_kinds[];
extern const vkt__layer_kind vkt__vision_kinds[];
extern const vkt__layer_kind vkt__graph_kinds[];
extern const vkt__layer_kind vkt__onnx_kinds[];
extern const vkt__layer_kind vkt__sequence_kinds[];
extern const vkt__layer_kind vkt__members_kinds[];

#endif
