/* A GGUF file as a model that begins something: its values as config.json would say them, its
 * tensors as those of transformers. */
#ifndef VKT_MODELS_GGUF_MODEL_H
#define VKT_MODELS_GGUF_MODEL_H

#include "formats/gguf.h"
#include "models/gguf/gguf_names.h"
#include "vktrain/nn.h"

/* Its values as a config.json, to be freed. FORMAT: another architecture (named, with those that
 * are supported), a key of it that is not known, or a part of a file in several. */
vkt_status vkt__gguf_config(const vkt__gguf *g, char **json);
/* It has a tokenizer. */
bool vkt__gguf_has_tokenizer(const vkt__gguf *g);

typedef struct vkt__gguf_weights vkt__gguf_weights;
vkt_status vkt__gguf_weights_open(const char *path, vkt__gguf_weights **out);
void vkt__gguf_weights_close(vkt__gguf_weights **w);
/* The i-th under its name in transformers and in the shape there; NULL past the end. */
const vkt_tensor_info *vkt__gguf_weights_tensor(const vkt__gguf_weights *w, size_t i);
/* FORMAT: of a type that is not read. */
vkt_status vkt__gguf_weights_read(const vkt__gguf_weights *w, size_t i, float *dst);

/* How a base that path, a GGUF file, holds can be kept: lora->base_kinds, in the arena. Types that
 * base/quant.h does not have, and transposed matrices, are Q8_0. One line tells which there are. */
vkt_status vkt__gguf_base_kinds(const char *path, vkt__arena *a, vkt_lora *lora);
/* The tensor of that name as `kind` keeps it. *done false: the file has it otherwise. */
vkt_status vkt__gguf_base_words(const char *path, const char *name, vkt_quant kind, uint32_t *words,
                                bool *done);

#endif
