/* A file of weights under transformers' names, whatever its format: safetensors or GGUF. */
#ifndef VKT_MODELS_WEIGHTS_FILE_H
#define VKT_MODELS_WEIGHTS_FILE_H

#include "formats/safetensors.h"

typedef struct vkt__weights_file vkt__weights_file;
vkt_status vkt__weights_file_open(const char *path, vkt__weights_file **out);
void vkt__weights_file_close(vkt__weights_file **f);
/* The i-th tensor, NULL past the end. */
const vkt_tensor_info *vkt__weights_file_tensor(const vkt__weights_file *f, size_t i);
/* Place of the tensor of that name. False: there is none. */
bool vkt__weights_file_find(const vkt__weights_file *f, const char *name, size_t *at);
/* The i-th as it is; of safetensors only. */
vkt_status vkt__weights_file_read(vkt__weights_file *f, size_t i, void *dst);
/* As f32. FORMAT: of a type that is not read. */
vkt_status vkt__weights_file_read_f32(vkt__weights_file *f, size_t i, float *dst);

#endif
