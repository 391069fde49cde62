/* Weights of another model as a beginning. */
#ifndef VKT_TRAIN_IMPORT_H
#define VKT_TRAIN_IMPORT_H

#include "train/session.h"

/* path: a safetensors file, or a run or checkpoint folder. Tensors that agree in name and shape
 * (F32, F16 or BF16) are taken; each of the model's that is not found keeps its value and is warned
 * of, and so is each of the file's that has no place. FORMAT: none agrees. The device must be idle.
 */
vkt_status vkt__weights_import(const char *path, vkt_gpu *gpu, vkt_model *m);

#endif
