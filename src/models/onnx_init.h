/* `init: net.onnx`: the model that an ONNX file is, and the data that it takes. */
#ifndef VKT_MODELS_ONNX_INIT_H
#define VKT_MODELS_ONNX_INIT_H

#include "onnx/onnx_file.h"
#include "recipe/config.h"

/* The path of an ONNX file that is there. */
bool vkt__is_onnx(const char *path);
/* The recipe's model becomes the net of `init`, which is taken off the recipe then, as the model
 * says where its weights are. Where the data have another number of outputs than the net, it ends
 * before its last layer, and a new one follows. What the recipe does not say of pictures becomes
 * what the net expects: size, channels, mean and deviation. */
vkt_status vkt__onnx_init(vkt_config *c);
/* The part of it that is about pictures, of the net of that file. */
vkt_status vkt__onnx_fit_pictures(vkt_config *c, const char *path);
/* The net's only input, where it is a picture's; NULL: it is not. */
const vkt__onnx_info *vkt__onnx_picture(const vkt__onnx *f);
/* Whether that has its channels first. */
bool vkt__onnx_takes_first(const vkt__onnx_info *in);
/* What the last layer with weights takes, or what the net gives, where there is none. */
const char *vkt__onnx_last_input(const vkt__onnx *f);
/* Layers of files get these files' checksums, where they have none. */
vkt_status vkt__onnx_sums(vkt_config *c);

#endif
