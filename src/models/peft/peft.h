/* A LoRA adapter's folder as PEFT writes it (adapter_config.json, adapter_model.safetensors),
 * opened to be merged or trained further. Writing one is adapter.c's. */
#ifndef VKT_MODELS_PEFT_H
#define VKT_MODELS_PEFT_H

#include "formats/safetensors.h"
#include "vktrain/nn.h"

/* What PEFT puts before a layer's name. */
#define VKT__PEFT_PREFIX "base_model.model."

typedef struct vkt__peft {
    vkt__arena arena;
    const char *folder, *base;     /* base: base_model_name_or_path, or NULL */
    vkt_lora lora;                 /* of an open folder the patterns name whole layers */
    bool ties;                     /* ensure_weight_tying */
    const char *modules;           /* modules_to_save; lora.modules is without an output layer that
                                      it ties to the embedding */
    struct json_t *ranks, *alphas; /* the patterns as the file has them */
    vkt__safetensors *tensors;     /* VKT__PEFT_PREFIX LAYER.lora_A.weight [rank, in] with
                                      ...lora_B.weight [out, rank] and, of dora,
                                      ...lora_magnitude_vector [out]; weights of lora.modules; biases.
                                      NULL: not open */
} vkt__peft;

bool vkt__is_peft_folder(const char *path);
/* FORMAT: another method than LoRA, or a feature that vktrain has not (named); a tensor that is of
 * no such adapter or of another rank. vkt__peft_close whatever came. */
vkt_status vkt__peft_open(const char *folder, vkt__peft *out);
void vkt__peft_close(vkt__peft *p);
/* Parses an adapter_config.json, called `path` in messages: base and lora, whose targets may be
 * NULL. */
vkt_status vkt__peft_config(const char *text, size_t n, const char *path, vkt__peft *out);
/* Fills what a model trains beside its base, t[0..n). FORMAT: one is not in the folder, has another
 * shape, or one of the folder's has no place. model [n_model]: all of its tensors, by which it is
 * known whether output layer and embedding are one. */
vkt_status vkt__peft_load(vkt__peft *p, const vkt__st_tensor *t, size_t n,
                          const vkt__st_tensor *model, size_t n_model);
/* Rows of the embedding, where the folder has one of its own; else 0. */
uint64_t vkt__peft_rows(const vkt__peft *p);
/* Merges the adapter into all of a plain model's weights. FORMAT as above, and as
 * vkt__adapter_merge. */
vkt_status vkt__peft_merge(const vkt__peft *p, const vkt__st_tensor *t, size_t n);

#endif
