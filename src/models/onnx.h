/* A trained model as an ONNX file. */
#ifndef VKT_MODELS_ONNX_H
#define VKT_MODELS_ONNX_H

#include "models/weights.h"
#include "recipe/loss_heads.h"
#include "vktrain/data.h"

/* Input "input" [N, ...] f32, standardised as in training (images channels last); outputs "logits"
 * and "probabilities" for classes (of several labels each one's own, by a sigmoid), "value"
 * (standardised) and "prediction" (in the data's units) for numbers, and "LAYER.output" of every
 * other layer that has one of `losses`, whose heads are `terms`; of boxes onnx_nodes.h says more.
 * Opset 21. metadata_props hold the data's schema. w: host copies of m's, data: what it was trained
 * on. UNSUPPORTED names the op that ONNX, or this export, does not know; FORMAT: more than the 2
 * GiB that a protocol buffer may have.
 */
typedef struct vkt__onnx_how {
    double temperature; /* of classes, that logits are divided by before their softmax; 0: none */
    double least_score; /* of boxes that are found, duplicates removed; 0: they are not */
} vkt__onnx_how;
vkt_status vkt__onnx_write(vkt_model *m, const vkt_dataset *data, const vkt__weights *w,
                           const vkt__loss_terms *terms, const vkt__onnx_how *how,
                           const char *path);

#endif
