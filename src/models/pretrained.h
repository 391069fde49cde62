/* What weights of vision models, as torchvision and timm ship them, say of the pixels that they
 * were trained on. */
#ifndef VKT_MODELS_PRETRAINED_H
#define VKT_MODELS_PRETRAINED_H

#include "base/memory.h"
#include "vktrain/data.h"

/* The model.safetensors of a folder of timm's, whose config.json has a pretrained_cfg; NULL: path
 * is no such folder. */
const char *vkt__timm_file(vkt__arena *a, const char *path);
/* How pixels were standardized for the weights in the file at path; AUTO: it does not say so.
 * *why: by what this is known. By the pretrained_cfg of a config.json beside it; else by its
 * tensors: a classifier of ImageNet's 1000 (or timm's 21,841 and 21,843) classes, and of these a
 * ViT's class token. FORMAT: a pretrained_cfg has constants that data.standardize has no word for.
 */
vkt_status vkt__pretrained_pixels(const char *path, vkt_standardize *how, const char **why);
/* timm's name of the tensor of a ConvNeXt that torchvision names so; NULL: it has none. */
const char *vkt__timm_name(vkt__arena *a, const char *name);
/* The positions of a class token and of n x n patches, [1, 1 + n n, c], for another n: bicubic with
 * antialiasing, as timm's resample_abs_pos_embed. from_rows, to_rows: 1 + n n. false: one of them
 * is no such number. */
bool vkt__positions_resample(const float *from, uint64_t from_rows, float *to, uint64_t to_rows,
                             uint64_t c);

#endif
