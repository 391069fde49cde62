/* Tensors of another model's files into one's own. Knows files, neither runs nor recipes. */
#ifndef VKT_MODELS_IMPORT_H
#define VKT_MODELS_IMPORT_H

#include "formats/safetensors.h"

/* path: a folder with model.safetensors or the shards of model.safetensors.index.json, or a
 * safetensors or GGUF file; GPT-2's names may lack "transformer.". Fills t[i].data: what agrees in
 * name and shape, F32, F16 or BF16 (of GGUF its quantised types, too) for an f32. all: FORMAT where
 * one is not there; else it keeps its value and is warned of, as is each tensor of the file that
 * has no place, and FORMAT means that none agrees. */
typedef struct vkt__import_how {
    bool all;
    uint32_t new_rows; /* as many rows that the file has not may be at the end of the embedding and
                          of the output layer: they get the mean of its rows (Hewitt 2021,
                          "Initializing new word embeddings for pretrained language models") */
    const char *const *filled; /* [n_filled] tensors of the file that were taken already */
    size_t n_filled;
} vkt__import_how;
vkt_status vkt__import_files(const char *path, const vkt__st_tensor *t, size_t n,
                             vkt__import_how how);
/* t is all of the model that path, a Hugging Face folder or a GGUF file, describes, filled from it.
 * FORMAT: a tensor of its files has no place there, or is a head beside an embedding that is to be
 * the head.
 */
vkt_status vkt__import_check(const char *path, const vkt__st_tensor *t, size_t n);
/* FORMAT: a number is NaN or infinite; the line names its tensor. path is what they came from. */
vkt_status vkt__weights_check_finite(const char *path, const vkt__st_tensor *t, size_t n);
/* FORMAT: path is a file with only an adapter's weights, or a folder with nothing else of a model.
 */
vkt_status vkt__adapter_refuse(const char *path);
/* A model that describes itself: a folder as transformers saves it, or a GGUF file. */
bool vkt__is_model(const char *path);
/* A folder that holds a model as transformers saves it. */
bool vkt__is_hf_folder(const char *path);
/* A safetensors file that can be read, by its ending. */
bool vkt__is_weights_file(const char *path);
/* The embedding or the output layer: a row for each token. */
bool vkt__has_token_rows(const vkt__st_tensor *t);
/* Rows of t from `rows` on get the mean of those before. */
void vkt__fill_new_rows(const vkt__st_tensor *t, uint64_t rows);
/* A folder that vkt__import_files reads. */
bool vkt__is_weights_folder(const char *path);

#endif
