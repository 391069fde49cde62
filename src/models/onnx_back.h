/* An ONNX file that was trained, written back. */
#ifndef VKT_MODELS_ONNX_BACK_H
#define VKT_MODELS_ONNX_BACK_H

#include "models/weights.h"
#include "nn/onnx_net.h"

/* Appends the file's nodes, by their names, and its initializers with the weights of now to a
 * GraphProto. whole: all of them, with inputs, outputs and all else; otherwise what the layer's
 * output needs, with the inputs alone. */
void vkt__onnx_back_graph(const vkt__onnx_net *net, const vkt__weights *w, bool whole,
                          vkt__str *graph);
/* Appends what a ModelProto has beside its graph. */
void vkt__onnx_back_model(const vkt__onnx_net *net, vkt__str *model);

#endif
