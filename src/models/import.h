/* Weights of another model as a beginning. */
#ifndef VKT_TRAIN_IMPORT_H
#define VKT_TRAIN_IMPORT_H

#include "formats/safetensors.h"

/* path: a Hugging Face folder (model.safetensors, or the shards of model.safetensors.index.json;
 * GPT-2's names may lack "transformer."), a run, a checkpoint, a PEFT adapter's folder or a
 * safetensors file. A run of an adapter and an adapter's folder give their base with the adapter
 * merged, to all of the parameters at once. Fills t[i].data: what agrees in name and shape, F32,
 * F16 or BF16 for an f32. all: FORMAT where one is not there; else it keeps its value and is warned
 * of, as is each tensor of the file that has no place, and FORMAT means that none agrees. */
vkt_status vkt__weights_import(const char *path, const vkt__st_tensor *t, size_t n, bool all);
/* FORMAT: path is a file of an adapter's weights, or a folder with no more of a model than that. */
vkt_status vkt__adapter_refuse(const char *path);
/* A folder that holds a model as transformers saves it. */
bool vkt__is_hf_folder(const char *path);

#endif
