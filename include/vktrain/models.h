/* vktrain models layer: weights in and out, in the formats of other programs.
 *
 * Threads: vkt_model_save and vkt_model_load as the gpu of the model; the exports any, each by
 * itself. Aborts: nothing but a small host allocation. Ownership: nothing is kept after the call.
 */
#ifndef VKTRAIN_MODELS_H
#define VKTRAIN_MODELS_H

#include "vktrain/formats.h"
#include "vktrain/nn.h"
#include "vktrain/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Weights as safetensors with PyTorch's names, for programs that use the layers without the
 * trainer. */
VKT_API vkt_status vkt_model_save(vkt_model *m, const char *path);
/* Every tensor must be there with its shape; FORMAT and IO errors name it. */
VKT_API vkt_status vkt_model_load(vkt_model *m, const char *path);

/* A net that was trained before, an ONNX file or safetensors, as the beginning of another one. What
 * c leaves open of its pictures becomes what that net expects: data.size, data.color and
 * data.standardize. IO, FORMAT: the file can't be read. */
VKT_API vkt_status vkt_backbone_pictures(vkt_config *c, const char *path);
/* A size that an ONNX net has inside, and the value to cut it at there. */
typedef struct vkt_backbone_level {
    uint32_t pixels; /* of the picture, in both directions, that a cell is */
    uint32_t channels;
    char cut[256];
} vkt_backbone_level;
/* The levels of 1, 2, 4, .. 64 pixels that the net has before its last layer for pictures of that
 * shape, rows, columns, channels: at most `most`, the finest first. FORMAT, UNSUPPORTED: it takes
 * no such picture, or has an op that is not known. */
VKT_API vkt_status vkt_backbone_levels(const char *path, const uint32_t shape[3],
                                       vkt_backbone_level *out, size_t most, size_t *n);

/* Types that weights are exported in. */
typedef enum vkt_export_type {
    VKT_EXPORT_F32,
    VKT_EXPORT_F16,
    VKT_EXPORT_BF16,
    VKT_EXPORT_Q8_0, /* GGUF only, as what follows */
    VKT_EXPORT_Q4_0,
    VKT_EXPORT_Q4_K
} vkt_export_type;
/* A language model's checkpoint (or a run's best) as a folder that Hugging Face transformers loads,
 * an adapter merged into its base. All weights are rounded to the type asked for.
 * ARG: the folder is there already, the model is neither of GPT-2's nor of Llama's kind, or a
 * weight is too large for f16. */
VKT_API vkt_status vkt_export_hf(const char *checkpoint, const char *folder, vkt_export_type type);
/* The adapter of a run with lora.rank as a folder that PEFT loads: adapter_config.json and
 * adapter_model.safetensors. ARG as above, or the run trained no adapter. */
VKT_API vkt_status vkt_export_adapter(const char *checkpoint, const char *folder);
/* The same as a GGUF file that llama.cpp adds to its base by --lora. ARG: it has more than pairs of
 * one rank, or llama.cpp does not have its architecture. */
VKT_API vkt_status vkt_export_adapter_gguf(const char *checkpoint, const char *path);

/* A language model's checkpoint (or a run's best) as a GGUF file, with its tokenizer, as llama.cpp
 * reads it: of GPT-2, Llama, Mistral, Qwen2, Qwen3, Gemma 2 and 3 and Phi-3. Matrices are of the
 * type asked for, vectors f32; in 4 bits the vocabulary's tables have 8, and rows that are no whole
 * number of a type's blocks are in 8 bits or f16. ARG: the model is of another kind, or has
 * something that llama.cpp's architectures do not support. */
VKT_API vkt_status vkt_export_gguf(const char *checkpoint, const char *path, vkt_export_type type);
/* Puts an export that was made at `made` in the place of what is at `path`: nothing, a file, or a
 * folder with nothing but an export in it. made NULL: whether that can be. ARG: something else is
 * there, which the line names. */
VKT_API vkt_status vkt_export_replace(const char *made, const char *path);

#ifdef __cplusplus
}
#endif
#endif
