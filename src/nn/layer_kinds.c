/* The tables of layer kinds: a new kind is a row in one of them and one in layer_types.c (its
 * options). */
#include "nn/layer_kinds.h"

#include "nn/layers.h"
#include "nn/transformer.h"

const vkt__layer_kind *const vkt__layer_kinds[] = { vkt__plain_kinds,       vkt__act_kinds,
                                                    vkt__image_kinds,       vkt__vision_kinds,
                                                    vkt__transformer_kinds, vkt__graph_kinds,
                                                    vkt__onnx_kinds,        vkt__sequence_kinds,
                                                    vkt__members_kinds,     NULL };
